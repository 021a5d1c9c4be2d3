"""The installation as the HTTP door wants it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from feedweir.acquire.opml import Imported
from feedweir.deliver.view import EntryView, FeedKind, FeedSummary, FeedView
from feedweir.engine.quarantine import SetAside
from feedweir.engine.wanting import Wanting
from feedweir.engine.why import Clause
from feedweir.keeper.outlines import export_opml, import_opml
from feedweir.keeper.service import Progress, Service
from feedweir.keeper.weir import Weir
from feedweir.match.history import LookBack
from feedweir.optimize.explain import ExplainedPlan
from feedweir.web.library import Health, Measure, Outcome, Sample


class LocalLibrary:
    """Answers the door from this process's installation."""

    def __init__(self, weir: Weir, service: Service) -> None:
        self._weir = weir
        self._service = service

    def feeds(
        self,
        *,
        kind: FeedKind | None = None,
        after: str = "",
        limit: int | None = None,
        owner: str | None = None,
    ) -> Sequence[FeedSummary]:
        return self._weir.shelves.feeds(kind=kind, after=after, limit=limit, owner=owner)

    def count(self, kind: FeedKind) -> int:
        return self._weir.shelves.count(kind)

    def feed(self, name: str, limit: int) -> FeedView | None:
        return self._weir.shelves.feed(name, limit)

    def item(self, seq: int) -> EntryView | None:
        return self._weir.shelves.item(seq)

    def near_names(self, name: str) -> Sequence[str]:
        return self._weir.shelves.near_names(name)

    def execute(self, text: str, *, owner: str = "") -> Sequence[Outcome]:
        return [
            Outcome(
                message=done.message, name=done.name, rows=tuple(map(_plain, done.rows)), advice=done.advice
            )
            for done in self._weir.execute(text, owner=owner)
        ]

    def outline(self) -> bytes:
        return export_opml(self._weir, is_public=True)

    def import_outline(self, body: bytes) -> Imported:
        return import_opml(self._weir, body)

    def search(self, words: str, limit: int, *, owner: str | None = None) -> LookBack:
        return self._weir.search(words, limit, owner=owner)

    def why(self, item: int | str, feed: str) -> Clause:
        return self._weir.why(item, feed)

    def wanting(self, item: int | str, *, owner: str | None = None) -> Wanting:
        return self._weir.wanting(item, owner=owner)

    def wanting_document(
        self, body: bytes, *, source: str = "", media_type: str = "", owner: str | None = None
    ) -> Wanting:
        return self._weir.wanting_document(body, source=source, media_type=media_type, owner=owner)

    def set_aside(self) -> Sequence[SetAside]:
        return self._weir.quarantine.waiting()

    def plans(self, source: str) -> Sequence[ExplainedPlan]:
        return self._weir.explain_plan(source)

    def health(self) -> Health:
        progress, verdict = self._service.progress(), self._service.verdict()
        return Health(
            is_healthy=verdict.is_healthy,
            is_ready=verdict.is_ready,
            reasons=verdict.sentences(),
            facts=(
                ("landed", progress.landed),
                ("published", progress.published),
                ("batches", progress.batches),
                ("restarts", progress.restarts),
                ("set_aside", len(self._weir.quarantine.waiting())),
            ),
        )

    def measures(self) -> Sequence[Measure]:
        progress = self._service.progress()
        still, aside = self._standing_still(), self._set_aside()
        return [*_counters(progress), *_gauges(progress), still, aside, self._outbox()]

    def _standing_still(self) -> Measure:
        count = len(self._service.verdict().troubles)
        return _measure("feedweir_standing_still", "Kinds of work that do not move.", "gauge", count)

    def _set_aside(self) -> Measure:
        count = len(self._weir.quarantine.waiting())
        return _measure("feedweir_documents_set_aside", "Documents that wait for a person.", "gauge", count)

    def _outbox(self) -> Measure:
        counts = sorted(self._weir.catalog.outbox.counts().items())
        samples = tuple(Sample(count, (("state", state),)) for state, count in counts)
        return Measure(
            name="feedweir_outbox_entries", help="Deliveries by state.", kind="gauge", samples=samples
        )


def _plain(row: dict[str, Any]) -> dict[str, object]:
    """A row whose values JSON knows: times are written out."""
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in row.items()}


def _counters(progress: Progress) -> list[Measure]:
    values = {
        "batches": (progress.batches, "Batches published since the start."),
        "items": (progress.items, "New items and revisions since the start."),
        "elements": (progress.elements, "Pairs of a feed and an item since the start."),
        "pipeline_restarts": (progress.restarts, "Times the pipeline had to be started again."),
    }
    return [
        _measure(f"feedweir_{name}_total", text, "counter", value) for name, (value, text) in values.items()
    ]


def _gauges(progress: Progress) -> list[Measure]:
    waiting = progress.landed - progress.published
    return [
        _measure("feedweir_segments_waiting", "Landed and not yet published.", "gauge", waiting),
        _measure("feedweir_pipeline_running", "1 while the pipeline runs.", "gauge", progress.is_running),
    ]


def _measure(name: str, text: str, kind: str, value: float) -> Measure:
    return Measure(name=name, help=text, kind=kind, samples=(Sample(value),))  # type: ignore[arg-type]
