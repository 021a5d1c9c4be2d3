"""The values that a batch is made of: what it is given, what each of its tasks hands back, what is published."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from zlib import crc32

PARTS = 16
"""Into how many parts sources are divided; all documents of a source go through one part, in order."""


def part_of(source: str) -> int:
    """The part that looks after a source: the same in every process, for ever."""
    return crc32(source.encode()) % PARTS


@dataclass(frozen=True, slots=True)
class Assignment:
    """One task of a batch: the documents of segments `after < segment <= upto` whose sources lie in `parts`."""

    after: int
    upto: int
    """Also the name of the batch: the last segment that it reads."""
    version: int
    """Of the compiled set that the batch is matched against."""
    parts: tuple[int, ...]


def assignments(after: int, upto: int, version: int, tasks: int) -> tuple[Assignment, ...]:
    """A batch cut into at most `tasks` tasks."""
    tasks = max(1, min(tasks, PARTS))
    return tuple(
        Assignment(after, upto, version, tuple(range(first, PARTS, tasks))) for first in range(tasks)
    )


@dataclass(frozen=True, slots=True)
class SourceReport:
    """What a batch learnt of a source."""

    documents: int = 0
    sightings: int = 0
    items: int = 0
    revisions: int = 0
    failure: str = ""
    """The reason why its last document could not be read; empty when it could."""
    description: dict[str, Any] | None = None
    """What its last readable document says of the feed."""
    arrived: str = ""
    """When its last document was landed, in ISO format."""
    published: list[int] = field(default_factory=list)
    """When its newest new items say that they were published, in seconds since 1970, oldest first."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a task wrote and learnt."""

    items_file: str
    element_files: tuple[str, ...]
    item_count: int
    element_count: int
    sources: dict[str, SourceReport]
    held_count: int = 0
    """The most pairs of a feed and an item that it had in memory at a time."""
    feed_failures: dict[str, str] = field(default_factory=dict)
    """By the feed's id why it could not be judged on some item."""
    doubts: tuple[str, ...] = ()
    """What the task did without, because it was missing or damaged."""
    seen_file: str = ""
    """What it added to the knowledge of what was seen, if anything."""

    def with_failures(self, failures: Mapping[str, str]) -> Receipt:
        """With reasons against sources that had none."""
        if not failures:
            return self
        sources = dict(self.sources)
        for name, reason in failures.items():
            sources[name] = replace(sources[name], failure=sources[name].failure or reason)
        return replace(self, sources=sources)

    def to_json(self) -> dict[str, Any]:
        return _with_plain_sources(self)

    @staticmethod
    def from_json(value: dict[str, Any]) -> Receipt:
        names = ("element_files", "doubts")
        lists = {name: tuple(value.get(name, ())) for name in names}
        return Receipt(**{**value, **lists, "sources": _sources_of(value)})


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
    """By the feed's id why it could not be judged on some item, or not be joined."""
    doubts: tuple[str, ...] = ()
    """What the batch did without, because it was missing or damaged: landing segments, the history of joins."""
    seen_files: tuple[str, ...] = ()
    """What its tasks added to the knowledge of what was seen."""
    states: tuple[str, ...] = ()
    """What its joins left for the next batch, below `joins/`."""
    tasks: int = 1
    """Into how many tasks it was cut."""
    versions: tuple[tuple[int, int], ...] = ()
    """Of batches that were compacted: the last segment up to which each version of the set was in force, and it."""

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


_LISTS = ("item_files", "element_files", "annotation_files", "made_files", "seen_files", "states", "doubts")
"""The fields of a manifest that are tuples of texts, which JSON knows as lists."""


def attempt_name(batch: Assignment | Manifest) -> str:
    """What is only of use until a batch is published is called by all that decides it: the same last segment may be
    tried from another first one, or against another set, when another engine goes on."""
    return f"{batch.upto:012d}-{batch.after}-{batch.version}"


def _with_plain_sources(value: Receipt | Manifest) -> dict[str, Any]:
    """The fields of a value. Not `asdict`, which copies all that the reports of a thousand sources hold."""
    plain = _plain(value)
    plain["sources"] = {name: _plain(report) for name, report in value.sources.items()}
    return plain


def _plain(value: Receipt | Manifest | SourceReport) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__slots__}


def _sources_of(value: dict[str, Any]) -> dict[str, SourceReport]:
    return {name: SourceReport(**report) for name, report in value["sources"].items()}


def manifest_of(assignment: Assignment, receipts: Iterable[Receipt]) -> Manifest:
    """What a batch published, from the receipts of its tasks, whatever order they came in."""
    receipts = sorted(receipts, key=lambda receipt: receipt.items_file)
    sources = {name: report for receipt in receipts for name, report in receipt.sources.items()}
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
        seen_files=tuple(receipt.seen_file for receipt in receipts if receipt.seen_file),
        tasks=max(1, len(receipts)),
    )
