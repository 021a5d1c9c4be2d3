"""Rows of R_L and R_R: an end of a query with its string value, and the path nodes above it.

`intake` makes those of a batch from witnesses: the pairs of R_binW put together into paths, with the values of R_docW.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from feedweir.items.string_keys import NO_VALUE, keys_of
from feedweir.join.patterns.pattern_set import Level
from feedweir.join.patterns.variables import Variable
from feedweir.join.ragged import ranges
from feedweir.match.trees.witnesses import Witnesses
from feedweir.plan.predicates import TreePattern

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class BindingRows:
    """Columns. `variable` is a stable number, `document` the number in the stream; path is -1 after its last node."""

    value: Longs
    check: Longs
    variable: Longs
    document: Longs
    time: Longs
    path: Ints

    def __len__(self) -> int:
        return len(self.value)

    @property
    def nbytes(self) -> int:
        return sum(getattr(self, name).nbytes for name in self.__slots__)

    def take(self, places: NDArray[np.generic]) -> BindingRows:
        return BindingRows(*(getattr(self, name)[places] for name in self.__slots__))

    def sorted(self) -> BindingRows:
        """By value, then variable, then document: how slices lie in segments and in memory."""
        order = np.lexsort((self.document, self.variable, self.value))
        return self.take(order)

    def widened(self, width: int) -> BindingRows:
        """With at least `width` path columns."""
        missing = width - self.path.shape[1]
        if missing <= 0:
            return self
        path = np.hstack([self.path, np.full((len(self), missing), -1, np.int32)])
        return BindingRows(self.value, self.check, self.variable, self.document, self.time, path)


def no_rows(width: int) -> BindingRows:
    none = np.empty(0, np.int64)
    return BindingRows(none, none, none, none, none, np.empty((0, width), np.int32))


def concatenated(parts: Sequence[BindingRows], width: int) -> BindingRows:
    wide = [part.widened(width) for part in parts]
    if not wide:
        return no_rows(width)
    width = max(part.path.shape[1] for part in wide)
    wide = [part.widened(width) for part in wide]
    return BindingRows(
        *(np.concatenate([getattr(part, name) for part in wide]) for name in BindingRows.__slots__)
    )


@dataclass(frozen=True, slots=True)
class Texts:
    """The string values that constructions need, by document number and node."""

    document: Longs
    node: Ints
    text: Sequence[str]


@dataclass(frozen=True, slots=True)
class _Values:
    """R_docW with keys; `key` (document, node) is sorted."""

    key: Longs
    value: Longs
    check: Longs
    texts: Sequence[str]

    def places(self, document: Ints, node: Ints) -> Longs:
        return np.searchsorted(self.key, _key(document, node))


def _key(document: Ints, node: Ints) -> Longs:
    return np.asarray(document.astype(np.int64) << 32 | node.astype(np.int64))


def intake(
    level: Level,
    patterns: Mapping[TreePattern, int],
    witnesses: Witnesses,
    members: Mapping[str, NDArray[np.bool_]],
    numbers: Longs,
    times: Longs,
) -> tuple[BindingRows, Texts]:
    """The rows of a batch for one level. `members[stream]` marks its documents; `numbers` number them."""
    value, check = keys_of(list(witnesses.values)) if len(witnesses.values) else (numbers[:0], numbers[:0])
    values = _Values(_key(witnesses.value_document, witnesses.value_node), value, check, witnesses.values)
    order = np.argsort(witnesses.pattern, kind="stable")
    sorted_patterns = witnesses.pattern[order]
    present, starts = np.unique(sorted_patterns, return_index=True)
    stops = np.append(starts, len(order))[1:]
    users = _users(level, patterns)
    parts: list[BindingRows] = []
    texts: list[tuple[Longs, Ints, list[str]]] = []
    for pattern, start, stop in zip(present.tolist(), starts.tolist(), stops.tolist(), strict=True):
        if pattern not in users:
            continue
        document, path = _paths(witnesses, order[start:stop], users[pattern][0][1].places)
        for dense, variable in users[pattern]:
            kept = members[variable.stream][document] if variable.stream in members else np.zeros(0, np.bool_)
            if not kept.any():
                continue
            own, own_path = document[kept], path[kept]
            at = values.places(own, own_path[:, -1])
            there = np.full(len(own), NO_VALUE, np.int64)
            parts.append(
                BindingRows(
                    there if variable.is_presence else values.value[at],
                    there if variable.is_presence else values.check[at],
                    np.full(len(own), variable.number, np.int64),
                    numbers[own],
                    times[own],
                    np.ascontiguousarray(own_path),
                )
            )
            if dense in level.text_variables:
                texts.append((numbers[own], own_path[:, -1], [values.texts[place] for place in at.tolist()]))
    return concatenated(parts, 1), _texts(texts)


def _users(level: Level, patterns: Mapping[TreePattern, int]) -> dict[int, list[tuple[int, Variable]]]:
    """By pattern, the (dense) variables of the level that it binds: one for each stream it is asked of."""
    users: dict[int, list[tuple[int, Variable]]] = {}
    for dense, variable in enumerate(level.variables):
        if variable.pattern is not None:
            users.setdefault(patterns[variable.pattern], []).append((dense, variable))
    return users


def _paths(witnesses: Witnesses, rows: Longs, places: tuple[int, ...]) -> tuple[Ints, Ints]:
    """(documents, paths) of one pattern: R_binW joined with itself along the pattern's variables."""
    variable = witnesses.variable[rows]
    first = rows[variable == (places[0] if len(places) == 1 else places[1])]
    document = witnesses.document[first]
    path = witnesses.node2[first][:, None]
    if len(places) > 1:
        path = np.column_stack([witnesses.node1[first], witnesses.node2[first]])
    for place in places[2:]:
        more = rows[variable == place]
        keys = _key(witnesses.document[more], witnesses.node1[more])
        order = np.argsort(keys, kind="stable")
        wanted = _key(document, path[:, -1])
        low = np.searchsorted(keys[order], wanted, "left")
        high = np.searchsorted(keys[order], wanted, "right")
        again = np.repeat(np.arange(len(document)), high - low)
        lower = witnesses.node2[more][order[ranges(low.astype(np.int64), high.astype(np.int64))]]
        document, path = document[again], np.column_stack([path[again], lower])
    return document, path


def _texts(parts: list[tuple[Longs, Ints, list[str]]]) -> Texts:
    if not parts:
        return Texts(np.empty(0, np.int64), np.empty(0, np.int32), [])
    document = np.concatenate([part[0] for part in parts])
    node = np.concatenate([part[1] for part in parts])
    text = [one for part in parts for one in part[2]]
    order = np.lexsort((node, document))
    return Texts(document[order], node[order], [text[place] for place in order.tolist()])
