"""Containment advice: what a new predicate has in common with those that are there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from feedweir.optimize.cnf import Cnf, to_cnf
from feedweir.optimize.subsumption import cnf_implies, is_never
from feedweir.plan.predicates import Predicate

Relation: TypeAlias = Literal["never", "always", "equal", "contained", "contains"]

_SENTENCES = {
    "never": "can never match",
    "always": "matches every item of its sources",
    "equal": "equal to {name}",
    "contained": "contained in {name}",
    "contains": "contains {name}",
}


@dataclass(frozen=True, slots=True)
class Advice:
    """One observation; `name` says to what it relates, and is empty when it is about the predicate alone."""

    relation: Relation
    name: str = ""

    def __str__(self) -> str:
        return _SENTENCES[self.relation].format(name=self.name)


def advise(new: Predicate, existing: Mapping[str, Predicate]) -> tuple[Advice, ...]:
    """How a new predicate relates to existing ones over the same sources, in the order of their names.

    A predicate that can never match is contained in everything, so nothing more is said of it.
    """
    mine = to_cnf(new)
    if is_never(mine):
        return (Advice("never"),)
    first = () if mine else (Advice("always"),)
    related = (_relation(mine, to_cnf(existing[name]), name) for name in sorted(existing))
    return (*first, *(advice for advice in related if advice is not None))


def _relation(mine: Cnf, other: Cnf, name: str) -> Advice | None:
    if is_never(other):
        return None
    is_inside, is_outside = cnf_implies(mine, other), cnf_implies(other, mine)
    if is_inside:
        return Advice("equal" if is_outside else "contained", name)
    return Advice("contains", name) if is_outside else None
