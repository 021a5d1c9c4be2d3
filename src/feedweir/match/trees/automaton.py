"""The shared automaton: which steps reach a label path, worked out once for each state of it.

All steps of all patterns are one automaton. A label path is read once: the steps it reaches follow from those of the
path above it, and paths that reach the same steps are in one state, so the deterministic automaton is built lazily,
state by state, and is bounded by the patterns, not by the documents.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from feedweir.match.trees.limbs import Comparisons
from feedweir.match.trees.postings import Layout, offsets, stretches
from feedweir.match.trees.steps import ANY_ATTRIBUTE, ANY_ELEMENT, OPERATIONS, ROOT_STEP, TEXT_EQ, TEXT_NE

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


class State(NamedTuple):
    """What the label paths of a state decide."""

    reached: Ints
    spreading: Ints
    """Steps above or at these paths from which a `//` step can start."""
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
    steps_ptr: Longs
    steps: Ints
    """Steps reached, ascending."""
    needs_text: NDArray[np.bool_]
    needs_number: NDArray[np.bool_]


class Automaton:
    def __init__(self, layout: Layout, comparisons: Comparisons) -> None:
        self._layout = layout
        self._op_of = comparisons.op[layout.atoms.compared]
        self._n_plain = np.diff(layout.postings.plain_ptr)
        self._is_busy = np.diff(layout.postings.ptr) > 0
        self._is_busy[layout.postings.rest] = True
        self._edges = _edges_of(layout.steps)
        self._spreads = np.zeros(len(layout.steps), np.bool_)
        self._spreads[layout.steps[layout.steps[:, 1] == 1, 0]] = True
        self.states: list[State] = []
        self._known: dict[tuple[bytes, bytes], int] = {}
        self._next: dict[tuple[int, int], int] = {}
        self._facts: Facts | None = None
        self.size = 0
        root = np.array([ROOT_STEP], np.int32)
        self._state(root, root[self._spreads[root]])

    def after(self, state: int, label: int) -> int:
        """The state of a path that goes on with a label."""
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
        atoms = np.sort(known.by_step[stretches(starts, known.ptr[reached + 1] - starts)])
        ops = np.searchsorted(self._op_of[atoms], np.arange(OPERATIONS + 1))
        busy = atoms[self._is_busy[atoms]].astype(np.int32)
        plain = postings.plain[stretches(postings.plain_ptr[atoms], self._n_plain[atoms])]
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
    """Numbers held of a state, among them those in `Facts`."""
    return 4 * len(state.atoms) + 2 * len(state.busy) + 2 * len(state.plain)


def _edges_of(steps: Ints) -> dict[tuple[int, int], tuple[Ints, Ints]]:
    """The steps of each axis and label: those they start from, and themselves."""
    return dict(_grouped(steps))


def _grouped(steps: Ints) -> Iterator[tuple[tuple[int, int], tuple[Ints, Ints]]]:
    order = 1 + np.lexsort((steps[1:, 2], steps[1:, 1]))
    keys = steps[order][:, 1:]
    starts = np.flatnonzero(np.any(keys[1:] != keys[:-1], axis=1)) + 1
    for targets in np.split(order.astype(np.int32), starts) if len(order) else []:
        _, axis, label = steps[targets[0]].tolist()
        yield (axis, label), (np.ascontiguousarray(steps[targets, 0]), targets)
