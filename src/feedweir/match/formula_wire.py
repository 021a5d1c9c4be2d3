"""Formulas on their way between processes: nested tuples, which are written and read ten times as fast as objects.

Leaves come back as one object however many formulas have them. What holds a predicate is pickled whole.
"""

from __future__ import annotations

import marshal
import pickle
from typing import Any, TypeAlias

from feedweir.match.atoms import Axis, Equal, Every, Link, Origin, Phrase, Prefix, Segment, Within, Word
from feedweir.match.formula import All, AnyOf, Count, Formula, Without

Plain: TypeAlias = tuple[Any, ...]
_LEAVES = {Word: 0, Prefix: 1, Phrase: 2, Origin: 3, Equal: 4, Link: 5, Within: 6, Segment: 7, Every: 8}
_LEAF_KINDS: tuple[Any, ...] = tuple(_LEAVES)
_ALL, _ANY, _COUNT, _WITHOUT, _PICKLED = range(9, 14)


def formulas_to_bytes(formulas: dict[int, Formula]) -> bytes:
    return marshal.dumps([(number, _to_plain(formula)) for number, formula in formulas.items()])


def formulas_from_bytes(data: bytes) -> dict[int, Formula]:
    known: dict[Plain, Formula] = {}
    return {number: _from_plain(plain, known) for number, plain in marshal.loads(data)}


def _to_plain(formula: Formula) -> Plain:
    match formula:
        case All(parts):
            return (_ALL, *map(_to_plain, parts))
        case AnyOf(parts):
            return (_ANY, *map(_to_plain, parts))
        case Count(least, parts):
            return (_COUNT, least, *map(_to_plain, parts))
        case Without(part):
            return (_WITHOUT, _to_plain(part))
        case Word(scope, word):
            return (0, scope, word)
        case Within(axis, low, high):
            return (_LEAVES[Within], (axis.attribute, axis.part, axis.is_relative), low, high)
        case _ if type(formula) in _LEAVES and not isinstance(formula, Segment):
            fields = (getattr(formula, name) for name in formula.__dataclass_fields__)
            return (_LEAVES[type(formula)], *fields)
        case _:
            return (_PICKLED, pickle.dumps(formula))


def _from_plain(plain: Plain, known: dict[Plain, Formula]) -> Formula:
    kind = plain[0]
    if kind == _ALL:
        return All(tuple([_from_plain(part, known) for part in plain[1:]]))
    if kind == _ANY:
        return AnyOf(tuple([_from_plain(part, known) for part in plain[1:]]))
    if kind == _COUNT:
        return Count(plain[1], tuple([_from_plain(part, known) for part in plain[2:]]))
    if kind == _WITHOUT:
        return Without(_from_plain(plain[1], known))
    if plain not in known:
        known[plain] = _leaf(plain)
    return known[plain]


def _leaf(plain: Plain) -> Formula:
    kind, *fields = plain
    if kind == _PICKLED:
        pickled: Formula = pickle.loads(fields[0])
        return pickled
    if kind == _LEAVES[Within]:
        return Within(Axis(*fields[0]), *fields[1:])
    leaf: Formula = _LEAF_KINDS[kind](*fields)
    return leaf
