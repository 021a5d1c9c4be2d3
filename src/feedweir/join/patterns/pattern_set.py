"""Pattern queries compiled: variables, templates with their relations R_T, and the levels they are evaluated in.

A chain of joins is taken apart: each inner join is a query of its own whose results are documents of a hidden stream,
with the variables that the outer join or the construction need. What reads results of another is one level above it;
each level has its own state.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from feedweir.errors import FeedweirError
from feedweir.items.string_keys import stable_number
from feedweir.join.patterns.results import Result, Results
from feedweir.join.patterns.templates import (
    LEFT,
    BlockTree,
    JoinGraph,
    Template,
    Templates,
    block_tree,
    join_graph,
    minor,
)
from feedweir.join.patterns.variables import (
    PatternQuery,
    Signature,
    Variable,
    blocks_of,
    inner_stream,
    result_variable,
    signed,
    stream_name,
    variable_of,
)
from feedweir.join.window_bounds import JoinBounds, window_code
from feedweir.plan.construction import holes_of
from feedweir.plan.nodes import Block, PatternJoin
from feedweir.plan.predicates import PatternNode, TreePattern

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TemplateRelation:
    """R_T of one template: a row for each distinct join, with the results that share it.

    `variables[r, e]` is the (dense) variable of end e, `shared[r, e]` on how many path nodes it agrees with the end of
    the same side before it. `members` lists results by row, the longest window first.
    """

    template: Template
    variables: Ints
    shared: Ints
    mode: NDArray[np.int8]
    length: Longs
    """The longest window of the row."""
    members_ptr: Longs
    members: Ints
    member_length: Longs


@dataclass(frozen=True, slots=True)
class Level:
    """What is evaluated together. Dense variable numbers are places in `variables`, which is sorted by `number`."""

    variables: tuple[Variable, ...]
    streams: tuple[str, ...]
    relations: tuple[TemplateRelation, ...]
    results: Results
    horizon_us: int
    """The longest time window; -1 when there is none."""
    horizon_documents: Mapping[str, int]
    """By stream the longest window in documents."""
    text_variables: frozenset[int]
    """Dense numbers of variables whose text a construction needs."""

    def members(self, relation: int, row: int) -> list[int]:
        """The results of a row of a relation."""
        one = self.relations[relation]
        found: list[int] = one.members[one.members_ptr[row] : one.members_ptr[row + 1]].tolist()
        return found

    @property
    def numbers(self) -> Longs:
        return np.array([variable.number for variable in self.variables], np.int64)


@dataclass(frozen=True, slots=True)
class PatternSet:
    """All pattern queries as one value. `patterns` are for the tree matcher: witnesses come back by their place."""

    levels: tuple[Level, ...]
    patterns: tuple[TreePattern, ...]
    streams: tuple[str, ...]
    """The streams read from outside, by name."""
    failures: Mapping[int, FeedweirError]
    """By key, the queries that were refused; the others work."""
    bounds: JoinBounds

    @property
    def templates(self) -> int:
        return sum(len(level.relations) for level in self.levels)

    def keys_of(self, level: int, result: int) -> list[int]:
        """The keys of the queries that a result belongs to; for an inner join, those of all chains above it."""
        one = self.levels[level].results[result]
        if one.key is not None:
            return [one.key]
        above = self.levels[level + 1 :]
        return [
            key
            for higher, other in enumerate(above, level + 1)
            for place in other.results.readers_of(one.stream)
            for key in self.keys_of(higher, place)
        ]


@dataclass(frozen=True, slots=True)
class _Side:
    stream: str
    tree: BlockTree
    signature: Signature
    is_result: bool


@dataclass(frozen=True, slots=True)
class _Shape:
    """What queries share that differ only in names and windows."""

    template: Template
    variables: tuple[Variable, ...]
    shared: tuple[int, ...]
    outputs: tuple[int, ...]
    """The nodes of the template's output columns."""


@dataclass(frozen=True, slots=True)
class _Row:
    template: Template
    variables: tuple[Variable, ...]
    shared: tuple[int, ...]
    mode: int
    length: int
    result: Result
    reads: tuple[str, str]


