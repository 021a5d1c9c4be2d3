"""One batch against history: the conjunctive query of every template, over R_L and R_R computed once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from feedweir.join import evaluate_kernels as kernels
from feedweir.join.cache import ViewCache
from feedweir.join.compiled import Level, Relation
from feedweir.join.evaluate_kernels import Documents, Kinds, Rows
from feedweir.join.rows import BindingRows
from feedweir.join.windows import COUNT_FOLLOWED, TIME_FOLLOWED, JoinBounds

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Found:
    """Matches of one template. `needed` is the shortest window with which the pair joins.

    `ways` has for each match the path of each end, when a construction or an outer join needs the bindings.
    """

    relation: int
    row: Longs
    left: Longs
    right: Longs
    needed: Longs
    paths: Ints | None = None
    """(matches, ends, path nodes)"""
    values: Longs | None = None
    """(matches, ends, 2): the keys of the ends' string values."""

    def __len__(self) -> int:
        return len(self.row)

    def without(self, struck: NDArray[np.bool_]) -> Found:
        return self.take(~struck[self.row]) if struck.any() else self

    def take(self, places: NDArray[np.generic]) -> Found:
        return Found(
            self.relation,
            self.row[places],
            self.left[places],
            self.right[places],
            self.needed[places],
            None if self.paths is None else self.paths[places],
            None if self.values is None else self.values[places],
        )


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What a batch gives."""

    found: tuple[Found, ...]
    struck: tuple[tuple[int, int], ...] = ()
    """(relation, row of R_T) of those whose matches were too many, and are not among them."""


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A relation as the kernels read it, by the side of the later document."""

    relation: Relation
    members: Longs
    """How many results each row of R_T has."""
    by_near: tuple[kernels.Relation, kernels.Relation]


