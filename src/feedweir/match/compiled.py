"""The compiled set: every query as one function from a batch of items to the pairs that match."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from feedweir.errors import CompiledSetError
from feedweir.items.model import Item
from feedweir.items.schema import batch_of, items_of
from feedweir.match.arrays import Array, frozen
from feedweir.match.build import build_index
from feedweir.match.counters import Counters
from feedweir.match.explain import Explanation, Finder, explained
from feedweir.match.factored import Observed, SourceTree, observed_in, trees_of_rows
from feedweir.match.factored_kernels import run_forest
from feedweir.match.facts import Texts, as_arguments, streams_of, texts_of, values_of_batch
from feedweir.match.finders import finders_of
from feedweir.match.formulas import Note, Progress
from feedweir.match.index import Index, load_index, save_index
from feedweir.match.match_kernels import Streams, Values, match_rows
from feedweir.match.matches import Matches, Work
from feedweir.match.meaning import Reading, holds
from feedweir.match.pair_kernels import in_order
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
from feedweir.plan.query import Query

NOTES = "notes.json"
_OWNERS_KEPT = 64
NONE_REMOVED = frozen(np.empty(0, np.uint8))
NONE_SAMPLED = NONE_REMOVED


class CompiledSet(Protocol):
    """Queries ready to be asked about batches of items: one immutable version of them."""

    @property
    def notes(self) -> tuple[Note, ...]:
        """What the operator should know about some of the queries."""

    def __len__(self) -> int:
        """How many queries."""

    def match(self, items: pa.RecordBatch, *, owner: str | None = None) -> Matches:
        """Every pair of a row and a key whose query wants it; `owner` limits it to theirs and everyone's."""

    def match_counting(self, items: pa.RecordBatch, counters: Counters) -> Matches:
        """As `match`, and tells `counters` what each query cost and brought."""

    def match_observing(self, items: pa.RecordBatch, is_sampled: Array) -> Matches:
        """As `match`, and counts on the sampled rows (a byte for each row) what the set was told to watch."""

    def explain(self, item: Item, key: int) -> Explanation:
        """Why the queries of that key did or did not match the item."""

    def query(self, key: int) -> Query | None:
        """The query of a key, the first when several share it."""


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
        return self.match_texts(items, texts_of(items, self.fields), owner=owner)

    def match_texts(
        self,
        items: pa.RecordBatch,
        texts: Texts,
        *,
        owner: str | None = None,
        removed: Array = NONE_REMOVED,
        is_sampled: Array = NONE_SAMPLED,
    ) -> Matches:
        """As `match`, for a batch whose texts have been analysed, and without some of the queries (a bit each)."""
        if owner is not None:
            return self._limited_to(owner).match_texts(items, texts)
        return self._matched(items, texts, np.empty(0, np.int64), removed, is_sampled)

    def match_observing(self, items: pa.RecordBatch, is_sampled: Array) -> Matches:
        return self.match_texts(items, texts_of(items, self.fields), is_sampled=is_sampled)

    def match_counting(self, items: pa.RecordBatch, counters: Counters) -> Matches:
        return self.match_texts_counting(items, texts_of(items, self.fields), counters)

    def match_texts_counting(
        self, items: pa.RecordBatch, texts: Texts, counters: Counters, removed: Array = NONE_REMOVED
    ) -> Matches:
        costs = np.zeros(len(self), np.int64)
        matches = self._matched(items, texts, costs, removed, NONE_SAMPLED)
        spent = np.flatnonzero(costs)
        counters.add_costs(self.index.keys[spent], costs[spent])
        counters.add_hits(matches, items)
        return matches

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

    def _matched(
        self, items: pa.RecordBatch, texts: Texts, costs: Array, removed: Array, is_sampled: Array
    ) -> Matches:
        index = self.index
        streams, values = as_arguments(streams_of(index, texts), values_of_batch(index, items))
        parts = [_by_index(index, streams, values, costs)] if self._has_index else []
        if index.trees:
            trees = trees_of_rows(index.trees, items.column("source"))
            parts.append(_by_trees(index, trees, streams, values, costs, is_sampled))
        failures: dict[int, str] = {}
        asked = [part for part in parts if len(part.asked_rows)]
        pairs = [(part.rows, part.queries) for part in parts]
        if asked:
            rows, queries = (np.concatenate([getattr(part, name) for part in asked]) for name in _ASKED)
            pairs.append(self._told(items, rows, queries, failures))
        found_rows, found_keys = in_order(*_row_by_row(pairs), index.keys, removed)
        spent = sum((part.work for part in parts), Work())
        observed = tuple(one for part in parts for one in part.observed)
        return Matches(found_rows, found_keys, spent, tuple(sorted(failures.items())), observed)

    def _told(
        self, items: pa.RecordBatch, rows: Array, queries: Array, failures: dict[int, str]
    ) -> tuple[Array, Array]:
        """The pairs that hold, of those that only the plain meaning can decide; queries that fail are named."""
        pairs = np.unique(np.stack([rows, queries], axis=1), axis=0)
        readings: dict[int, Reading] = {}
        held = np.zeros(len(pairs), bool)
        for number, (row, query) in enumerate(pairs.tolist()):
            if row not in readings:
                readings = {row: Reading(next(items_of(items.slice(row, 1))))}
            try:
                held[number] = holds(whole_predicate(self._queries.query(query)), readings[row])
            except Exception as error:  # whatever one query does, the others are answered
                failures[int(self.index.keys[query])] = f"{type(error).__name__}: {error}"
        kept = pairs[held].astype(np.int32)
        return kept[:, 0], kept[:, 1]

    def _compiled_for(self, owner: str) -> IndexedSet:
        return compiled_in_memory(table_of(self._queries.owned_by(owner)))


class _Part(NamedTuple):
    """What the index or the trees found of a batch: pairs, pairs that only the plain meaning can decide, and more."""

    rows: Array
    queries: Array
    asked_rows: Array
    asked_queries: Array
    work: Work
    observed: tuple[Observed, ...] = ()


_ASKED = ("asked_rows", "asked_queries")


def _by_index(index: Index, streams: Streams, values: Values, costs: Array) -> _Part:
    rows, queries, asked_rows, asked_checks, work = match_rows(
        streams, values, index.vocabulary, index.trie, index.checks, index.n_words, index.n_entries,
        index.n_atoms, costs,
    )  # fmt: skip
    asked_queries = index.checks.queries[asked_checks]
    spent = Work(int(work[0]), int(work[1]), int(work[2]), len(asked_rows))
    return _Part(rows, queries, asked_rows, asked_queries, spent)


def _by_trees(
    index: Index, trees: Array, streams: Streams, values: Values, costs: Array, is_sampled: Array
) -> _Part:
    rows, queries, asked_rows, asked_queries, counted, work = run_forest(
        frozen(trees), frozen(is_sampled), index.forest, streams, values, index.vocabulary, index.checks,
        index.n_words, index.n_entries, index.n_atoms, costs,
    )  # fmt: skip
    spent = Work(int(work[0]), len(rows), int(work[1]), len(asked_rows))
    observed = observed_in(index.trees, index.forest, counted) if len(is_sampled) else ()
    return _Part(rows, queries, asked_rows, asked_queries, spent, observed)


def _row_by_row(pairs: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Several lists of pairs, each row by row, as one."""
    if len(pairs) == 1:
        return pairs[0]
    empty = np.empty(0, np.int32)
    rows = np.concatenate([empty, *(rows for rows, _ in pairs)])
    queries = np.concatenate([empty, *(queries for _, queries in pairs)])
    order = np.argsort(rows, kind="stable")
    return rows[order], queries[order]
