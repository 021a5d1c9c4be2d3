"""Compiled marking of what was removed from a segment."""

from __future__ import annotations

from numba import njit, uint32, uintp

from feedweir.match.atom_kernels import set_bit


@njit(cache=True, nogil=True)
def set_bits(numbers, bits):  # type: ignore[no-untyped-def]
    """Set the bit of every number."""
    for i in range(len(numbers)):
        set_bit(bits, uint32(numbers[uintp(i)]))
