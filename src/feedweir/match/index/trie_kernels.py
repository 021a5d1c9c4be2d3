"""Kernels that order conjunctions and lay them out as tries."""

from __future__ import annotations

import numpy as np

from feedweir.kernels import njit

_RUN = 8
"""Conjunctions that are sorted by insertion."""


@njit(cache=True)
def put_rarest_first(offsets, atoms, probabilities):  # type: ignore[no-untyped-def]
    """Swap the rarest atom of every conjunction to its front; of equally rare ones the first by number."""
    for one in range(len(offsets) - 1):
        first = offsets[one]
        best = first
        for i in range(first + 1, offsets[one + 1]):
            p, least = probabilities[atoms[i]], probabilities[atoms[best]]
            if p < least or (p == least and atoms[i] < atoms[best]):
                best = i
        atoms[first], atoms[best] = atoms[best], atoms[first]


@njit(cache=True)
def order_for_sharing(by_root, offsets, atoms, probabilities):  # type: ignore[no-untyped-def]
    """Order the other atoms of every conjunction so that conjunctions found by one atom share their first atoms.

    The first is the atom that rules out most: it is in many of them and seldom satisfied. `by_root` lists the
    conjunctions grouped by their first atom.
    """
    counts = np.zeros(len(probabilities), np.int32)
    n = len(by_root)
    first = 0
    while first < n:
        root = atoms[offsets[by_root[first]]]
        last = first
        while last < n and atoms[offsets[by_root[last]]] == root:
            for i in range(offsets[by_root[last]] + 1, offsets[by_root[last] + 1]):
                counts[atoms[i]] += 1
            last += 1
        for k in range(first, last):
            start, end = offsets[by_root[k]] + 1, offsets[by_root[k] + 1]
            for i in range(start + 1, end):
                atom = atoms[i]
                weight = counts[atom] * (1.0 - probabilities[atom])
                j = i
                while j > start:
                    other = counts[atoms[j - 1]] * (1.0 - probabilities[atoms[j - 1]])
                    if other > weight or (other == weight and atoms[j - 1] < atom):
                        break
                    atoms[j] = atoms[j - 1]
                    j -= 1
                atoms[j] = atom
        for k in range(first, last):
            for i in range(offsets[by_root[k]] + 1, offsets[by_root[k] + 1]):
                counts[atoms[i]] = 0
        first = last


@njit(cache=True)
def drop_repeats(offsets, atoms):  # type: ignore[no-untyped-def]
    """(offsets, atoms) of the same conjunctions with each atom once."""
    kept = np.empty_like(atoms)
    starts = np.empty_like(offsets)
    n = 0
    for one in range(len(offsets) - 1):
        starts[one] = n
        for i in range(offsets[one], offsets[one + 1]):
            k = starts[one]
            while k < n and kept[k] != atoms[i]:
                k += 1
            if k == n:
                kept[n] = atoms[i]
                n += 1
    starts[len(offsets) - 1] = n
    return starts, kept[:n]


@njit(inline="always")
def _is_behind(one, other, offsets, atoms):  # type: ignore[no-untyped-def]
    """Whether a conjunction sorts after another that is found by the same atom; a prefix sorts first."""
    i, last = offsets[one] + 1, offsets[one + 1]
    j, other_last = offsets[other] + 1, offsets[other + 1]
    while i < last and j < other_last and atoms[i] == atoms[j]:
        i += 1
        j += 1
    if i == last or j == other_last:
        return i < last
    return atoms[i] > atoms[j]


@njit(cache=True)
def put_in_order(by_root, offsets, atoms):  # type: ignore[no-untyped-def]
    """Sort (stably) the conjunctions of one root atom, so that those with the same first atoms lie together."""
    n = len(by_root)
    spare = np.empty(n, np.int32)
    first = 0
    while first < n:
        root = atoms[offsets[by_root[first]]]
        last = first + 1
        while last < n and atoms[offsets[by_root[last]]] == root:
            last += 1
        for start in range(first, last, _RUN):
            for i in range(start + 1, min(start + _RUN, last)):
                one = by_root[i]
                j = i
                while j > start and _is_behind(by_root[j - 1], one, offsets, atoms):
                    by_root[j] = by_root[j - 1]
                    j -= 1
                by_root[j] = one
        width = _RUN
        while width < last - first:
            for start in range(first, last - width, 2 * width):
                _merge(by_root, start, start + width, min(start + 2 * width, last), spare, offsets, atoms)
            width *= 2
        first = last


@njit(cache=True)
def _merge(numbers, first, middle, last, spare, offsets, atoms):  # type: ignore[no-untyped-def]
    """Merge two stretches that are in order."""
    for k in range(first, middle):
        spare[k] = numbers[k]
    i, j, at = first, middle, first
    while i < middle:
        if j < last and _is_behind(spare[i], numbers[j], offsets, atoms):
            numbers[at] = numbers[j]
            j += 1
        else:
            numbers[at] = spare[i]
            i += 1
        at += 1


