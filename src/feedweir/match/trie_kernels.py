"""Compiled ordering of conjunctions before they become a trie."""

from __future__ import annotations

import numpy as np
from numba import njit


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
    """Order the other atoms of every conjunction so that those found by one atom share what they begin with.

    First comes what refuses most at once: the atom that is in many of them and seldom satisfied. `by_root` lists the
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


@njit(cache=True)
def lay_blocks(n_roots, atoms, child_starts, entry_starts, entries, places, blocks):  # type: ignore[no-untyped-def]
    """Write the blocks of every root together, its own first. `places[n]` becomes where node n's block is; its length.

    A child that has one query and nothing else needs no block. With `blocks` empty only the length is found out.
    """
    at = 0
    queue = np.empty(len(atoms), np.int32)
    is_written = len(blocks) > 0
    for root in range(n_roots):
        queue[0] = root
        head, tail = 0, 1
        places[root] = at
        at += _block_size(root, child_starts, entry_starts)
        while head < tail:
            node = queue[head]
            head += 1
            place = places[node]
            first, last = child_starts[node], child_starts[node + 1]
            n_entries = entry_starts[node + 1] - entry_starts[node]
            if is_written:
                blocks[place] = n_entries
                blocks[place + 1] = last - first
                for k in range(n_entries):
                    blocks[place + 2 + k] = entries[entry_starts[node] + k]
            for child in range(first, last):
                entry = entries[entry_starts[child]] if entry_starts[child + 1] > entry_starts[child] else -1
                is_single = _block_size(child, child_starts, entry_starts) == 3 and entry >= 0
                if not is_single:
                    queue[tail] = child
                    tail += 1
                    places[child] = at
                    at += _block_size(child, child_starts, entry_starts)
                if is_written:
                    slot = place + 2 + n_entries + child - first
                    blocks[slot] = atoms[child]
                    blocks[slot + last - first] = entry if is_single else ~places[child]
    return at


@njit(inline="always")
def _block_size(node, child_starts, entry_starts):  # type: ignore[no-untyped-def]
    n_entries = entry_starts[node + 1] - entry_starts[node]
    return 2 + n_entries + 2 * (child_starts[node + 1] - child_starts[node])


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
