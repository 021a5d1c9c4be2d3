"""Which comparisons the values on one label path make true."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from feedweir.match.trees.automaton import Floats, Ints, PathFacts
from feedweir.match.trees.steps import EQ, GE, GT, LE, LT, NE

NONE = np.empty(0, np.int32)


def atoms_of_texts(facts: PathFacts, texts: Sequence[str]) -> list[Ints]:
    """The text comparisons that one of the values satisfies."""
    distinct = set(texts)
    known = facts.text_equal
    found = [known[text] for text in sorted(distinct) if text in known]
    if facts.text_unequal:
        unequal = [atom for text, atom in facts.text_unequal if distinct != {text}]
        found.append(np.array(unequal, np.int32))
    return found


def atoms_of_numbers(facts: PathFacts, numbers: Sequence[float]) -> list[Ints]:
    """The numeric comparisons that one of the values satisfies: a range needs only the extremes."""
    known = sorted({number for number in numbers if number == number})
    has_nan = any(number != number for number in numbers)
    if not known and not has_nan:
        return []
    ordered = np.array(known)
    return [_of_range(op, limits, atoms, ordered, has_nan) for op, limits, atoms in facts.ranges]


def _of_range(op: int, limits: Floats, atoms: Ints, values: NDArray[np.float64], has_nan: bool) -> Ints:
    if op == NE:
        return atoms if has_nan or len(values) > 1 else atoms[~np.isin(limits, values)]
    if not len(values):
        return NONE
    if op == EQ:
        return atoms[np.isin(limits, values)]
    if op == LT:
        return atoms[np.searchsorted(limits, values[0], "right") :]
    if op == LE:
        return atoms[np.searchsorted(limits, values[0], "left") :]
    if op == GT:
        return atoms[: np.searchsorted(limits, values[-1], "left")]
    assert op == GE
    return atoms[: np.searchsorted(limits, values[-1], "right")]
