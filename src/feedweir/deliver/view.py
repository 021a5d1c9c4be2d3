"""What a reader is shown: frozen values that every renderer reads and none changes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from feedweir.items.model import Item
from feedweir.items.xml_characters import legal

FeedKind: TypeAlias = Literal["source", "virtual"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryView:
    """An item as an entry of a feed, with the feed it came from and the items it was joined with."""

    item: Item
    source_title: str = ""
    source_link: str = ""
    """The home page of the source."""
    source_url: str = ""
    """Where the source was fetched from."""
    annotation: tuple[tuple[str, tuple[Item, ...]], ...] = ()
    """(join identifier, partners), in the order of the identifiers."""

    @property
    def source_name(self) -> str:
        return legal(self.source_title).strip() or self.item.source

    @property
    def partners(self) -> tuple[Item, ...]:
        """The partners of every join, each once."""
        found = {(item.source, item.identity): item for _, items in self.annotation for item in items}
        return tuple(found.values())


def join_label(identifier: str) -> str:
    """What a reader is told of a join: its name, or what `distinct` means."""
    return "also told by" if identifier.rpartition(".")[2] == "distinct" else identifier


def partner_title(item: Item) -> str:
    """A partner as a format tells of it that has one line for it: with the source it is from."""
    title = " ".join(legal(item.title).split())
    return f"{title} ({legal(item.source)})" if title else legal(item.source)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedView:
    """A feed with its latest entries, newest first."""

    name: str
    kind: FeedKind = "virtual"
    title: str = ""
    description: str = ""
    """Plain text."""
    home_link: str = ""
    """The page this feed belongs to; empty for a virtual feed, whose page is here."""
    definition: str = ""
    """The statement that made it."""
    language: str = ""
    updated: datetime
    """When anything in this view last changed."""
    hub: str = ""
    """The WebSub hub that announces new entries."""
    failure: str = ""
    """Why the last attempt to refresh it failed."""
    entries: tuple[EntryView, ...] = ()

    @property
    def shown_title(self) -> str:
        return legal(self.title).strip() or self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedSummary:
    """One line in the list of all feeds."""

    name: str
    kind: FeedKind
    title: str = ""
    description: str = ""
    url: str = ""
    """Where a source is fetched from."""
    home_link: str = ""
    definition: str = ""
    """The statement that made it."""
    item_count: int = 0
    last_item: datetime | None = None
    failure: str = ""
    """Why the last attempt to refresh it failed; empty when it succeeded."""
    failure_count: int = 0
    """Failed attempts in a row."""
    owner: str = ""
    """Whose it is; empty is everyone's."""
    hits: int = 0
    """Elements that were counted, a little behind `item_count`."""
    candidates: int = 0
    """How often the matcher had to look at it, estimated from a sample: what it costs."""
    last_hit: datetime | None = None

    @property
    def shown_title(self) -> str:
        return legal(self.title).strip() or self.name
