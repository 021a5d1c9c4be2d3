"""Entries: what every format is read into before entries become items.

An entry has the fields of `Item` that a document states, under the same names, and a few that are needed only to make
an item of it (`_ONLY_READ`). Meanwhile times are microseconds since 1970, files are tuples and `raw` is bytes in UTF-8.
HTML is not yet sanitised; links are absolute.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from feedweir.items.model import FeedDescription, Item

File = tuple[str, str, int]
"""(url, type, length)"""

_NOT_SAID = frozenset(
    ("seq", "source", "identity", "revision", "fingerprint", "links", "arrived", "made_of", "raw")
)
"""Fields of items that are computed and not read."""
_ONLY_READ: dict[str, Any] = {
    "guid": "",
    "related": (),  # other links of the entry itself
    "base": "",  # what links in its HTML are relative to
    "raw": b"",
    "whole": "",  # a digest of its complete content, if that is more than readers of feeds see
}
NOTHING = {field.name: field.default for field in fields(Item) if field.name not in _NOT_SAID} | _ONLY_READ
"""By field the value of an empty entry."""


class Entries:
    """The entries of a document as columns: for each name in `NOTHING` a list with the value of every entry.

    The entries of a feed are alike, and handling a whole column costs little more than handling a cell.
    """

    __slots__ = tuple(NOTHING)

    def __init__(self, columns: Mapping[str, list[Any]]) -> None:
        for name in NOTHING:
            setattr(self, name, columns[name])

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> list[Any]: ...

        def __setattr__(self, name: str, value: list[Any]) -> None: ...

    def __len__(self) -> int:
        return len(self.guid)


_columns_of = attrgetter(*NOTHING)


def empty_entries(count: int) -> Entries:
    """Entries of which nothing was read."""
    return Entries({name: [value] * count for name, value in NOTHING.items()})


def entries_of(read: Iterable[Mapping[str, Any]]) -> Entries:
    """Entries that were read one by one, each a mapping from field to value."""
    entries = list(read)
    assert all(entry.keys() <= NOTHING.keys() for entry in entries)
    return Entries({name: [entry.get(name, value) for entry in entries] for name, value in NOTHING.items()})


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


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedText:
    """A document to be read."""

    text: bytes
    """In UTF-8, without a byte order mark and without white space before it."""
    media_type: str = ""
    """The Content-Type header, parameters included."""
    url: str = ""
    """Its address, the base of relative links."""
    max_items: int
    max_depth: int = 256
    cut: str = ""
    """How RDF is cut into items: `subject`, the IRI of a type, or not at all."""


@dataclass(frozen=True, slots=True)
class ParsedFeed:
    """A document as it is read: entries in document order."""

    description: FeedDescription
    entries: Entries
    authors: tuple[str, ...] = ()
    """The authors of entries that name none."""
    warnings: tuple[str, ...] = ()

    def warned(self, warning: str) -> ParsedFeed:
        """The same feed with one more warning, if there is one."""
        return replace(self, warnings=(*self.warnings, warning)) if warning else self
