"""What the handlers of elements share while entries are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from feedweir.acquire.entries import Entries
from feedweir.acquire.xml_element import Said
from feedweir.items.html import absolute

Handler = Callable[["Reading", Said], None]
"""Takes in what elements of one name say, one of each entry."""


@dataclass(slots=True)
class Reading:
    """Entries being read that have elements of the same names: what the handlers share."""

    entries: Entries
    bases: Sequence[str]
    """What the links of the elements being read are relative to."""

    def urls(self, links: Sequence[str | None]) -> list[str]:
        """Links, absolute."""
        return [url_of(link, base) for link, base in zip(links, self.bases, strict=True)]


def url_of(link: str | None, base: str) -> str:
    link = (link or "").strip()
    return link if not link or link.startswith(("http://", "https://")) else absolute(link, base)