class Evaluator:
    """The arrays of one level, worked out once for a compiled set."""

    def __init__(self, level: Level, bounds: JoinBounds) -> None:
        self.level = level
        self.bounds = bounds
        self.numbers = level.numbers
        self._kinds, lookup = _kinds_of(level, self.numbers)
        self._prepared = [_prepared(relation, self.numbers, lookup) for relation in level.relations]

    def rows(self, rows: BindingRows, numbers: Longs) -> Rows:
        """R_R of a batch: `numbers` are its documents' numbers, in order."""
        dense = np.searchsorted(self.numbers, rows.variable).astype(np.int32)
        document = np.searchsorted(numbers, rows.document).astype(np.int32)
        order = np.lexsort((dense, document))
        ptr = np.searchsorted(document[order], np.arange(len(numbers) + 1)).astype(np.int64)
        path = np.ascontiguousarray(rows.path[order])
        return Rows(ptr, dense[order], rows.value[order], rows.check[order], path, document[order])

    def run(self, rows: Rows, documents: Documents, cache: ViewCache, oldest: int) -> Evaluation:
        """All matches whose later document is in the batch; the batch's own rows are in the cache already."""
        return self._run(range(len(self._prepared)), rows, documents, cache, oldest)

    def run_one(
        self, number: int, rows: Rows, documents: Documents, cache: ViewCache, oldest: int
    ) -> Evaluation:
        """One template alone, with R_L and R_R computed for it: what views are measured against."""
        return self._run(range(number, number + 1), rows, documents, cache, oldest)

    def _run(
        self, numbers: range, rows: Rows, documents: Documents, cache: ViewCache, oldest: int
    ) -> Evaluation:
        found: dict[int, list[Found]] = {number: [] for number in numbers}
        sizes_of = {number: len(self._prepared[number].relation.mode) for number in numbers}
        struck = {number: np.zeros(size, np.bool_) for number, size in sizes_of.items()}
        spent = {number: np.zeros(size, np.int64) for number, size in sizes_of.items()}
        room = self.bounds.max_found
        for met, sizes in self._groups(rows, documents, cache, 0, len(documents.number)):
            sides = self._sides(sizes)
            for number in numbers:
                more = self._template(
                    number,
                    sides,
                    met,
                    sizes,
                    rows,
                    documents,
                    cache,
                    oldest,
                    room,
                    struck[number],
                    spent[number],
                )
                held = self._results(number, found[number])
                found[number] = [one.without(struck[number]) for one in (*found[number], *more)]
                room += held - self._results(number, found[number])
        return Evaluation(
            tuple(one for many in found.values() for one in many if len(one)),
            tuple((number, row) for number, rows in struck.items() for row in np.flatnonzero(rows).tolist()),
        )

    def _results(self, number: int, found: Sequence[Found]) -> int:
        members = self._prepared[number].members
        return sum(int(members[one.row].sum()) for one in found)

    def _sides(self, sizes: Longs) -> list[int]:
        """On which side of a join documents of the batch have met anything."""
        return [near for near in (0, 1) if sizes[self._kinds.role == near].any()]

    def _groups(
        self, rows: Rows, documents: Documents, cache: ViewCache, first: int, last: int
    ) -> Iterator[tuple[tuple[Longs, Longs], Longs]]:
        """Documents that meet too often are evaluated in smaller groups."""
        met, sizes = self._meet(rows, documents, cache, first, last)
        if int(sizes.sum()) > self.bounds.max_pairs and last - first > 1:
            middle = (first + last) // 2
            yield from self._groups(rows, documents, cache, first, middle)
            yield from self._groups(rows, documents, cache, middle, last)
        else:
            yield met, sizes

    def _meet(
        self, rows: Rows, documents: Documents, cache: ViewCache, first: int, last: int
    ) -> tuple[tuple[Longs, Longs], Longs]:
        met, sizes = kernels.meet(rows, documents, self._kinds, cache.table, cache.slices, first, last)
        met = met[np.argsort(met[:, 0], kind="stable")]
        ptr = np.searchsorted(met[:, 0], np.arange(len(sizes) + 1)).astype(np.int64)
        return (met, ptr), sizes

    def _template(
        self,
        number: int,
        sides: Sequence[int],
        met: tuple[Longs, Longs],
        sizes: Longs,
        rows: Rows,
        documents: Documents,
        cache: ViewCache,
        oldest: int,
        room: int,
        struck: NDArray[np.bool_],
        spent: Longs,
    ) -> list[Found]:
        """The matches of a template; rows of R_T whose matches find no room, or that take too long, are struck."""
        prepared = self._prepared[number]
        wants_all = bool(prepared.relation.template.outputs)
        found: list[Found] = []
        for near in sides:
            relation = prepared.by_near[near]
            starts = kernels.starts(relation.kinds, sizes)
            while True:
                active = np.flatnonzero((starts >= 0) & ~struck)
                if not len(active):
                    break
                kinds = relation.kinds[active, starts[active]]
                order = np.argsort(kinds, kind="stable")
                begins_ptr = np.searchsorted(kinds[order], np.arange(len(sizes) + 1)).astype(np.int64)
                tried = spent.copy()
                matches, ways = kernels.conjunctive(
                    relation,
                    begins_ptr,
                    active[order],
                    starts[active[order]],
                    near,
                    *met,
                    rows,
                    documents,
                    cache.table,
                    cache.slices,
                    cache.arena,
                    oldest,
                    self.bounds.lateness_us,
                    self.bounds.max_documents,
                    wants_all,
                    room,
                    tried,
                    self.bounds.max_steps,
                )
                struck |= tried > self.bounds.max_steps
                results = np.bincount(matches[:, 0], minlength=len(struck)) * prepared.members
                if results.sum() <= room:
                    room -= int(results.sum())
                    spent[:] = tried
                    found.append(self._found(number, near, matches, ways, rows, documents, cache))
                    break
                _strike(struck, results, room)
        return found

    def _found(
        self,
        number: int,
        near: int,
        matches: Longs,
        ways: Longs,
        rows: Rows,
        documents: Documents,
        cache: ViewCache,
    ) -> Found:
        template = self._prepared[number].relation.template
        later = documents.number[matches[:, 2]]
        left, right = (matches[:, 1], later) if near == 1 else (later, matches[:, 1])
        if not template.outputs:
            found = Found(number, matches[:, 0], left, right, matches[:, 3])
            return _distinct(found) if _repeats(rows) else found
        width = max(rows.path.shape[1], cache.width)
        paths = np.full((*ways.shape, width), -1, np.int32)
        values = np.zeros((*ways.shape, 2), np.int64)
        for end, side in enumerate(template.sides):
            chosen = ways[:, end]
            known = chosen >= 0
            source = rows.path if side == near else cache.arena.path
            paths[known, end, : source.shape[1]] = source[chosen[known]]
            if side == near:
                values[known, end, 0] = rows.value[chosen[known]]
                values[known, end, 1] = rows.check[chosen[known]]
        # An end of the earlier document has the value of the end that it is joined with.
        for one, other in template.edges:
            far, close = (one, other) if near == 1 else (other, one)
            values[:, far] = values[:, close]
        return Found(number, matches[:, 0], left, right, matches[:, 3], paths, values)


