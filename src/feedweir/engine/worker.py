"""What a process needs to run tasks: the stores of a data directory and the compiled sets it has opened."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from feedweir.acquire.landing import LandingLog
from feedweir.acquire.parse import ParsedBatch
from feedweir.acquire.parse_process import ParseProcess
from feedweir.engine.batches import Assignment, Receipt, part_of
from feedweir.engine.directory import DataDirectory
from feedweir.engine.join_worker import Witnesser
from feedweir.engine.observations import ObservationLog, costs_of, sample_of
from feedweir.engine.quarantine import Quarantine, SetAside
from feedweir.engine.runs import ElementWriter, Wanted, Written
from feedweir.engine.seen import Seen, SeenLog, seen_in
from feedweir.engine.sets import open_installed
from feedweir.engine.stage import News, find_news
from feedweir.engine.store import Store, task_name
from feedweir.engine.streams import StreamLog
from feedweir.errors import LandingError
from feedweir.items.schema import DOCUMENT_SCHEMA
from feedweir.match import CompiledSet
from feedweir.match.factored import Observed
from feedweir.match.parts import PAIRS_AT_ONCE

_log = logging.getLogger(__name__)

OPEN_SETS = 2
_WRITERS = 2
_OF_SEEN = ("seq", "source", "identity", "fingerprint", "revision")


class Worker:
    """Runs tasks over one data directory; keeps open what the next task will want again."""

    def __init__(
        self, directory: DataDirectory, parser: ParseProcess, *, pairs_at_once: int = PAIRS_AT_ONCE
    ) -> None:
        self._directory = directory
        self._parser = parser
        self._quarantine = Quarantine(directory.quarantine)
        self._pairs_at_once = pairs_at_once
        self._landing = LandingLog(directory.landing)
        self._store = Store(directory.root)
        self._seen = seen_log(directory, self._store)
        self._streams = StreamLog(directory.witnesses)
        self._observations = ObservationLog(directory.observations)
        self._witnesser = Witnesser(directory)
        self._sets: OrderedDict[int, CompiledSet] = OrderedDict()

    def documents(self, assignment: Assignment) -> pa.RecordBatch:
        """The documents of a task, in landing order."""
        return self._landed(assignment)[0]

    def _landed(self, assignment: Assignment) -> tuple[pa.RecordBatch, tuple[str, ...]]:
        """The documents of a task, and which segments are missing or damaged: the others are read all the same."""
        parts = frozenset(assignment.parts)
        tables: list[pa.Table] = []
        lost: list[str] = []
        for segment in self._landing.segments(assignment.after, assignment.upto):
            try:
                tables.append(_of_parts(self._landing.read(segment), parts))
            except LandingError as error:
                _log.error("a landing segment is passed over: %s", error)
                lost.append(f"landing/{self._landing.path(segment).name}")
        table = pa.concat_tables([DOCUMENT_SCHEMA.empty_table(), *tables]).combine_chunks()
        batches = table.to_batches()
        documents = batches[0] if batches else pa.RecordBatch.from_pylist([], schema=DOCUMENT_SCHEMA)
        return documents, tuple(lost)

    def is_published(self, assignment: Assignment) -> bool:
        """Whether the batch of a task exists already."""
        return self._store.published(assignment.upto) is not None

    def run(self, assignment: Assignment) -> Receipt:
        """Do a task: what it writes depends on nothing but the assignment and what was published before it."""
        documents, lost = self._landed(assignment)
        parsed = self._parsed(documents)
        news = find_news(documents, parsed, self._seen.state(assignment.parts, assignment.after))
        # Most of the time that writing takes is waiting for the disk, which is better done by several at once.
        with ThreadPoolExecutor(_WRITERS) as writers:
            stored = writers.submit(self._store.write_news, assignment, news)
            seen = writers.submit(self._seen.write, assignment.upto, assignment.parts[0], news.sightings)
            sample = sample_of(news.items.column("source"))
            compiled = self._set(assignment.version)
            found = self._matched(compiled, assignment, news.items, sample)
            refused = self._witnesser.write(assignment, news.items, found.wanted.seqs(news.items))
            receipt = _receipt(assignment, news, found).with_failures(refused)
            self._observations.write(assignment, news.items, found.observed)
            self._observations.write_costs(assignment, costs_of(compiled, news.items))
            stored.result()
        return replace(receipt, doubts=lost, seen_file=seen.result() or "")

    def _parsed(self, documents: pa.RecordBatch) -> ParsedBatch:
        """What documents say but those that are set aside, now or in an earlier attempt: they are failures."""
        aside = self._quarantine.among(documents)
        parsed = self._parser.parse(_without(documents, aside))
        for stopped in parsed.stopped:
            aside.append(self._quarantine.put(stopped))
            _log.error("%s", aside[-1].told)
        failures = tuple((one.number, one.source, one.failure) for one in aside)
        return replace(parsed.batch, failures=parsed.batch.failures + failures)

    def _matched(
        self, compiled: CompiledSet, assignment: Assignment, items: pa.RecordBatch, sample: NDArray[np.uint8]
    ) -> _Found:
        """Match items and write their elements, part by part."""
        writer = ElementWriter(self._store, self._streams, assignment, items, self._pairs_at_once)
        wanted = Wanted(self._witnesser.streams(assignment.version), len(items))
        observed: list[Observed] = []
        failures: dict[int, str] = {}
        for part in compiled.match_in_parts(items, is_sampled=sample, limit=self._pairs_at_once):
            writer.add(part)
            wanted.note(part)
            observed += part.observed
            failures |= dict(part.failures)
        return _Found(writer.finish(), wanted, observed, failures)

    def _set(self, version: int) -> CompiledSet:
        if version not in self._sets:
            self._sets[version] = open_installed(self._directory.sets, version)
        self._sets.move_to_end(version)
        while len(self._sets) > OPEN_SETS:
            self._sets.popitem(last=False)
        return self._sets[version]


def seen_log(directory: DataDirectory, store: Store) -> SeenLog:
    """What was seen, with the item log to fall back upon."""

    def named() -> Iterator[str]:
        return (name for manifest in store.manifests() for name in manifest.seen_files)

    def from_items(parts: Sequence[int], batch: int) -> dict[int, Seen]:
        earlier = [manifest for manifest in store.manifests() if manifest.upto <= batch]
        return seen_in(store.item_table(earlier, _OF_SEEN), parts)

    return SeenLog(directory.seen, named, from_items)


@dataclass(frozen=True, slots=True)
class _Found:
    """What matching found besides the elements that it wrote."""

    written: Written
    wanted: Wanted
    observed: list[Observed]
    failures: dict[int, str]


def _receipt(assignment: Assignment, news: News, found: _Found) -> Receipt:
    return Receipt(
        items_file=f"{task_name(assignment)}.parquet",
        element_files=found.written.files,
        item_count=news.items.num_rows,
        element_count=found.written.count,
        sources=news.sources,
        held_count=found.written.held,
        feed_failures={str(feed): why for feed, why in found.failures.items()},
    )


def _without(documents: pa.RecordBatch, aside: Sequence[SetAside]) -> pa.RecordBatch:
    if not aside:
        return documents
    numbers = pa.array([one.number for one in aside], pa.int64())
    return documents.filter(pc.invert(pc.is_in(documents.column("number"), numbers)))


def _of_parts(documents: pa.Table, parts: frozenset[int]) -> pa.Table:
    is_ours = [part_of(source) in parts for source in documents.column("source").to_pylist()]
    return documents.filter(pa.array(is_ours, pa.bool_()))
