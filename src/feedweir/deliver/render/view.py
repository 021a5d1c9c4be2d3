"""What readers are shown: frozen values, the input of every renderer."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from feedweir.items.model import Item
from feedweir.items.rdf_terms import Bound
from feedweir.text.xml_characters import legal

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
    bindings: tuple[Bound, ...] = ()
    """What the variables are bound to that the feed's SELECT names."""

    @property
    def source_name(self) -> str:
        return legal(self.source_title).strip() or self.item.source

    @property
    def partners(self) -> tuple[Item, ...]:
        """The partners of every join, each once."""
        found = {(item.source, item.identity): item for _, items in self.annotation for item in items}
        return tuple(found.values())


def join_label(identifier: str) -> str:
    """How a join is called in a message: its name, or what `distinct` means."""
    return "also reported by" if identifier.rpartition(".")[2] == "distinct" else identifier


def partner_title(item: Item) -> str:
    """A partner in one line: its title and its source."""
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
    before: int = 0
    """The number that the entries of an older page come before; 0 for the newest page."""
    limit: int = 0
    """How many entries were requested; 0 for the usual page length."""
    older: int = 0
    """The number that the entries of the next older page come before; 0 if this is the oldest."""
    archive: int = 0
    """The same for the next archive, a page that never changes."""

    @property
    def is_archive(self) -> bool:
        return bool(self.before) and not self.limit

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
    """Empty is everyone's."""
    hits: int = 0
    """Elements that have been counted; slightly behind `item_count`."""
    candidates: int = 0
    """How often the matcher had to examine it, estimated from a sample: a measure of its cost."""
    last_hit: datetime | None = None

    @property
    def shown_title(self) -> str:
        return legal(self.title).strip() or self.name
