"""From the triples of a batch to the atoms that each satisfies.

   terms  t0  t1  t2 …      names of t  names[name_ptr[t] : name_ptr[t + 1]], the constants of patterns that it is
 triples  (s, p, o) …       hits of row r  hit_ptr[r] … hit_ptr[r + 1], each a triple and an atom that it satisfies

An atom is a triple with constants in some places, and the others open: `(s|?, p|?, o|?)`. A triple satisfies the atoms
that are found when, for each choice of places that some atom has (a mask), its names there are looked up.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import uint64, uintp

from feedweir.kernels import njit
from feedweir.match.words.dictionary_kernels import entry_at
from feedweir.text.text_kernels import hash_bytes

IRI, BLANK, LITERAL = 0, 1, 2
IN_SUBJECT, IN_PREDICATE, IN_OBJECT = 1, 2, 4
SAME_SO, SAME_SP, SAME_PO = 8, 16, 32
"""The bits of a mask: places with constants, and places that one variable has twice."""

_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_SHIFT, _HALF = np.uint64(29), np.uint64(32)
_SLASH, _HASH, _COLON = np.uint8(0x2F), np.uint8(0x23), np.uint8(0x3A)
_DIGIT_0, _DIGIT_9, _POINT = np.uint8(0x30), np.uint8(0x39), np.uint8(0x2E)
_PLUS, _MINUS = np.uint8(0x2B), np.uint8(0x2D)


class Terms(NamedTuple):
    """The terms of a batch: term t is `text[starts[t] : starts[t] + lengths[t]]`."""

    text: Any
    starts: Any
    lengths: Any
    kinds: Any
    types: Any
    """Of literals: which pair of datatype and language."""


class Names(NamedTuple):
    """What strings mean as constants, by entry of a dictionary; -1 for nothing."""

    iris: Any
    texts: Any
    literals: Any
    """Where the typed literals of this text begin; they end where those of the next begin."""
    literal_types: Any
    literal_names: Any
    has_texts: Any
    """One number: whether any text is there, so that the ends of IRIs need be looked up."""


class Atoms(NamedTuple):
    """Atoms by their keys (see `atom_keys`): together, since they are compared together."""

    slots: Any
    keys: Any


def atom_keys(parts: Any) -> Any:
    """Three numbers for each atom, from its (subject, predicate, object, mask), with -1 in open places: the third has
    the object, and what else the mask says, which places are the same."""
    third = (parts[:, 2] + 1) * 8 + (parts[:, 3] >> 3)
    return np.stack([parts[:, 0], parts[:, 1], third], axis=1).astype(np.int32)


def constants_of_atoms(keys: Any) -> Any:
    """The constants of atoms by place, -1 for an open one."""
    return np.stack([keys[:, 0], keys[:, 1], (keys[:, 2] >> 3) - 1], axis=1)


@njit(cache=True, nogil=True)
def names_of_terms(terms, dictionary, names, types, name_ptr, found):  # type: ignore[no-untyped-def]
    """The names of every term; `types` are the numbers that the types of the batch have in the set.

    Returns how many there are; when that is more than `found` has room for, call again with more.
    """
    slots, starts, text, _ = dictionary
    n = 0
    for t in range(len(terms.starts)):
        name_ptr[t] = n
        kind = terms.kinds[t]
        if kind == BLANK:
            continue
        at, length = terms.starts[t], np.int64(terms.lengths[t])
        entry = entry_at(slots, starts, text, hash_bytes(terms.text, at, length), terms.text, at, length)
        if entry >= 0:
            if kind == IRI and names.iris[entry] >= 0:
                n = _noted(found, n, names.iris[entry])
            if names.texts[entry] >= 0:
                n = _noted(found, n, names.texts[entry])
            if kind == LITERAL:
                for k in range(names.literals[entry], names.literals[entry + 1]):
                    if names.literal_types[k] == types[terms.types[t]]:
                        n = _noted(found, n, names.literal_names[k])
        if kind == IRI and names.has_texts[0]:
            for k in range(length):
                byte = terms.text[at + k]
                if byte != _SLASH and byte != _HASH and byte != _COLON:
                    continue
                first, size = at + k + 1, length - k - 1
                h = hash_bytes(terms.text, first, size)
                entry = entry_at(slots, starts, text, h, terms.text, first, size)
                if entry >= 0 and names.texts[entry] >= 0:
                    n = _noted(found, n, names.texts[entry])
    name_ptr[len(terms.starts)] = n
    return n


@njit(inline="always")
def _noted(found, n, name):  # type: ignore[no-untyped-def]
    if n < len(found):
        found[n] = name
    return n + 1


@njit(inline="always")
def _first_slot(s, p, third, n_slots):  # type: ignore[no-untyped-def]
    h = (uint64(s + 2) * _FACTOR) ^ uint64(p + 2)
    h = (h ^ (h >> _SHIFT)) * _FACTOR ^ uint64(third)
    h = (h ^ (h >> _SHIFT)) * _FACTOR
    return ((h >> _HALF) * uint64(n_slots)) >> _HALF


@njit(cache=True)
def fill_atoms(atoms):  # type: ignore[no-untyped-def]
    """Put distinct atoms into empty slots."""
    n_slots = len(atoms.slots)
    for a in range(len(atoms.keys)):
        slot = _first_slot(atoms.keys[a, 0], atoms.keys[a, 1], atoms.keys[a, 2], n_slots)
        while atoms.slots[uintp(slot)] >= 0:
            slot += np.uint64(1)
            if slot == n_slots:
                slot = np.uint64(0)
        atoms.slots[uintp(slot)] = a


@njit(inline="always")
def _atom_of(slots, keys, s, p, third):  # type: ignore[no-untyped-def]
    slot = _first_slot(s, p, third, len(slots))
    while True:
        a = slots[uintp(slot)]
        if a < 0:
            return np.int32(-1)
        at = uintp(a)
        if keys[at, 0] == s and keys[at, 1] == p and keys[at, 2] == third:
            return a
        slot += np.uint64(1)
        if slot == len(slots):
            slot = np.uint64(0)


@njit(cache=True, nogil=True)
def hits_of_rows(  # type: ignore[no-untyped-def]
    row_ptr, subjects, predicates, objects, name_ptr, names, atoms, masks, hit_ptr, hit_atoms, hit_triples
):
    """The atoms that each triple satisfies, row by row.

    Returns how many hits there are; when that is more than the arrays have room for, call again with more.
    """
    n, room = 0, len(hit_atoms)
    slots, keys = atoms
    for row in range(len(row_ptr) - 1):
        hit_ptr[row] = n
        for k in range(row_ptr[row], row_ptr[row + 1]):
            s, p, o = subjects[k], predicates[k], objects[k]
            for mask in masks:
                # A mask says which places are closed, and which must be equal: some masks the triple cannot satisfy.
                if (
                    (mask & SAME_SO and s != o)
                    or (mask & SAME_SP and s != p)
                    or (mask & SAME_PO and p != o)
                    or (mask & IN_SUBJECT and name_ptr[s] == name_ptr[s + 1])
                    or (mask & IN_PREDICATE and name_ptr[p] == name_ptr[p + 1])
                    or (mask & IN_OBJECT and name_ptr[o] == name_ptr[o + 1])
                ):
                    continue
                # Every combination of names of its closed places; an open place is walked once, with the name -1.
                s_first, s_last = (name_ptr[s], name_ptr[s + 1]) if mask & IN_SUBJECT else (0, 1)
                p_first, p_last = (name_ptr[p], name_ptr[p + 1]) if mask & IN_PREDICATE else (0, 1)
                o_first, o_last = (name_ptr[o], name_ptr[o + 1]) if mask & IN_OBJECT else (0, 1)
                for p_at in range(p_first, p_last):
                    p_name = names[p_at] if mask & IN_PREDICATE else np.int32(-1)
                    for s_at in range(s_first, s_last):
                        s_name = names[s_at] if mask & IN_SUBJECT else np.int32(-1)
                        for o_at in range(o_first, o_last):
                            o_name = names[o_at] if mask & IN_OBJECT else np.int32(-1)
                            third = (o_name + np.int32(1)) * np.int32(8) + np.int32(mask >> 3)
                            a = _atom_of(slots, keys, s_name, p_name, third)
                            if a >= 0:
                                if n < room:
                                    hit_atoms[n] = a
                                    hit_triples[n] = k
                                n += 1
    hit_ptr[len(row_ptr) - 1] = n
    return n


# Values


@njit(cache=True, nogil=True)
def plain_numbers(terms, chosen, numbers):  # type: ignore[no-untyped-def]
    """The values of chosen terms that are plain decimals; NaN for no number, infinity for what Python must read.

    Up to fifteen digits and as many places are exact: both the digits and the power of ten are floats without error.
    """
    for place in range(len(chosen)):
        t = chosen[place]
        numbers[place] = np.nan
        if terms.kinds[t] != LITERAL:
            continue
        i, end = terms.starts[t], terms.starts[t] + terms.lengths[t]
        if i == end:
            continue
        first = terms.text[i]
        is_minus = first == _MINUS
        if is_minus or first == _PLUS:
            i += 1
        digits, places, mantissa, is_point, is_plain = 0, 0, np.int64(0), False, i < end
        while i < end and is_plain:
            byte = terms.text[i]
            if _DIGIT_0 <= byte <= _DIGIT_9 and digits < 15:
                mantissa = mantissa * 10 + np.int64(byte - _DIGIT_0)
                digits += 1
                places += is_point
            elif byte == _POINT and not is_point:
                is_point = True
            else:
                is_plain = False
            i += 1
        if is_plain and digits:
            value = np.float64(mantissa) / 10.0**places
            numbers[place] = -value if is_minus else value
        elif _may_open_number(first) and terms.lengths[t] <= 1000:
            numbers[place] = np.inf


@njit(inline="always")
def _may_open_number(byte):  # type: ignore[no-untyped-def]
    """A digit, a sign, a point, white space, or what is not ASCII."""
    is_digit = _DIGIT_0 <= byte <= _DIGIT_9
    return is_digit or byte == _PLUS or byte == _MINUS or byte == _POINT or byte <= 0x20 or byte >= 0x80


@njit(cache=True, nogil=True)
def places_of_texts(terms, chosen, text, starts, places):  # type: ignore[no-untyped-def]
    """Where each chosen term lies among sorted texts: 2 i + 1 for the i-th, 2 i just before it; -1 for a blank node."""
    for place in range(len(chosen)):
        t = chosen[place]
        if terms.kinds[t] == BLANK:
            places[place] = -1
            continue
        at, length = terms.starts[t], np.int64(terms.lengths[t])
        low, high = 0, len(starts) - 1
        is_there = False
        while low < high:
            middle = (low + high) // 2
            order = _order(terms.text, at, length, text, starts[middle], starts[middle + 1] - starts[middle])
            if order == 0:
                low, is_there = middle, True
                break
            if order < 0:
                high = middle
            else:
                low = middle + 1
        places[place] = 2 * low + is_there


@njit(inline="always")
def _order(one, one_at, one_length, other, other_at, other_length):  # type: ignore[no-untyped-def]
    """Bytes of UTF-8 are ordered as the characters are."""
    for k in range(min(one_length, np.int64(other_length))):
        a, b = one[one_at + k], other[other_at + k]
        if a != b:
            return -1 if a < b else 1
    return 0 if one_length == other_length else -1 if one_length < other_length else 1
