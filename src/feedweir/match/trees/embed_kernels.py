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
def survivors(found, ptr, postings, atoms_ptr, atoms, is_true):  # type: ignore[no-untyped-def]
    """The patterns listed under the found atoms all of whose atoms are true."""
    total = 0
    for atom in found:
        total += ptr[atom + 1] - ptr[atom]
    kept = np.empty(total, np.int32)
    count = 0
    for atom in found:
        for place in range(ptr[atom], ptr[atom + 1]):
            pattern = postings[place]
            good = True
            for other in range(atoms_ptr[pattern], atoms_ptr[pattern + 1]):
                if not is_true[atoms[other]]:
                    good = False
                    break
            if good:
                kept[count] = pattern
                count += 1
    return kept[:count]


@njit(cache=True)
def doubtful(patterns, branch_ptr, branch_steps, reached):  # type: ignore[no-untyped-def]
    """Of each pattern whether true atoms leave a doubt: they do not when each branching step reaches one node only,
    for then all branches hang off the same node."""
    result = np.zeros(len(patterns), np.bool_)
    for index in range(len(patterns)):
        for place in range(branch_ptr[patterns[index]], branch_ptr[patterns[index] + 1]):
            if reached[branch_steps[place]] != 1:
                result[index] = True
                break
    return result


@njit(inline="always")
def _listed(label, lists_ptr):  # type: ignore[no-untyped-def]
    """Where the nodes of a name are listed; the last two lists are all elements and all attributes."""
    if label == _ELEMENT_LIST:
        return len(lists_ptr) - 3
    if label == _ATTRIBUTE_LIST:
        return len(lists_ptr) - 2
    return label


@njit(inline="always")
def _compares(op, text, number, node, texts, numbers):  # type: ignore[no-untyped-def]
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
        at = _listed(label[v], lists_ptr)
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
            if not _compares(op[v], text[v], number[v], node, texts, numbers):
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
        at = _listed(label[v], lists_ptr)
        total += lists_ptr[at + 1] - lists_ptr[at]
    return total


@njit(cache=True)
def _chained(top, node, first, label, axis, tree):  # type: ignore[no-untyped-def]
    """Whether `node` can be pattern node `top` as far as the steps above it go, which do not branch.

    Walking up, `exact` are the steps that the node at hand can be, `open_` those that any node further up may be.
    """
    parent = tree[4]
    exact = np.int64(1) << (top - first)
    open_ = np.int64(0)
    while True:
        if exact & 1 and (axis[first] == 1 or parent[node] < 0):
            return True
        node = parent[node]
        if node < 0:
            return False
        wanted = np.int64(0)
        for step in range(1, top - first + 1):
            if exact >> step & 1:
                if axis[first + step] == 0:
                    wanted |= np.int64(1) << (step - 1)
                else:
                    open_ |= np.int64(1) << (step - 1)
        wanted |= open_
        exact = np.int64(0)
        for step in range(top - first):
            if wanted >> step & 1 and _is_one(label[first + step], node, tree):
                exact |= np.int64(1) << step
        if exact == 0 and open_ == 0:
            return False


@njit(cache=True)
def _fewest(top, last, label, op, text, lists_ptr, text_ptr):  # type: ignore[no-untyped-def]
    """(pattern node, how many nodes it can be): the one from top to last that the fewest nodes can be."""
    best = top
    fewest = np.int64(1) << 60
    for v in range(top, last):
        at = _listed(label[v], lists_ptr)
        count = lists_ptr[at + 1] - lists_ptr[at]
        if op[v] == 1:
            count = min(count, text_ptr[text[v] + 1] - text_ptr[text[v]])
        if count < fewest:
            fewest = count
            best = v
    return best, fewest


@njit(inline="always")
def _is_one(label, node, tree):  # type: ignore[no-untyped-def]
    """Whether a node of any kind has a name."""
    lists_ptr, lists, keys = tree[0], tree[1], tree[2]
    at = _listed(label, lists_ptr)
    place = _after(keys, lists, lists_ptr[at], lists_ptr[at + 1], keys[node])
    while place < lists_ptr[at + 1] and keys[lists[place]] == keys[node]:
        if lists[place] == node:
            return True
        place += 1
    return False


@njit(cache=True)
def _top_of(first, last, up, op):  # type: ignore[no-untyped-def]
    """The first pattern node that branches or compares: the steps above it are a chain."""
    for v in range(first, last):
        children = 0
        for c in range(v + 1, last):
            if up[c] == v - first:
                children += 1
        if children != 1 or op[v] != 0:
            return v
    return first


@njit(cache=True)
def embedded(patterns, nodes_ptr, pattern, tree, values, by_text):  # type: ignore[no-untyped-def]
    """Of each pattern, whether the document has it.

    A pattern is first tried around the few nodes that its rarest part can be; when those are many and the first of them
    fail, on the whole document.
    """
    label, axis, up, op, text, number = pattern
    lists_ptr, lists, keys, ends, parent = tree
    texts, numbers = values
    text_ptr, text_nodes = by_text
    result = np.zeros(len(patterns), np.bool_)
    hits = np.zeros(len(parent), np.int64)
    tried = np.full(len(parent), -1, np.int64)
    starts = np.empty(64, np.int64)
    stops = np.empty(64, np.int64)
    room = np.empty(1024, np.int32)
    for index in range(len(patterns)):
        first = nodes_ptr[patterns[index]]
        last = nodes_ptr[patterns[index] + 1]
        needed = _room_for(first, last, label, lists_ptr)
        if needed > len(room):
            room = np.empty(2 * needed, np.int32)
        top = _top_of(first, last, up, op)
        pivot, count = _fewest(top, last, label, op, text, lists_ptr, text_ptr)
        at = _listed(label[pivot], lists_ptr)
        is_text = op[pivot] == 1 and count < lists_ptr[at + 1] - lists_ptr[at]
        begin = text_ptr[text[pivot]] if is_text else lists_ptr[at]
        attempts = 16 + needed // 128
        place = begin
        while place < begin + count and attempts > 0 and not result[index]:
            node = text_nodes[place] if is_text else lists[place]
            place += 1
            if is_text and not _is_one(label[pivot], node, tree):
                continue
            while node >= 0:
                fresh = tried[node] != index
                if fresh and _is_one(label[top], node, tree):
                    tried[node] = index
                    attempts -= 1
                    if _chained(top, node, first, label, axis, tree) and fit(
                        first,
                        top,
                        last,
                        node,
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
                        result[index] = True
                        break
                if pivot == top:
                    break
                node = parent[node]
        if not result[index] and place < begin + count:
            result[index] = fit(
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
            )
    return result


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
