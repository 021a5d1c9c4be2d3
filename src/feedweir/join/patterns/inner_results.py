"""The bindings of matches, for constructions; and the results of inner joins as documents for the joins above them.

Both are columns: a chain's inner join may have tens of results for each item.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from feedweir.join.patterns.binding_rows import BindingRows
from feedweir.join.patterns.evaluate import Found
from feedweir.join.patterns.level_history import LevelState
from feedweir.join.patterns.pattern_set import Level, TemplateRelation
from feedweir.join.ragged import Ragged, ranges, rank_in_group
from feedweir.join.window_bounds import drop_largest

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Texts = NDArray[np.object_]


LEVEL_BITS = 40
_AT_ONCE = 4
"""How many times as many bindings as may be kept are tried at a time, before it is known which of them agree."""


@dataclass(frozen=True, slots=True)
class Bindings:
    """Matches with what their constructions need; `nodes` and `keys` by output, in the order of `Result.outputs`."""

    result: Ints
    left: Longs
    right: Longs
    nodes: Ints
    """(matches, outputs)"""
    keys: Longs
    """(matches, outputs, 2)"""
    sides: tuple[int, ...]
    """On which side each output is."""

    def __len__(self) -> int:
        return len(self.result)

    def take(self, places: NDArray[np.generic]) -> Bindings:
        return Bindings(
            self.result[places],
            self.left[places],
            self.right[places],
            self.nodes[places],
            self.keys[places],
            self.sides,
        )

    def texts(self, state: LevelState) -> Texts:
        """(matches, outputs): the string values."""
        columns = [
            state.texts((self.left, self.right)[side], self.nodes[:, place])
            for place, side in enumerate(self.sides)
        ]
        return np.stack(columns, axis=1) if columns else np.empty((len(self), 0), object)


@dataclass(frozen=True, slots=True)
class Derived:
    """Results of inner joins, ordered after the items that completed them: variables with values."""

    stream: Ints
    """Places in `streams`."""
    seq: Longs
    sub: Longs
    time_us: Longs
    items: Ragged
    keys: Longs
    """(results, variables, 2): as many variables as any stream has."""
    texts: Texts
    """(results, variables)"""
    streams: tuple[str, ...] = ()
    names: tuple[tuple[str, ...], ...] = ()
    """By stream its variables."""

    def __len__(self) -> int:
        return len(self.stream)

    def take(self, rows: Longs) -> Derived:
        return Derived(
            self.stream[rows],
            self.seq[rows],
            self.sub[rows],
            self.time_us[rows],
            self.items.take(rows),
            self.keys[rows],
            self.texts[rows],
            self.streams,
            self.names,
        )

    def of_streams(self, wanted: Sequence[str]) -> Derived:
        """Those of these streams."""
        places = [place for place, stream in enumerate(self.streams) if stream in wanted]
        return self.take(np.flatnonzero(np.isin(self.stream, places)))

    def joined(self, other: Derived) -> Derived:
        """Followed by those of other streams."""
        width = max(self.keys.shape[1], other.keys.shape[1])
        one, two = (_widened(each, width) for each in (self, other))
        return Derived(
            np.concatenate([one.stream, two.stream + len(self.streams)]).astype(np.int32),
            np.concatenate([one.seq, two.seq]),
            np.concatenate([one.sub, two.sub]),
            np.concatenate([one.time_us, two.time_us]),
            one.items.joined(two.items),
            np.concatenate([one.keys, two.keys]),
            np.concatenate([one.texts, two.texts]),
            self.streams + other.streams,
            self.names + other.names,
        )


def nothing_derived() -> Derived:
    none = np.empty(0, np.int64)
    empty = Ragged(np.zeros(1, np.int64), none)
    no_keys, no_texts = np.empty((0, 0, 2), np.int64), np.empty((0, 0), object)
    return Derived(none.astype(np.int32), none, none, none, empty, no_keys, no_texts)


def _widened(one: Derived, width: int) -> Derived:
    missing = width - one.keys.shape[1]
    keys = np.pad(one.keys, ((0, 0), (0, missing), (0, 0)))
    return replace(one, keys=keys, texts=np.pad(one.texts, ((0, 0), (0, missing)), constant_values=""))


def members_of(found: Found, level: Level) -> Iterator[tuple[int, Longs]]:
    """(result, places): which matches each result's own window takes."""
    relation = level.relations[found.relation]
    order = np.argsort(found.row, kind="stable")
    rows, starts = np.unique(found.row[order], return_index=True)
    stops = np.append(starts, len(order))[1:]
    for row, start, stop in zip(rows.tolist(), starts.tolist(), stops.tolist(), strict=True):
        places = order[start:stop]
        needed = found.needed[places]
        for member in range(int(relation.members_ptr[row]), int(relation.members_ptr[row + 1])):
            taken = places[needed <= relation.member_length[member]]
            if len(taken):
                yield int(relation.members[member]), taken


