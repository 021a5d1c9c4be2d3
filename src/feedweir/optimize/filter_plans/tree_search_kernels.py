"""Kernels that choose which nodes of a subsumption graph a filter tree opens, and under which parent each stands.

parent[n]                       the parent of an open node; 0 is `true`
above[above_starts[n]:…]        the nodes that subsume node n
below[below_starts[n]:…]        the nodes that node n subsumes
selectivity[n]                  the share of items that satisfy it: what each of its children costs
is_terminal[n], is_open[n]      whether it is a predicate, which is always open; whether it is in the tree
first, following, before        the children of each node as a doubly linked list: first[p] is a child of p,
                                following[n] and before[n] are its siblings, NONE ends the list
"""

# mypy: disable-error-code="untyped-decorator, no-any-return"
from __future__ import annotations

from typing import Any

import numpy as np

from feedweir.kernels import njit

EPSILON = 1e-12
NONE = -1


@njit(cache=True)
def sweep(
    order: Any, below_starts: Any, below: Any, selectivity: Any, is_terminal: Any, is_open: Any, parent: Any
) -> None:
    """VCA in one pass over the candidates, the most selective first.

    How many nodes of the border a candidate subsumes never grows: what an expansion takes from the border it
    replaces by one node, and only for candidates that subsume that node. So a candidate that was not worth
    inserting when its turn came will never be, and the best candidate is always the next one; no list has to
    be kept up to date.
    """
    children = np.zeros(parent.size, np.int32)
    for candidate in order:
        start, end = below_starts[candidate], below_starts[candidate + 1]
        # How many children of `true` it could take over.
        factorized = 0
        for at in range(start, end):
            node = below[at]
            if is_open[node] and parent[node] == 0:
                factorized += 1
        rate = selectivity[candidate]
        if is_open[candidate]:
            is_better = factorized > 0 and parent[candidate] == 0 and rate < 1.0 - EPSILON
        else:
            is_better = (factorized - 1) - factorized * rate > EPSILON
        if not is_better:
            continue
        # It takes them over; those that no longer pay are closed, and give it their children.
        is_open[candidate] = True
        parent[candidate] = 0
        for at in range(start, end):
            node = below[at]
            if not is_open[node] or parent[node] != 0:
                continue
            parent[node] = candidate
            count = children[node]
            is_worse = (count - 1) * rate - count * selectivity[node] < -EPSILON
            if is_terminal[node] or count == 0 or not is_worse:
                children[candidate] += 1
                continue
            is_open[node] = False
            for inner in range(below_starts[node], below_starts[node + 1]):
                child = below[inner]
                if is_open[child] and parent[child] == node:
                    parent[child] = candidate
                    children[candidate] += 1


@njit(cache=True)
def improve(
    candidates: Any,
    above_starts: Any,
    above: Any,
    below_starts: Any,
    below: Any,
    selectivity: Any,
    is_terminal: Any,
    is_open: Any,
    parent: Any,
    max_rounds: int,
) -> int:
    """Open and close single nodes, every open node under its best open parent, until no such move lowers the cost.

    Returns the number of moves. The cost never rises. Arrays are as above; `candidates` may be opened and closed, and
    `gains[i]` is what opening candidates[i] would save.
    """
    # Every open node goes below its best open parent.
    nodes = parent.size
    first = np.full(nodes, NONE, np.int32)
    following = np.full(nodes, NONE, np.int32)
    before = np.full(nodes, NONE, np.int32)
    for node in range(1, nodes):
        if is_open[node]:
            best = _best_above(node, NONE, above_starts, above, selectivity, is_open)
            if selectivity[best] < selectivity[parent[node]] - EPSILON:
                parent[node] = best
            _attach(node, parent[node], first, following, before)
    moves = 0
    gains = np.empty(candidates.size, np.float64)
    for _ in range(max_rounds):
        # Close what no longer pays.
        moved = 0
        for candidate in candidates:
            if is_open[candidate] and not is_terminal[candidate]:
                moved += _close(
                    candidate, above_starts, above, selectivity, is_open, parent, first, following, before
                )
        # Open what pays, the best first; a gain may have shrunk since it was estimated.
        for at in range(candidates.size):
            gains[at] = _gain(
                candidates[at], above_starts, above, below_starts, below, selectivity, is_open, parent
            )
        for at in np.argsort(-gains, kind="mergesort"):
            if gains[at] <= EPSILON:
                break
            candidate = candidates[at]
            if (
                _gain(candidate, above_starts, above, below_starts, below, selectivity, is_open, parent)
                > EPSILON
            ):
                _open(
                    candidate,
                    above_starts,
                    above,
                    below_starts,
                    below,
                    selectivity,
                    is_open,
                    parent,
                    first,
                    following,
                    before,
                )
                moved += 1
        moves += moved
        if moved == 0:
            break
    return moves


