"""The shared automaton: which routes reach a label path, worked out once for each state of it.

All routes of all patterns are one automaton. A label path is read once: the routes it reaches follow from those of the
path above it, and paths that reach the same routes are in one state, so the deterministic automaton is built lazily,
state by state, and is bounded by the patterns, not by the documents.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from feedweir.match.arrays import ranges_of
from feedweir.match.trees.patterns.pattern_steps import Comparisons
from feedweir.match.trees.patterns.postings import Layout, offsets
from feedweir.match.trees.tree_codes import (
    ANY_ATTRIBUTE,
    ANY_ELEMENT,
    OPERATIONS,
    ROOT_ROUTE,
    TEXT_EQ,
    TEXT_NE,
)

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


class State(NamedTuple):
    """What the label paths of a state decide."""

    reached: Ints
    spreading: Ints
    """Routes above or at these paths from which a `//` route can start."""
    atoms: Ints
    """Atoms that a node here can make true, by operation and then by what they compare with."""
    ops: Longs
    """The atoms of operation o are ops[o] to ops[o + 1]."""
    busy: Ints
    """Those of the atoms that patterns with branches ask."""
    plain: Ints
    """The patterns that the atoms decide alone, in the order of the atoms."""


class Facts(NamedTuple):
    """All states, as the kernels read them."""

    compared: Ints
    """Of each atom what it compares with."""
    ops: Longs
    busy_ptr: Longs
    """The k-th to the l-th atom are or lead to busy[busy_ptr[k] : busy_ptr[l]]; so for `plain`."""
    busy: Ints
    plain_ptr: Longs
    plain: Ints
    routes_ptr: Longs
    routes: Ints
    """Routes reached, ascending."""
    needs_text: NDArray[np.bool_]
    needs_number: NDArray[np.bool_]


class Automaton:
    def __init__(self, layout: Layout, comparisons: Comparisons) -> None:
        self._layout = layout
        self._op_of = comparisons.op[layout.atoms.compared]
        self._n_plain = np.diff(layout.postings.plain_ptr)
        self._is_busy = np.diff(layout.postings.ptr) > 0
        self._is_busy[layout.postings.rest] = True
        self._edges = _edges_of(layout.routes)
        self._spreads = np.zeros(len(layout.routes), np.bool_)
        self._spreads[layout.routes[layout.routes[:, 1] == 1, 0]] = True
        self.states: list[State] = []
        self._known: dict[tuple[bytes, bytes], int] = {}
        self._next: dict[tuple[int, int], int] = {}
        self._facts: Facts | None = None
        self.size = 0
        root = np.array([ROOT_ROUTE], np.int32)
        self._state(root, root[self._spreads[root]])

    def after(self, state: int, label: int) -> int:
        """The state of a path extended by a label."""
        key = (state, label)
        if key not in self._next:
            above = self.states[state]
            names = (label, ANY_ATTRIBUTE if label & 1 else ANY_ELEMENT)
            found = [self._targets(0, name, above.reached) for name in names]
            found += [self._targets(1, name, above.spreading) for name in names]
            reached = np.unique(np.concatenate(found))
            spreading = np.union1d(above.spreading, reached[self._spreads[reached]]).astype(np.int32)
            self._next[key] = self._state(reached, spreading)
        return self._next[key]

    def facts(self) -> Facts:
        if self._facts is None:
            self._facts = self._facts_of()
        return self._facts

    def _targets(self, axis: int, name: int, sources: Ints) -> Ints:
        edges = self._edges.get((axis, name))
        if edges is None or not len(sources):
            return np.empty(0, np.int32)
        marked = np.zeros(len(self._spreads), np.bool_)
        marked[sources] = True
        return edges[1][marked[edges[0]]]

    def _state(self, reached: Ints, spreading: Ints) -> int:
        key = (reached.tobytes(), spreading.tobytes())
        if key not in self._known:
            self._known[key] = len(self.states)
            self.states.append(self._made(reached, spreading))
            self.size += 3 * len(reached) + 2 * len(spreading) + _size(self.states[-1])
            self._facts = None
        return self._known[key]

    def _made(self, reached: Ints, spreading: Ints) -> State:
        known, postings = self._layout.atoms, self._layout.postings
        starts = known.ptr[reached]
        atoms = np.sort(known.by_route[ranges_of(starts, known.ptr[reached + 1] - starts)])
        ops = np.searchsorted(self._op_of[atoms], np.arange(OPERATIONS + 1))
        busy = atoms[self._is_busy[atoms]].astype(np.int32)
        plain = postings.plain[ranges_of(postings.plain_ptr[atoms], self._n_plain[atoms])]
        return State(reached, spreading, atoms.astype(np.int32), ops, busy, plain)

    def _facts_of(self) -> Facts:
        states = self.states
        atoms = np.concatenate([state.atoms for state in states])
        ops = np.stack([state.ops for state in states])
        ops += offsets(np.array([len(state.atoms) for state in states]))[:-1, None]
        return Facts(
            self._layout.atoms.compared[atoms],
            ops,
            offsets(self._is_busy[atoms]),
            np.concatenate([state.busy for state in states]),
            offsets(self._n_plain[atoms]),
            np.concatenate([state.plain for state in states]),
            offsets(np.array([len(state.reached) for state in states])),
            np.concatenate([state.reached for state in states]),
            ops[:, TEXT_NE + 1] > ops[:, TEXT_EQ],
            ops[:, OPERATIONS] > ops[:, TEXT_NE + 1],
        )


def _size(state: State) -> int:
    """The numbers that a state takes, including those in `Facts`."""
    return 4 * len(state.atoms) + 2 * len(state.busy) + 2 * len(state.plain)


def _edges_of(routes: Ints) -> dict[tuple[int, int], tuple[Ints, Ints]]:
    """The routes of each axis and label: those they start from, and themselves."""
    return dict(_grouped(routes))


def _grouped(routes: Ints) -> Iterator[tuple[tuple[int, int], tuple[Ints, Ints]]]:
    order = 1 + np.lexsort((routes[1:, 2], routes[1:, 1]))
    keys = routes[order][:, 1:]
    starts = np.flatnonzero(np.any(keys[1:] != keys[:-1], axis=1)) + 1
    for targets in np.split(order.astype(np.int32), starts) if len(order) else []:
        _, axis, label = routes[targets[0]].tolist()
        yield (axis, label), (np.ascontiguousarray(routes[targets, 0]), targets)
