"""The atoms that a row satisfies: a bit for each, and their list."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import uint32, uint64, uintp

from feedweir.kernels import njit

_U3, _U7 = np.uint32(3), np.uint32(7)
_NAMELESS = 8
"""Bytes behind the bits of atoms, all of them set, for words that no query names and that are never new. There are
several, so that a read need not wait for the write before it."""


class Scratch(NamedTuple):
    """What kernels write to while they match a row. For one row it would take longer to allocate than to use."""

    atoms: Any
    checks: Any
    """For programs, as `scratch_for_checks` makes it; `other_checks` for those of the overlay."""
    other_checks: Any
    turns: Any
    """How many rows it has been used for."""


@njit(inline="always")
def is_set(bits, atom):  # type: ignore[no-untyped-def]
    place = uint32(atom)
    return (bits[place >> _U3] >> np.uint8(place & _U7)) & np.uint8(1)


@njit(inline="always")
def set_bit(bits, atom):  # type: ignore[no-untyped-def]
    bits[atom >> _U3] |= np.uint8(1) << np.uint8(atom & _U7)


@njit(cache=True, nogil=True)
def scratch_for_atoms(n_atoms, n_scoped):  # type: ignore[no-untyped-def]
    """Scratch for the atoms of a row: a bit for each, their list, and in which scopes each entry was seen."""
    bits = np.zeros((n_atoms >> 3) + 1 + _NAMELESS, np.uint8)
    bits[-_NAMELESS:] = 255
    return (
        bits,
        np.empty(n_atoms + 1, np.int32),
        np.zeros(n_scoped, np.uint64),
        np.empty(n_scoped + 1, np.int32),
    )


@njit(forceinline=True)
def atoms_anywhere(offsets, entries, row, bits, satisfied):  # type: ignore[no-untyped-def]
    """List the entries of a row as atoms, each once, where no query asks in which attribute they are; how many.

    There is no branch on whether a word is known or new, which is hard to foresee.
    """
    nameless = uint32(len(bits) - _NAMELESS) << _U3
    n = 0
    for stream in range(len(offsets)):
        for i in range(offsets[stream, row], offsets[stream, row + 1]):
            entry = entries[uintp(i)]
            atom = uint32(entry) if entry >= 0 else nameless + ((uint32(i) & _U7) << _U3)
            before = bits[atom >> _U3]
            bit = np.uint8(1) << np.uint8(atom & _U7)
            bits[atom >> _U3] = before | bit
            satisfied[uintp(n)] = atom
            n += (before & bit) == 0
    return n


@njit(cache=True, nogil=True)
def atoms_by_scope(streams, vocabulary, row, scopes, seen, bits, satisfied):  # type: ignore[no-untyped-def]
    """List the atoms that the entries of a row are in their scopes, each once; how many."""
    scoped_starts, scoped_scopes, scoped_atoms = (
        vocabulary.scoped_starts, vocabulary.scoped_scopes, vocabulary.scoped_atoms,
    )  # fmt: skip
    offsets, entries = streams.offsets, streams.entries
    n_seen = 0
    for stream in range(len(streams.scopes)):
        scope = streams.scopes[stream]
        for i in range(offsets[stream, row], offsets[stream, row + 1]):
            entry = entries[uintp(i)]
            if entry >= 0:
                before = scopes[uint32(entry)]
                scopes[uint32(entry)] = before | scope
                seen[uintp(n_seen)] = entry
                n_seen += before == 0
    whole_scope = vocabulary.whole_scope[0]
    n = 0
    for i in range(n_seen):
        entry = uint32(seen[uintp(i)])
        scope = scopes[entry]
        scopes[entry] = uint64(0)
        if scope & whole_scope:
            set_bit(bits, entry)
            satisfied[uintp(n)] = entry
            n += 1
        for k in range(scoped_starts[entry], scoped_starts[entry + uint32(1)]):
            if scope & scoped_scopes[k]:
                set_bit(bits, uint32(scoped_atoms[k]))
                satisfied[uintp(n)] = scoped_atoms[k]
                n += 1
    return n


@njit(forceinline=True)
def own_atoms(offsets, atoms, row, n, bits, satisfied):  # type: ignore[no-untyped-def]
    """The atoms `atoms[offsets[row] : offsets[row + 1]]` behind `n` others, each once; the new number of atoms."""
    for i in range(offsets[row], offsets[row + 1]):
        atom = uint32(atoms[i])
        if not is_set(bits, atom):
            set_bit(bits, atom)
            satisfied[uintp(n)] = atom
            n += 1
    return n


@njit(forceinline=True)
def atoms_of_values(values, every_atom, row, n, bits, satisfied):  # type: ignore[no-untyped-def]
    """Append the value atoms of a row, and the atom of every item, to `n` others; the new number of atoms."""
    n = own_atoms(values.offsets, values.atoms, row, n, bits, satisfied)
    for atom in every_atom:
        set_bit(bits, uint32(atom))
        satisfied[uintp(n)] = atom
        n += 1
    return n


@njit(forceinline=True)
def emptied(bits, satisfied, n_satisfied):  # type: ignore[no-untyped-def]
    """Clear the bits of satisfied atoms."""
    for i in range(n_satisfied):
        bits[uint32(satisfied[uintp(i)]) >> _U3] = 0


@njit(cache=True, nogil=True)
def sized(array, used, size):  # type: ignore[no-untyped-def]
    """A copy of another size with the used part."""
    larger = np.empty(size, array.dtype)
    larger[:used] = array[:used]
    return larger


@njit(cache=True, nogil=True)
def grown(array, used, more):  # type: ignore[no-untyped-def]
    """A copy with room for `more` behind the used part."""
    return sized(array, used, 2 * len(array) + more)


@njit(cache=True, nogil=True)
def satisfied_by(streams, values, vocabulary, row, scopes, seen, bits, satisfied):  # type: ignore[no-untyped-def]
    """All atoms of a row, each once; how many."""
    if len(vocabulary.scoped_starts) > 1:
        n = atoms_by_scope(streams, vocabulary, row, scopes, seen, bits, satisfied)
    else:
        n = atoms_anywhere(streams.offsets, streams.entries, row, bits, satisfied)
    if len(values.atoms) > 0 or len(vocabulary.every_atom) > 0:
        n = atoms_of_values(values, vocabulary.every_atom, row, n, bits, satisfied)
    return n
