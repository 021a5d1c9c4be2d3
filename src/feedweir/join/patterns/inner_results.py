"""The bindings of matches, for constructions; and the results of inner joins as documents for the joins above them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product

import numpy as np
from numpy.typing import NDArray

from feedweir.join.patterns.binding_rows import BindingRows
from feedweir.join.patterns.evaluate import Found
from feedweir.join.patterns.level_history import LevelState
from feedweir.join.patterns.pattern_set import Level

Longs = NDArray[np.int64]


LEVEL_BITS = 40


@dataclass(frozen=True, slots=True)
class Bindings:
    """One match with what its construction needs: `nodes` and `keys` by output, in the order of `Result.outputs`."""

    result: int
    left: int
    right: int
    nodes: tuple[int, ...]
    keys: tuple[tuple[int, int], ...]
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Derived:
    """A result of an inner join, ordered after the item that completed it: variables with values."""

    stream: str
    seq: int
    sub: int
    time_us: int
    items: tuple[int, ...]
    names: tuple[str, ...]
    keys: tuple[tuple[int, int], ...]
    texts: tuple[str, ...]


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


def bindings_of(
    found: Found, level: Level, state: LevelState, width: int, room: int
) -> tuple[list[Bindings], list[int]]:
    """The distinct bindings of every result that has outputs, and the results whose bindings find no room."""
    relation = level.relations[found.relation]
    template = relation.template
    loose = [end for end in template.outputs if not any(end in edge for edge in template.edges)]
    lookup = _loose_rows(found, relation.variables, loose, level, state, width)
    made: list[Bindings] = []
    dropped: list[int] = []
    for result, places in members_of(found, level):
        own = list(
            islice(_of_result(found, result, places, level, state, loose, lookup), room - len(made) + 1)
        )
        if len(made) + len(own) > room:
            dropped.append(result)
        else:
            made += own
    return made, dropped


def _of_result(
    found: Found,
    result: int,
    places: Longs,
    level: Level,
    state: LevelState,
    loose: Sequence[int],
    lookup: _Lookup,
) -> Iterator[Bindings]:
    """Ends without a value edge are looked up by document."""
    template = level.relations[found.relation].template
    seen: set[tuple[object, ...]] = set()
    for place in places.tolist():
        for nodes, keys in _embeddings(found, place, level, loose, lookup):
            left, right = int(found.left[place]), int(found.right[place])
            if (left, right, nodes) in seen:
                continue
            seen.add((left, right, nodes))
            documents = [(left, right)[template.sides[end]] for end in template.outputs]
            texts = tuple(state.text(document, node) for document, node in zip(documents, nodes, strict=True))
            yield Bindings(result, left, right, nodes, keys, texts)


def plain_bindings_of(found: Found, level: Level, room: int) -> tuple[list[Bindings], list[int]]:
    """Matches without outputs of inner joins: they are documents all the same."""
    made: list[Bindings] = []
    dropped: list[int] = []
    for result, places in members_of(found, level):
        if not level.results[result].stream:
            continue
        if len(made) + len(places) > room:
            dropped.append(result)
            continue
        pairs = zip(found.left[places].tolist(), found.right[places].tolist(), strict=True)
        made += (Bindings(result, left, right, (), (), ()) for left, right in pairs)
    return made, dropped


_Lookup = dict[tuple[int, int], list[tuple[tuple[int, ...], tuple[int, int]]]]


def _loose_rows(
    found: Found,
    variables: NDArray[np.int32],
    loose: Sequence[int],
    level: Level,
    state: LevelState,
    width: int,
) -> _Lookup:
    """By (document, dense variable) the paths and keys of the loose ends' rows."""
    if not loose:
        return {}
    numbers = level.numbers
    wanted = np.unique(numbers[variables[np.unique(found.row)][:, list(loose)]])
    documents = np.unique(np.concatenate([found.left, found.right]))
    rows: BindingRows = state.of_documents(documents, wanted, width)
    lookup: _Lookup = {}
    dense = np.searchsorted(numbers, rows.variable)
    columns = (rows.document, dense, rows.path, rows.value, rows.check)
    for document, variable, path, value, check in zip(*(column.tolist() for column in columns), strict=True):
        lookup.setdefault((document, variable), []).append((tuple(path), (value, check)))
    return lookup


def _embeddings(
    found: Found, place: int, level: Level, loose: Sequence[int], lookup: _Lookup
) -> Iterator[tuple[tuple[int, ...], tuple[tuple[int, int], ...]]]:
    """(nodes, keys) of the outputs of one match, for each choice of rows for the loose ends."""
    assert found.paths is not None
    assert found.values is not None
    relation = level.relations[found.relation]
    template = relation.template
    row = int(found.row[place])
    paths = {
        end: tuple(found.paths[place, end].tolist()) for end in range(len(template.sides)) if end not in loose
    }
    keys = {end: (int(found.values[place, end, 0]), int(found.values[place, end, 1])) for end in paths}
    documents = (int(found.left[place]), int(found.right[place]))
    choices = [
        lookup.get((documents[template.sides[end]], int(relation.variables[row, end])), []) for end in loose
    ]
    for chosen in product(*choices):
        all_paths = paths | {end: path for end, (path, _) in zip(loose, chosen, strict=True)}
        if not _agree(all_paths, template.sides, relation.shared[row].tolist()):
            continue
        all_keys = keys | {end: key for end, (_, key) in zip(loose, chosen, strict=True)}
        nodes = tuple(_last(all_paths[end]) for end in template.outputs)
        yield nodes, tuple(all_keys[end] for end in template.outputs)


def _agree(paths: dict[int, tuple[int, ...]], sides: Sequence[int], shared: Sequence[int]) -> bool:
    before: dict[int, tuple[int, ...]] = {}
    for end, side in enumerate(sides):
        if side in before and before[side][: shared[end]] != paths[end][: shared[end]]:
            return False
        before[side] = paths[end]
    return True


def _last(path: tuple[int, ...]) -> int:
    nodes = [node for node in path if node >= 0]
    return nodes[-1] if nodes else -1


def derived_of(
    found: Sequence[tuple[Sequence[Bindings], Level]], number: int, state: LevelState
) -> list[Derived]:
    """The documents that the inner joins of a level make, in stream order; `number` is the level's.

    Sets that were compiled apart may have the same inner join: what it makes is there once.
    """
    made: dict[tuple[object, ...], Derived] = {}
    for bindings, level in found:
        for one in bindings:
            result = level.results[one.result]
            if not result.stream:
                continue
            seq, sub = state.sequence(np.array([one.left, one.right], np.int64))
            last = max(zip(seq.tolist(), sub.tolist(), strict=True))
            items = (*state.items_of(one.left), *state.items_of(one.right))
            time = max(state.time_of(one.left), state.time_of(one.right))
            document = Derived(result.stream, last[0], 0, time, items, result.outputs, one.keys, one.texts)
            made.setdefault((last, result.stream, one.left, one.right, one.nodes), document)
    ranks: dict[int, int] = {}
    placed = []
    for _, document in sorted(made.items(), key=lambda pair: pair[0]):
        rank = ranks[document.seq] = ranks.get(document.seq, 0) + 1
        placed.append(replace(document, sub=(number + 1) << LEVEL_BITS | rank))
    return placed
