"""The variables of graph patterns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from feedweir.plan.predicates import (
    AllConstraints,
    AnyConstraint,
    Constraint,
    GraphConstraint,
    GraphPattern,
    GraphTerm,
    Triple,
    Variable,
)


def variables_of(constraint: GraphConstraint) -> frozenset[str]:
    """The variables that a constraint is about."""
    if isinstance(constraint, Constraint):
        other = constraint.value
        return frozenset((constraint.variable, *((other.name,) if isinstance(other, Variable) else ())))
    return _NONE.union(*map(variables_of, constraint.parts))


def names_bound(pattern: GraphPattern) -> frozenset[str]:
    """The variables of a pattern's own triples."""
    terms = (term for triple in pattern.triples for term in (triple.subject, triple.predicate, triple.object))
    return frozenset(term.name for term in terms if isinstance(term, Variable))


def names_in(pattern: GraphPattern) -> frozenset[str]:
    """All variables that a pattern names, also those of patterns that must be absent."""
    constrained = map(variables_of, pattern.constraints)
    return names_bound(pattern).union(*constrained, *map(names_in, pattern.absent))


def renamed(pattern: GraphPattern, names: Mapping[str, str]) -> GraphPattern:
    """The pattern with other names for some of its variables, throughout."""
    if not names:
        return pattern
    return GraphPattern(
        tuple(
            Triple(_term(one.subject, names), _term(one.predicate, names), _term(one.object, names))
            for one in pattern.triples
        ),
        tuple(_constraint(one, names) for one in pattern.constraints),
        tuple(renamed(one, names) for one in pattern.absent),
        tuple(names.get(name, name) for name in pattern.selected),
        pattern.is_exact,
    )


_NONE: frozenset[str] = frozenset()


def _term(term: GraphTerm, names: Mapping[str, str]) -> GraphTerm:
    return Variable(names.get(term.name, term.name)) if isinstance(term, Variable) else term


def _constraint(constraint: GraphConstraint, names: Mapping[str, str]) -> GraphConstraint:
    match constraint:
        case AllConstraints(parts):
            return AllConstraints(tuple(_constraint(part, names) for part in parts))
        case AnyConstraint(parts):
            return AnyConstraint(tuple(_constraint(part, names) for part in parts))
        case _:
            value = constraint.value
            if isinstance(value, Variable):
                value = Variable(names.get(value.name, value.name))
            return replace(
                constraint, variable=names.get(constraint.variable, constraint.variable), value=value
            )
