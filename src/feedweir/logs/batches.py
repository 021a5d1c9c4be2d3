"""The values of a batch: the assignments of its tasks, their receipts, and the published manifest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Assignment:
    """One task of a batch, which has the documents of segments `after < segment <= upto`."""

    after: int
    upto: int
    """Also the name of the batch: the last segment that it reads."""
    version: int
    """Of the compiled set that the batch is matched against."""
    task: int = 0
    attempt: str = ""
    """Told apart by it, two attempts never write the same file; a worker that is given none makes one up."""

    @property
    def name(self) -> str:
        """How all that the attempt writes is called."""
        return "-".join(filter(None, (f"{self.upto:012d}", f"{self.task:03d}", self.attempt)))


MAX_PUBLISHED = 32
"""The most publication times in the report of a source."""


@dataclass(frozen=True, slots=True)
class SourceReport:
    """What a batch learned about a source."""

    documents: int = 0
    sightings: int = 0
    items: int = 0
    revisions: int = 0
    failure: str = ""
    """The reason why its last document could not be read; empty when it could."""
    description: dict[str, Any] | None = None
    """What its last readable document says about the feed."""
    arrived: str = ""
    """When its last document was landed, in ISO format."""
    published: list[int] = field(default_factory=list)
    """When its newest new items say that they were published, in seconds since 1970, oldest first."""
    is_new: bool = False
    """Whether no item of it was seen before the batch."""

    def and_later(self, later: SourceReport) -> SourceReport:
        """With what another task of the batch learned, from documents that landed later or from their items."""
        return SourceReport(
            self.documents + later.documents,
            self.sightings + later.sightings,
            self.items + later.items,
            self.revisions + later.revisions,
            later.failure or self.failure,
            later.description or self.description,
            later.arrived or self.arrived,
            sorted([*self.published, *later.published])[-MAX_PUBLISHED:],
            self.is_new or later.is_new,
        )


@dataclass(frozen=True, slots=True)
class Phase:
    """What one round of a batch's tasks took."""

    name: str
    """`whole`, or `parse`, `judge` and `match`; `join`."""
    seconds: float
    """From the first task's beginning to the last one's end."""
    tasks: int
    spent_s: float
    """In all tasks together."""
    slowest_s: float

    @property
    def skew(self) -> float:
        """How many times as long as the average the slowest task took."""
        return self.slowest_s * self.tasks / self.spent_s if self.spent_s else 1.0


