"""Patterns with variables, as written: their nodes in pre-order, and what each variable is paired with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from feedweir.match.trees.patterns.pattern_steps import PatternNames
from feedweir.match.trees.tree_codes import TEXT_EQ, TEXT_NE, comparison_of
from feedweir.plan.predicates import PatternNode, TreePattern

NOT_BOUND = -2
DOCUMENT = -1


@dataclass(frozen=True, slots=True)
class Bound:
    """A pattern with variables: its nodes as written, and of each node the nearest variable above."""

    pattern: int
    nodes: tuple[PatternNode, ...]
    parents: tuple[int, ...]
    above: tuple[int, ...]
    """By node: the node of the nearest variable above, DOCUMENT when it binds alone, NOT_BOUND when it gives no
    row."""
    is_last: tuple[bool, ...]
    """By node: bound, with no variable below it."""

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        return tuple((above, node) for node, above in enumerate(self.above) if above != NOT_BOUND)

    @property
    def is_linear(self) -> bool:
        is_chain = all(parent == node - 1 for node, parent in enumerate(self.parents))
        return is_chain and all(node.op is None for node in self.nodes)


def binds(node: PatternNode) -> bool:
    return bool(node.variable) or any(binds(child) for child in node.children)


def bound_of(index: int, pattern: TreePattern) -> Bound:
    nodes, parents = _in_order(pattern.root)
    nearest: list[int] = []
    has_below = [False] * len(nodes)
    for node, parent in enumerate(parents):
        up = parent
        while up >= 0 and not nodes[up].variable:
            up = parents[up]
        nearest.append(up)
        if nodes[node].variable and up >= 0:
            has_below[up] = True
    above = tuple(
        _above(bool(one.variable), nearest[node], has_below[node]) for node, one in enumerate(nodes)
    )
    last = tuple(bool(one.variable) and not has_below[node] for node, one in enumerate(nodes))
    return Bound(index, tuple(nodes), tuple(parents), above, last)


def _in_order(root: PatternNode) -> tuple[list[PatternNode], list[int]]:
    nodes: list[PatternNode] = []
    parents: list[int] = []
    above = [(root, -1)]
    while above:
        node, parent = above.pop()
        index = len(nodes)
        nodes.append(node)
        parents.append(parent)
        above.extend((child, index) for child in reversed(node.children))
    return nodes, parents


def _above(has_variable: bool, nearest: int, has_below: bool) -> int:
    if not has_variable or (nearest < 0 and has_below):
        return NOT_BOUND
    return nearest if nearest >= 0 else DOCUMENT


def rows_of(patterns: Sequence[Bound], vocabulary: PatternNames) -> tuple[NDArray[np.generic], ...]:
    """(ptr, label, axis, up, op, text, number): pattern p has the nodes ptr[p] to ptr[p + 1]; `up` is local to it."""
    nodes = [node for pattern in patterns for node in pattern.nodes]
    compared = [comparison_of(node) for node in nodes]
    texts = [vocabulary.texts[text] if op in (TEXT_EQ, TEXT_NE) else -1 for op, text, _ in compared]
    return (
        np.cumsum([0, *(len(pattern.nodes) for pattern in patterns)]),
        np.array([vocabulary.label(node.name) for node in nodes], np.int32),
        np.array([node.axis == "//" for node in nodes], np.int8),
        np.array([parent for pattern in patterns for parent in pattern.parents], np.int8),
        np.array([op for op, _, _ in compared], np.int8),
        np.array(texts, np.int32),
        np.array([number for _, _, number in compared], np.float64),
    )
