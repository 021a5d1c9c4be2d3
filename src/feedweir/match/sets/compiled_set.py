"""The compiled set: every query as one function from a batch of items to the pairs that match."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from feedweir.errors import CompiledSetError, WorkError
from feedweir.items.columns import Batch, ItemColumns, item_at
from feedweir.items.model import Item
from feedweir.match.arrays import Array, frozen
from feedweir.match.atom_shares import Frequencies
from feedweir.match.counters import Counters
from feedweir.match.index.filter_forest import SourceTree, trees_of_rows
from feedweir.match.index.index_arrays import Index, load_index, save_index
from feedweir.match.index.index_builder import build_index
from feedweir.match.index.query_formulas import Note, Progress
from feedweir.match.matches import Matches
from feedweir.match.matching.answer_parts import NO_LIMIT, PAIRS_AT_ONCE, joined, parts_of
from feedweir.match.matching.batch_facts import Texts, as_arguments, streams_of, texts_of, values_of_batch
from feedweir.match.matching.pair_kernels import REMOVED
from feedweir.match.matching.scratch import ScratchPool
from feedweir.match.matching.strategies import (
    ByFilterTrees,
    ByRarestAtom,
    Reporting,
    Strategy,
    nothing_counted,
)
from feedweir.match.meaning.explanations import Explanation, Finder, explained
from feedweir.match.meaning.finders import finders_of
from feedweir.match.meaning.item_meaning import Reading, holds
from feedweir.match.sets.overlay import NO_OVERLAY, Overlay, overlay_arrays
from feedweir.match.sets.query_store import (
    KeywordQueries,
    Queries,
    StoredQueries,
    TableQueries,
    table_of,
    whole_predicate,
    write_table,
)
from feedweir.match.sets.sealed import open_sealed, write_sealed
from feedweir.plan.query import Query

NOTES = "notes.json"
OWNERS_KEPT = 64
NONE_SAMPLED = frozen(np.empty(0, np.uint8))


class CompiledSet(Protocol):
    """Queries ready to be matched against batches of items: one immutable version of them."""

    @property
    def notes(self) -> tuple[Note, ...]:
        """What the operator should know about some of the queries."""

    def __len__(self) -> int:
        """How many queries."""

    def match(self, items: Batch, *, owner: str | None = None) -> Matches:
        """Every pair of a row and a key whose query wants it; `owner` limits it to theirs and everyone's."""

    def match_in_parts(
        self,
        items: Batch,
        *,
        owner: str | None = None,
        is_sampled: Array = NONE_SAMPLED,
        counters: Counters | None = None,
        limit: int = PAIRS_AT_ONCE,
    ) -> Iterator[Matches]:
        """The pairs of `match` in the same order, in at least one part; memory does not grow with their number.

        On the sampled rows (a byte for each row) the atoms that the set watches are counted; `counters` receive what
        each query cost and brought. `limit` is how many pairs each strategy may hold at a time.
        """

    def explain(self, item: Item, key: int) -> Explanation:
        """Why the queries of that key did or did not match the item."""

    def query(self, key: int) -> Query | None:
        """The query of a key, the first when several share it."""


@dataclass(frozen=True, slots=True)
class MatchRequest:
    """A batch to be matched, with its analysed texts, and what is to be counted."""

    items: Batch
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


@dataclass(frozen=True)
class Member:
    """A set that is matched together with others."""

    compiled: IndexedSet
    keys: Array
    """Those of its queries and of the queries laid over it; `REMOVED` for one that is not wanted."""
    overlay: Overlay | None = None
    translation: Array | None = None
    """From the words of another set to its own, when texts were looked up in that set."""

    @cached_property
    def scratch(self) -> ScratchPool:
        return ScratchPool(self.compiled.index, self.overlay)

    def no_costs(self, request: MatchRequest) -> Array:
        """Zeros in which candidates are counted for each query; nothing when they are not to be counted."""
        return np.zeros(len(self.keys) if request.counts_costs else 0, np.int64)


def answered(
    members: Sequence[Member], request: MatchRequest, counters: Counters | None
) -> Iterator[Matches]:
    """What several sets answer together."""
    costs = [member.no_costs(request) for member in members]
    strategies = [
        strategy
        for member, spent in zip(members, costs, strict=True)
        for strategy in member.compiled.strategies(request, member, spent)
    ]
    for part in parts_of(strategies, request.items.num_rows, request.limit):
        if counters is not None:
            counters.add_hits(part, request.items)
        yield part
    if counters is not None:
        for member, spent in zip(members, costs, strict=True):
            candidates = np.flatnonzero((spent > 0) & (member.keys != REMOVED))
            counters.add_costs(member.keys[candidates], spent[candidates])


