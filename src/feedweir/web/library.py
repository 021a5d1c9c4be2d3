"""What the HTTP door needs from the house behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from feedweir.acquire.opml import Imported
from feedweir.deliver.view import EntryView, FeedKind, FeedSummary, FeedView
from feedweir.engine.quarantine import SetAside
from feedweir.engine.wanting import Wanting
from feedweir.engine.why import Clause
from feedweir.match.history import LookBack
from feedweir.optimize.explain import ExplainedPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """Whether the process does its work; `facts` are shown to the operator as they are."""

    is_healthy: bool
    is_ready: bool
    """Feeds can be served and statements taken."""
    reasons: tuple[str, ...] = ()
    """What stands still, in sentences."""
    facts: tuple[tuple[str, str | int | float | bool], ...] = ()


@dataclass(frozen=True, slots=True)
class Sample:
    """One value of a measure, with its labels."""

    value: float
    labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A counter or gauge for Prometheus; every sample has the same label names."""

    name: str
    help: str
    kind: Literal["counter", "gauge"]
    samples: tuple[Sample, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one statement did."""

    message: str
    """For people: `registered RiverPost`."""
    name: str = ""
    """The feed or subscription it was about."""
    rows: tuple[dict[str, object], ...] = ()
    """What a statement that asks was answered, ready for JSON."""
    advice: tuple[str, ...] = ()
    """What a new feed has in common with others."""


class Library(Protocol):
    """Called from many threads at once; every method may block, none may hold the others up."""

    def feeds(
        self,
        *,
        kind: FeedKind | None = None,
        after: str = "",
        limit: int | None = None,
        owner: str | None = None,
    ) -> Sequence[FeedSummary]:
        """Feeds of a kind (None: of both) by name, from the first name greater than `after`; all, or an owner's."""

    def count(self, kind: FeedKind) -> int:
        """How many feeds of this kind there are."""

    def feed(self, name: str, limit: int) -> FeedView | None:
        """The feed with its newest `limit` entries; None when there is no such feed."""

    def item(self, seq: int) -> EntryView | None:
        """The item of this sequence number."""

    def near_names(self, name: str) -> Sequence[str]:
        """Names that someone who typed this one may have meant, the nearest first."""

    def execute(self, text: str, *, owner: str = "") -> Sequence[Outcome]:
        """Run statements, all or none; what they make is the owner's. Raises `LanguageError` and `CatalogError`."""

    def outline(self) -> bytes:
        """All sources as OPML, in the outline that they were imported in."""

    def import_outline(self, body: bytes) -> Imported:
        """Register the feeds of an OPML document; raises `DocumentError`."""

    def search(self, words: str, limit: int, *, owner: str | None = None) -> LookBack:
        """The newest stored items that a search-box query wants, and how many there are in all."""

    def why(self, item: int | str, feed: str) -> Clause:
        """Why an item is or is not in a feed, clause by clause; raises `CatalogError`."""

    def wanting(self, item: int | str, *, owner: str | None = None) -> Wanting:
        """Which feeds want a stored item: of all, or of those that concern an owner; raises `CatalogError`."""

    def wanting_document(
        self, body: bytes, *, source: str = "", media_type: str = "", owner: str | None = None
    ) -> Wanting:
        """Which feeds would want the items of a document; raises `DocumentError`."""

    def set_aside(self) -> Sequence[SetAside]:
        """The documents that were set aside, oldest first."""

    def plans(self, source: str) -> Sequence[ExplainedPlan]:
        """The plan in force of a source, or of every source without a name; raises `CatalogError`."""

    def health(self) -> Health:
        """Cheap: it is asked every few seconds."""

    def measures(self) -> Sequence[Measure]:
        """What is counted behind the door, in a fixed order."""