def phase_of(name: str, seconds: float, spent: Sequence[float]) -> Phase:
    """A round whose tasks took so long each."""
    return Phase(name, round(seconds, 4), len(spent), round(sum(spent), 4), round(max(spent, default=0.0), 4))


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a task wrote and learned."""

    items_file: str
    element_files: tuple[str, ...]
    item_count: int
    element_count: int
    sources: dict[str, SourceReport]
    held_count: int = 0
    """The most pairs of a feed and an item that it had in memory at a time."""
    feed_failures: dict[str, str] = field(default_factory=dict)
    """By feed id, why it could not be evaluated for some item."""
    doubts: tuple[str, ...] = ()
    """What the task did without, because it was missing or damaged."""
    seen_files: tuple[str, ...] = ()
    """The files with what was added to the record of seen items, if anything."""
    source_files: tuple[str, ...] = ()
    """What was learned of sources, where `sources` would be long."""
    spent_s: float = 0.0

    @property
    def name(self) -> str:
        """How all that its attempt wrote is called."""
        return self.items_file.removesuffix(".parquet")


@dataclass(frozen=True, slots=True)
class Manifest:
    """A published batch, or several that were compacted into one: the segments it covers and its files."""

    after: int
    upto: int
    version: int
    item_files: tuple[str, ...]
    element_files: tuple[str, ...]
    item_count: int
    element_count: int
    sources: dict[str, SourceReport] = field(default_factory=dict)
    batches: int = 1
    """How many batches it was compacted from."""
    annotation_files: tuple[str, ...] = ()
    made_files: tuple[str, ...] = ()
    feed_failures: dict[str, str] = field(default_factory=dict)
    """By feed id, why it could not be evaluated for some item, or not be joined."""
    doubts: tuple[str, ...] = ()
    """What the batch did without, because it was missing or damaged: landing segments, the history of joins."""
    seen_files: tuple[str, ...] = ()
    """What its tasks added to the record of seen items."""
    states: tuple[str, ...] = ()
    """What its joins left for the next batch, below `joins/`."""
    tasks: int = 1
    """Into how many tasks it was to be divided."""
    attempts: tuple[str, ...] = ()
    """What the attempts of its tasks that count are called."""
    epoch: int = 0
    """Of the process that published it (`pipeline/charge.py`)."""
    versions: tuple[tuple[int, int], ...] = ()
    """Of batches that were compacted: the last segment up to which each version of the set was in force, and it."""
    items_removed: int = 0
    """How many of its items have been deleted (`pipeline/retention.py`)."""
    elements_removed: int = 0
    source_files: tuple[str, ...] = ()
    """What its tasks learned of sources besides `sources` (`logs/source_reports.py`)."""
    landed_bytes: int = 0
    """Of its documents, as they landed."""

    @property
    def is_emptied(self) -> tuple[bool, bool]:
        """Whether its items, and whether its elements, have been deleted."""
        return self.items_removed > 0, self.elements_removed > 0

    @property
    def steps(self) -> tuple[tuple[int, int], ...]:
        """The segments up to which each version of the set was in force, and the version."""
        return self.versions or ((self.upto, self.version),)

    def to_json(self) -> dict[str, Any]:
        return _with_plain_sources(self)

    @staticmethod
    def from_json(value: dict[str, Any]) -> Manifest:
        files: dict[str, Any] = {name: tuple(value.get(name, ())) for name in _LISTS}
        files["versions"] = tuple((upto, version) for upto, version in value.get("versions", ()))
        return Manifest(**{**value, **files, "sources": _sources_of(value)})


_LISTS = (
    "item_files",
    "element_files",
    "annotation_files",
    "made_files",
    "seen_files",
    "states",
    "doubts",
    "attempts",
    "source_files",
)
"""The fields of a manifest that are tuples of texts, which JSON knows as lists."""


def _with_plain_sources(value: Manifest) -> dict[str, Any]:
    """The fields of a value. Unlike `asdict`, this does not copy the reports of a thousand sources."""
    plain = _plain(value)
    plain["sources"] = {name: _plain(report) for name, report in value.sources.items()}
    return plain


def _plain(value: Manifest | SourceReport) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__slots__}


def _sources_of(value: dict[str, Any]) -> dict[str, SourceReport]:
    return {name: SourceReport(**report) for name, report in value["sources"].items()}


def with_failures(reports: dict[str, SourceReport], failures: Mapping[str, str]) -> dict[str, SourceReport]:
    """Reports with failures for sources that had none."""
    found = dict(reports)
    for name, reason in failures.items():
        known = found.get(name, SourceReport())
        found[name] = replace(known, failure=known.failure or reason)
    return found


def reports_of(each: Iterable[Mapping[str, SourceReport]]) -> dict[str, SourceReport]:
    """What tasks learned of sources, in the order of their documents, together."""
    found: dict[str, SourceReport] = {}
    for reports in each:
        for name, report in reports.items():
            found[name] = found[name].and_later(report) if name in found else report
    return found


def manifest_of(assignment: Assignment, receipts: Iterable[Receipt], tasks: int = 0) -> Manifest:
    """The manifest of a batch, from the receipts of its tasks in any order; `tasks` is into how many it was to be
    divided, if that is not how many receipts there are."""
    receipts = sorted(receipts, key=lambda receipt: receipt.items_file)
    sources = reports_of(receipt.sources for receipt in receipts)
    return Manifest(
        after=assignment.after,
        upto=assignment.upto,
        version=assignment.version,
        item_files=tuple(receipt.items_file for receipt in receipts if receipt.item_count),
        element_files=tuple(name for receipt in receipts for name in receipt.element_files),
        item_count=sum(receipt.item_count for receipt in receipts),
        element_count=sum(receipt.element_count for receipt in receipts),
        sources=dict(sorted(sources.items())),
        feed_failures={feed: why for receipt in receipts for feed, why in receipt.feed_failures.items()},
        doubts=tuple(sorted({doubt for receipt in receipts for doubt in receipt.doubts})),
        seen_files=tuple(name for receipt in receipts for name in receipt.seen_files),
        source_files=tuple(name for receipt in receipts for name in receipt.source_files),
        tasks=max(1, tasks or len(receipts)),
        attempts=tuple(receipt.name for receipt in receipts),
    )
