"""Finds many plain pieces in many texts at once: by four bytes of each, then by a sum over all of it.

text   … n i g e r   u r a n …    position p holds the bytes p to p + 3 as one number
grams  [uran, …]                  sorted; of each piece the four bytes that the fewest pieces have
sums   Σ byte · B^place           so that the sum over any stretch is one subtraction, modulo 2^64
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from feedweir.match.arrays import Array, ranges_of

_GRAM = 4
_BITS = 18
_SPREAD = np.uint32(0x9E3779B1)
_BASE = 0x9E3779B97F4A7C15


@dataclass(frozen=True, slots=True)
class PieceFinder:
    """Pieces by their grams; piece i lies behind `offsets[i]` bytes before its gram."""

    grams: Array
    starts: Array
    pieces: Array
    """Those of gram g are `pieces[starts[g] : starts[g + 1]]`."""
    may_be: Array
    """Whether a gram may be one of the known, by the highest bits of its product."""
    offsets: Array
    lengths: Array
    sums: Array

    def found_in(self, text: Array, ends: Array) -> tuple[Array, Array]:
        """(texts, pieces) of the pieces that occur in texts, which lie one after the other and end at `ends`."""
        grams = _grams_of(text)
        places = np.flatnonzero(self.may_be[_place(grams)])
        numbers = np.searchsorted(self.grams, grams[places])
        is_known = self.grams[np.minimum(numbers, len(self.grams) - 1)] == grams[places]
        places, numbers = places[is_known], numbers[is_known]
        counts = np.diff(self.starts)[numbers]
        pieces = self.pieces[ranges_of(self.starts[numbers], counts)]
        firsts = np.repeat(places, counts) - self.offsets[pieces]
        owners = np.searchsorted(ends, firsts, side="right")
        lasts = firsts + self.lengths[pieces]
        is_within = (firsts >= 0) & (lasts <= ends[np.minimum(owners, len(ends) - 1)])
        firsts, lasts, pieces, owners = (each[is_within] for each in (firsts, lasts, pieces, owners))
        is_there = _are_equal(text, firsts, lasts, self.sums[pieces])
        return owners[is_there], pieces[is_there]


def piece_finder(pieces: Sequence[bytes]) -> PieceFinder:
    """A finder of pieces of four bytes or more."""
    of_each = [_grams_of(np.frombuffer(piece, np.uint8)).tolist() for piece in pieces]
    common = Counter(gram for grams in of_each for gram in set(grams))
    offsets = [min(range(len(grams)), key=lambda n: (common[grams[n]], n)) for grams in of_each]
    chosen = np.array([grams[n] for grams, n in zip(of_each, offsets, strict=True)], np.uint32)
    order = np.argsort(chosen, kind="stable")
    known, starts = np.unique(chosen[order], return_index=True)
    may_be = np.zeros(1 << _BITS, np.bool_)
    may_be[_place(known)] = True
    return PieceFinder(
        known,
        np.append(starts, len(pieces)),
        order,
        may_be,
        np.array(offsets, np.int64),
        np.array([len(piece) for piece in pieces], np.int64),
        np.array([_sum_of(piece) for piece in pieces], np.uint64),
    )


def _grams_of(text: Array) -> Array:
    """The four bytes from each place on as a number."""
    if len(text) < _GRAM:
        return np.empty(0, np.uint32)
    wide = text.astype(np.uint32)
    found: Array = wide[:-3] | wide[1:-2] << 8 | wide[2:-1] << 16 | wide[3:] << 24
    return found


def _place(grams: Array) -> Array:
    place: Array = (grams * _SPREAD) >> np.uint32(32 - _BITS)
    return place


def _sum_of(piece: bytes) -> int:
    return sum(byte * pow(_BASE, place, 1 << 64) for place, byte in enumerate(piece)) % (1 << 64)


def _are_equal(text: Array, firsts: Array, lasts: Array, sums: Array) -> Array:
    """Whether stretches of the text have these sums; that two texts have the same sum is next to impossible."""
    if not len(firsts):
        return np.empty(0, np.bool_)
    powers = np.ones(len(text), np.uint64)
    powers[1:] = np.cumprod(np.full(len(text) - 1, _BASE, np.uint64), dtype=np.uint64)
    before = np.zeros(len(text) + 1, np.uint64)
    np.cumsum(text * powers, dtype=np.uint64, out=before[1:])
    found: Array = before[lasts] - before[firsts] == sums * powers[firsts]
    return found