@dataclass(slots=True)
class _Compiler:
    """Collects rows; `inner` remembers inner joins already taken."""

    templates: Templates = field(default_factory=Templates)
    rows: list[_Row] = field(default_factory=list)
    inner: dict[tuple[PatternJoin, tuple[str, ...]], str] = field(default_factory=dict)
    shapes: dict[object, _Shape] = field(default_factory=dict)
    known: dict[object, Variable] = field(default_factory=dict)

    def add(self, query: PatternQuery) -> None:
        taken = dict(self.inner)
        rows = len(self.rows)
        try:
            select = query.join.select
            self._add(query.join, holes_of(select), Result(query.key, "", (), select))
        except FeedweirError:
            del self.rows[rows:]
            self.inner = taken
            raise

    def _add(self, join: PatternJoin, outputs: tuple[str, ...], result: Result) -> None:
        mode, length = window_code(join.kind, join.window)
        left = self._left_side(join, outputs)
        right = _block_side(join.right)
        graph = join_graph(left.tree, right.tree, join.equalities, outputs)
        key = (left.stream, left.signature, right.stream, right.signature, graph.edges, graph.outputs)
        if key not in self.shapes:
            self.shapes[key] = self._shape(graph, left, right)
        shape = self.shapes[key]
        names = tuple(_name(left, right, node) for node in shape.outputs)
        inner = left.stream if left.is_result else ""
        named = Result(result.key, result.stream, names, result.select, inner)
        reads = (left.stream, right.stream)
        self.rows.append(_Row(shape.template, shape.variables, shape.shared, mode, length, named, reads))

    def _shape(self, graph: JoinGraph, left: _Side, right: _Side) -> _Shape:
        presence = not graph.edges
        if presence:
            graph = JoinGraph(graph.sides, graph.parents, ((0, len(left.tree.nodes)),), graph.outputs)
        reduced, kept = minor(graph)
        template, mapping = self.templates.place(reduced)
        ends = [kept[mapping[node]] for node in template.graph.ends]
        variables = tuple(self._variable(graph, left, right, kept, end, presence) for end in ends)
        shared = _shared(graph, (left, right), frozenset(kept), ends)
        return _Shape(template, variables, shared, tuple(ends[column] for column in template.outputs))

    def _variable(
        self, graph: JoinGraph, left: _Side, right: _Side, kept: tuple[int, ...], end: int, presence: bool
    ) -> Variable:
        shift = len(left.tree.nodes)
        side, place = (left, end) if end < shift else (right, end - shift)
        if side.is_result:
            return result_variable(side.stream, side.tree.nodes[place].variable)
        first = 0 if side is left else shift
        ends = frozenset(node - first for node in graph.ends if first <= node < first + len(side.tree.nodes))
        path = _path(side, place, frozenset(node - first for node in kept))
        key = (side.stream, side.signature, place, path, ends, presence)
        if key not in self.known:
            self.known[key] = variable_of(
                side.stream, side.tree, place, path, ends, is_presence=presence and place == 0
            )
        return self.known[key]

    def _left_side(self, join: PatternJoin, outputs: tuple[str, ...]) -> _Side:
        if isinstance(join.left, Block):
            return _block_side(join.left)
        bound = {name for block in blocks_of(join.left) for name in block_tree(block.pattern.root).named()}
        wanted = {name for pair in join.equalities for name in pair} | set(outputs)
        needed = tuple(sorted(bound & wanted))
        key = (join.left, needed)
        if key not in self.inner:
            stream = inner_stream(stable_number(repr(key)))
            self._add(join.left, needed, Result(None, stream, (), ""))
            self.inner[key] = stream
        columns = tuple(PatternNode("/", name, (), name) for name in needed)
        return _Side(self.inner[key], block_tree(PatternNode("/", "result", columns)), needed, True)


def _block_side(block: Block) -> _Side:
    signature, root = signed(block.pattern.root)
    return _Side(stream_name(block.input), block_tree(root), signature, False)


def _name(left: _Side, right: _Side, end: int) -> str:
    shift = len(left.tree.nodes)
    return left.tree.nodes[end].variable if end < shift else right.tree.nodes[end - shift].variable


def _path(side: _Side, end: int, kept: frozenset[int]) -> tuple[int, ...]:
    """The path nodes of an end, from the top: those kept, those named, and the end."""
    path = [end]
    node = side.tree.parents[end]
    while node >= 0:
        if node in kept or side.tree.nodes[node].variable or side.is_result:
            path.append(node)
        node = side.tree.parents[node]
    return tuple(reversed(path))


def _shared(
    graph: JoinGraph, sides: tuple[_Side, _Side], kept: frozenset[int], ends: Sequence[int]
) -> tuple[int, ...]:
    """On how many path nodes each end agrees with the one before it on its side."""
    shift = len(sides[0].tree.nodes)
    previous: dict[int, tuple[int, ...]] = {}
    shared: list[int] = []
    for end in ends:
        side = graph.sides[end]
        first = 0 if side == LEFT else shift
        path = _path(sides[side], end - first, frozenset(node - first for node in kept))
        before = previous.get(side, ())
        common = 0
        while common < min(len(path), len(before)) and path[common] == before[common]:
            common += 1
        shared.append(common)
        previous[side] = path
    return tuple(shared)


