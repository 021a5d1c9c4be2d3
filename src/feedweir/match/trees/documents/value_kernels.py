"""The values of nodes as patterns compare them: the number of a text that a pattern names, and the number it reads
as."""

from __future__ import annotations

import numpy as np

from feedweir.kernels import njit
from feedweir.match.trees.documents.name_table_kernels import find, hash_of
from feedweir.match.trees.tree_codes import TEXT

_kernel = njit(cache=True, _nrt=False)
_TENS = np.array([10.0**power for power in range(23)])
LENGTHS = 4096
"""From this length on, texts are compared whatever their length."""


@njit(cache=True)
def evaluate(batch, state_of, needs_text, needs_number, texts, has_length):  # type: ignore[no-untyped-def]
    """(numbers, odd): fills the texts of nodes; `odd` are the nodes whose number Python must read."""
    numbers = np.full(len(batch.nodes), np.nan)
    odd = np.empty(len(batch.nodes), np.int64)
    n_odd = 0
    for node in range(len(batch.nodes)):
        state = state_of[batch.paths[node]]
        start, stop = batch.spans[node, 0], batch.spans[node, 1]
        if needs_text[state] and has_length[min(stop - start, LENGTHS)]:
            hashed = hash_of(batch.chars, start, stop)
            batch.nodes[node, TEXT] = find(texts, hashed, batch.chars, start, stop)
        if needs_number[state]:
            numbers[node], is_odd = _number(batch.chars, start, stop)
            if is_odd:
                odd[n_odd] = node
                n_odd += 1
    return numbers, odd[:n_odd].copy()


@_kernel
def _is_space(char):  # type: ignore[no-untyped-def]
    return char == 32 or char == 9 or char == 10 or char == 13


@_kernel
def _number(chars, start, stop):  # type: ignore[no-untyped-def]
    """(number, whether Python must read it): a sign, digits and a point, with space around; NaN for anything else."""
    while start < stop and _is_space(chars[start]):
        start += 1
    while start < stop and _is_space(chars[stop - 1]):
        stop -= 1
    is_negative = start < stop and chars[start] == 45
    if is_negative:
        start += 1
    whole, digits, decimals, has_point = np.int64(0), 0, 0, False
    for place in range(start, stop):
        char = chars[place]
        if 48 <= char <= 57:
            whole = whole * 10 + (np.int64(char) - 48)
            digits += 1
            decimals += has_point
            if digits > 15:
                return np.nan, True
        elif char == 46 and not has_point:
            has_point = True
        else:
            return np.nan, digits > 0 and (char == 101 or char == 69)
    if digits == 0:
        return np.nan, False
    # Both are exact, so that the quotient is the nearest number, as it is in Python.
    number = np.float64(whole) / _TENS[decimals]
    return (-number if is_negative else number), False