@njit(cache=True)
def _best_above(
    node: int, without: int, above_starts: Any, above: Any, selectivity: Any, is_open: Any
) -> int:
    """The most selective open node that subsumes a node, one of them left out."""
    best = 0
    for at in range(above_starts[node], above_starts[node + 1]):
        other = above[at]
        if is_open[other] and other != without and selectivity[other] < selectivity[best]:
            best = other
    return best


@njit(cache=True)
def _attach(node: int, to: int, first: Any, following: Any, before: Any) -> None:
    following[node] = first[to]
    before[node] = NONE
    if first[to] != NONE:
        before[first[to]] = node
    first[to] = node


@njit(cache=True)
def _detach(node: int, of: int, first: Any, following: Any, before: Any) -> None:
    if before[node] == NONE:
        first[of] = following[node]
    else:
        following[before[node]] = following[node]
    if following[node] != NONE:
        before[following[node]] = before[node]


@njit(cache=True)
def _close(
    node: int,
    above_starts: Any,
    above: Any,
    selectivity: Any,
    is_open: Any,
    parent: Any,
    first: Any,
    following: Any,
    before: Any,
) -> int:
    """Remove a node when its children cost less elsewhere; 1 when it was."""
    # What is saved: its own evaluations, less what its children cost more below their next best parents.
    saved = selectivity[parent[node]]
    child = first[node]
    while child != NONE:
        other = _best_above(child, node, above_starts, above, selectivity, is_open)
        saved -= selectivity[other] - selectivity[node]
        if saved <= EPSILON:
            return 0
        child = following[child]
    if saved <= EPSILON:
        return 0
    # Move the children, then take it out.
    child = first[node]
    while child != NONE:
        after = following[child]
        parent[child] = _best_above(child, node, above_starts, above, selectivity, is_open)
        _attach(child, parent[child], first, following, before)
        child = after
    first[node] = NONE
    _detach(node, parent[node], first, following, before)
    is_open[node] = False
    return 1


@njit(cache=True)
def _gain(
    node: int,
    above_starts: Any,
    above: Any,
    below_starts: Any,
    below: Any,
    selectivity: Any,
    is_open: Any,
    parent: Any,
) -> float:
    """What opening a closed node saves."""
    if is_open[node]:
        return 0.0
    rate = selectivity[node]
    saved = 0.0
    for at in range(below_starts[node], below_starts[node + 1]):
        child = below[at]
        if is_open[child] and selectivity[parent[child]] > rate:
            saved += selectivity[parent[child]] - rate
    return saved - selectivity[_best_above(node, NONE, above_starts, above, selectivity, is_open)]


@njit(cache=True)
def _open(
    node: int,
    above_starts: Any,
    above: Any,
    below_starts: Any,
    below: Any,
    selectivity: Any,
    is_open: Any,
    parent: Any,
    first: Any,
    following: Any,
    before: Any,
) -> None:
    parent[node] = _best_above(node, NONE, above_starts, above, selectivity, is_open)
    is_open[node] = True
    _attach(node, parent[node], first, following, before)
    for at in range(below_starts[node], below_starts[node + 1]):
        child = below[at]
        if is_open[child] and selectivity[parent[child]] > selectivity[node] + EPSILON:
            _detach(child, parent[child], first, following, before)
            parent[child] = node
            _attach(child, node, first, following, before)
