"""What a process needs to run tasks: the stores of a data directory and the compiled sets it has opened."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from secrets import token_hex

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from feedweir.acquire.parse.parse_process import ParseProcess
from feedweir.acquire.parse.parser import ParsedBatch
from feedweir.errors import DamagedFileError
from feedweir.items.key_groups import ALL_GROUPS, GroupRange, groups_of
from feedweir.items.schema import DOCUMENT_SCHEMA
from feedweir.join.task_output import StreamLog
from feedweir.logs.batches import Assignment, Receipt, SourceReport, with_failures
from feedweir.logs.directory import DataDirectory
from feedweir.logs.landing import LandingLog, Piece
from feedweir.logs.store import Store
from feedweir.match import CompiledSet
from feedweir.match.index.filter_forest import Observed
from feedweir.match.matching.answer_parts import PAIRS_AT_ONCE
from feedweir.pipeline.batch_tasks import (
    JudgedParts,
    JudgeTask,
    MatchTask,
    Parsed,
    ParseTask,
    Task,
    WholeTask,
)
from feedweir.pipeline.element_runs import ElementWriter, JoinInputs, Written
from feedweir.pipeline.exchange import Exchange
from feedweir.pipeline.join_task import WitnessWriter
from feedweir.pipeline.observations import ObservationLog, costs_of, sample_of
from feedweir.pipeline.quarantine import Quarantine, Quarantined
from feedweir.pipeline.seen import PARTS, Seen, SeenLog, keys_of_sources, seen_in
from feedweir.pipeline.sets import open_installed
from feedweir.pipeline.stage import (
    find_new_items,
    in_order,
    reports_of_documents,
    reports_of_items,
    with_revisions,
)
from feedweir.pipeline.task_log import log_new, log_parsed

_log = logging.getLogger(__name__)

OPEN_SETS = 2
_TOLD_BY_ONE, _TOLD_BY_MANY = 128, 8
"""So many sources are reported in the manifest by a task that does everything, and by one of many."""
_OF_SEEN = ("seq", "source", "identity", "fingerprint", "revision")


class Worker:
    """Runs tasks over one data directory; keeps open what the next task will need."""

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
        self._exchange = Exchange(directory.exchange)
        self._streams = StreamLog(directory.witnesses)
        self._observations = ObservationLog(directory.observations)
        self._witnesser = WitnessWriter(directory)
        self._sets: OrderedDict[int, CompiledSet] = OrderedDict()

    def run(self, task: Task) -> Receipt | Parsed | JudgedParts:
        """Run a task. What it writes depends only on the task and on what was published before it, and bears a name of
        its own: whoever tries it again, or wakes up a day later, changes nothing that was written."""
        begun = time.perf_counter()
        done = self._done(task, replace(task.assignment, attempt=task.assignment.attempt or token_hex(4)))
        return replace(done, spent_s=time.perf_counter() - begun)

    def _done(self, task: Task, assignment: Assignment) -> Receipt | Parsed | JudgedParts:
        match task:
            case WholeTask():
                return self._whole(assignment, task.groups)
            case ParseTask():
                return self._parse(assignment, task.pieces)
            case JudgeTask():
                return self._judge(assignment, task)
            case MatchTask():
                return self._match(assignment, task)

    def _whole(self, assignment: Assignment, groups: GroupRange) -> Receipt:
        pieces = [Piece(segment) for segment in self._landing.segments(assignment.after, assignment.upto)]
        documents, lost = self._landed(pieces)
        if groups != ALL_GROUPS:
            documents = _of_sources(documents, groups)
        parsed = self._parsed(documents)
        news = find_new_items(documents, parsed, self._seen.state(range(PARTS), assignment.after))
        log_parsed(assignment.upto, documents, parsed, news.items)
        # Writing mostly waits for the disk, so several files are written at the same time.
        with ThreadPoolExecutor(1) as writer:
            seen = writer.submit(self._seen.write, assignment.name, news.sightings)
            receipt = self._stored(assignment, news.items, news.sources)
        return replace(receipt, doubts=lost, seen_files=tuple(filter(None, [seen.result()])))

    def _parse(self, assignment: Assignment, pieces: Sequence[Piece]) -> Parsed:
        documents, lost = self._landed(pieces)
        parsed = self._parsed(documents)
        items = in_order(parsed.items)
        log_parsed(assignment.upto, documents, parsed)
        first, last = self._exchange.put_parsed(assignment.name, items)
        reports = reports_of_documents(documents, parsed)
        told, files = self._told(_of_kind(assignment, "parsed"), reports, _TOLD_BY_MANY)
        return Parsed(assignment.name, first, last, told, files, lost)

    def _judge(self, assignment: Assignment, task: JudgeTask) -> JudgedParts:
        seen = self._seen.state(task.parts, assignment.after)
        sightings = self._exchange.judge(assignment.name, seen, task.parsed)
        name = self._seen.write(_of_kind(assignment, "seen"), sightings)
        return JudgedParts(assignment.name, name)

    def _match(self, assignment: Assignment, task: MatchTask) -> Receipt:
        news = self._exchange.slice_of(task.first, task.end, task.parsed, task.news)
        items = with_revisions(news.items, news.revisions, np.ones(len(news.items), np.bool_))
        log_new(assignment.upto, items)
        return self._stored(assignment, items, reports_of_items(items, news.newcomers), _TOLD_BY_MANY)

    def _told(
        self, name: str, reports: dict[str, SourceReport], most: int
    ) -> tuple[dict[str, SourceReport], tuple[str, ...]]:
        """Reports for the manifest, or if they are more, the file that they were written to."""
        if len(reports) <= most:
            return reports, ()
        self._store.write_reports(f"{name}.parquet", reports)
        return {}, (f"{name}.parquet",)

    def _stored(
        self,
        assignment: Assignment,
        items: pa.RecordBatch,
        sources: dict[str, SourceReport],
        most_told: int = _TOLD_BY_ONE,
    ) -> Receipt:
        """Match items that are news, and write all that follows from them."""
        with ThreadPoolExecutor(1) as writer:
            stored = writer.submit(self._store.write_new_items, assignment, items)
            sample = sample_of(items.column("source"))
            compiled = self._set(assignment.version)
            found = self._matched(compiled, assignment, items, sample)
            refused = self._witnesser.write(assignment, items, found.inputs.seqs(items))
            reports = with_failures(sources, refused)
            told = writer.submit(self._told, assignment.name, reports, most_told)
            self._observations.write(assignment, items, found.observed)
            self._observations.write_costs(assignment, costs_of(compiled, items))
            stored.result()
            return _receipt(assignment, items, *told.result(), found)

    def _landed(self, pieces: Sequence[Piece]) -> tuple[pa.RecordBatch, tuple[str, ...]]:
        """The documents of a task, in landing order, and the segments that were skipped because they are missing or
        damaged."""
        tables, lost = self._landing.read_pieces(pieces)
        table = pa.concat_tables([DOCUMENT_SCHEMA.empty_table(), *tables]).combine_chunks()
        batches = table.to_batches()
        return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=DOCUMENT_SCHEMA), lost

    def _parsed(self, documents: pa.RecordBatch) -> ParsedBatch:
        """The items of documents. Those that are quarantined, now or in an earlier attempt, are failures."""
        aside = self._quarantine.among(documents)
        parsed = self._parser.parse(_without(documents, aside))
        for stopped in parsed.stopped:
            aside.append(self._quarantine.put(stopped))
            _log.error("%s", aside[-1].message)
        failures = tuple((one.number, one.source, one.failure) for one in aside)
        return replace(parsed.batch, failures=parsed.batch.failures + failures)

    def _matched(
        self, compiled: CompiledSet, assignment: Assignment, items: pa.RecordBatch, sample: NDArray[np.uint8]
    ) -> _Found:
        """Match items and write their elements, part by part."""
        writer = ElementWriter(self._store, self._streams, assignment, items, self._pairs_at_once)
        inputs = JoinInputs(self._witnesser.streams(assignment.version), len(items))
        observed: list[Observed] = []
        failures: dict[int, str] = {}
        for part in compiled.match_in_parts(items, is_sampled=sample, limit=self._pairs_at_once):
            writer.add(part)
            inputs.note(part)
            observed += part.observed
            failures |= dict(part.failures)
        return _Found(writer.finish(), inputs, observed, failures)

    def _set(self, version: int) -> CompiledSet:
        if version not in self._sets:
            self._sets[version] = open_installed(self._directory.sets, version)
        self._sets.move_to_end(version)
        while len(self._sets) > OPEN_SETS:
            self._sets.popitem(last=False)
        return self._sets[version]


def seen_log(directory: DataDirectory, store: Store) -> SeenLog:
    """The record of seen items, which falls back to the item log."""

    def named() -> Iterator[str]:
        return (name for manifest in store.manifests() for name in manifest.seen_files)

    def from_items(parts: Sequence[int], batch: int) -> dict[int, Seen]:
        earlier = [manifest for manifest in store.manifests() if manifest.upto <= batch]
        if any(manifest.items_removed for manifest in earlier):
            raise DamagedFileError(
                directory.seen, "the items that it could be rebuilt from have been deleted"
            )
        return seen_in(store.item_table(earlier, _OF_SEEN), parts)

    return SeenLog(directory.seen, named, from_items)


@dataclass(frozen=True, slots=True)
class _Found:
    """The results of matching besides the elements that were written."""

    written: Written
    inputs: JoinInputs
    observed: list[Observed]
    failures: dict[int, str]


def _receipt(
    assignment: Assignment,
    items: pa.RecordBatch,
    sources: dict[str, SourceReport],
    source_files: tuple[str, ...],
    found: _Found,
) -> Receipt:
    return Receipt(
        items_file=f"{assignment.name}.parquet",
        element_files=found.written.files,
        item_count=items.num_rows,
        element_count=found.written.count,
        sources=sources,
        source_files=source_files,
        held_count=found.written.held,
        feed_failures={str(feed): why for feed, why in found.failures.items()},
    )


def _of_kind(assignment: Assignment, kind: str) -> str:
    """A name that begins with the batch, like all names, and cannot be that of a task which matches."""
    return assignment.name.replace("-", f"-{kind}-", 1)


def _of_sources(documents: pa.RecordBatch, groups: GroupRange) -> pa.RecordBatch:
    """The documents of the sources in these key groups."""
    named = documents.column("source").dictionary_encode()
    own = groups_of(keys_of_sources(named.dictionary.to_pylist()).high)
    is_own = (groups.first <= own) & (own < groups.end)
    return documents.filter(pa.array(is_own[named.indices.to_numpy()]))


def _without(documents: pa.RecordBatch, aside: Sequence[Quarantined]) -> pa.RecordBatch:
    if not aside:
        return documents
    numbers = pa.array([one.number for one in aside], pa.int64())
    return documents.filter(pc.invert(pc.is_in(documents.column("number"), numbers)))
