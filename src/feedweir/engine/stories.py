"""Which elements tell a story first, of pairs of which the later may tell what the earlier told."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from feedweir.join.annotation_batch import Told

Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class FirstTellers:
    """What was decided of the elements of a batch."""

    is_first: NDArray[np.bool_]
    """By element whether it comes out."""
    again: list[tuple[int, int]]
    """(first, later), both of the batch."""
    late: list[tuple[int, int, int]]
    """(number of the first, from before the batch, which item that is a wording of, later)."""


def first_tellers(elements: Longs, told: Told, pairs: slice, most: int) -> FirstTellers:
    """Each element is compared with those that came out before it, as far as they are among the last `most` of those.

    Pairs are of one stream, by element and then by the order of the earlier ones. A new wording comes out like the
    old one did; else what tells a story again is noted with its first.
    """
    is_first = np.ones(len(elements), np.bool_)
    dropped: list[int] = []
    again: list[tuple[int, int]] = []
    late: list[tuple[int, int, int]] = []

    def come_out(row: int) -> int:
        """How many came out before an element."""
        return int(np.searchsorted(elements, row)) - bisect_left(dropped, row)

    for row, earlier in _by_row(told, pairs):
        out = come_out(row)
        known = [
            pair
            for pair in earlier
            if (
                out + int(told.back[pair]) <= most
                if told.earlier[pair] < 0
                else is_first[np.searchsorted(elements, told.earlier[pair])]
                and out - come_out(int(told.earlier[pair])) <= most
            )
        ]
        if not known or told.is_revision[known].any():
            continue
        is_first[np.searchsorted(elements, row)] = False
        dropped.append(row)
        first = known[0]
        if told.earlier[first] < 0:
            late.append((int(told.partner[first]), int(told.partner_item[first]), row))
        else:
            again.append((int(told.earlier[first]), row))
    return FirstTellers(is_first, again, late)


def _by_row(told: Told, pairs: slice) -> Iterator[tuple[int, list[int]]]:
    rows = told.row[pairs]
    starts = np.flatnonzero(np.append(True, rows[1:] != rows[:-1]))
    stops = np.append(starts[1:], len(rows))
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        yield int(rows[start]), list(range(pairs.start + start, pairs.start + stop))
