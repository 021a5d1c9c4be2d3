"""Embeddings of tree patterns in a document, on flat arrays: what their variables bind.

Bottom-up, `fits[v]` is the list of nodes under which the branch of pattern node v fits: the nodes of v's name that
satisfy its comparison and have, for each child of v, a node of the child's list below them. Time is the sum of the
lists' lengths, whatever the shape of the document. Top-down, what no fitting node of the step above reaches is
dropped.
"""

from __future__ import annotations

import numpy as np

from feedweir.kernels import njit
from feedweir.match.trees.fit_kernels import compares
from feedweir.match.trees.tree_codes import ANY_ATTRIBUTE, ANY_ELEMENT, END, LABEL, PARENT, TEXT


@njit(cache=True)
def bind_batch(batch, numbers, documents, chosen, rows, above, labels, max_rows):  # type: ignore[no-untyped-def]
    """(rows, whether each document is complete): rows (pair, v, node1, node2) of the k-th pair of a document,
    ascending, and a pattern that it has; a document that would give more than `max_rows` gives none."""
    found = np.empty((1024, 4), np.int32)
    used = 0
    is_complete = np.ones(batch.ptr.size - 1, np.bool_)
    pair = 0
    while pair < documents.size:
        document = documents[pair]
        first, last = batch.ptr[document], batch.ptr[document + 1]
        tree = _tree(batch.nodes[first:last], numbers[first:last], batch.elements[document], labels)
        begin = used
        while pair < documents.size and documents[pair] == document:
            if is_complete[document]:
                low, high = rows[0][chosen[pair]], rows[0][chosen[pair] + 1]
                bound, is_whole = _bindings(
                    low, high, rows[1:], tree, above[low:high], max_rows - (used - begin)
                )
                is_complete[document] = is_whole
                if used + len(bound) > len(found):
                    grown = np.empty((2 * (used + len(bound)), 4), np.int32)
                    grown[:used] = found[:used]
                    found = grown
                found[used : used + len(bound), 0] = pair
                found[used : used + len(bound), 1:] = bound
                used += len(bound)
            pair += 1
        if not is_complete[document]:
            used = begin
    return found[:used].copy(), is_complete


@njit(cache=True)
def _tree(nodes, numbers, elements, labels):  # type: ignore[no-untyped-def]
    """The nodes listed by name, then all elements, then all attributes; their order, that also places attributes (2n
    for element n, 2n + 1 for its attributes), ends, parents and values."""
    ptr = np.zeros(labels + 3, np.int64)
    for node in range(len(nodes)):
        if nodes[node, LABEL] >= 0:
            ptr[nodes[node, LABEL] + 1] += 1
    ptr[labels + 1] = elements
    ptr[labels + 2] = len(nodes) - elements
    ptr = np.cumsum(ptr)
    filled = ptr[:-1].copy()
    lists = np.empty(ptr[-1], np.int32)
    keys = np.empty(len(nodes), np.int32)
    for node in range(len(nodes)):
        if nodes[node, LABEL] >= 0:
            lists[filled[nodes[node, LABEL]]] = node
            filled[nodes[node, LABEL]] += 1
        kind = labels if node < elements else labels + 1
        lists[filled[kind]] = node
        filled[kind] += 1
        keys[node] = 2 * node if node < elements else 2 * nodes[node, PARENT] + 1
    ends, parent, texts = nodes[:, END].copy(), nodes[:, PARENT].copy(), nodes[:, TEXT].copy()
    for node in range(elements, len(nodes)):
        ends[node] = parent[node]
    return ptr, lists, keys, ends, parent, texts, numbers


