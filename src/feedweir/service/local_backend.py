"""This process's installation, as the HTTP server needs it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from feedweir.acquire.opml import Imported
from feedweir.ask.outcome import Outcome
from feedweir.logs.backlog_meter import BacklogMeter
from feedweir.logs.flow import flow_of, state_bytes
from feedweir.logs.landing import Landed
from feedweir.pipeline.quarantine import Quarantined
from feedweir.service.daemon import Daemon, Progress
from feedweir.service.installation import Weir
from feedweir.service.opml_import import export_opml, import_opml
from feedweir.web.backend import Health, Measure, Sample


class LocalBackend:
    """Serves requests from this process's installation."""

    def __init__(self, weir: Weir, service: Daemon, meter: BacklogMeter | None = None) -> None:
        self._weir = weir
        self._service = service
        self._meter = meter or BacklogMeter(weir.log, weir.store, weir.clock, most_bytes=0)
        self.ask = weir.ask
        self.feed_views = weir.feed_views

    def execute(self, text: str, *, owner: str = "") -> Sequence[Outcome]:
        return self._weir.execute(text, owner=owner)

    def outline(self) -> bytes:
        return export_opml(self._weir, is_public=True)

    def import_outline(self, body: bytes) -> Imported:
        return import_opml(self._weir, body)

    def quarantined(self) -> Sequence[Quarantined]:
        return self._weir.quarantine.waiting()

    def quarantined_document(self, number: int) -> Landed:
        return self._weir.quarantined(number)

    def retry_quarantined(self, number: int) -> int:
        return self._weir.retry_quarantined(number)

    def drop_quarantined(self, number: int) -> None:
        self._weir.quarantine.settle(number, "dropped")

    def health(self) -> Health:
        progress, verdict = self._service.progress(), self._service.verdict()
        return Health(
            is_healthy=verdict.is_healthy,
            is_ready=verdict.is_ready,
            reasons=verdict.reasons(),
            facts=(
                ("landed", progress.landed),
                ("published", progress.published),
                ("batches", progress.batches),
                ("restarts", progress.restarts),
                ("quarantined", len(self._weir.quarantine.waiting())),
            ),
        )

    def measures(self) -> Sequence[Measure]:
        progress = self._service.progress()
        own = (*self._backlog(), *self._flow(), self._stalled(), self._quarantined(), self._outbox())
        return [*_counters(progress), *_gauges(progress), *own]

    def _backlog(self) -> tuple[Measure, Measure]:
        waiting, share = self._meter.backlog().waiting_bytes, self._meter.pressure().fetch_share
        return (
            _measure("feedweir_bytes_waiting", "The same in bytes, compressed.", "gauge", waiting),
            _measure(
                "feedweir_fetch_share", "1 at full speed; less while many documents wait.", "gauge", share
            ),
        )

    def _flow(self) -> Iterator[Measure]:
        signs, now = self._service.signs(), self._weir.clock()
        flow = flow_of(self._weir.directory, self._weir.log, self._weir.store, signs.waiting_since, now)
        yield _measure(
            "feedweir_documents_waiting", "The same in documents.", "gauge", flow.documents_waiting
        )
        text = "How long the oldest document that waits has done so."
        yield _measure("feedweir_seconds_behind", text, "gauge", flow.behind_s)
        for name, text in _OF_PHASES.items():
            samples = tuple(Sample(getattr(one, name), (("phase", one.name),)) for one in flow.phases)
            about = f"{text} of the last batch, by phase."
            yield Measure(name=f"feedweir_batch_{name}", help=about, kind="gauge", samples=samples)
        sizes = {"read": flow.last.landed_bytes if flow.last else 0, "written": flow.written_bytes}
        yield _by_label("feedweir_batch_bytes", "Of the last batch.", "direction", sizes)
        yield _by_label("feedweir_kept_bytes", "What is kept.", "kind", state_bytes(self._weir.directory))

    def _stalled(self) -> Measure:
        count = len(self._service.verdict().troubles)
        return _measure("feedweir_stalled", "Kinds of work that have stalled.", "gauge", count)

    def _quarantined(self) -> Measure:
        count = len(self._weir.quarantine.waiting())
        return _measure(
            "feedweir_quarantined_documents", "Quarantined documents that await a decision.", "gauge", count
        )

    def _outbox(self) -> Measure:
        counts = sorted(self._weir.catalog.outbox.counts().items())
        samples = tuple(Sample(count, (("state", state),)) for state, count in counts)
        return Measure(
            name="feedweir_outbox_entries", help="Deliveries by state.", kind="gauge", samples=samples
        )


_OF_PHASES = {
    "seconds": "Time",
    "tasks": "Tasks",
    "skew": "The slowest task's time over the average",
}


def _by_label(name: str, text: str, label: str, values: Mapping[str, float]) -> Measure:
    samples = tuple(Sample(value, ((label, key),)) for key, value in values.items())
    return Measure(name=name, help=text, kind="gauge", samples=samples)


def _counters(progress: Progress) -> list[Measure]:
    values = {
        "batches": (progress.batches, "Batches published since the start."),
        "items": (progress.items, "New items and revisions since the start."),
        "elements": (progress.elements, "Pairs of a feed and an item since the start."),
        "pipeline_restarts": (progress.restarts, "Restarts of the pipeline after failures."),
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
