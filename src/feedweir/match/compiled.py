"""The compiled set: every query as one function from a batch of items to the pairs that match."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from feedweir.errors import CompiledSetError, WorkError
from feedweir.items.model import Item
from feedweir.items.schema import batch_of, items_of
from feedweir.match.arrays import Array, frozen
from feedweir.match.build import build_index
from feedweir.match.counters import Counters
from feedweir.match.explain import Explanation, Finder, explained
from feedweir.match.factored import SourceTree, trees_of_rows
from feedweir.match.facts import Texts, as_arguments, streams_of, texts_of, values_of_batch
from feedweir.match.finders import finders_of
from feedweir.match.formulas import Note, Progress
from feedweir.match.index import Index, load_index, save_index
from feedweir.match.matches import Matches
from feedweir.match.meaning import Reading, holds
from feedweir.match.overlay import NOTHING_BESIDE, Overlay, beside
from feedweir.match.pair_kernels import REMOVED
from feedweir.match.parts import NO_LIMIT, PAIRS_AT_ONCE, Finding, joined, parts_of
from feedweir.match.sealed import open_sealed, write_sealed
from feedweir.match.selectivity import Frequencies
from feedweir.match.store import (
    KeywordQueries,
    Queries,
    StoredQueries,
    TableQueries,
    table_of,
    whole_predicate,
    write_table,
)
from feedweir.match.ways import ByIndex, ByTrees, Way, nothing_counted
from feedweir.plan.query import Query

NOTES = "notes.json"
_OWNERS_KEPT = 64
NONE_SAMPLED = frozen(np.empty(0, np.uint8))


class CompiledSet(Protocol):
    """Queries ready to be asked about batches of items: one immutable version of them."""

    @property
    def notes(self) -> tuple[Note, ...]:
        """What the operator should know about some of the queries."""

    def __len__(self) -> int:
        """How many queries."""

    def match(self, items: pa.RecordBatch, *, owner: str | None = None) -> Matches:
        """Every pair of a row and a key whose query wants it; `owner` limits it to theirs and everyone's."""

    def match_in_parts(
        self,
        items: pa.RecordBatch,
        *,
        owner: str | None = None,
        is_sampled: Array = NONE_SAMPLED,
        counters: Counters | None = None,
        limit: int = PAIRS_AT_ONCE,
    ) -> Iterator[Matches]:
        """The pairs of `match` in the same order, in at least one part; what is in memory does not grow with them.

        Counted on the sampled rows (a byte for each row) is what the set was told to watch; `counters` are told what
        each query cost and brought. `limit` is how many pairs each way of finding them may hold at a time.
        """

    def explain(self, item: Item, key: int) -> Explanation:
        """Why the queries of that key did or did not match the item."""

    def query(self, key: int) -> Query | None:
        """The query of a key, the first when several share it."""


@dataclass(frozen=True, slots=True)
class Asking:
    """A batch that is asked about, its texts analysed, and how."""

    items: pa.RecordBatch
    texts: Texts
    is_sampled: Array
    counts_costs: bool
    limit: int


def compile_set(
    queries: Iterable[Query] | KeywordQueries | pa.Table,
    directory: Path,
    *,
    frequencies: Frequencies | None = None,
    progress: Progress | None = None,
    trees: Iterable[SourceTree] = (),
) -> None:
    """Compile queries into `directory`, which appears whole or not at all; `trees` find them for some sources."""

    def write(scratch: Path) -> dict[str, Any]:
        table = table_of(queries)
        index, notes = build_index(table, frequencies, progress, trees)
        write_table(scratch, table)
        text = json.dumps([[note.key, note.kind, note.text] for note in notes])
        (scratch / NOTES).write_text(text, encoding="utf-8")
        return {"queries": len(table), "index": save_index(scratch, index)}

    write_sealed(directory, write)


def open_compiled(directory: Path) -> IndexedSet:
    """The compiled set of a directory; `CompiledSetError` when it is damaged or of another format."""
    details = open_sealed(directory)
    try:
        notes = tuple(Note(*note) for note in json.loads((directory / NOTES).read_text(encoding="utf-8")))
        return IndexedSet(load_index(directory, details["index"]), StoredQueries(directory), notes)
    except (KeyError, TypeError, ValueError, OSError) as error:
        raise CompiledSetError(f"{directory.name} cannot be read: {error}") from error


def compiled_in_memory(
    table: pa.Table, frequencies: Frequencies | None = None, trees: Iterable[SourceTree] = ()
) -> IndexedSet:
    """A compiled set that lives in this process only."""
    index, notes = build_index(table, frequencies, trees=trees)
    return IndexedSet(index, TableQueries(table), tuple(notes))


@dataclass(frozen=True, slots=True)
class Member:
    """A set that is asked together with others."""

    compiled: IndexedSet
    keys: Array
    """Of its queries and of those laid over it; `REMOVED` for one that is not wanted."""
    overlay: Overlay | None = None
    translation: Array | None = None
    """From the words that have been looked up to its own, if they were looked up in another."""


