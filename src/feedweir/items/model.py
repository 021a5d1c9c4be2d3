"""What an item is: flat typed attributes, where it came from, and the XML it was."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Enclosure:
    """A file attached to an item."""

    url: str
    type: str = ""
    length: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One published thing. `seq` is its place in the stream; (`source`, `identity`) says which thing it is."""

    source: str
    identity: str
    seq: int = 0
    revision: int = 0
    title: str = ""
    """Plain text."""
    summary: str = ""
    """Sanitised HTML; the language also calls it `description`."""
    content: str = ""
    """Sanitised HTML."""
    link: str = ""
    links: tuple[str, ...] = ()
    """Every absolute link of the item: its own, those inside its HTML, its enclosures; each once, in order."""
    authors: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    published: datetime | None = None
    updated: datetime | None = None
    arrived: datetime
    """When the document that first showed this revision was landed."""
    language: str = ""
    enclosures: tuple[Enclosure, ...] = ()
    extensions: tuple[tuple[str, str], ...] = ()
    """(`prefix:name`, text) for every element of a namespace that has no attribute of its own, in order."""
    raw: str = ""
    """The item's own XML (or JSON) text."""
    made_of: tuple[int, ...] = ()
    """Of a document that a query constructed: the numbers of the items it was made of. `seq` is the last of them."""

    @property
    def time(self) -> datetime:
        """The time windows go by: publication, or arrival when undated or dated in the future."""
        return self.arrived if self.published is None else min(self.published, self.arrived)

    @property
    def place(self) -> tuple[int, tuple[int, ...], str]:
        """Where it stands in the stream: a constructed document comes right after the item that completed it."""
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
    """How long the publisher asks readers to wait (ttl, sy:updatePeriod), 0 when it does not say."""
    skip_hours: tuple[int, ...] = ()
    skip_days: tuple[int, ...] = ()
    """Monday is 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A landed document: the bytes as they came, and under which number."""

    number: int
    """Its place in the landing log; see `items.numbering`."""
    source: str
    url: str = ""
    media_type: str = ""
    """The Content-Type header, parameters included."""
    arrived: datetime
    body: bytes
    id_path: str = ""
    """Where its items name their ids, when its registration says so; see `acquire.id_paths`."""
