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
