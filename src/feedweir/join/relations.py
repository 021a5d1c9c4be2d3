"""Join predicates on pairs of items: what finds candidates, and what decides them.

`finders` gives, for a predicate, atoms such that every pair that satisfies it satisfies one of them, or None when only
looking at the whole window will do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from feedweir.errors import LanguageError
from feedweir.join import annotation_kernels, similarity_kernels
from feedweir.join.features import Feature, Kind, Ragged, column_type, feature_of
from feedweir.plan.predicates import JoinAnd, JoinNot, JoinOr, JoinPredicate, Relates

Longs = NDArray[np.int64]
Bools = NDArray[np.bool_]
Columns = Mapping[Feature, Ragged]

_ORDERED: dict[str, Callable[[NDArray[np.generic], NDArray[np.generic]], Bools]] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


def sides_of(atom: Relates) -> tuple[Feature, Feature]:
    """The features that an atom compares: of the primary item, and of the window's."""
    kind: Kind = "order"
    if atom.op == "similar":
        kind = "words"
        if not 0 < atom.threshold <= 1:
            raise LanguageError(
                f"a similarity of {atom.threshold} cannot be asked for",
                hint="use a number above 0 and up to 1",
            )
    elif atom.op == "shares-link":
        kind = "links"
    elif atom.op in ("=", "!="):
        kind = "value"
    return feature_of(kind, atom.attribute), feature_of(kind, atom.window_attribute)


def atoms_of(predicate: JoinPredicate) -> list[Relates]:
    match predicate:
        case JoinAnd(parts) | JoinOr(parts):
            return [atom for part in parts for atom in atoms_of(part)]
        case JoinNot(part):
            return atoms_of(part)
        case Relates():
            return [predicate]


def finders(predicate: JoinPredicate, *, is_negated: bool = False) -> tuple[Relates, ...] | None:
    """The cheapest atoms to find candidates by: of a conjunction one part's, of a disjunction all parts'."""
    match predicate:
        case JoinNot(part):
            return finders(part, is_negated=not is_negated)
        case JoinAnd(parts) | JoinOr(parts):
            found = [finders(part, is_negated=is_negated) for part in parts]
            if isinstance(predicate, JoinAnd) != is_negated:
                usable = [one for one in found if one is not None]
                return min(usable, key=_cost, default=None)
            if any(one is None for one in found):
                return None
            return tuple(dict.fromkeys(atom for one in found if one is not None for atom in one))
        case Relates(op=op):
            finds = op == "!=" if is_negated else op in ("=", "similar", "shares-link")
            return (predicate,) if finds else None


def _cost(atoms: tuple[Relates, ...]) -> tuple[int, int]:
    return max((1 if atom.op == "similar" else 0 for atom in atoms), default=0), len(atoms)


def holds(predicate: JoinPredicate, primary: Longs, partner: Longs, batch: Columns, window: Columns) -> Bools:
    """Of each pair (row of the batch, row of the window) whether it satisfies the predicate."""
    match predicate:
        case JoinAnd(parts):
            result = np.ones(len(primary), np.bool_)
            for part in parts:
                result &= holds(part, primary, partner, batch, window)
            return result
        case JoinOr(parts):
            result = np.zeros(len(primary), np.bool_)
            for part in parts:
                result |= holds(part, primary, partner, batch, window)
            return result
        case JoinNot(part):
            return ~holds(part, primary, partner, batch, window)
        case Relates():
            return _atom(predicate, primary, partner, batch, window)


def _atom(atom: Relates, primary: Longs, partner: Longs, batch: Columns, window: Columns) -> Bools:
    mine, theirs = sides_of(atom)
    a, b = batch[mine], window[theirs]
    if atom.op == "similar":
        found = similarity_kernels.similarities(primary, partner, a.ptr, a.data, b.ptr, b.data)
        return np.asarray(found >= atom.threshold)
    if mine.kind in ("value", "links"):
        equal: Bools = annotation_kernels.any_equal(primary, partner, a.ptr, a.data, b.ptr, b.data)
        return ~equal if atom.op == "!=" else equal
    return _ordered(atom.op, mine, theirs, a, b, primary, partner)


def _ordered(
    op: str, mine: Feature, theirs: Feature, a: Ragged, b: Ragged, rows: Longs, others: Longs
) -> Bools:
    """One of the values is less (or greater) than one of the others: the extremes decide."""
    result = np.zeros(len(rows), np.bool_)
    if column_type(mine) != column_type(theirs):
        return result
    both = np.flatnonzero((a.ptr[rows + 1] > a.ptr[rows]) & (b.ptr[others + 1] > b.ptr[others]))
    least = op.startswith("<")
    left = a.ptr[rows[both]] + (0 if least else 1)
    right = b.ptr[others[both]] + (1 if least else 0)
    result[both] = _ORDERED[op](a.data[left], b.data[right]).astype(np.bool_)
    return result
