"""One batch against history: the conjunctive query of every template, over R_L and R_R computed once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from feedweir.join.patterns import evaluate_kernels as kernels
from feedweir.join.patterns.arena_kernels import View
from feedweir.join.patterns.binding_rows import BindingRows
from feedweir.join.patterns.evaluate_kernels import Begins, Documents, Kinds, Limits, Met, Rows
from feedweir.join.patterns.pattern_set import Level, TemplateRelation
from feedweir.join.patterns.scope import EVERYTHING, Scope, divided_rows
from feedweir.join.patterns.templates import Template
from feedweir.join.patterns.view_cache import ViewCache
from feedweir.join.window_bounds import COUNT_FOLLOWED, TIME_FOLLOWED, JoinBounds, drop_largest
from feedweir.match.arrays import frozen

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Found:
    """Matches of one template. `needed` is the shortest window with which the pair joins.

    With outputs, `paths` and `values` have the bindings of each match, for a construction or an outer join.
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

    def without(self, dropped: NDArray[np.bool_]) -> Found:
        return self.take(~dropped[self.row]) if dropped.any() else self

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
    """The matches of a batch."""

    found: tuple[Found, ...]
    dropped: tuple[tuple[int, int], ...] = ()
    """(relation, row of R_T) of those with too many matches, which are left out."""
    steps: int = 0
    """The most that any row of R_T took."""


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A relation as the kernels read it, by the side of the later document."""

    relation: TemplateRelation
    members: Longs
    """How many results each row of R_T has."""
    by_near: tuple[kernels.Relation, kernels.Relation]


@dataclass(frozen=True, slots=True)
class _Batch:
    """What is evaluated: R_R, its documents, R_L, and the first document that any window reaches."""

    rows: Rows
    documents: Documents
    view: View
    oldest: int
    scope: Scope = EVERYTHING


@dataclass(frozen=True, slots=True)
class _Group:
    """What documents of the batch meet: how many pairs by kind of edge, and on which sides of a join."""

    met: Met
    sizes: Longs
    sides: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Budget:
    """By row of R_T of one template: whether it is dropped, and the steps that it has taken."""

    dropped: NDArray[np.bool_]
    spent: Longs

    @staticmethod
    def of(size: int) -> _Budget:
        return _Budget(np.zeros(size, np.bool_), np.zeros(size, np.int64))


class Evaluator:
    """Evaluates the templates of one level; its arrays are computed once for a compiled set."""

    def __init__(self, level: Level, bounds: JoinBounds) -> None:
        self.level = level
        self.bounds = bounds
        self.numbers = level.numbers
        self._kinds, lookup = _kinds_of(level, self.numbers)
        self._prepared = [_prepared(relation, self.numbers, lookup) for relation in level.relations]
        self._divided = [divided_rows(level, relation) for relation in level.relations]

    def rows(self, rows: BindingRows, numbers: Longs) -> Rows:
        """R_R of a batch, without the variables of other sets: `numbers` are its documents' numbers, in order."""
        is_own = np.isin(rows.variable, self.numbers)
        if not is_own.all():
            rows = rows.take(is_own)
        dense = np.searchsorted(self.numbers, rows.variable).astype(np.int32)
        document = np.searchsorted(numbers, rows.document).astype(np.int32)
        order = np.lexsort((dense, document))
        ptr = np.searchsorted(document[order], np.arange(len(numbers) + 1)).astype(np.int64)
        path = np.ascontiguousarray(rows.path[order])
        return Rows(ptr, dense[order], rows.value[order], rows.check[order], path, document[order])

    def run(self, rows: Rows, documents: Documents, cache: ViewCache, oldest: int) -> Evaluation:
        """All matches whose later document is in the batch; the batch's own rows are in the cache already."""
        batch = _Batch(rows, documents, cache.arrays, oldest)
        return self._run(range(len(self._prepared)), batch, 0, len(documents.number), self.bounds.max_found)

    def run_piece(
        self,
        rows: Rows,
        documents: Documents,
        cache: ViewCache,
        oldest: int,
        piece: slice,
        room: int,
        scope: Scope = EVERYTHING,
    ) -> Evaluation:
        """The same for some of the batch's documents, with room for so many results."""
        batch = _Batch(rows, documents, cache.arrays, oldest, scope)
        return self._run(range(len(self._prepared)), batch, piece.start, piece.stop, room)

    def run_one(
        self, number: int, rows: Rows, documents: Documents, cache: ViewCache, oldest: int
    ) -> Evaluation:
        """One template alone, with R_L and R_R computed for it: the rival of shared views in benchmarks."""
        batch = _Batch(rows, documents, cache.arrays, oldest)
        last, room = len(documents.number), self.bounds.max_found
        return self._run(range(number, number + 1), batch, 0, last, room)

    def _run(self, numbers: range, batch: _Batch, first: int, last: int, room: int) -> Evaluation:
        found: dict[int, list[Found]] = {number: [] for number in numbers}
        budgets = {number: _Budget.of(len(self._prepared[number].relation.mode)) for number in numbers}
        for group in self._groups(batch, first, last):
            for number in numbers:
                more = self._template(number, group, batch, budgets[number], room)
                held = self._results(number, found[number])
                found[number] = [one.without(budgets[number].dropped) for one in (*found[number], *more)]
                room += held - self._results(number, found[number])
        return Evaluation(
            tuple(one for many in found.values() for one in many if len(one)),
            tuple(
                (number, row)
                for number, budget in budgets.items()
                for row in np.flatnonzero(budget.dropped).tolist()
            ),
            max((int(budget.spent.max(initial=0)) for budget in budgets.values()), default=0),
        )

    def weight(self, evaluation: Evaluation) -> int:
        """How many results there are, of all queries."""
        return sum(self._results(one.relation, [one]) for one in evaluation.found)

    def _results(self, number: int, found: Sequence[Found]) -> int:
        members = self._prepared[number].members
        return sum(int(members[one.row].sum()) for one in found)

    def _groups(self, batch: _Batch, first: int, last: int) -> Iterator[_Group]:
        """The documents in groups that are small enough for the pairs that they meet."""
        group = self._meet(batch, first, last)
        if int(group.sizes.sum()) > self.bounds.max_pairs and last - first > 1:
            middle = (first + last) // 2
            yield from self._groups(batch, first, middle)
            yield from self._groups(batch, middle, last)
        else:
            yield group

    def _meet(self, batch: _Batch, first: int, last: int) -> _Group:
        met, sizes = kernels.meet(batch.rows, batch.documents, self._kinds, batch.view, first, last)
        if batch.scope.part is not None:
            met = met[batch.scope.part.has(batch.rows.value[met[:, 1]])]
        met = met[np.argsort(met[:, 0], kind="stable")]
        ptr = np.searchsorted(met[:, 0], np.arange(len(sizes) + 1)).astype(np.int64)
        sides = tuple(near for near in (0, 1) if sizes[self._kinds.role == near].any())
        return _Group(Met(met, ptr), sizes, sides)

    def _template(self, number: int, group: _Group, batch: _Batch, budget: _Budget, room: int) -> list[Found]:
        """The matches of a template; rows of R_T with too many matches, or that take too long, are dropped."""
        prepared = self._prepared[number]
        wants_all = bool(prepared.relation.template.outputs)
        dropped = budget.dropped
        is_asked = self._is_asked(number, batch.scope)
        found: list[Found] = []
        for near in group.sides:
            relation = prepared.by_near[near]
            starts = kernels.starts(relation.kinds, group.sizes)
            while True:
                active = np.flatnonzero((starts >= 0) & is_asked & ~dropped)
                if not len(active):
                    break
                edges = starts[active]
                begins = _begins(relation.kinds[active, edges], active, edges, len(group.sizes))
                spent = budget.spent.copy()
                matches, embeddings = kernels.conjunctive(
                    relation,
                    begins,
                    near,
                    group.met,
                    batch.rows,
                    batch.documents,
                    batch.view,
                    self._limits(batch.oldest, room),
                    wants_all,
                    spent,
                )
                dropped |= spent > self.bounds.max_steps
                results = np.bincount(matches[:, 0], minlength=len(spent)) * prepared.members
                if results.sum() <= room:
                    room -= int(results.sum())
                    budget.spent[:] = spent
                    found.append(self._found(number, near, matches, embeddings, batch))
                    break
                drop_largest(dropped, results, room)
        return found

    def _is_asked(self, number: int, scope: Scope) -> NDArray[np.bool_]:
        divided = self._divided[number]
        return np.ones_like(divided) if scope.is_divided is None else divided == scope.is_divided

    def _limits(self, oldest: int, room: int) -> Limits:
        bounds = self.bounds
        return Limits(oldest, bounds.lateness_us, bounds.max_documents, room, bounds.max_steps)

    def _found(self, number: int, near: int, matches: Longs, embeddings: Longs, batch: _Batch) -> Found:
        template = self._prepared[number].relation.template
        later = batch.documents.number[matches[:, 2]]
        left, right = (matches[:, 1], later) if near == 1 else (later, matches[:, 1])
        if not template.outputs:
            found = Found(number, matches[:, 0], left, right, matches[:, 3])
            return _distinct(found) if _repeats(batch.rows) else found
        paths, values = _bindings_of(template, near, embeddings, batch)
        return Found(number, matches[:, 0], left, right, matches[:, 3], paths, values)