def compile_patterns(queries: Iterable[PatternQuery], *, bounds: JoinBounds | None = None) -> PatternSet:
    """The compiled set; a query that cannot be used is a failure by its key, and the rest is compiled."""
    compiler = _Compiler()
    failures: dict[int, FeedweirError] = {}
    for query in queries:
        try:
            compiler.add(query)
        except FeedweirError as error:
            failures[query.key] = error
    leveled = _levels(compiler.rows)
    patterns: dict[TreePattern, int] = {}
    levels = tuple(_level(rows) for rows in leveled)
    for level in levels:
        for variable in level.variables:
            if variable.pattern is not None:
                patterns.setdefault(variable.pattern, len(patterns))
    made = {row.result.stream for rows in leveled for row in rows if row.result.stream}
    outside = sorted({stream for level in levels for stream in level.streams} - made)
    return PatternSet(levels, tuple(patterns), tuple(outside), failures, bounds or JoinBounds())


def together(levels: Sequence[Level]) -> Level:
    """What levels that were compiled apart ask of documents, as one level; it has no queries of its own."""
    if len(levels) == 1:
        return levels[0]
    by_number = {one.number: one for level in levels for one in level.variables}
    variables = tuple(by_number[number] for number in sorted(by_number))
    dense = {one.number: place for place, one in enumerate(variables)}
    counts: dict[str, int] = {}
    for level in levels:
        for stream, count in level.horizon_documents.items():
            counts[stream] = max(counts.get(stream, 0), count)
    return Level(
        variables,
        tuple(sorted({stream for level in levels for stream in level.streams})),
        (),
        Results.of(()),
        max((level.horizon_us for level in levels), default=-1),
        counts,
        frozenset(dense[level.variables[place].number] for level in levels for place in level.text_variables),
    )


def _levels(rows: list[_Row]) -> list[list[_Row]]:
    """Rows by level: above every row whose results they read. An inner join comes before what reads it."""
    above: dict[str, int] = {}
    levels: dict[int, list[_Row]] = {}
    for row in rows:
        level = max(above.get(stream, 0) for stream in row.reads)
        if row.result.stream:
            above[row.result.stream] = level + 1
        levels.setdefault(level, []).append(row)
    return [levels[number] for number in sorted(levels)]


def _level(rows: list[_Row]) -> Level:
    by_number = {variable.number: variable for row in rows for variable in row.variables}
    variables = tuple(by_number[number] for number in sorted(by_number))
    dense = {variable.number: place for place, variable in enumerate(variables)}
    results = Results.of(row.result for row in rows)
    grouped: dict[int, list[int]] = {}
    for place, row in enumerate(rows):
        grouped.setdefault(row.template.number, []).append(place)
    relations = tuple(_relation(rows, places, dense) for _, places in sorted(grouped.items()))
    counts: dict[str, int] = {}
    for row in rows:
        if row.mode >= 2:
            for stream in row.reads:
                counts[stream] = max(counts.get(stream, 0), row.length)
    horizon = max((row.length for row in rows if row.mode < 2), default=-1)
    texts = frozenset(dense[row.variables[column].number] for row in rows for column in row.template.outputs)
    streams = tuple(sorted({stream for row in rows for stream in row.reads}))
    return Level(variables, streams, relations, results, horizon, counts, texts)


def _relation(rows: list[_Row], places: list[int], dense: Mapping[int, int]) -> TemplateRelation:
    groups: dict[tuple[object, ...], list[int]] = {}
    for place in places:
        row = rows[place]
        key = (tuple(dense[one.number] for one in row.variables), row.shared, row.mode)
        groups.setdefault(key, []).append(place)
    ordered = [sorted(group, key=lambda place: (-rows[place].length, place)) for group in groups.values()]
    firsts = [rows[group[0]] for group in ordered]
    flat = [place for group in ordered for place in group]
    width = len(firsts[0].variables)
    return TemplateRelation(
        firsts[0].template,
        np.array([[dense[one.number] for one in row.variables] for row in firsts], np.int32).reshape(
            -1, width
        ),
        np.array([row.shared for row in firsts], np.int32).reshape(-1, width),
        np.array([row.mode for row in firsts], np.int8),
        np.array([row.length for row in firsts], np.int64),
        np.concatenate([[0], np.cumsum([len(group) for group in ordered])]).astype(np.int64),
        np.array(flat, np.int32),
        np.array([rows[place].length for place in flat], np.int64),
    )