@njit(inline="always")
def listed(label, lists_ptr):  # type: ignore[no-untyped-def]
    """Where the nodes of a name are listed; the last two lists are all elements and all attributes."""
    if label == ANY_ELEMENT:
        return len(lists_ptr) - 3
    if label == ANY_ATTRIBUTE:
        return len(lists_ptr) - 2
    return label


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
def _fit(first, last, rows, tree, hits, starts, stops, room):  # type: ignore[no-untyped-def]
    """Fill `room` with the fitting nodes of pattern nodes first..last; False as soon as one has none.

    `starts[v - first]`, `stops[v - first]` tell where. `hits` is zero before and after: bit b of `hits[n]` is set
    while node n has a child that fits the b-th branch of the pattern node at hand.
    """
    label, axis, up, op, text, number = rows
    lists_ptr, lists, keys, ends, parent, texts, numbers = tree
    used = 0
    for v in range(last - 1, first - 1, -1):
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
        for place in range(low, high):
            node = lists[place]
            if hits[node] & need != need:
                continue
            if v == first and axis[v] == 0 and parent[node] >= 0:
                continue
            if not compares(op[v], text[v], number[v], texts[node], numbers[node]):
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
    """Drop what nothing above reaches; `alive[v, n]` then says whether v can be n in a whole embedding.

    room   n3 n8 | n4 n9 n11 | …      the fitting nodes of pattern nodes first, first + 1, …
           starts[v], stops[v]        where those of v are
    """
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
def _climb(v, node, first, axis, up, wanted, parent, alive, chain):  # type: ignore[no-untyped-def]
    """How many nodes pattern node `wanted` can be when v is `node`; they are written to `chain`, the lowest first.

    All of them are above `node`, one below the other: each step up leads from one set of them to the next, so that no
    path is walked twice.

    v = c, wanted = a in a/b//c     chain  {node}  →  nodes that b can be  →  nodes that a can be
    """
    chain[0] = node
    count = 1
    local = v - first
    while local != wanted:
        above_local = up[first + local]
        kept = 0
        if axis[first + local] == 0:  # `/`: the parent of each
            for place in range(count):
                above = parent[chain[place]]
                if above >= 0 and alive[above_local, above]:
                    chain[kept] = above
                    kept += 1
        else:  # `//`: all that is above the lowest of them
            above = parent[chain[0]]
            while above >= 0:
                if alive[above_local, above]:
                    chain[kept] = above
                    kept += 1
                above = parent[above]
        count = kept
        local = above_local
        if count == 0:
            break
    return count


@njit(cache=True)
def _deepest(parent):  # type: ignore[no-untyped-def]
    """The number of nodes on the longest path from the root."""
    depth = np.ones(len(parent), np.int32)
    deepest = 1
    for node in range(len(parent)):
        if parent[node] >= 0:
            depth[node] = depth[parent[node]] + 1
            deepest = max(deepest, depth[node])
    return deepest


@njit(cache=True)
def _bindings(first, last, rows, tree, variable_above, max_rows):  # type: ignore[no-untyped-def]
    """(rows, is_complete): rows (v, node1, node2) for each v with a variable (variable_above[v] >= -1).

    node1 is bound by the nearest variable above, or -1 when there is none. Rows may repeat.
    """
    label, axis, up = rows[0], rows[1], rows[2]
    parent = tree[4]
    size = last - first
    hits = np.zeros(len(parent), np.int64)
    starts = np.empty(64, np.int64)
    stops = np.empty(64, np.int64)
    room = np.empty(_room_for(first, last, label, tree[0]), np.int32)
    found_rows = np.empty((16, 3), np.int32)
    count = 0
    if not _fit(first, last, rows, tree, hits, starts, stops, room):
        return found_rows[:0], True
    alive = np.zeros((size, len(parent)), np.uint8)
    _prune(first, last, axis, up, parent, room, starts, stops, alive)
    chain = np.empty(_deepest(parent) + 1, np.int32)
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
                found = _climb(v, node, first, axis, up, wanted, parent, alive, chain)
            if count + found > max_rows:
                return found_rows[:count], False
            if count + found > len(found_rows):
                grown = np.empty((2 * (count + found), 3), np.int32)
                grown[:count] = found_rows[:count]
                found_rows = grown
            for one in range(found):
                found_rows[count, 0] = v - first
                found_rows[count, 1] = chain[one] if wanted >= 0 else -1
                found_rows[count, 2] = node
                count += 1
    return found_rows[:count], True


@njit(cache=True)
def gathered(chars, spans):  # type: ignore[no-untyped-def]
    """(offsets, bytes) of stretches of text, one after the other."""
    offsets = np.zeros(len(spans) + 1, np.int64)
    for place in range(len(spans)):
        offsets[place + 1] = offsets[place] + spans[place, 1] - spans[place, 0]
    data = np.empty(offsets[-1], np.uint8)
    for place in range(len(spans)):
        data[offsets[place] : offsets[place + 1]] = chars[spans[place, 0] : spans[place, 1]]
    return offsets, data
