"""What a process needs to run tasks: the stores of a data directory and the compiled sets it has opened."""

from __future__ import annotations

from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pyarrow as pa

from feedweir.acquire.landing import LandingLog
from feedweir.engine.batches import Assignment, Receipt, part_of
from feedweir.engine.directory import DataDirectory
from feedweir.engine.join_worker import Witnesser
from feedweir.engine.observations import ObservationLog, costs_of, sample_of
from feedweir.engine.seen import SeenLog
from feedweir.engine.sets import open_installed
from feedweir.engine.stage import elements_of, find_news
from feedweir.engine.store import Store
from feedweir.items.schema import DOCUMENT_SCHEMA
from feedweir.match import CompiledSet
from feedweir.match.parts import joined

OPEN_SETS = 2
_WRITERS = 2


class Worker:
    """Runs tasks over one data directory; keeps open what the next task will want again."""

    def __init__(self, directory: DataDirectory) -> None:
        self._directory = directory
        self._landing = LandingLog(directory.landing)
        self._seen = SeenLog(directory.seen)
        self._store = Store(directory.root)
        self._observations = ObservationLog(directory.observations)
        self._witnesser = Witnesser(directory)
        self._sets: OrderedDict[int, CompiledSet] = OrderedDict()

    def documents(self, assignment: Assignment) -> pa.RecordBatch:
        """The documents of a task, in landing order."""
        parts = frozenset(assignment.parts)
        tables = [
            _of_parts(self._landing.read(segment), parts)
            for segment in self._landing.segments(assignment.after, assignment.upto)
        ]
        table = pa.concat_tables([DOCUMENT_SCHEMA.empty_table(), *tables]).combine_chunks()
        batches = table.to_batches()
        return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=DOCUMENT_SCHEMA)

    def is_published(self, assignment: Assignment) -> bool:
        """Whether the batch of a task exists already."""
        return self._store.published(assignment.upto) is not None

    def run(self, assignment: Assignment) -> Receipt:
        """Do a task: what it writes depends on nothing but the assignment and what was published before it."""
        documents = self.documents(assignment)
        news = find_news(documents, self._seen.state(assignment.parts, assignment.after))
        # Most of the time that writing takes is waiting for the disk, which is better done by several at once.
        with ThreadPoolExecutor(_WRITERS) as writers:
            writing = [
                writers.submit(self._store.write_news, assignment, news),
                writers.submit(self._seen.write, assignment.upto, assignment.parts[0], news.sightings),
            ]
            sample = sample_of(news.items.column("source"))
            compiled = self._set(assignment.version)
            matches = joined(compiled.match_in_parts(news.items, is_sampled=sample))
            elements = elements_of(news.items, matches)
            refused = self._witnesser.write(assignment, news.items, elements)
            receipt = self._store.write_task(assignment, news, elements).with_failures(refused)
            receipt = replace(receipt, feed_failures={str(feed): why for feed, why in matches.failures})
            self._observations.write(assignment, news.items, matches.observed)
            self._observations.write_costs(assignment, costs_of(compiled, news.items))
            for each in writing:
                each.result()
        return receipt

    def _set(self, version: int) -> CompiledSet:
        if version not in self._sets:
            self._sets[version] = open_installed(self._directory.sets, version)
        self._sets.move_to_end(version)
        while len(self._sets) > OPEN_SETS:
            self._sets.popitem(last=False)
        return self._sets[version]


def _of_parts(documents: pa.Table, parts: frozenset[int]) -> pa.Table:
    is_ours = [part_of(source) in parts for source in documents.column("source").to_pylist()]
    return documents.filter(pa.array(is_ours, pa.bool_()))
