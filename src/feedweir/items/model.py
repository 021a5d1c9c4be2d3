"""What an item is: flat typed attributes, where it came from, and its own XML.

`Item` declares its fields once. Its Arrow columns (`items.schema`), the names that statements know (`items.attributes`)
and the columns that parsers fill (`acquire.parse.entries`) follow from the declaration.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, TypeAlias

import pyarrow as pa

from feedweir.items.fields import NOT_STORED, AttributeType, Parts, Queryable


@dataclass(frozen=True, slots=True, kw_only=True)
class Enclosure:
    """A file attached to an item."""

    url: str
    type: str = ""
    length: int = 0


Extension: TypeAlias = Annotated[tuple[str, str], Parts("name", "value")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One published thing. `seq` is its place in the stream; (`source`, `identity`) says which thing it is."""

    seq: int = 0
    source: Annotated[str, Queryable(AttributeType.STRING)]
    identity: Annotated[str, Queryable(AttributeType.STRING, "guid", "id")]
    revision: Annotated[int, Queryable(AttributeType.NUMBER), pa.int32()] = 0
    fingerprint: int = field(default=0, compare=False)
    """A 64-bit hash of what a reader would see: it changes when, and only when, an item is edited. 0: no parser made
    it."""
    title: Annotated[str, Queryable(AttributeType.TEXT)] = ""
    """Plain text."""
    summary: Annotated[str, Queryable(AttributeType.HTML, "summary", "description")] = ""
    """Sanitised HTML."""
    content: Annotated[str, Queryable(AttributeType.HTML)] = ""
    """Sanitised HTML."""
    link: Annotated[str, Queryable(AttributeType.LINK)] = ""
    links: Annotated[tuple[str, ...], Queryable(AttributeType.LINK)] = ()
    """Every absolute link of the item: its own, those inside its HTML, its enclosures; each once, in order."""
    authors: Annotated[tuple[str, ...], Queryable(AttributeType.TEXT, "author", "authors")] = ()
    categories: Annotated[
        tuple[str, ...], Queryable(AttributeType.TEXT, "category", "categories", "tag", "tags")
    ] = ()
    published: Annotated[datetime | None, Queryable(AttributeType.TIME, "published", "date", "pubdate")] = (
        None
    )
    updated: Annotated[datetime | None, Queryable(AttributeType.TIME)] = None
    arrived: Annotated[datetime, Queryable(AttributeType.TIME)]
    """When the document that first showed this revision was landed."""
    language: Annotated[str, Queryable(AttributeType.STRING, "language", "lang")] = ""
    enclosures: Annotated[
        tuple[Enclosure, ...], Queryable(AttributeType.LINK, "enclosure", "enclosures")
    ] = ()
    extensions: tuple[Extension, ...] = ()
    """(`prefix:name`, text) for every element of a namespace that has no attribute of its own, in order."""
    raw: str = ""
    """The item's own XML (or JSON) text."""
    made_of: Annotated[tuple[int, ...], NOT_STORED] = ()
    """Of a document that a query constructed: the numbers of the items it was made of. `seq` is the last of them."""

    @property
    def time(self) -> datetime:
        """The time windows go by: publication, or arrival when undated or dated in the future."""
        return self.arrived if self.published is None else min(self.published, self.arrived)

    @property
    def place(self) -> tuple[int, tuple[int, ...], str]:
        """Where it stands in the stream: a constructed document follows the item that completed it."""
        return (self.seq, self.made_of, self.identity if self.made_of else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedDescription:
    """What a document says of the feed itself."""

    title: str = ""
    description: str = ""
    link: str = ""
    language: str = ""
    icon: str = ""
    updated: datetime | None = None
    hub: str = ""
    """The WebSub hub it names."""
    self_link: str = ""
    ttl_s: int = 0
    """How long the publisher asks readers to wait (ttl, sy:updatePeriod); 0 when it does not say."""
    skip_hours: tuple[int, ...] = ()
    skip_days: tuple[int, ...] = ()
    """Monday is 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A landed document: its number and its bytes as they came."""

    number: int
    """Its place in the landing log; see `items.numbering`."""
    source: str
    url: str = ""
    media_type: str = ""
    """The Content-Type header, parameters included."""
    arrived: datetime
    body: bytes
    id_path: str = ""
    """Where its items name their ids, when its registration says so; see `acquire.parse.id_paths`."""


def row_of(item: Item) -> dict[str, object]:
    """An item as a row of a list."""
    return {
        "seq": item.seq,
        "time": item.time.isoformat(timespec="seconds"),
        "source": item.source,
        "title": item.title,
        "link": item.link,
        "guid": item.identity,
        "revision": item.revision,
    }
