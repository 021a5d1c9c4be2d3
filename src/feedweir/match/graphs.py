"""Graph patterns, judged on the triples of one item.

Every triple of a pattern is first given the facts that it can be by itself; then those are chosen that agree on the
variables they share, by backtracking. Triples that share no variable are judged apart. What remains can take very
long (it contains the search for subgraphs), so that steps are counted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import isfinite
from operator import eq, ge, gt, le, lt
from typing import TypeAlias

from feedweir.items.dates import instant_of
from feedweir.items.graph import Node, Statement
from feedweir.match.effort import Effort
from feedweir.plan.predicates import Constant, Constraint, GraphPattern, GraphTerm, Iri, Triple, Variable

_COMPARISONS = {"=": eq, "<": lt, "<=": le, ">": gt, ">=": ge}
_FACT_STEPS = 10
"""What looking at a fact counts for."""

Binding: TypeAlias = dict[str, Node]


@dataclass(frozen=True, slots=True, eq=False)
class _Wanted:
    """A triple of a pattern: by variable what each fact that it can be gives it."""

    names: tuple[str, ...]
    ways: Collection[tuple[Node, ...]]
    """A dictionary's keys: in order, and quick to look up."""
    by_value: dict[str, dict[Node, list[tuple[Node, ...]]]] = field(default_factory=dict)
    """By variable the ways in which it has a value; made when it is first bound before."""

    def fitting(self, binding: Binding) -> Collection[tuple[Node, ...]]:
        """The ways that have all values when all are bound, else those that have one of the bound values."""
        bound = [name for name in self.names if name in binding]
        if not bound:
            return self.ways
        if len(bound) == len(self.names):
            way = tuple(binding[name] for name in self.names)
            return (way,) if way in self.ways else ()
        name = bound[0]
        if name not in self.by_value:
            at = self.names.index(name)
            found = self.by_value[name] = {}
            for way in self.ways:
                found.setdefault(way[at], []).append(way)
        return self.by_value[name].get(binding[name], ())


def has_subgraph(pattern: GraphPattern, facts: Sequence[Statement], effort: Effort) -> bool:
    """Whether every triple of the pattern is one of the facts, under one binding that keeps the constraints."""
    wanted: list[_Wanted] = []
    for triple in pattern.triples:
        effort.take(len(facts) * _FACT_STEPS)
        found = _wanted(triple, facts, pattern.constraints)
        if not found.ways:
            return False
        wanted.append(found)
    return all(_can_agree(part, {}, effort) for part in _connected(wanted))


def _wanted(triple: Triple, facts: Sequence[Statement], constraints: Sequence[Constraint]) -> _Wanted:
    terms = triple.subject, triple.predicate, triple.object
    names = tuple(dict.fromkeys(term.name for term in terms if isinstance(term, Variable)))
    ways = dict.fromkeys(
        tuple(binding[name] for name in names)
        for fact in facts
        if (binding := _binding(terms, fact)) is not None
        and all(_keeps(binding[c.variable], c) for c in constraints if c.variable in binding)
    )
    return _Wanted(names, ways.keys())


def _binding(terms: Sequence[GraphTerm], fact: Statement) -> Binding | None:
    """What a fact gives the variables of a triple; None when it does not fit."""
    binding: Binding = {}
    for term, node in zip(terms, fact, strict=True):
        if isinstance(term, Variable):
            if binding.setdefault(term.name, node) != node:
                return None
        elif not _is(term, node):
            return None
    return binding


def _connected(wanted: Sequence[_Wanted]) -> Iterator[list[_Wanted]]:
    """Triples that share variables, directly or by others."""
    left = list(wanted)
    while left:
        part = [left.pop(0)]
        known = set(part[0].names)
        while near := [one for one in left if known.intersection(one.names)]:
            part += near
            known.update(name for one in near for name in one.names)
            left = [one for one in left if one not in near]
        yield part


def _can_agree(wanted: Sequence[_Wanted], binding: Binding, effort: Effort) -> bool:
    """Whether triples can agree on what is not bound yet; the one with the fewest ways left is tried first."""
    if not wanted:
        return True
    effort.take(len(wanted))
    ways = [one.fitting(binding) for one in wanted]
    at = min(range(len(wanted)), key=lambda place: len(ways[place]))
    one, others = wanted[at], [*wanted[:at], *wanted[at + 1 :]]
    for way in ways[at]:
        effort.take(_FACT_STEPS)
        given = dict(zip(one.names, way, strict=True))
        if all(binding.get(name, value) == value for name, value in given.items()) and _can_agree(
            others, binding | given, effort
        ):
            return True
    return False


def _is(term: GraphTerm, node: Node) -> bool:
    """A constant is a literal of that text or number, or an IRI that ends with it after `/`, `#` or `:`."""
    match term:
        case Iri(iri):
            return node.kind == "iri" and node.value == iri
        case Constant(str(text)):
            ends_so = node.value == text or node.value.endswith((f"/{text}", f"#{text}", f":{text}"))
            return node.value == text if node.kind == "literal" else node.kind == "iri" and ends_so
        case Constant(value):
            return node.kind == "literal" and _number(node.value) == value
        case _:
            return False


def _keeps(node: Node, constraint: Constraint) -> bool:
    """A constraint compares numbers by value, times by the moment they name, everything else as text, and no blank
    node; `!=` is the negation of `=`."""
    if constraint.op == "!=":
        return not _keeps(node, Constraint(constraint.variable, "=", constraint.value))
    compare = _COMPARISONS[constraint.op]
    if isinstance(constraint.value, float | int):
        number = _number(node.value) if node.kind == "literal" else None
        return number is not None and bool(compare(number, constraint.value))
    ours, theirs = _moment(node), instant_of(constraint.value)
    if ours is not None and theirs is not None:
        return bool(compare(ours, theirs))
    return node.kind != "blank" and bool(compare(node.value, constraint.value))


def _moment(node: Node) -> datetime | None:
    """The moment that a literal names: a whole day at least, since a number of four digits is no year."""
    is_long = node.kind == "literal" and len(node.value) >= len("2026-06-01")
    return instant_of(node.value) if is_long else None


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None
