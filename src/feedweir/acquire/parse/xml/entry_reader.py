"""The state that handlers of elements share while entries are read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from feedweir.acquire.parse.entries import Entries, File
from feedweir.acquire.parse.xml.xml_element import ElementColumn
from feedweir.text.html import absolute

Handler = Callable[["EntryReader", ElementColumn], None]
"""Takes in the elements of one name, one of each entry."""


@dataclass(slots=True)
class EntryReader:
    """Entries of one shape that are being read."""

    entries: Entries
    bases: Sequence[str]
    """What the links of the elements being read are relative to."""
    authors: list[list[str]] = field(default_factory=list)
    """A column for each element that names authors; columns are combined once, at the end."""
    categories: list[list[str]] = field(default_factory=list)
    related: defaultdict[int, list[str]] = field(default_factory=lambda: defaultdict(list))
    """By the place of the entry."""
    files: defaultdict[int, dict[str, File]] = field(default_factory=lambda: defaultdict(dict))
    """By the place of the entry, then by address."""

    def urls(self, links: Sequence[str | None]) -> list[str]:
        """Links, absolute."""
        return [url_of(link, base) for link, base in zip(links, self.bases, strict=True)]

    def attach(self, place: int, url: str, kind: str | None, length: str | None) -> None:
        """Add a file, unless it is there already."""
        if url and url not in self.files[place]:
            size = int(length) if length and length.isascii() and length.isdigit() and len(length) < 16 else 0
            self.files[place][url] = (url, kind or "", size)

    def finish(self) -> None:
        """Put what was collected into the entries."""
        entries = self.entries
        if self.authors:
            entries.authors = _together(self.authors)
        if self.categories:
            entries.categories = _together(self.categories)
        for place, urls in self.related.items():
            entries.related[place] = tuple(urls)
        for place, files in self.files.items():
            entries.enclosures[place] = tuple(files.values())


def _together(columns: list[list[str]]) -> list[tuple[str, ...]]:
    """For each entry the names in all columns, each once."""
    if len(columns) == 1:
        return [(name,) if name else () for name in columns[0]]
    return [tuple(dict.fromkeys(filter(None, names))) for names in zip(*columns, strict=True)]


def url_of(link: str | None, base: str) -> str:
    link = (link or "").strip()
    return link if not link or link.startswith(("http://", "https://")) else absolute(link, base)
