"""Whether a step fits at a node: its value compares, and each of its branches fits somewhere below."""

from __future__ import annotations

import numpy as np

from feedweir.kernels import njit
from feedweir.match.trees.tree_codes import (
    AFTER,
    ANY_ATTRIBUTE,
    ANY_ELEMENT,
    ATTRIBUTES,
    AXIS,
    CONSTANT,
    END,
    EQ,
    FIRST,
    GT,
    LABEL,
    LAST,
    LE,
    LT,
    NE,
    OP,
    TEXT,
    TEXT_EQ,
    TEXT_NE,
    WANTED,
)

_kernel = njit(cache=True, _nrt=False)
_SMALL = 32
"""Up to this many nodes are scanned rather than found by name."""


@njit(inline="always")
def compares(op, text, number, node_text, node_number):  # type: ignore[no-untyped-def]
    """Whether a node's value satisfies a comparison."""
    if op == 0:
        return True
    if op == TEXT_EQ:
        return node_text == text
    if op == TEXT_NE:
        return node_text != text
    if op == EQ:
        return node_number == number
    if op == NE:
        return node_number != number
    if op == LT:
        return node_number < number
    if op == LE:
        return node_number <= number
    if op == GT:
        return node_number > number
    return node_number >= number


@njit(inline="always")
def _memory_key(step, node, serial):  # type: ignore[no-untyped-def]
    return (np.int64(step) << 38) | ((serial + node) & 0x3FFFFFFFFF)


@njit(inline="always")
def _memory_slot(key, memory):  # type: ignore[no-untyped-def]
    return np.int64(
        (np.uint64(key) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(40)) & np.uint64(memory.size - 1)
    )


@_kernel
def first_from(numbers, number, low, high):  # type: ignore[no-untyped-def]
    """The first place from `low` to `high` in sorted numbers whose number is not smaller."""
    while low < high:
        middle = (low + high) >> 1
        if numbers[middle] < number:
            low = middle + 1
        else:
            high = middle
    return low


@_kernel
def fits(step, node, steps, constants, branch, nodes, numbers, lists_ptr, lists, memory, serial):  # type: ignore[no-untyped-def]
    """Whether a step, whose name the node has, fits there.

    steps[s]     WANTED name, AXIS, OP and CONSTANT to compare with, branches FIRST to LAST in `branch`
    nodes[n]     LABEL, PARENT, END of what lies below, TEXT, its ATTRIBUTES up to AFTER; numbers[n] is its value
    lists        the nodes of each name in document order, from lists_ptr[name]; empty for small documents
    memory       (step, node) that failed below some `//`, so that nodes within nodes are not tried again and again; it
                 may forget
    """
    # 1. the node itself
    if not compares(
        steps[step, OP], steps[step, CONSTANT], constants[step], nodes[node, TEXT], numbers[node]
    ):
        return False
    if steps[step, FIRST] < steps[step, LAST] and nodes[node, LABEL] & 1:
        return False
    # 2. each branch
    for place in range(steps[step, FIRST], steps[step, LAST]):
        child = branch[place]
        wanted, is_deep = steps[child, WANTED], steps[child, AXIS] == 1
        is_leaf = steps[child, FIRST] == steps[child, LAST]
        #    where it may lie: among the attributes, or the elements below
        if wanted & 1:
            at = np.int64(nodes[node, ATTRIBUTES])
            end = np.int64(nodes[nodes[node, END] - 1, AFTER] if is_deep else nodes[node, AFTER])
        else:
            at, end = np.int64(node + 1), np.int64(nodes[node, END])
        is_listed = is_deep and wanted >= 0 and lists_ptr.size > 1 and end - at > _SMALL
        if is_listed:
            low, high = lists_ptr[wanted], lists_ptr[wanted + 1]
            stop = first_from(lists, end, low, high)
            at, end = first_from(lists, at, low, stop), stop
        #    the first node there at which it fits
        found = False
        while at < end:
            below = np.int64(lists[at]) if is_listed else at
            if is_listed or wanted == ANY_ELEMENT or wanted == ANY_ATTRIBUTE or nodes[below, LABEL] == wanted:
                if is_leaf:
                    found = compares(
                        steps[child, OP],
                        steps[child, CONSTANT],
                        constants[child],
                        nodes[below, TEXT],
                        numbers[below],
                    )
                elif is_deep:
                    key = _memory_key(child, below, serial)
                    slot = _memory_slot(key, memory)
                    if memory[slot] != key:
                        found = fits(
                            child,
                            below,
                            steps,
                            constants,
                            branch,
                            nodes,
                            numbers,
                            lists_ptr,
                            lists,
                            memory,
                            serial,
                        )
                        if not found:
                            memory[slot] = key
                else:
                    found = fits(
                        child,
                        below,
                        steps,
                        constants,
                        branch,
                        nodes,
                        numbers,
                        lists_ptr,
                        lists,
                        memory,
                        serial,
                    )
                if found:
                    break
            #    the next node, or the next sibling
            if is_deep or wanted & 1:
                at += 1
            else:
                at = np.int64(nodes[below, END])
        if not found:
            return False
    return True