def bindings_of(found: Found, level: Level, state: LevelState, room: int) -> tuple[Bindings, list[int]]:
    """The distinct bindings of every result that has outputs, or that a join above reads, and the results whose
    bindings find no room."""
    relation = level.relations[found.relation]
    template = relation.template
    dropped_rows = np.zeros(len(relation.mode), np.bool_)
    if found.paths is None:
        nothing = np.empty((len(found), 0), np.int32)
        ways = _Ways(np.arange(len(found)), nothing, np.empty((len(found), 0, 2), np.int64))
    else:
        ways = _ways(found, level, state, _AT_ONCE * room, dropped_rows)
    bindings = _of_results(found, level, ways, tuple(template.sides[end] for end in template.outputs))
    counts = np.bincount(bindings.result, minlength=len(level.results))
    dropped = np.zeros(len(counts), np.bool_)
    dropped[relation.members[np.repeat(dropped_rows, np.diff(relation.members_ptr))]] = True
    if counts.sum() > room:
        drop_largest(dropped, counts, room)
    if dropped.any():
        bindings = bindings.take(~dropped[bindings.result])
    return bindings, np.flatnonzero(dropped).tolist()


def _of_results(found: Found, level: Level, ways: _Ways, sides: tuple[int, ...]) -> Bindings:
    """The ways to bind, for each result whose own window takes the match."""
    relation = level.relations[found.relation]
    row = found.row[ways.place]
    low, high = relation.members_ptr[row], relation.members_ptr[row + 1]
    way, member = np.repeat(np.arange(len(row)), high - low), ranges(low, high)
    result = relation.members[member]
    is_taken = found.needed[ways.place[way]] <= relation.member_length[member]
    if found.paths is None:
        is_taken &= level.results.is_inner[result]
    way, result = way[is_taken], result[is_taken]
    place = ways.place[way]
    return Bindings(result, found.left[place], found.right[place], ways.nodes[way], ways.keys[way], sides)


@dataclass(frozen=True, slots=True)
class _Ways:
    """The ways to bind a template's outputs, each once: which match, and by output node and key."""

    place: Longs
    nodes: Ints
    keys: Longs


def _ways(found: Found, level: Level, state: LevelState, most: int, dropped: NDArray[np.bool_]) -> _Ways:
    """Ends without a value edge are looked up by document, one after the other, and must agree with the end before them
    on the nodes that they share. Rows of R_T that would try more than `most` ways are dropped."""
    assert found.paths is not None
    assert found.values is not None
    relation = level.relations[found.relation]
    template = relation.template
    loose = [end for end in template.outputs if not any(end in edge for edge in template.edges)]
    lookup = _Lookup.of(found, relation, loose, level, state) if loose else None
    place = np.arange(len(found))
    chosen: dict[int, tuple[Ints, Longs]] = {}
    for end, side in enumerate(template.sides):
        if lookup is None or end not in loose:
            chosen[end] = found.paths[place, end], found.values[place, end]
        else:
            document = (found.left, found.right)[side][place]
            low, high = lookup.ranges_of(document, relation.variables[found.row[place], end])
            again, rows = _tried(found, place, low, high, most, dropped)
            place = place[again]
            chosen = {known: (paths[again], keys[again]) for known, (paths, keys) in chosen.items()}
            chosen[end] = lookup.rows.path[rows], lookup.keys[rows]
        before = next((one for one in range(end - 1, -1, -1) if template.sides[one] == side), None)
        if before is not None:
            agrees = _agrees(chosen[before][0], chosen[end][0], relation.shared[found.row[place], end])
            place = place[agrees]
            chosen = {known: (paths[agrees], keys[agrees]) for known, (paths, keys) in chosen.items()}
    nodes = np.stack([_last(chosen[end][0]) for end in template.outputs], axis=1)
    keys = np.stack([chosen[end][1] for end in template.outputs], axis=1)
    first = _each_once(found.row[place], found.left[place], found.right[place], *nodes.T)
    return _Ways(place[first], nodes[first], keys[first])


def _tried(
    found: Found, place: Longs, low: Longs, high: Longs, most: int, dropped: NDArray[np.bool_]
) -> tuple[Longs, Longs]:
    """(which ways so far, rows of the lookup): all pairs to be tried."""
    sizes = high - low
    if sizes.sum() > most:
        row = found.row[place]
        counts = np.bincount(row, weights=sizes, minlength=len(dropped)).astype(np.int64)
        drop_largest(dropped, counts, most)
        sizes = np.where(dropped[row], 0, sizes)
    return np.repeat(np.arange(len(place)), sizes), ranges(low, low + sizes)


def _agrees(one: Ints, other: Ints, shared: Ints) -> NDArray[np.bool_]:
    """Whether paths agree on so many nodes from the top."""
    width = min(one.shape[1], other.shape[1])
    differs = (one[:, :width] != other[:, :width]) & (np.arange(width) < shared[:, None])
    return np.asarray(~differs.any(axis=1))


def _last(paths: Ints) -> Ints:
    """The last node of each path."""
    depth = (paths >= 0).sum(axis=1)
    return np.where(depth > 0, paths[np.arange(len(paths)), np.maximum(depth - 1, 0)], -1).astype(np.int32)