def _strike(struck: NDArray[np.bool_], results: Longs, room: int) -> None:
    """Strike those with the most results, until the others take half of the room at most."""
    order = np.argsort(-results, kind="stable")
    left = results.sum() - np.cumsum(results[order])
    struck[order[: 1 + int(np.argmax(left <= room // 2))]] = True


def _repeats(rows: Rows) -> bool:
    """Whether a document has two rows of one variable: only then is a match found twice."""
    same = (rows.document[1:] == rows.document[:-1]) & (rows.variable[1:] == rows.variable[:-1])
    return bool(same.any())


def _distinct(found: Found) -> Found:
    order = np.lexsort((found.right, found.left, found.row))
    ordered = found.take(order)
    differs = np.ones(len(ordered), np.bool_)
    differs[1:] = (
        (ordered.row[1:] != ordered.row[:-1])
        | (ordered.left[1:] != ordered.left[:-1])
        | (ordered.right[1:] != ordered.right[:-1])
    )
    return ordered.take(differs)


def _kinds_of(level: Level, numbers: Longs) -> tuple[Kinds, dict[tuple[int, int, int], int]]:
    """Every (near variable, far variable, role) that some row of some R_T has as an edge."""
    symmetric: dict[tuple[int, int, int], bool] = {}
    for relation in level.relations:
        both = ~np.isin(relation.mode, (TIME_FOLLOWED, COUNT_FOLLOWED))
        for one, other in relation.template.edges:
            pairs = np.column_stack([relation.variables[:, one], relation.variables[:, other], both])
            for left, right, is_both in np.unique(pairs, axis=0).tolist():
                for key in ((right, left, 1), (left, right, 0)):
                    symmetric[key] = symmetric.get(key, False) or bool(is_both)
    ordered = sorted(symmetric)
    near = np.array([key[0] for key in ordered], np.int64)
    kinds = Kinds(
        np.searchsorted(near, np.arange(len(numbers) + 1)).astype(np.int64),
        numbers[[key[1] for key in ordered]] if ordered else np.empty(0, np.int64),
        np.array([key[2] for key in ordered], np.int8),
        np.array([symmetric[key] for key in ordered], np.bool_),
    )
    return kinds, {key: place for place, key in enumerate(ordered)}


def _prepared(relation: Relation, numbers: Longs, lookup: dict[tuple[int, int, int], int]) -> _Prepared:
    def kinds(near: int) -> Ints:
        columns = []
        for one, other in relation.template.edges:
            close, far = (other, one) if near == 1 else (one, other)
            pairs, inverse = np.unique(relation.variables[:, [close, far]], axis=0, return_inverse=True)
            codes = np.array([lookup[a, b, near] for a, b in pairs.tolist()], np.int32)
            columns.append(codes[inverse.ravel()])
        return np.ascontiguousarray(np.column_stack(columns).astype(np.int32))

    edges = np.array(relation.template.edges, np.int32).reshape(-1, 2)
    base = (
        np.array(relation.template.sides, np.int8),
        np.ascontiguousarray(edges[:, 0]),
        np.ascontiguousarray(edges[:, 1]),
        relation.variables,
        numbers[relation.variables],
        relation.shared,
        relation.mode,
        relation.length,
    )
    members = np.diff(relation.members_ptr)
    return _Prepared(
        relation, members, (kernels.Relation(*base, kinds(0)), kernels.Relation(*base, kinds(1)))
    )
