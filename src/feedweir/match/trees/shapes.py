"""The shape of a document: what patterns without comparisons can tell apart.

Such patterns ask only whether branches exist, so sibling branches of equal shape are as good as one: an item with three
categories and one with seven have the same shape. Shapes are numbered by hash-consing; items of one source share few.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from feedweir.match.trees.document import DocumentTree


@dataclass(slots=True)
class ShapeTable:
    """Branch shapes by number: a label path with the set of shapes below it."""

    numbers: dict[tuple[int, ...], int] = field(default_factory=dict)


def shape_of(tree: DocumentTree, table: ShapeTable) -> tuple[int, list[int]]:
    """The shape of the root, and of every node."""
    below: list[set[int] | None] = [None] * len(tree)
    shapes = [0] * len(tree)
    paths = tree.paths.tolist()
    parents = tree.parent.tolist()
    numbers = table.numbers
    for node in range(len(tree) - 1, -1, -1):
        under = below[node]
        key = (paths[node], *sorted(under)) if under else (paths[node],)
        known = numbers.get(key)
        shape = numbers.setdefault(key, len(numbers)) if known is None else known
        shapes[node] = shape
        parent = parents[node]
        if parent >= 0:
            siblings = below[parent]
            if siblings is None:
                below[parent] = {shape}
            else:
                siblings.add(shape)
    return shapes[0], shapes


def reduced(tree: DocumentTree, shapes: list[int]) -> DocumentTree:
    """The document with, among siblings, only the first of each shape: it has the same patterns."""
    kept: list[int] = []
    number = [-1] * len(tree)
    seen: set[tuple[int, int]] = set()
    parents = tree.parent.tolist()
    elements = 0
    for node in range(len(tree)):
        parent = parents[node]
        if parent >= 0 and (number[parent] < 0 or (parent, shapes[node]) in seen):
            continue
        seen.add((parent, shapes[node]))
        number[node] = len(kept)
        kept.append(node)
        elements += node < tree.elements
    renumbered = np.array(number, np.int32)
    chosen = np.array(kept, np.int32)
    parent_of = np.where(tree.parent[chosen] < 0, -1, renumbered[tree.parent[chosen]]).astype(np.int32)
    ends = np.searchsorted(chosen[:elements], tree.end[chosen]).astype(np.int32)
    return DocumentTree(tree.paths[chosen], parent_of, ends, elements, tree.values_of)
