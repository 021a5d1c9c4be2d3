"""A formula as conjunctions, each found by positive atoms and verified by the rest.

A conjunction of disjunctions is never multiplied out: its most selective disjunction finds it and the others are
verified on the candidates, so a query has at most as many conjunctions as it has leaves, whatever its shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import comb
from typing import TypeAlias

from feedweir.match.atoms import Ask, Atom, Ordered, Phrase, Within
from feedweir.match.formula import All, AnyOf, Count, Formula, Without

Probability: TypeAlias = Callable[[Atom], float]


@dataclass(frozen=True, slots=True)
class Conjunction:
    """All of `atoms`, and all of `rest`; without atoms it can only be tried on every item."""

    atoms: tuple[Atom, ...]
    rest: tuple[Formula, ...] = ()


def conjunctions_of(formula: Formula, probability: Probability) -> tuple[Conjunction, ...]:
    """Conjunctions of which at least one holds exactly when the formula does, each once."""
    return tuple(dict.fromkeys(_found(formula, probability)))


def normal_form_size(formula: Formula) -> int:
    """How many conjunctions multiplying everything out would give."""
    match formula:
        case All(parts):
            size = 1
            for part in parts:
                size *= normal_form_size(part)
            return size
        case AnyOf(parts):
            return sum(map(normal_form_size, parts))
        case Count(least, parts):
            return comb(len(parts), least) * max(map(normal_form_size, parts))
        case _:
            return 1


def cost_of(found: Iterable[Conjunction], probability: Probability) -> float:
    """How many of these conjunctions an item is expected to make candidates."""
    return sum(min(map(probability, one.atoms), default=1.0) for one in found)


def _found(formula: Formula, probability: Probability) -> list[Conjunction]:
    match formula:
        case Phrase():
            return [Conjunction(tuple(dict.fromkeys(formula.parts())), (formula,))]
        case Within() | Ordered() | Ask() | Without():
            return [Conjunction((), (formula,))]
        case AnyOf(parts):
            return [one for part in parts for one in _found(part, probability)]
        case Count():
            return _found_by_some(formula, probability)
        case All(parts):
            return _found_by_best(parts, probability)
        case _:
            return [Conjunction((formula,))]


def _found_by_some(count: Count, probability: Probability) -> list[Conjunction]:
    """One of any n - k + 1 parts holds when k of n do: the rarest of them find it, the count is verified."""
    found = sorted(
        (_found(part, probability) for part in count.parts), key=lambda one: cost_of(one, probability)
    )
    finders = found[: len(count.parts) - count.least + 1]
    return [Conjunction(one.atoms, (count,)) for finder in finders for one in finder]


def _found_by_best(parts: tuple[Formula, ...], probability: Probability) -> list[Conjunction]:
    found = [_found(part, probability) for part in parts]
    required = _joined([one[0] for one in found if len(one) == 1])
    choices = [number for number, one in enumerate(found) if len(one) != 1]
    if not choices:
        return [required]
    best = min(choices, key=lambda number: cost_of(found[number], probability))
    verified = tuple(parts[number] for number in choices if number != best)
    if required.atoms and cost_of([required], probability) <= cost_of(found[best], probability):
        return [_joined([required, Conjunction((), (parts[best], *verified))])]
    return [_joined([required, one, Conjunction((), verified)]) for one in found[best]]


def _joined(found: list[Conjunction]) -> Conjunction:
    atoms = dict.fromkeys(atom for one in found for atom in one.atoms)
    rest = dict.fromkeys(formula for one in found for formula in one.rest)
    return Conjunction(tuple(atoms), tuple(rest))
