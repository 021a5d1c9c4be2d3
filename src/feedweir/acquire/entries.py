"""Entries as they are read: the one shape that every format is brought to before entries become items.

XML feeds are read into columns at once, because the entries of a feed are alike and a whole column costs little more
than a cell; other formats are read entry by entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from operator import attrgetter

from feedweir.items.model import FeedDescription

File = tuple[str, str, int]
"""(url, type, length)"""


@dataclass(slots=True)
class Entry:
    """What one entry says. HTML is not yet sanitised, links are absolute."""

    guid: str = ""
    title: str = ""
    summary: str = ""
    content: str = ""
    link: str = ""
    related: tuple[str, ...] = ()
    """Other links of the entry itself."""
    authors: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    published_us: int | None = None
    updated_us: int | None = None
    language: str = ""
    enclosures: tuple[File, ...] = ()
    extensions: tuple[tuple[str, str], ...] = ()
    base: str = ""
    raw: bytes = b""
    """In UTF-8."""
    whole: str = ""
    """A digest of all that it says, where that is more than what a reader of feeds sees."""


@dataclass(slots=True)
class Entries:
    """The same, a column for each: filled in while elements are read."""

    guid: list[str]
    title: list[str]
    summary: list[str]
    content: list[str]
    link: list[str]
    related: list[tuple[str, ...]]
    authors: list[tuple[str, ...]]
    categories: list[tuple[str, ...]]
    published_us: list[int | None]
    updated_us: list[int | None]
    language: list[str]
    enclosures: list[tuple[File, ...]]
    extensions: list[tuple[tuple[str, str], ...]]
    base: list[str]
    raw: list[bytes]
    whole: list[str]

    def __len__(self) -> int:
        return len(self.guid)


_COLUMNS = tuple(column.name for column in fields(Entries))
_columns_of = attrgetter(*_COLUMNS)
_NOTHING = Entry()


def empty_entries(count: int) -> Entries:
    """Entries of which nothing was read."""
    return Entries(*([value] * count for value in _columns_of(_NOTHING)))


def entries_of(entries: Sequence[Entry]) -> Entries:
    return Entries(*([getattr(entry, name) for entry in entries] for name in _COLUMNS))


def in_order(blocks: Sequence[tuple[Sequence[int], Entries]]) -> Entries:
    """One block of several, each with the places that its entries have among all."""
    if len(blocks) == 1:
        return blocks[0][1]
    whole = empty_entries(sum(len(block) for _, block in blocks))
    for places, block in blocks:
        for column, values in zip(_columns_of(whole), _columns_of(block), strict=True):
            for place, value in zip(places, values, strict=True):
                column[place] = value
    return whole


@dataclass(frozen=True, slots=True)
class Feed:
    """A document as it is read: entries in document order."""

    description: FeedDescription
    entries: Entries
    authors: tuple[str, ...] = ()
    """Whose entries these are when they do not say."""
    warnings: tuple[str, ...] = ()

    def warned(self, warning: str) -> Feed:
        """The same feed with a warning more, if there is one."""
        return replace(self, warnings=(*self.warnings, warning)) if warning else self
