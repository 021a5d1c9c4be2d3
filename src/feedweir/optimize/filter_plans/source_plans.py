"""From queries to the trees of a compiled set: the filters of each source factored, the way to execute them chosen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from feedweir.match.arrays import Array
from feedweir.match.atoms import is_atom
from feedweir.match.families import reduced
from feedweir.match.index.filter_forest import SourceTree
from feedweir.optimize.filter_plans.factored_filters import FactoredFilters
from feedweir.optimize.filter_plans.numbered_clauses import Book, CodedPredicates, conjunctions
from feedweir.optimize.filter_plans.work_model import (
    PRICES,
    Clauses,
    Prices,
    Work,
    cheapest,
    work_of_index,
    work_of_tree,
)
from feedweir.optimize.selectivity import clause_share, literal_share
from feedweir.optimize.statistics import Pair, SourceStatistics, pair_of, pairs_that_matter
from feedweir.plan.predicates import TRUE, And, AtLeast, Atom, Not, Or, Predicate
from feedweir.plan.query import Query
from feedweir.plan.query_columns import QueryTable, wants_everything

Way: TypeAlias = Literal["index", "tree", "tree and index"]
"""By the rarest atoms of all queries of the set; by the source's own tree; by that, its top level found by atoms."""

MOST_ASKED = 100_000
"""Pairs of a query and a source that are planned. The sources that would take it past this are left to the index."""
MOST_PAIRS = 64
"""Pairs of atoms that are counted together for a source."""
ORIGIN_SHARE = 0.002
"""What the index thinks of how many items come from one source."""

Asked: TypeAlias = dict[tuple[int, int], Predicate]
"""What is asked of one source: by the key of a query and its number among the queries of that key."""


@dataclass(frozen=True, slots=True, eq=False)
class PlannedSource:
    """The plan of one source. `names[i]` asks the i-th predicate of the filters."""

    source: str
    names: tuple[tuple[int, int], ...]
    filters: FactoredFilters
    known: SourceStatistics
    works: Mapping[Way, Work]
    way: Way
    watched: tuple[Atom, ...]
    pairs: tuple[Pair, ...]


def asked_of_sources(
    queries: Sequence[Query], *, most: int = MOST_ASKED, planned: Collection[str] = ()
) -> dict[str, Asked]:
    """What queries that name their sources ask of each, the sources that are asked most first.

    A source of which nothing but everything is asked needs no plan, unless it is among those that have one.
    """
    table = QueryTable.of(queries).table
    asked: dict[str, Asked] = {source: {} for source in _sources_to_plan(table, most, planned)}
    is_asked = pc.is_in(table.column("sources").combine_chunks().flatten(), pa.array(asked, pa.string()))
    rows = np.unique(_rows_of_sources(table)[np.asarray(is_asked)])
    numbers = numbers_among_equals(table.column("key").to_numpy())[rows].tolist()
    for query, number in zip(QueryTable(table.take(pa.array(rows))), numbers, strict=True):
        for source in query.sources:
            if source in asked:
                asked[source][query.key, number] = query.predicate
    return asked


def _sources_to_plan(table: pa.Table, most: int, planned: Collection[str]) -> list[str]:
    """The sources that are planned, or of which something but everything is asked, those asked most first, as far as
    there is room."""
    rows, names = _rows_of_sources(table), table.column("sources").combine_chunks().flatten()
    is_filter = ~np.asarray(wants_everything(table))[rows]
    pairs = pa.table({"source": names, "row": rows, "is_filter": is_filter})
    counted = pairs.group_by("source").aggregate([("row", "count_distinct"), ("is_filter", "any")])
    chosen = []
    found = [(-one["row_count_distinct"], one["source"], one["is_filter_any"]) for one in counted.to_pylist()]
    for less, source, is_filtered in sorted(found):
        if (is_filtered or source in planned) and most + less >= 0:
            most += less
            chosen.append(source)
    return chosen


def _rows_of_sources(table: pa.Table) -> Array:
    """For every source that every query names, the row of the query."""
    found: Array = np.asarray(pc.list_parent_indices(table.column("sources").combine_chunks()))
    return found


def numbers_among_equals(keys: Array) -> Array:
    """The number of each query among those of its key: with the key a name that stays when others come and go."""
    order = np.argsort(keys, kind="stable")
    numbers = np.empty(len(keys), np.int64)
    numbers[order] = np.arange(len(keys)) - np.searchsorted(keys[order], keys[order])
    return numbers


def planned_source(
    source: str,
    names: Iterable[tuple[int, int]],
    filters: FactoredFilters,
    known: SourceStatistics,
    prices: Prices = PRICES,
) -> PlannedSource:
    """Choose how the filters of a source are executed, and what is to be counted for the next choice."""
    clauses = clauses_of(filters.book, known)
    works: dict[Way, Work] = {
        "index": work_of_index(coded_of(filters, clauses), clauses, origin_share=ORIGIN_SHARE),
        "tree": work_of_tree(filters.tree, clauses, is_indexed=False),
        "tree and index": work_of_tree(filters.tree, clauses, is_indexed=True),
    }
    way: Way = cheapest(works, prices)  # type: ignore[assignment,arg-type]
    watched = watched_atoms(filters.book)
    pairs = pairs_that_matter(_uses(filters), known, most=MOST_PAIRS)
    return PlannedSource(source, tuple(names), filters, known, works, way, watched, pairs)


