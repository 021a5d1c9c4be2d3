"""The compiled set: every query as one function from a batch of items to the pairs that match."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from feedweir.errors import CompiledSetError
from feedweir.items.model import Item
from feedweir.items.schema import items_of
from feedweir.match.matches import Matches, Span, sorted_matches
from feedweir.match.meaning import Reading, holds
from feedweir.match.sealed import open_sealed, write_sealed
from feedweir.match.store import read_queries, write_queries
from feedweir.plan.predicates import And, FromFeeds, Predicate
from feedweir.plan.query import Query

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Frequencies:
    """In how many of `documents` items each word was seen: decides which word a query is found by."""

    documents: int
    words: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a query did or did not match an item."""

    is_match: bool
    candidate_by: str
    refused_by: Predicate | None
    spans: tuple[Span, ...] = ()


def compile_set(
    queries: Iterable[Query],
    directory: Path,
    *,
    frequencies: Frequencies | None = None,
    progress: Progress | None = None,
) -> None:
    """Compile queries into `directory`, which appears whole or not at all."""
    write_sealed(directory, lambda scratch: {"queries": write_queries(scratch, queries)})


def open_set(directory: Path) -> CompiledSet:
    """The compiled set of a directory; `CompiledSetError` when it is damaged or of another format."""
    open_sealed(directory)
    return CompiledSet(tuple(read_queries(directory)))


class CompiledSet:
    """An immutable set of queries."""

    def __init__(self, queries: tuple[Query, ...]) -> None:
        self._queries = queries

    def match(self, items: pa.RecordBatch, *, owner: str | None = None) -> Matches:
        """Every pair of a row and a key whose query wants it; `owner` limits it to theirs and everyone's."""
        asked = [query for query in self._queries if owner is None or query.owner in ("", owner)]
        pairs = [
            (row, query.key)
            for row, item in enumerate(items_of(items))
            for reading in [Reading(item)]
            for query in asked
            if holds(whole_predicate(query), reading)
        ]
        found = np.array(pairs, np.int64).reshape(-1, 2)
        return sorted_matches(found[:, 0].astype(np.int32), found[:, 1])

    def explain(self, item: Item, key: int) -> Explanation:
        """Why the query of that key did or did not match the item."""
        asked = [query for query in self._queries if query.key == key]
        if not asked:
            raise CompiledSetError(f"no query has the key {key}")
        is_match = any(holds(whole_predicate(query), item) for query in asked)
        return Explanation(is_match, "", None if is_match else asked[0].predicate)


def whole_predicate(query: Query) -> Predicate:
    """The predicate of a query with its sources as one more clause."""
    return And((FromFeeds(query.sources), query.predicate)) if query.sources else query.predicate