@njit(inline="always")
def _shape(order, first, last, depth, offsets, atoms):  # type: ignore[no-untyped-def]
    """(how many of these conjunctions end at a depth, how many atoms follow there for the others)."""
    n_entries = 0
    n_children = 0
    before = -1
    for k in range(first, last):
        start = offsets[order[k]]
        if offsets[order[k] + 1] - start == depth:
            n_entries += 1
        elif atoms[start + depth] != before:
            before = atoms[start + depth]
            n_children += 1
    return n_entries, n_children


@njit(inline="always")
def _queued(queue, place, order, first, last, depth, at, offsets, atoms):  # type: ignore[no-untyped-def]
    """Queue a node whose block will lie at a place; the length of the block.

    queue[place]  first, last | depth | at | n_entries, n_children      the node is order[first:last], alike to `depth`
    """
    n_entries, n_children = _shape(order, first, last, depth, offsets, atoms)
    queue[place, 0], queue[place, 1], queue[place, 2], queue[place, 3] = first, last, depth, at
    queue[place, 4], queue[place, 5] = n_entries, n_children
    return 2 + n_entries + 2 * n_children


@njit(cache=True)
def grouped_by_first(offsets, atoms, n_atoms):  # type: ignore[no-untyped-def]
    """The numbers of conjunctions, grouped by the first atom of each; the order within a group is kept."""
    n = len(offsets) - 1
    places = np.zeros(n_atoms + 1, np.int64)
    for one in range(n):
        places[atoms[offsets[one]] + 1] += 1
    for atom in range(n_atoms):
        places[atom + 1] += places[atom]
    order = np.empty(n, np.int32)
    for one in range(n):
        root = atoms[offsets[one]]
        order[places[root]] = one
        places[root] += 1
    return order


@njit(cache=True)
def lay_blocks(order, offsets, atoms, entries, roots, blocks):  # type: ignore[no-untyped-def]
    """Write the blocks of each root together, level by level, and where the first lies to `roots[atom]`; their length.

    A node is a stretch of `order`, in which conjunctions lie that begin alike. A child that has one query and nothing
    else needs no block.
    """
    queue = np.empty((256, 6), np.int32)
    at = 0
    n = len(order)
    first = 0
    while first < n:
        root = atoms[offsets[order[first]]]
        last = first + 1
        while last < n and atoms[offsets[order[last]]] == root:
            last += 1
        roots[root] = at
        at += _queued(queue, 0, order, first, last, 1, at, offsets, atoms)
        head, tail = 0, 1
        while head < tail:
            k, end, depth, place = queue[head, 0], queue[head, 1], queue[head, 2], queue[head, 3]
            n_entries, n_children = queue[head, 4], queue[head, 5]
            head += 1
            blocks[place] = n_entries
            blocks[place + 1] = n_children
            for i in range(n_entries):
                blocks[place + 2 + i] = entries[order[k + i]]
            slot = place + 2 + n_entries
            k += n_entries
            if tail + n_children > len(queue):
                longer = np.empty((2 * len(queue) + n_children, 6), np.int32)
                longer[:tail] = queue[:tail]
                queue = longer
            while k < end:
                atom = atoms[offsets[order[k]] + depth]
                start = k
                while k < end and atoms[offsets[order[k]] + depth] == atom:
                    k += 1
                one = order[start]
                entry = entries[one]
                is_single = k - start == 1 and offsets[one + 1] - offsets[one] == depth + 1 and entry >= 0
                blocks[slot] = atom
                blocks[slot + n_children] = entry if is_single else ~at
                slot += 1
                if not is_single:
                    at += _queued(queue, tail, order, start, k, depth + 1, at, offsets, atoms)
                    tail += 1
        first = last
    return at


@njit(cache=True)
def atoms_finding(roots, blocks, wanted_queries, wanted_checks):  # type: ignore[no-untyped-def]
    """The atoms below which a wanted query or check is."""
    found = np.empty(len(roots), np.int32)
    n = 0
    stack = np.empty(len(blocks) + 1, np.int32)
    for atom in range(len(roots)):
        if roots[atom] < 0:
            continue
        is_found = False
        stack[0] = roots[atom]
        top = 1
        while top > 0 and not is_found:
            top -= 1
            place = stack[top]
            n_entries, n_children = blocks[place], blocks[place + 1]
            for k in range(place + 2, place + 2 + n_entries):
                entry = blocks[k]
                is_found |= wanted_queries[entry] if entry >= 0 else wanted_checks[~entry]
            first = place + 2 + n_entries + n_children
            for k in range(first, first + n_children):
                if blocks[k] < 0:
                    stack[top] = ~blocks[k]
                    top += 1
                else:
                    is_found |= wanted_queries[blocks[k]]
        if is_found:
            found[n] = atom
            n += 1
    return found[:n]