def tree_of(planned: PlannedSource, places: Mapping[tuple[int, int], int], *, plan: str = "") -> SourceTree:
    """A planned source for the compiled set; `places` are those of queries among all sorted by key.

    Where the index was chosen the tree is there only to count.
    """
    place = {atom: number for number, atom in enumerate(planned.watched)}
    counting = SourceTree(
        source=planned.source,
        plan=plan,
        parents=(-1,),
        asks=(TRUE,),
        queries=((),),
        is_indexed=planned.way == "tree and index",
        watched=planned.watched,
        shares=tuple(planned.known.share_of(atom) for atom in planned.watched),
        pairs=tuple((place[one], place[other]) for one, other in planned.pairs),
    )
    return counting if planned.way == "index" else _with_nodes(counting, planned, places)


def _with_nodes(
    bare: SourceTree, planned: PlannedSource, places: Mapping[tuple[int, int], int]
) -> SourceTree:
    tree = planned.filters.tree
    queries: list[list[int]] = [[] for _ in range(tree.count)]
    for name, node in zip(planned.names, tree.node_of.tolist(), strict=True):
        queries[node].append(places[name])
    return replace(
        bare,
        parents=tuple(tree.parent.tolist()),
        asks=(TRUE, *(planned.filters.residual_of(node) for node in range(1, tree.count))),
        queries=tuple(map(tuple, queries)),
    )


class Places(Mapping[tuple[int, int], int]):
    """Where each query stands when they are sorted by key; looked up, as there may be millions."""

    def __init__(self, keys: Array) -> None:
        self._keys = np.sort(keys)

    def __getitem__(self, name: tuple[int, int]) -> int:
        key, number = name
        place = int(np.searchsorted(self._keys, key)) + number
        if number < 0 or place >= len(self._keys) or self._keys[place] != key:
            raise KeyError(name)
        return place

    def __iter__(self) -> Iterator[tuple[int, int]]:
        numbers = numbers_among_equals(self._keys)
        return zip(self._keys.tolist(), numbers.tolist(), strict=True)

    def __len__(self) -> int:
        return len(self._keys)


def places_of(queries: Sequence[Query]) -> Places:
    return Places(QueryTable.of(queries).table.column("key").to_numpy())


def clauses_of(book: Book, known: SourceStatistics) -> Clauses:
    """The clauses of a source as what evaluates them sees them."""
    starts = np.zeros(len(book.clauses) + 1, np.int64)
    np.cumsum([len(clause) for clause in book.clauses], out=starts[1:])
    literals = np.array([literal for clause in book.clauses for literal in sorted(clause)], np.int32)
    atoms = book.literals[::2]
    selectivity = [
        clause_share(book.clause(n), known) if book.clauses[n] else 0.0 for n in range(len(book.clauses))
    ]
    return Clauses(
        starts,
        literals,
        np.array([literal_share(atom, known) for atom in atoms], np.float64),
        np.array([is_listed(atom) for atom in atoms], np.bool_),
        np.array(selectivity, np.float64),
    )


@lru_cache(maxsize=1 << 16)
def is_listed(atom: Predicate) -> bool:
    """Whether items list an atom among what they satisfy."""
    return is_atom(reduced(atom))


def coded_of(filters: FactoredFilters, clauses: Clauses) -> CodedPredicates:
    """The predicates of a plan in numbers."""
    return conjunctions(
        [filters.tree.run(node) for node in filters.tree.node_of.tolist()], clauses.selectivity
    )


def watched_atoms(book: Book) -> tuple[Atom, ...]:
    """The atoms whose frequency decides about plans: all but those that only the plain meaning knows."""
    used = sorted({literal >> 1 for clause in book.clauses for literal in clause})
    atoms = (book.literals[2 * number] for number in used)
    return tuple(atom for atom in atoms if not isinstance(atom, (And, Or, AtLeast, Not)))


def _uses(filters: FactoredFilters) -> Counter[Pair]:
    """How many predicates need both of two atoms."""
    uses: Counter[Pair] = Counter()
    single = {
        number: filters.book.literals[next(iter(clause))]
        for number, clause in enumerate(filters.book.clauses)
        if len(clause) == 1 and next(iter(clause)) % 2 == 0
    }
    for node, count in Counter(filters.tree.node_of.tolist()).items():
        atoms = [single[clause] for clause in filters.tree.run(node) if clause in single]
        plain = [atom for atom in atoms if not isinstance(atom, (And, Or, AtLeast, Not))]
        for one, other in combinations(plain, 2):
            uses[pair_of(one, other)] += count
    return uses