def _each_once(*columns: NDArray[np.integer]) -> Longs:
    """The first place of each distinct row, in order."""
    order = np.lexsort(columns[::-1])
    differs = np.zeros(max(len(order) - 1, 0), np.bool_)
    for column in columns:
        ordered = column[order]
        differs |= ordered[1:] != ordered[:-1]
    return np.sort(order[np.append(True, differs)[: len(order)]])


@dataclass(frozen=True, slots=True)
class _Lookup:
    """Rows of history by document and variable."""

    rows: BindingRows
    keys: Longs
    codes: Longs
    """Ascending: of each row, its document and its dense variable in one number."""
    documents: Longs
    count: int
    """Of variables."""

    @staticmethod
    def of(
        found: Found, relation: TemplateRelation, loose: Sequence[int], level: Level, state: LevelState
    ) -> _Lookup:
        numbers = level.numbers
        wanted = np.unique(numbers[relation.variables[np.unique(found.row)][:, list(loose)]])
        documents = np.unique(np.concatenate([found.left, found.right]))
        rows = state.of_documents(documents, wanted, 1)
        dense = np.searchsorted(numbers, rows.variable)
        codes = np.searchsorted(documents, rows.document) * len(numbers) + dense
        order = np.argsort(codes, kind="stable")
        rows = rows.take(order)
        keys = np.stack([rows.value, rows.check], axis=1)
        return _Lookup(rows, keys, codes[order].astype(np.int64), documents, len(numbers))

    def ranges_of(self, document: Longs, variable: Ints) -> tuple[Longs, Longs]:
        asked = np.searchsorted(self.documents, document) * self.count + variable
        low, high = (np.searchsorted(self.codes, asked, side) for side in ("left", "right"))
        return low.astype(np.int64), high.astype(np.int64)


def derived_of(found: Sequence[tuple[Bindings, Level]], number: int, state: LevelState) -> Derived:
    """The documents that the inner joins of a level make, in stream order; `number` is the level's.

    Sets that were compiled apart may have the same inner join: what it makes is there once.
    """
    parts = [_made(bindings, level, state) for bindings, level in found]
    filled = [one for one in parts if len(one[0])]
    if not filled:
        return nothing_derived()
    made = reduce(Derived.joined, (one for one, _ in filled))
    columns = _matrix([columns for _, columns in filled])
    streams = sorted(set(made.streams))
    place_of = np.array([streams.index(one) for one in made.streams], np.int32)
    stream = place_of[made.stream]
    first = _each_once(made.seq, made.sub, stream, *columns.T)
    order = first[
        np.lexsort(
            (
                *(column[first] for column in columns.T[::-1]),
                *(one[first] for one in (stream, made.sub, made.seq)),
            )
        )
    ]
    made, stream = made.take(order), stream[order]
    names = dict(zip(made.streams, made.names, strict=True))
    sub = (number + 1) << LEVEL_BITS | rank_in_group(made.seq) + 1
    return Derived(
        stream, made.seq, sub, made.time_us, made.items, made.keys, made.texts,
        tuple(streams), tuple(names[one] for one in streams),
    )  # fmt: skip


def _made(bindings: Bindings, level: Level, state: LevelState) -> tuple[Derived, Longs]:
    """The documents of inner joins among some bindings; what tells those of one stream apart: left, right, nodes."""
    results = level.results
    own = bindings.take(results.is_inner[bindings.result])
    left, right = (np.stack(state.sequence(side)) for side in (own.left, own.right))
    is_right = (right[0] > left[0]) | ((right[0] == left[0]) & (right[1] > left[1]))
    seq, sub = np.where(is_right, right, left)
    names = sorted(set(results.stream[own.result].tolist()))
    stream = np.searchsorted(names, results.stream[own.result]).astype(np.int32)
    lists = {int(results.stream[one]): results.lists[results.outputs[one]] for one in np.unique(own.result)}
    made = Derived(
        stream, seq, sub,
        np.maximum(state.times(own.left), state.times(own.right)),
        state.items_of(own.left).beside(state.items_of(own.right)),
        own.keys, own.texts(state),
        tuple(results.names[one] for one in names),
        tuple(lists[one] for one in names),
    )  # fmt: skip
    return made, np.column_stack([own.left, own.right, own.nodes])


def _matrix(parts: Sequence[Longs]) -> Longs:
    """Matrices one below the other, as wide as the widest."""
    width = max(one.shape[1] for one in parts)
    return np.concatenate(
        [np.pad(one, ((0, 0), (0, width - one.shape[1])), constant_values=-1) for one in parts]
    )


def each_document_once(code: Longs, items: Ragged) -> Longs:
    """The places of distinct rows, by code, the latest of their items, and all of them."""
    rows = items.padded(-1)
    last = rows.max(axis=1, initial=-1)
    order = np.lexsort((*rows.T[::-1], last, code))
    differs = np.zeros(max(len(order) - 1, 0), np.bool_)
    for column in (code, *rows.T):
        differs |= column[order][1:] != column[order][:-1]
    return np.asarray(order[np.append(True, differs)[: len(order)]])