def _begins(kinds: Ints, rows: Longs, edges: Ints, count: int) -> Begins:
    """Rows of R_T and the edges that they begin with, by the kind of those."""
    order = np.argsort(kinds, kind="stable")
    ptr = np.searchsorted(kinds[order], np.arange(count + 1)).astype(np.int64)
    return Begins(ptr, rows[order], edges[order])


def _bindings_of(template: Template, near: int, embeddings: Longs, batch: _Batch) -> tuple[Ints, Longs]:
    """(paths, values) of the ends of each match."""
    rows, arena = batch.rows, batch.view.arena
    width = max(rows.path.shape[1], arena.path.shape[1])
    paths = np.full((*embeddings.shape, width), -1, np.int32)
    values = np.zeros((*embeddings.shape, 2), np.int64)
    for end, side in enumerate(template.sides):
        chosen = embeddings[:, end]
        known = chosen >= 0
        source = rows.path if side == near else arena.path
        paths[known, end, : source.shape[1]] = source[chosen[known]]
        if side == near:
            values[known, end, 0] = rows.value[chosen[known]]
            values[known, end, 1] = rows.check[chosen[known]]
    # An end of the earlier document has the value of the end that it is joined with.
    for one, other in template.edges:
        far, close = (one, other) if near == 1 else (other, one)
        values[:, far] = values[:, close]
    return paths, values


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


def _prepared(
    relation: TemplateRelation, numbers: Longs, lookup: dict[tuple[int, int, int], int]
) -> _Prepared:
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
        frozen(relation.variables),
        numbers[relation.variables],
        frozen(relation.shared),
        frozen(relation.mode),
        frozen(relation.length),
    )
    members = np.diff(relation.members_ptr)
    return _Prepared(
        relation, members, (kernels.Relation(*base, kinds(0)), kernels.Relation(*base, kinds(1)))
    )
