"""Embeddings of tree patterns in a document, on flat arrays.

Bottom-up, `fits[v]` is the list of nodes under which the branch of pattern node v fits: the nodes of v's name that
satisfy its comparison and have, for each child of v, a node of the child's list below them. Time is the sum of the
lists' lengths, whatever the shape of the document. Top-down, what no fitting node of the step above reaches is dropped.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_ELEMENT_LIST = -1
_ATTRIBUTE_LIST = -2


@njit(cache=True)
def survivors(found, ptr, postings, rest_ptr, rest, is_true):  # type: ignore[no-untyped-def]
    """The patterns listed under the found atoms all of whose other atoms are true."""
    total = 0
    for atom in found:
        total += ptr[atom + 1] - ptr[atom]
    kept = np.empty(total, np.int32)
    count = 0
    for atom in found:
        for place in range(ptr[atom], ptr[atom + 1]):
            good = True
            for other in range(rest_ptr[place], rest_ptr[place + 1]):
                if not is_true[rest[other]]:
                    good = False
                    break
            if good:
                kept[count] = postings[place]
                count += 1
    return kept[:count]


@njit(cache=True)
def each_once(atoms, is_true):  # type: ignore[no-untyped-def]
    """The atoms without repetitions, in order; all of them are made true."""
    kept = np.empty(len(atoms), np.int32)
    count = 0
    for atom in atoms:
        if not is_true[atom]:
            is_true[atom] = True
            kept[count] = atom
            count += 1
    return kept[:count]


@njit(cache=True)
def doubtful(patterns, branch_ptr, branch_steps, only_path, counts):  # type: ignore[no-untyped-def]
    """Of each pattern whether true atoms leave a doubt: they do not when each branching step reaches one node only,
    for then all branches hang off the same node. `only_path` is the one path that a step reaches, -1 for several."""
    result = np.zeros(len(patterns), np.bool_)
    for index in range(len(patterns)):
        for place in range(branch_ptr[patterns[index]], branch_ptr[patterns[index] + 1]):
            path = only_path[branch_steps[place]]
            if path < 0 or counts[path] != 1:
                result[index] = True
                break
    return result


@njit(cache=True)
def subtree_ends(parent, elements):  # type: ignore[no-untyped-def]
    """The first element after each element's subtree: the largest number below it, plus one. Attributes have none."""
    ends = np.empty(len(parent), np.int32)
    ends[elements:] = parent[elements:]
    for node in range(elements):
        ends[node] = node + 1
    for node in range(elements - 1, 0, -1):
        ends[parent[node]] = max(ends[parent[node]], ends[node])
    return ends


@njit(inline="always")
def listed(label, lists_ptr):  # type: ignore[no-untyped-def]
    """Where the nodes of a name are listed; the last two lists are all elements and all attributes."""
    if label == _ELEMENT_LIST:
        return len(lists_ptr) - 3
    if label == _ATTRIBUTE_LIST:
        return len(lists_ptr) - 2
    return label


@njit(inline="always")
def compares(op, text, number, node, texts, numbers):  # type: ignore[no-untyped-def]
    """Whether a node's value satisfies a comparison; the operations are numbered as in `steps`."""
    if op == 0:
        return True
    if op == 1:
        return texts[node] == text
    if op == 2:
        return texts[node] != text
    value = numbers[node]
    if op == 3:
        return value == number
    if op == 4:
        return value != number
    if op == 5:
        return value < number
    if op == 6:
        return value <= number
    if op == 7:
        return value > number
    return value >= number


@njit(inline="always")
def _after(keys, nodes, start, stop, limit):  # type: ignore[no-untyped-def]
    """The first place in nodes[start:stop] whose key is at least `limit`."""
    while start < stop:
        middle = (start + stop) // 2
        if keys[nodes[middle]] < limit:
            start = middle + 1
        else:
            stop = middle
    return start


