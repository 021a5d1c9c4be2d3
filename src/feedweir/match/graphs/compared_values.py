"""What patterns compare with: all values of a set by kind, and where terms lie among them.

  numbers  2.0   5.0   7.5          places  0  1  2  3  4  5  6
   places     1     3     5                 a term that is the i-th value has the place 2 i + 1,
                                            one that lies just before it 2 i

So every comparison of a term with a value is one of two places.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from feedweir.items.rdf_values import STRING, moment_of, number_of
from feedweir.items.triples import Node
from feedweir.match.arrays import Array, frozen
from feedweir.match.graphs.join_kernels import AT_LEAST, AT_MOST, EQUAL, LESS, MORE, NUMBER, TEXT, UNEQUAL
from feedweir.match.graphs.triple_batches import TripleBatch
from feedweir.match.graphs.triple_kernels import LITERAL, Terms, places_of_texts, plain_numbers

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
OPS = {"=": EQUAL, "!=": UNEQUAL, "<": LESS, "<=": AT_MOST, ">": MORE, ">=": AT_LEAST}
_SHORT = 64


class Axes(NamedTuple):
    """All values that are compared, by kind, in order: numbers, texts one after the other, times in microseconds."""

    numbers: Any
    text: Any
    text_starts: Any
    times: Any


def placed(axes: Axes, kind: int, batch: TripleBatch, chosen: Array) -> Array:
    """Where some terms of a batch lie among the values of a kind."""
    if kind == TEXT:
        places = np.empty(len(chosen), np.int32)
        places_of_texts(batch.terms, frozen(chosen), axes.text, axes.text_starts, places)
        return places
    if kind == NUMBER:
        return places_among(axes.numbers, numbers_of(batch, chosen))
    times = np.full(len(chosen), np.nan)
    for place in np.flatnonzero(_may_be_times(batch.terms, chosen)).tolist():
        moment = _epoch_us(batch.node(int(chosen[place])))
        if moment is not None:
            times[place] = moment
    return places_among(axes.times, times)


def numbers_of(batch: TripleBatch, chosen: Array) -> Array:
    """The values of terms as numbers, NaN for what is none."""
    values = np.empty(len(chosen), np.float64)
    plain_numbers(batch.terms, frozen(chosen), values)
    for place in np.flatnonzero(np.isinf(values)).tolist():
        number = number_of(batch.node(int(chosen[place])))
        values[place] = np.nan if number is None else number
    return values


def places_among(values: Array, found: Array) -> Array:
    """2 i + 1 for the i-th value, 2 i for what lies just before it, -1 for NaN."""
    places = np.searchsorted(values, found)
    is_there = np.append(values, np.nan)[np.minimum(places, len(values))] == found
    return np.where(np.isnan(found), -1, 2 * places + is_there).astype(np.int32)


def _may_be_times(terms: Terms, chosen: Array) -> Array:
    """Literals that begin with a digit and have a type or are long enough."""
    is_long = terms.lengths[chosen] >= len("2026-06-01")
    found: Array = (terms.kinds[chosen] == LITERAL) & (is_long | (terms.types[chosen] != 0))
    found[found] = terms.lengths[chosen[found]] > 0
    firsts = terms.text[terms.starts[chosen[found]]]
    found[found] = (firsts >= ord("0")) & (firsts <= ord("9"))
    return found


def _epoch_us(node: Node) -> int | None:
    return _kept_epoch_us(node) if len(node.value) < _SHORT else _epoch_us_of(node)


@lru_cache(maxsize=65536)
def _kept_epoch_us(node: Node) -> int | None:
    return _epoch_us_of(node)


def type_of(datatype: str, language: str) -> tuple[str, str]:
    """The type of a literal as its language, or as the IRI that texts have, too."""
    return ("", language) if language else (datatype or STRING, "")


def _epoch_us_of(node: Node) -> int | None:
    moment = moment_of(node)
    return None if moment is None else microseconds(moment)


def microseconds(moment: Any) -> int:
    """A moment as a number that is compared."""
    return (moment - EPOCH) // MICROSECOND  # type: ignore[no-any-return]
