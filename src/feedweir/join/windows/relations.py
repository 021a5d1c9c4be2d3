"""Join predicates on pairs of items: what finds candidates, and what decides them.

`finders` gives atoms such that every pair that satisfies a predicate satisfies one of them, or None when only going
through the whole window will do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from feedweir.errors import LanguageError
from feedweir.join.ragged import Ragged
from feedweir.join.windows import annotation_kernels, similarity_kernels, story_kernels
from feedweir.join.windows.features import Feature, Kind, column_type, feature_of
from feedweir.plan.predicate_wire import predicate_to_json
from feedweir.plan.predicates import JoinAnd, JoinNot, JoinOr, JoinPredicate, OfItem, OfWindow, Relates

Longs = NDArray[np.int64]
Bools = NDArray[np.bool_]
Columns = Mapping[Feature, Ragged]

_ORDERED: dict[str, Callable[[NDArray[np.generic], NDArray[np.generic]], Bools]] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


_KINDS: dict[str, tuple[Kind, Kind]] = {
    "extends": ("openings", "links"),
    "extended by": ("links", "openings"),
    "contains": ("words", "value words"),
    "contained in": ("value words", "words"),
}
"""The features of operators that compare different ones on the two sides."""
_SIGNED: dict[str, tuple[Kind, Kind]] = {
    "contains": ("words", "signatures"),
    "contained in": ("signatures", "words"),
}
"""The features that find candidates for operators, where they are not those that decide."""


def sides_of(atom: Relates) -> tuple[Feature, Feature]:
    """The features that an atom compares: of the primary item, and of the window's."""
    kind: Kind = "order"
    if atom.op in _KINDS:
        mine, theirs = _KINDS[atom.op]
        return feature_of(mine, atom.attribute), feature_of(theirs, atom.window_attribute)
    if is_graded(atom):
        kind = "words" if atom.op == "similar" else "story"
        if not 0 < atom.threshold <= 1:
            raise LanguageError(
                f"{atom.threshold} is not a similarity",
                hint="use a number above 0 and up to 1",
            )
    elif atom.op == "shares-link":
        kind = "links"
    elif atom.op in ("=", "!="):
        kind = "value"
    return feature_of(kind, atom.attribute), feature_of(kind, atom.window_attribute)


def is_graded(atom: Relates) -> bool:
    """Whether two items satisfy it to a degree, of which it asks a minimum."""
    return atom.op in ("similar", "tells")


def finding_sides(atom: Relates) -> tuple[Feature, Feature]:
    """The features by which pairs that satisfy an atom are found: one key that both have, or words in common."""
    if atom.op not in _SIGNED:
        return sides_of(atom)
    mine, theirs = _SIGNED[atom.op]
    return feature_of(mine, atom.attribute), feature_of(theirs, atom.window_attribute)


def conditions_of(predicate: JoinPredicate) -> list[Feature]:
    """The conditions on one side alone, as features."""
    match predicate:
        case JoinAnd(parts) | JoinOr(parts):
            return [feature for part in parts for feature in conditions_of(part)]
        case JoinNot(part):
            return conditions_of(part)
        case OfItem() | OfWindow():
            return [_condition(predicate)]
        case Relates():
            return []


def _condition(one: OfItem | OfWindow) -> Feature:
    return Feature("condition", predicate_to_json(one.predicate))


def atoms_of(predicate: JoinPredicate) -> list[Relates]:
    match predicate:
        case JoinAnd(parts) | JoinOr(parts):
            return [atom for part in parts for atom in atoms_of(part)]
        case JoinNot(part):
            return atoms_of(part)
        case Relates():
            return [predicate]
        case OfItem() | OfWindow():
            return []


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
            finds = op == "!=" if is_negated else op in ("=", "similar", "tells", "shares-link", *_KINDS)
            return (predicate,) if finds else None
        case OfItem() | OfWindow():
            return None


def decides(atom: Relates) -> bool:
    """Whether the pairs that an atom finds are those that satisfy it."""
    return atom.op not in _SIGNED


def _cost(atoms: tuple[Relates, ...]) -> tuple[int, int]:
    return max((1 if is_graded(atom) or atom.op in _SIGNED else 0 for atom in atoms), default=0), len(atoms)


def holds(predicate: JoinPredicate, primary: Longs, partner: Longs, batch: Columns, window: Columns) -> Bools:
    """For each pair (row of the batch, row of the window), whether it satisfies the predicate."""
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
        case OfItem():
            return _has_any(batch[_condition(predicate)], primary)
        case OfWindow():
            return _has_any(window[_condition(predicate)], partner)


def degrees(
    predicate: JoinPredicate, primary: Longs, partner: Longs, batch: Columns, window: Columns
) -> NDArray[np.float64]:
    """For each pair, the degree to which it satisfies the predicate: a similarity if one is asked for, else 1; 0 if it
    does not."""
    match predicate:
        case JoinAnd(parts):
            each = [degrees(part, primary, partner, batch, window) for part in parts]
            return np.asarray(np.minimum.reduce(each))
        case JoinOr(parts):
            each = [degrees(part, primary, partner, batch, window) for part in parts]
            return np.asarray(np.maximum.reduce(each))
        case Relates() if is_graded(predicate):
            found = _similarities(predicate, primary, partner, batch, window)
            return np.where(found >= predicate.threshold, found, 0.0)
    return holds(predicate, primary, partner, batch, window).astype(np.float64)


def _has_any(column: Ragged, rows: Longs) -> Bools:
    return np.asarray(column.ptr[rows + 1] > column.ptr[rows])


def _atom(atom: Relates, primary: Longs, partner: Longs, batch: Columns, window: Columns) -> Bools:
    mine, theirs = sides_of(atom)
    a, b = batch[mine], window[theirs]
    if is_graded(atom):
        return np.asarray(_similarities(atom, primary, partner, batch, window) >= atom.threshold)
    if atom.op == "contains":
        return np.asarray(annotation_kernels.any_contained(primary, partner, a.ptr, a.data, b.ptr, b.data))
    if atom.op == "contained in":
        return np.asarray(annotation_kernels.any_contained(partner, primary, b.ptr, b.data, a.ptr, a.data))
    if mine.kind in ("value", "links", "openings"):
        equal: Bools = annotation_kernels.any_equal(primary, partner, a.ptr, a.data, b.ptr, b.data)
        return ~equal if atom.op == "!=" else equal
    return _ordered(atom.op, mine, theirs, a, b, primary, partner)


def _similarities(
    atom: Relates, primary: Longs, partner: Longs, batch: Columns, window: Columns
) -> NDArray[np.float64]:
    mine, theirs = sides_of(atom)
    a, b = batch[mine], window[theirs]
    similarity = similarity_kernels.similarities if atom.op == "similar" else story_kernels.similarities
    return np.asarray(similarity(primary, partner, a.ptr, a.data, b.ptr, b.data))


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