class IndexedSet:
    """A compiled set that is one index."""

    def __init__(self, index: Index, queries: Queries, notes: tuple[Note, ...] = ()) -> None:
        self.index = index
        self.notes = notes
        self._queries = queries
        self._has_index = bool((index.trie.roots >= 0).any())
        self._limited_to = lru_cache(maxsize=OWNERS_KEPT)(self._compiled_for)

    def __len__(self) -> int:
        return len(self.index.keys)

    @cached_property
    def alone(self) -> Member:
        """As the only member."""
        return Member(self, self.index.keys)

    @property
    def fields(self) -> tuple[str, ...]:
        """The attributes whose words it reads."""
        return self.index.scopes.fields

    def match(self, items: Batch, *, owner: str | None = None) -> Matches:
        return joined(self.match_in_parts(items, owner=owner, limit=NO_LIMIT))

    def match_in_parts(
        self,
        items: Batch,
        *,
        owner: str | None = None,
        is_sampled: Array = NONE_SAMPLED,
        counters: Counters | None = None,
        limit: int = PAIRS_AT_ONCE,
    ) -> Iterator[Matches]:
        found = self if owner is None else self.limited_to(owner)
        request = MatchRequest(items, texts_of(items, found.fields), is_sampled, counters is not None, limit)
        return answered([found.alone], request, counters)

    def match_texts(self, items: Batch, texts: Texts) -> Matches:
        """As `match`, for a batch whose texts have been analysed."""
        request = MatchRequest(items, texts, NONE_SAMPLED, False, NO_LIMIT)
        return joined(answered([self.alone], request, None))

    def limited_to(self, owner: str) -> IndexedSet:
        """Only what concerns an owner, compiled by itself and kept: queries of others are not touched at all."""
        return self._limited_to(owner)

    def explain(self, item: Item, key: int) -> Explanation:
        return explained(self.finders_of(item, key), item)

    def finders_of(self, item: Item, key: int) -> list[tuple[Query, list[Finder]]]:
        """The queries of a key, with the atoms that each is found by."""
        batch = ItemColumns([item])
        return [(query, finders_of(self.index, number, batch)) for number, query in self.queries_of(key)]

    def query(self, key: int) -> Query | None:
        return next((query for _, query in self.queries_of(key)), None)

    def queries_of(self, key: int) -> list[tuple[int, Query]]:
        """The queries that report a key, with their numbers."""
        first, last = (int(np.searchsorted(self.index.keys, key, side=side)) for side in ("left", "right"))
        return [(number, self._queries.query(number)) for number in range(first, last)]

    def strategies(self, request: MatchRequest, member: Member, costs: Array) -> Iterator[Strategy]:
        """The strategies that find the queries of a batch; `costs` become the candidates of each query."""
        index, items, overlay = self.index, request.items, member.overlay
        streams, values = as_arguments(
            streams_of(index, request.texts, member.translation), values_of_batch(index, items)
        )
        reporting = Reporting(member.keys, len(self), partial(self._verified, items))
        if self._has_index or overlay is not None or not index.trees:
            laid_over = NO_OVERLAY if overlay is None else overlay_arrays(overlay, request.texts, items)
            yield ByRarestAtom(index, streams, values, laid_over, costs, member.scratch, reporting)
        if index.trees:
            trees, counted = trees_of_rows(index.trees, items), nothing_counted(index)
            yield ByFilterTrees(
                index, trees, streams, values, costs, request.is_sampled, counted, member.scratch, reporting
            )

    def _verified(
        self, items: Batch, rows: Array, queries: Array
    ) -> tuple[Array, Array, tuple[tuple[int, str], ...]]:
        """The pairs that hold by their plain meaning, which alone can decide them; queries that fail are named."""
        pairs = np.unique(np.stack([rows, queries], axis=1), axis=0)
        readings: dict[int, Reading] = {}
        failures: dict[int, str] = {}
        held = np.zeros(len(pairs), bool)
        for number, (row, query) in enumerate(pairs.tolist()):
            if row not in readings:
                readings = {row: Reading(item_at(items, row))}
            try:
                held[number] = holds(
                    whole_predicate(self._queries.query(query)), readings[row].for_next_query()
                )
            except WorkError as error:
                failures[int(self.index.keys[query])] = f"item {readings[row].item.identity}: {error}"
            except Exception as error:  # whatever one query does, the others are answered
                failures[int(self.index.keys[query])] = f"{type(error).__name__}: {error}"
        kept = pairs[held].astype(np.int32)
        return kept[:, 0], kept[:, 1], tuple(sorted(failures.items()))

    def _compiled_for(self, owner: str) -> IndexedSet:
        return compiled_in_memory(table_of(self._queries.owned_by(owner)))
