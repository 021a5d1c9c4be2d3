"""The kernel that runs a filter tree over items given as bitsets of satisfied atoms.

The children of a node lie side by side. A node asks its `parts`, clauses given as runs of literals; literal
2·a is atom a and 2·a + 1 its negation. Children of the root are either all looked at, or found through the
item's atoms.
"""

# mypy: disable-error-code="untyped-decorator, no-any-return"
from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True)
def _holds(row: Any, node: int, part_starts: Any, parts: Any, literal_starts: Any, literals: Any) -> bool:
    for at in range(part_starts[node], part_starts[node + 1]):
        clause = parts[at]
        is_satisfied = False
        for place in range(literal_starts[clause], literal_starts[clause + 1]):
            literal = literals[place]
            atom = literal >> 1
            bit = (row[atom >> 6] >> np.uint64(atom & 63)) & np.uint64(1)
            if bit != np.uint64(literal & 1):
                is_satisfied = True
                break
        if not is_satisfied:
            return False
    return True


@njit(cache=True)
def run_tree(
    bits: Any,
    child_starts: Any,
    part_starts: Any,
    parts: Any,
    literal_starts: Any,
    literals: Any,
    out_starts: Any,
    outs: Any,
    scanned: Any,
    key_starts: Any,
    key_nodes: Any,
    found_items: Any,
    found_predicates: Any,
) -> tuple[int, int]:
    """Write (item, node) for every predicate node that holds; answers how many, and how many nodes were
    asked.

    `scanned` are the children of the root that every item meets; those in `key_nodes` (as runs by atom) only
    meet items with that atom. What does not fit into the arrays is counted and not written.
    """
    found = 0
    asked = 0
    stack = np.empty(out_starts.size, np.int32)
    met = np.full(out_starts.size - 1, -1, np.int32)
    for item in range(bits.shape[0]):
        row = bits[item]
        height = 0
        stack[height] = 0
        height += 1
        for node in scanned:
            asked += 1
            if _holds(row, node, part_starts, parts, literal_starts, literals):
                stack[height] = node
                height += 1
        if key_nodes.size:
            for word in range(row.size):
                rest = row[word]
                while rest:
                    low = rest & (~rest + np.uint64(1))
                    rest ^= low
                    atom = (word << 6) + _place(low)
                    for at in range(key_starts[atom], key_starts[atom + 1]):
                        node = key_nodes[at]
                        if met[node] == item:
                            continue
                        met[node] = item
                        asked += 1
                        if _holds(row, node, part_starts, parts, literal_starts, literals):
                            stack[height] = node
                            height += 1
        while height:
            height -= 1
            node = stack[height]
            for at in range(out_starts[node], out_starts[node + 1]):
                if found < found_items.size:
                    found_items[found] = item
                    found_predicates[found] = outs[at]
                found += 1
            if node == 0:
                continue
            for child in range(child_starts[node], child_starts[node + 1]):
                asked += 1
                if _holds(row, child, part_starts, parts, literal_starts, literals):
                    stack[height] = child
                    height += 1
    return found, asked


@njit(cache=True)
def _place(low: Any) -> int:
    """The position of the only bit that is set."""
    place = 0
    for step in (32, 16, 8, 4, 2, 1):
        if low >> np.uint64(place + step):
            place += step
    return place