def answered(members: Sequence[Member], asking: Asking, counters: Counters | None) -> Iterator[Matches]:
    """What several sets answer together."""
    asked = [member.compiled.findings(asking, member) for member in members]
    together = [finding for findings, _ in asked for finding in findings]
    for part in parts_of(together, asking.items.num_rows, asking.limit):
        if counters is not None:
            counters.add_hits(part, asking.items)
        yield part
    if counters is not None:
        for member, (_, costs) in zip(members, asked, strict=True):
            spent = np.flatnonzero((costs > 0) & (member.keys != REMOVED))
            counters.add_costs(member.keys[spent], costs[spent])


class IndexedSet:
    """A compiled set that is one index."""

    def __init__(self, index: Index, queries: Queries, notes: tuple[Note, ...] = ()) -> None:
        self.index = index
        self.notes = notes
        self._queries = queries
        self._has_index = bool((index.trie.roots >= 0).any())
        self._limited_to = lru_cache(maxsize=_OWNERS_KEPT)(self._compiled_for)

    def __len__(self) -> int:
        return len(self.index.keys)

    @property
    def fields(self) -> tuple[str, ...]:
        """The attributes whose words are looked at."""
        return self.index.scopes.fields

    def match(self, items: pa.RecordBatch, *, owner: str | None = None) -> Matches:
        return joined(self.match_in_parts(items, owner=owner, limit=NO_LIMIT))

    def match_in_parts(
        self,
        items: pa.RecordBatch,
        *,
        owner: str | None = None,
        is_sampled: Array = NONE_SAMPLED,
        counters: Counters | None = None,
        limit: int = PAIRS_AT_ONCE,
    ) -> Iterator[Matches]:
        found = self if owner is None else self.limited_to(owner)
        asking = Asking(items, texts_of(items, found.fields), is_sampled, counters is not None, limit)
        return answered([Member(found, found.index.keys)], asking, counters)

    def match_texts(self, items: pa.RecordBatch, texts: Texts) -> Matches:
        """As `match`, for a batch whose texts have been analysed."""
        asking = Asking(items, texts, NONE_SAMPLED, False, NO_LIMIT)
        return joined(answered([Member(self, self.index.keys)], asking, None))

    def limited_to(self, owner: str) -> IndexedSet:
        """Only what concerns an owner, compiled by itself and kept: the others' queries are not touched at all."""
        return self._limited_to(owner)

    def explain(self, item: Item, key: int) -> Explanation:
        return explained(self.finders_of(item, key), item)

    def finders_of(self, item: Item, key: int) -> list[tuple[Query, list[Finder]]]:
        """The queries of a key, with the atoms that each is found by."""
        batch = batch_of([item])
        return [(query, finders_of(self.index, number, batch)) for number, query in self.queries_of(key)]

    def query(self, key: int) -> Query | None:
        return next((query for _, query in self.queries_of(key)), None)

    def queries_of(self, key: int) -> list[tuple[int, Query]]:
        """The queries that report a key, with their numbers."""
        first, last = (int(np.searchsorted(self.index.keys, key, side=side)) for side in ("left", "right"))
        return [(number, self._queries.query(number)) for number in range(first, last)]

    def findings(self, asking: Asking, member: Member) -> tuple[list[Finding], Array]:
        """The ways to find queries, and what is to become of costs."""
        index, items, overlay = self.index, asking.items, member.overlay
        streams, values = as_arguments(
            streams_of(index, asking.texts, member.translation), values_of_batch(index, items)
        )
        costs = np.zeros(len(member.keys) if asking.counts_costs else 0, np.int64)
        ways: list[Way] = []
        if self._has_index or overlay is not None or not index.trees:
            found = beside(overlay, asking.texts, items) if overlay is not None else NOTHING_BESIDE
            ways.append(ByIndex(index, streams, values, found, costs))
        if index.trees:
            trees = trees_of_rows(index.trees, items.column("source"))
            counted = nothing_counted(index)
            ways.append(ByTrees(index, trees, streams, values, costs, asking.is_sampled, counted))
        tell = partial(self._told, items)
        return [Finding(way, member.keys, len(self), tell) for way in ways], costs

    def _told(
        self, items: pa.RecordBatch, rows: Array, queries: Array
    ) -> tuple[Array, Array, tuple[tuple[int, str], ...]]:
        """The pairs that hold, of those that only the plain meaning can decide; queries that fail are named."""
        pairs = np.unique(np.stack([rows, queries], axis=1), axis=0)
        readings: dict[int, Reading] = {}
        failures: dict[int, str] = {}
        held = np.zeros(len(pairs), bool)
        for number, (row, query) in enumerate(pairs.tolist()):
            if row not in readings:
                readings = {row: Reading(next(items_of(items.slice(row, 1))))}
            try:
                held[number] = holds(whole_predicate(self._queries.query(query)), readings[row].rested())
            except WorkError as error:
                failures[int(self.index.keys[query])] = f"item {readings[row].item.identity}: {error}"
            except Exception as error:  # whatever one query does, the others are answered
                failures[int(self.index.keys[query])] = f"{type(error).__name__}: {error}"
        kept = pairs[held].astype(np.int32)
        return kept[:, 0], kept[:, 1], tuple(sorted(failures.items()))

    def _compiled_for(self, owner: str) -> IndexedSet:
        return compiled_in_memory(table_of(self._queries.owned_by(owner)))
