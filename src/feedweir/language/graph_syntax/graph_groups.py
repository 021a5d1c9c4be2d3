"""A graph pattern as SPARQL writes it, before it is brought into its normal form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from feedweir.plan.predicates import Constraint, GraphTerm, Triple, Variable


@dataclass(frozen=True, slots=True)
class Tested:
    """A constraint."""

    constraint: Constraint


@dataclass(frozen=True, slots=True)
class Bound:
    name: str


@dataclass(frozen=True, slots=True)
class Exists:
    group: Group


@dataclass(frozen=True, slots=True)
class Opposite:
    part: Expression


@dataclass(frozen=True, slots=True)
class Together:
    """`&&`; without parts, true."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """`||`; without parts, false."""

    parts: tuple[Expression, ...]


Expression: TypeAlias = Tested | Bound | Exists | Opposite | Together | Either


@dataclass(frozen=True, slots=True)
class Alternatives:
    """`{ … } UNION { … }`; a single one is a group in braces."""

    groups: tuple[Group, ...]


@dataclass(frozen=True, slots=True)
class Perhaps:
    """OPTIONAL."""

    group: Group


@dataclass(frozen=True, slots=True)
class Without:
    """MINUS."""

    group: Group


@dataclass(frozen=True, slots=True)
class Rows:
    """VALUES: each row has a term for each variable, None for UNDEF."""

    names: tuple[str, ...]
    rows: tuple[tuple[GraphTerm | None, ...], ...]
    at: int


Element: TypeAlias = Triple | Alternatives | Perhaps | Without | Rows


@dataclass(frozen=True, slots=True)
class Group:
    """What stands between two braces, in order; filters hold for all of it, wherever they stand."""

    elements: tuple[Element, ...]
    filters: tuple[tuple[Expression, int], ...] = ()
    at: int = field(default=0, compare=False)
    """The token that it begins with."""


def terms_of(triple: Triple) -> tuple[GraphTerm, GraphTerm, GraphTerm]:
    return triple.subject, triple.predicate, triple.object


def names_of_triple(triple: Triple) -> frozenset[str]:
    return frozenset(term.name for term in terms_of(triple) if isinstance(term, Variable))


def names_in_group(group: Group) -> Counter[str]:
    """How often each variable is written."""
    found: Counter[str] = Counter()
    for element in group.elements:
        match element:
            case Triple():
                found.update(term.name for term in terms_of(element) if isinstance(term, Variable))
            case Alternatives(groups):
                for one in groups:
                    found.update(names_in_group(one))
            case Perhaps(inner) | Without(inner):
                found.update(names_in_group(inner))
            case Rows(names):
                found.update(names)
    for expression, _ in group.filters:
        found.update(names_in_expression(expression))
    return found


def names_in_expression(expression: Expression) -> Iterator[str]:
    match expression:
        case Tested(constraint):
            yield from _names_in_constraint(constraint)
        case Bound(name):
            yield name
        case Exists(group):
            yield from names_in_group(group).elements()
        case Opposite(part):
            yield from names_in_expression(part)
        case Together(parts) | Either(parts):
            for part in parts:
                yield from names_in_expression(part)


def _names_in_constraint(constraint: Constraint) -> Iterator[str]:
    yield constraint.variable
    if isinstance(constraint.value, Variable):
        yield constraint.value.name
