"""What the HTTP server needs of the installation behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from feedweir.acquire.opml import Imported
from feedweir.ask.outcome import Outcome
from feedweir.ask.questions import Questions
from feedweir.deliver.feed_views import FeedViews
from feedweir.logs.landing import Landed
from feedweir.pipeline.quarantine import Quarantined


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """Whether the process works; `facts` are shown to the operator as they are."""

    is_healthy: bool
    is_ready: bool
    """Whether feeds can be served and statements carried out."""
    reasons: tuple[str, ...] = ()
    """What has stalled, in sentences."""
    facts: tuple[tuple[str, str | int | float | bool], ...] = ()


@dataclass(frozen=True, slots=True)
class Sample:
    """One value of a metric, with its labels."""

    value: float
    labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A counter or gauge for Prometheus; every sample has the same label names."""

    name: str
    help: str
    kind: Literal["counter", "gauge"]
    samples: tuple[Sample, ...]


class Backend(Protocol):
    """Called from many threads at once; every method may block, but none may block the others."""

    @property
    def ask(self) -> Questions:
        """Questions about what is stored."""

    @property
    def feed_views(self) -> FeedViews:
        """Feeds and items as readers see them."""

    def execute(self, text: str, *, owner: str = "") -> Sequence[Outcome]:
        """Carry out statements, all or none, for this owner. Raises `LanguageError` and `CatalogError`."""

    def outline(self) -> bytes:
        """All sources as OPML, in the outline from which they were imported."""

    def import_outline(self, body: bytes) -> Imported:
        """Register the feeds of an OPML document; raises `DocumentError`."""

    def quarantined(self) -> Sequence[Quarantined]:
        """Quarantined documents, oldest first."""

    def quarantined_document(self, number: int) -> Landed:
        """One of them, as it was received; raises `LandingError` where there is none, as the next two do."""

    def retry_quarantined(self, number: int) -> int:
        """Land it again; returns its new landing segment."""

    def drop_quarantined(self, number: int) -> None:
        """Remove it from the list."""

    def health(self) -> Health:
        """Called every few seconds, so it must be cheap."""

    def measures(self) -> Sequence[Measure]:
        """Metrics of the installation, in a fixed order."""