@njit(cache=True)
def fit(  # type: ignore[no-untyped-def]
    first, top, last, within, label, axis, up, op, text, number,
    lists_ptr, lists, keys, ends, parent, texts, numbers,
    hits, starts, stops, room,
):  # fmt: skip
    """Fill `room` with the fitting nodes of pattern nodes top..last; False as soon as one has none.

    The pattern begins at `first`. With `within` (not -1) the top is that node, and only what is below it is looked at.
    `starts[v - first]`, `stops[v - first]` tell where. `hits` is zero before and after: bit b of `hits[n]` is set
    while node n has a child that fits the b-th branch of the pattern node at hand.
    """
    used = 0
    for v in range(last - 1, top - 1, -1):
        need = np.int64(0)
        bit = np.int64(1)
        for c in range(v + 1, last):
            if up[c] == v - first:
                if axis[c] == 0:
                    need |= bit
                    for place in range(starts[c - first], stops[c - first]):
                        owner = parent[room[place]]
                        if owner >= 0:
                            hits[owner] |= bit
                bit <<= 1
        begin = used
        at = listed(label[v], lists_ptr)
        low, high = lists_ptr[at], lists_ptr[at + 1]
        if within >= 0:
            low = _after(keys, lists, low, high, keys[within] + (0 if v == top else 1))
            high = low + 1 if v == top else _after(keys, lists, low, high, 2 * ends[within])
        for place in range(low, high):
            node = lists[place]
            if hits[node] & need != need:
                continue
            if v == first and axis[v] == 0 and parent[node] >= 0:
                continue
            if not compares(op[v], text[v], number[v], node, texts, numbers):
                continue
            good = True
            for c in range(v + 1, last):
                if up[c] == v - first and axis[c] == 1:
                    below = _after(keys, room, starts[c - first], stops[c - first], keys[node] + 1)
                    if below >= stops[c - first] or keys[room[below]] >= 2 * ends[node]:
                        good = False
                        break
            if good:
                room[used] = node
                used += 1
        starts[v - first] = begin
        stops[v - first] = used
        for c in range(v + 1, last):
            if up[c] == v - first and axis[c] == 0:
                for place in range(starts[c - first], stops[c - first]):
                    owner = parent[room[place]]
                    if owner >= 0:
                        hits[owner] = 0
        if used == begin:
            return False
    return True


@njit(cache=True)
def _room_for(first, last, label, lists_ptr):  # type: ignore[no-untyped-def]
    total = 0
    for v in range(first, last):
        at = listed(label[v], lists_ptr)
        total += lists_ptr[at + 1] - lists_ptr[at]
    return total


@njit(cache=True)
def _prune(first, last, axis, up, parent, room, starts, stops, alive):  # type: ignore[no-untyped-def]
    """Drop what nothing above reaches; `alive[v, n]` then says whether v can be n in a whole embedding."""
    for v in range(first, last):
        local = v - first
        for place in range(starts[local], stops[local]):
            node = room[place]
            if v == first:
                alive[local, node] = 1
                continue
            above = parent[node]
            while above >= 0:
                if alive[up[v], above]:
                    alive[local, node] = 1
                    break
                if axis[v] == 0:
                    break
                above = parent[above]


@njit(cache=True)
def _climb(v, node, first, axis, up, wanted, parent, alive, stack):  # type: ignore[no-untyped-def]
    """The nodes that pattern node `wanted` can be when v is `node`, into the second half of `stack`; how many,
    more than half a stack when it did not suffice."""
    stack[0, 0] = v - first
    stack[0, 1] = node
    top = 1
    found = 0
    half = stack.shape[0] // 2
    while top > 0:
        top -= 1
        local = stack[top, 0]
        here = stack[top, 1]
        if local == wanted:
            if found < half:
                stack[half + found, 0] = here
            found += 1
            continue
        above = parent[here]
        while above >= 0:
            if alive[up[first + local], above]:
                if top >= half:
                    return half + 1
                stack[top, 0] = up[first + local]
                stack[top, 1] = above
                top += 1
            if axis[first + local] == 0:
                break
            above = parent[above]
    return found


@njit(cache=True)
def bindings(  # type: ignore[no-untyped-def]
    first, last, label, axis, up, op, text, number,
    lists_ptr, lists, keys, ends, parent, texts, numbers,
    variable_above, max_rows,
):  # fmt: skip
    """(rows, is_complete): rows (v, node1, node2) for each v with a variable (variable_above[v] >= -1).

    node1 is bound by the nearest variable above, or -1 when there is none. Rows may repeat.
    """
    size = last - first
    hits = np.zeros(len(parent), np.int64)
    starts = np.empty(64, np.int64)
    stops = np.empty(64, np.int64)
    room = np.empty(_room_for(first, last, label, lists_ptr), np.int32)
    rows = np.empty((16, 3), np.int32)
    count = 0
    if not fit(
        first,
        first,
        last,
        -1,
        label,
        axis,
        up,
        op,
        text,
        number,
        lists_ptr,
        lists,
        keys,
        ends,
        parent,
        texts,
        numbers,
        hits,
        starts,
        stops,
        room,
    ):
        return rows[:0], True
    alive = np.zeros((size, len(parent)), np.uint8)
    _prune(first, last, axis, up, parent, room, starts, stops, alive)
    stack = np.empty((2 * 4096, 2), np.int32)
    for v in range(first, last):
        wanted = variable_above[v - first]
        if wanted < -1:
            continue
        for place in range(starts[v - first], stops[v - first]):
            node = room[place]
            if not alive[v - first, node]:
                continue
            found = 1
            if wanted >= 0:
                found = _climb(v, node, first, axis, up, wanted, parent, alive, stack)
                if found > 4096:
                    return rows[:count], False
            if count + found > max_rows:
                return rows[:count], False
            if count + found > len(rows):
                grown = np.empty((2 * (count + found), 3), np.int32)
                grown[:count] = rows[:count]
                rows = grown
            for one in range(found):
                rows[count, 0] = v - first
                rows[count, 1] = stack[4096 + one, 0] if wanted >= 0 else -1
                rows[count, 2] = node
                count += 1
    return rows[:count], True
