"""Branching patterns on a document, their parts shared: where a part fits is worked out once for all patterns.

Bottom-up, a part fits at the nodes of its name that satisfy its comparison and have, for each branch, a node below them
at which the branch fits. Those nodes are found from below, by marking what is above the nodes of the rarest branch.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from feedweir.match.trees.embed_kernels import compares, listed
from feedweir.match.trees.steps import ANY_ATTRIBUTE, ANY_ELEMENT, EQ, EXISTS, GE, GT, LE, LT, TEXT_EQ

_kernel = njit(cache=True, _nrt=False)
"""Kernels that make no arrays need not count references to those they are given."""
_ONE = np.int64(1)


@njit(cache=True)
def held(patterns, roots, parts, tree, values, by_text, by_number, memory, room_limit):  # type: ignore[no-untyped-def]
    """Of each pattern, whether the document has it. `memory` has (when, first, last) of each part, and the clock: what
    was worked out at the present time lies in `room`, from first to last."""
    root_part, root_axis = roots
    lists, parent = tree[1], tree[3]
    when, first, last, clock = memory
    room = np.empty(lists.size + 2 * parent.size + 1024, np.int32)
    room[: lists.size] = lists
    used = lists.size
    marks = np.zeros(parent.size, np.int64)
    touched = np.empty(parent.size, np.int32)
    stack = np.empty(128, np.int64)
    result = np.zeros(patterns.size, np.bool_)
    clock[0] += 1
    for index in range(patterns.size):
        if used > room_limit:
            clock[0] += 1
            used = lists.size
        top = root_part[patterns[index]]
        depth = 1
        stack[0] = top
        while depth > 0:
            part = stack[depth - 1]
            child = _unknown_child(part, parts, when, first, last, clock[0])
            if child >= 0:
                stack[depth] = child
                depth += 1
                continue
            if used + parent.size > room.size:
                room = _grown(room, used)
            first[part] = last[part] = used
            if child == _POSSIBLE:
                first[part], last[part] = _fits(
                    part, parts, tree, values, by_text, by_number, first, last, room, used, marks, touched
                )
                used = max(used, last[part])
            when[part] = clock[0]
            depth -= 1
        result[index] = _is_held(top, root_axis[patterns[index]], first, last, room)
    return result


@njit(cache=True)
def _grown(room, used):  # type: ignore[no-untyped-def]
    grown = np.empty(2 * room.size, np.int32)
    grown[:used] = room[:used]
    return grown


@_kernel
def _is_held(top, is_anywhere, first, last, room):  # type: ignore[no-untyped-def]
    """Whether a part fits somewhere, or at the root where it must."""
    if is_anywhere:
        return last[top] > first[top]
    for place in range(first[top], last[top]):
        if room[place] == 0:
            return True
    return False


_POSSIBLE, _IMPOSSIBLE = -1, -2


@_kernel
def _unknown_child(part, parts, when, first, last, now):  # type: ignore[no-untyped-def]
    """A branch that is not yet worked out; `_IMPOSSIBLE` when a branch fits nowhere, else `_POSSIBLE`."""
    ptr, branch = parts[4], parts[6]
    unknown = _POSSIBLE
    for place in range(ptr[part], ptr[part + 1]):
        child = branch[place]
        if when[child] != now:
            unknown = child
        elif first[child] == last[child]:
            return _IMPOSSIBLE
    return unknown


@_kernel
def _fits(part, parts, tree, values, by_text, by_number, first, last, room, used, marks, touched):  # type: ignore[no-untyped-def]
    """(first, last) place in `room` of the nodes at which a part fits, whose branches are worked out."""
    ptr = parts[4]
    if ptr[part] == ptr[part + 1]:
        return _leaf(part, parts, tree, values, by_text, by_number, room, used)
    count = _marked(part, parts, tree[3], first, last, room, marks, touched)
    need = (_ONE << (ptr[part + 1] - ptr[part])) - 1
    end = used
    for place in range(count):
        node = touched[place]
        if marks[node] == need and _is_one(part, parts, node, tree, values):
            room[end] = node
            end += 1
        marks[node] = 0
    return used, end


@_kernel
def _marked(part, parts, parent, first, last, room, marks, touched):  # type: ignore[no-untyped-def]
    """How many nodes have a mark, a bit for each branch that fits below them. The rarest branch comes first, for only
    what it marks can have all bits."""
    ptr, axis, branch = parts[4], parts[5], parts[6]
    rarest = ptr[part]
    for place in range(ptr[part] + 1, ptr[part + 1]):
        if _size(branch[place], first, last) < _size(branch[rarest], first, last):
            rarest = place
    held_by = first, last, room
    bit = _ONE << (rarest - ptr[part])
    count = _mark(branch[rarest], axis[rarest], bit, True, parent, held_by, marks, touched, 0)
    for place in range(ptr[part], ptr[part + 1]):
        if place != rarest:
            bit = _ONE << (place - ptr[part])
            count = _mark(branch[place], axis[place], bit, False, parent, held_by, marks, touched, count)
    return count


@_kernel
def _size(part, first, last):  # type: ignore[no-untyped-def]
    return last[part] - first[part]


@_kernel
def _mark(part, axis, bit, is_first, parent, held_by, marks, touched, count):  # type: ignore[no-untyped-def]
    """Mark the parents of the nodes at which a branch fits, or all that is above them."""
    first, last, room = held_by
    for place in range(first[part], last[part]):
        node = parent[room[place]]
        while node >= 0 and not marks[node] & bit:
            if marks[node] == 0:
                if axis == 0 and not is_first:
                    break
                touched[count] = node
                count += 1
            marks[node] |= bit
            if axis == 0:
                break
            node = parent[node]
    return count


@_kernel
def _is_one(part, parts, node, tree, values):  # type: ignore[no-untyped-def]
    """Whether a node has the name of a part, and a value that satisfies its comparison."""
    wanted, label, elements = parts[0][part], tree[2], tree[4]
    if wanted == ANY_ELEMENT or wanted == ANY_ATTRIBUTE:
        has_name = (node < elements) == (wanted == ANY_ELEMENT)
    else:
        has_name = label[node] == wanted
    return has_name and compares(parts[1][part], parts[2][part], parts[3][part], node, values[0], values[1])


@_kernel
def _leaf(part, parts, tree, values, by_text, by_number, room, used):  # type: ignore[no-untyped-def]
    """As `_fits`, for a part without branches: found by its name or by its value, whichever is rarer."""
    lists_ptr, lists = tree[0], tree[1]
    op, text, number = parts[1][part], parts[2][part], parts[3][part]
    at = listed(parts[0][part], lists_ptr)
    start, stop = lists_ptr[at], lists_ptr[at + 1]
    if op == EXISTS:
        return start, stop
    nodes = lists
    if op == TEXT_EQ:
        low, high = _first_from(by_text[0], text, False), _first_from(by_text[0], text, True)
        if high - low < stop - start:
            nodes = by_text[1]
            start, stop = low, high
    elif op == EQ or op >= LT:
        low, high = _range(op, number, by_number[0])
        if high - low < stop - start:
            nodes = by_number[1]
            start, stop = low, high
    end = used
    for place in range(start, stop):
        if _is_one(part, parts, nodes[place], tree, values):
            room[end] = nodes[place]
            end += 1
    return used, end


@_kernel
def _range(op, number, numbers):  # type: ignore[no-untyped-def]
    """Where in sorted numbers those are that a comparison allows; it is none with `!=`."""
    low, high = np.int64(0), np.int64(numbers.size)
    if op == EQ or op == GE:
        low = _first_from(numbers, number, False)
    if op == GT:
        low = _first_from(numbers, number, True)
    if op == LT:
        high = _first_from(numbers, number, False)
    if op == EQ or op == LE:
        high = _first_from(numbers, number, True)
    return low, high


@_kernel
def _first_from(numbers, number, is_after):  # type: ignore[no-untyped-def]
    """The first place of a sorted number that is not smaller, or that is larger."""
    low, high = np.int64(0), np.int64(numbers.size)
    while low < high:
        middle = (low + high) >> 1
        if numbers[middle] < number or (is_after and numbers[middle] == number):
            low = middle + 1
        else:
            high = middle
    return low
