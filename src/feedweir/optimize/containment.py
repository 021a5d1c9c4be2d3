"""What a feed has in common with others: equal to one, contained in one, containing one, or never anything at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

from feedweir.optimize.boolean_forms import Cnf, is_large, to_cnf
from feedweir.optimize.subsumption import cnf_implies, is_never
from feedweir.plan.predicates import Or, Predicate
from feedweir.plan.query import Query

Relation: TypeAlias = Literal["never", "equal", "contained", "contains"]

_SENTENCES = {
    "never": "can never match",
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


_MOST_COMPARED = 5_000
"""Literals of one feed times those of another, beyond which only equality is decided."""
EVERY = ""
"""Stands for all sources together."""

Filters = Mapping[str, Predicate]
"""What a feed asks of each source that it reads."""


def filters_of(queries: Sequence[Query]) -> Filters:
    """The queries of one feed by source; several ways to one source are one disjunction."""
    asked: dict[str, list[Predicate]] = {}
    for query in queries:
        for source in query.sources or (EVERY,):
            asked.setdefault(source, []).append(query.predicate)
    return {source: parts[0] if len(parts) == 1 else Or(tuple(parts)) for source, parts in asked.items()}


def relations(new: Filters, existing: Mapping[str, Filters]) -> tuple[Advice, ...]:
    """How a feed relates to others, in the order of their names; for one that can never match, that is all."""
    mine = _open(new)
    if not mine:
        return (Advice("never"),)
    found = (_relation(mine, _open(existing[name]), name) for name in sorted(existing))
    return tuple(advice for advice in found if advice is not None)


def _relation(mine: Mapping[str, Cnf], other: Mapping[str, Cnf], name: str) -> Advice | None:
    if not other:
        return None
    if _size(mine) * _size(other) > _MOST_COMPARED:
        return Advice("equal", name) if mine == other else None
    is_inside, is_outside = _is_inside(mine, other), _is_inside(other, mine)
    if is_inside:
        return Advice("equal" if is_outside else "contained", name)
    return Advice("contains", name) if is_outside else None


def _is_inside(one: Mapping[str, Cnf], other: Mapping[str, Cnf]) -> bool:
    """Whether whatever the one lets through, of any source, the other does."""
    return all(
        any(cnf_implies(form, other[wide]) for wide in {source, EVERY} & set(other))
        for source, form in one.items()
    )


def _size(forms: Mapping[str, Cnf]) -> int:
    literals = [literal for form in forms.values() for clause in form for literal in clause]
    return sum(_MOST_COMPARED if is_large(literal) else 1 for literal in literals)


def _open(filters: Filters) -> dict[str, Cnf]:
    """Without the sources of which nothing can come."""
    forms = {source: _form(predicate) for source, predicate in filters.items()}
    return {source: form for source, form in forms.items() if not is_never(form)}


@lru_cache(maxsize=1 << 14)
def _form(predicate: Predicate) -> Cnf:
    return to_cnf(predicate)
