"""Graph patterns as parts that hang together, each in one form however its variables are called.

A pattern holds when each of its parts does. Parts are cut where triples with variables share none. What the kernels do
not decide (an absent pattern, a constraint on several variables) is asked of `meaning` where all the rest holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import permutations, product
from math import factorial, isfinite, prod

from feedweir.items.rdf_values import NUMBERS, TIMES, number_in
from feedweir.match.atoms import Ask, Atom
from feedweir.match.formula import Formula, all_of, count_of, negated
from feedweir.plan.graph_variables import names_in, variables_of
from feedweir.plan.predicates import (
    AllConstraints,
    AnyConstraint,
    Constant,
    Constraint,
    GraphConstraint,
    GraphPattern,
    GraphTerm,
    Iri,
    RdfLiteral,
    Triple,
    Variable,
)
from feedweir.text.dates import instant_of

MAX_NUMBERINGS = 120
"""Numberings of variables among which the first is taken: beyond that, equal parts may be taken for different ones."""
MAX_PLAIN_TRIPLES = 64
"""Larger parts may be left undecided, however they hang together."""
MAX_VARIABLES = 10_000
"""Of a pattern whose parts are atoms; a larger one is asked of `meaning`."""
_MAX_ROUNDS = 16
"""How far what is said of a variable is told to those that it shares triples with."""
COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")


@dataclass(frozen=True, slots=True, eq=False)
class Graph(Atom):
    """The item has this part of a graph pattern."""

    part: GraphPattern
    hashed: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "hashed", hash(self.part))

    def __hash__(self) -> int:
        return self.hashed

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph) or type(other) is not type(self):
            return False
        return self.hashed == other.hashed and self.part == other.part


@dataclass(frozen=True, slots=True, eq=False)
class Undecided(Graph):
    """Whether it has it would take too many steps to find out along with all others."""


def graph_formula(pattern: GraphPattern) -> Formula:
    """A pattern as a formula over its parts."""
    known = _named(pattern.triples)
    is_bound = all(variables_of(one) <= known for one in pattern.constraints)
    if not is_bound or len(known) > MAX_VARIABLES:
        return Ask(pattern)
    found = [_formula_of_part(part) for part in parts_of(pattern)]
    apart = [absent for absent in pattern.absent if known.isdisjoint(names_in(absent))]
    found += [negated(graph_formula(absent)) for absent in apart]
    is_said = is_said_by_parts(replace(pattern, absent=())) and len(apart) == len(pattern.absent)
    return all_of(found if is_said else [*found, Ask(pattern)])


def _parts(triples: Iterable[Triple]) -> list[list[Triple]]:
    """Triples that hang together; those without variables go with one of the others, since they ask nothing of it."""
    distinct = dict.fromkeys(triples)
    ground = [one for one in distinct if not _named((one,))]
    found = _connected(one for one in distinct if _named((one,)))
    if not ground:
        return found
    if not found:
        return [ground]
    found.sort(key=_outline)
    return [found[0] + ground, *found[1:]]


def _outline(triples: Sequence[Triple]) -> list[tuple[str, ...]]:
    """Triples whatever their variables are called."""
    return sorted(
        tuple(
            "?" if isinstance(term, Variable) else _written(term)
            for term in (one.subject, one.predicate, one.object)
        )
        for one in triples
    )


def is_said_by_parts(pattern: GraphPattern) -> bool:
    """Whether a pattern holds wherever its parts do."""
    known = _named(pattern.triples)
    asked = map(variables_of, pattern.constraints)
    return not pattern.absent and all(len(names) == 1 and names <= known for names in asked)


def _formula_of_part(part: GraphPattern) -> Formula:
    """What may be undecided is there when it was found, or when it is undecided and `meaning` says so.

    As a count, since its negation is one, too: what is neither found nor undecided is then asked about in no formula.
    """
    if not can_be_undecided(part):
        return Graph(part)
    return count_of(2, [Graph(part), Graph(part), Undecided(part), Ask(part)])


def parts_of(pattern: GraphPattern) -> list[GraphPattern]:
    """The parts of a pattern in their one form, each once; without what only `meaning` decides."""
    held = [one for one in pattern.constraints if len(variables_of(one)) == 1]
    found: dict[GraphPattern, None] = {}
    for triples in _parts(pattern.triples):
        names = _named(triples)
        found[canonical(triples, [one for one in held if variables_of(one) <= names])] = None
    return list(found)


def is_compared(constraint: GraphConstraint) -> bool:
    """Whether a constraint compares a term with a number, a text or a time, so that sorted tables find who asks."""
    return (
        isinstance(constraint, Constraint)
        and constraint.op in COMPARISONS
        and not constraint.part
        and compared_value(constraint.value) is not None
    )


def compared_value(value: object) -> float | str | datetime | None:
    """What sorted tables hold of a value: a number, a text, or the moment that a literal of such a type names."""
    match value:
        case str():
            return value
        case RdfLiteral(text, datatype) if datatype in NUMBERS:
            return number_in(text)
        case RdfLiteral(text, datatype) if datatype in TIMES:
            return instant_of(text)
        case float() | int():
            return float(value) if isfinite(value) else None
        case _:
            return None


def can_be_undecided(part: GraphPattern) -> bool:
    """Whether finding it may need a search: where triples go in circles, or several variables are compared."""
    if len(part.triples) == 1:
        return False
    if len(part.triples) > MAX_PLAIN_TRIPLES:
        return True
    compared = {name for one in part.constraints if is_compared(one) for name in variables_of(one)}
    edges: set[frozenset[str]] = set()
    for triple in part.triples:
        names = _named((triple,))
        if len(names) == 3:
            return True
        if len(names) == 2:
            edges.add(names)
    return len(compared) > 1 or len(edges) >= max(1, len(_named(part.triples)))


def _named(triples: Iterable[Triple]) -> frozenset[str]:
    return frozenset(
        term.name
        for one in triples
        for term in (one.subject, one.predicate, one.object)
        if type(term) is Variable
    )


def _connected(triples: Iterable[Triple]) -> list[list[Triple]]:
    """Triples that share variables, directly or by others."""
    parts: list[tuple[set[str], list[Triple]]] = []
    for triple in triples:
        names = set(_named((triple,)))
        own = [triple]
        apart = []
        for part in parts:
            if names.isdisjoint(part[0]):
                apart.append(part)
            else:
                names |= part[0]
                own = part[1] + own
        parts = [*apart, (names, own)]
    return [own for _, own in parts]


# One form


def canonical(triples: Sequence[Triple], constraints: Sequence[GraphConstraint]) -> GraphPattern:
    """A part with its variables numbered by what is said of them, and everything in order."""
    written = [tuple(_written(term) for term in (one.subject, one.predicate, one.object)) for one in triples]
    said: dict[str, list[tuple[str, str]]] = {}
    for one in constraints:
        (name,) = variables_of(one)
        said.setdefault(name, []).append(_said(one))
    places: dict[str, list[tuple[int, int]]] = {}
    for at, terms in enumerate(written):
        for place, term in enumerate(terms):
            if term[0] == "?":
                places.setdefault(term[1:], []).append((at, place))
    best: GraphPattern | None = None
    least: object = None
    for numbers in _numberings(written, places, said):
        form = (
            sorted(
                tuple(f"?{numbers[term[1:]]}" if term[0] == "?" else term for term in terms)
                for terms in written
            ),
            sorted((numbers[name], one) for name, ones in said.items() for one in sorted(ones)),
        )
        if least is None or form < least:  # type: ignore[operator]
            least, best = form, _numbered(triples, constraints, numbers)
    assert best is not None
    return best


def _written(term: GraphTerm) -> str:
    match term:
        case Variable(name):
            return "?" + name
        case Iri(iri):
            return "<" + iri
        case Constant(str(text)):
            return "'" + text
        case Constant(value):
            return f"#{float(value)!r}"
        case _:
            return f"@{term!r}"


def _said(constraint: GraphConstraint) -> tuple[str, str]:
    """(what parts of one shape have in common, what they differ in) of a constraint on one variable."""
    if is_compared(constraint):
        assert isinstance(constraint, Constraint)
        return constraint.op, repr(constraint.value)
    return "", repr(about(constraint, ""))


def about(constraint: GraphConstraint, name: str) -> GraphConstraint:
    """A constraint on one variable as one on another."""
    match constraint:
        case Constraint(value=Variable()):
            return replace(constraint, variable=name, value=Variable(name))
        case Constraint():
            return replace(constraint, variable=name)
        case AllConstraints(parts):
            return AllConstraints(tuple(about(part, name) for part in parts))
        case AnyConstraint(parts):
            return AnyConstraint(tuple(about(part, name) for part in parts))


def _numberings(
    written: Sequence[tuple[str, ...]],
    places: Mapping[str, Sequence[tuple[int, int]]],
    said: Mapping[str, Sequence[tuple[str, str]]],
) -> Iterable[dict[str, int]]:
    """Numberings that look at nothing but what is said of the variables: several where that leaves a choice."""
    colours: dict[str, object] = {
        name: (sorted(op for op, _ in said.get(name, ())), sorted(place for _, place in of))
        for name, of in places.items()
    }
    known = _ranked(colours)
    for _ in range(min(len(places), _MAX_ROUNDS)):
        if len(set(known.values())) == len(known):
            break
        colours = {
            name: (
                known[name],
                sorted((place, _seen_from(name, written[at], known)) for at, place in of),
            )
            for name, of in places.items()
        }
        finer = _ranked(colours)
        if len(set(finer.values())) == len(set(known.values())):
            known = finer
            break
        known = finer
    if len(set(known.values())) < len(known):
        known = _ranked({name: (known[name], sorted(said.get(name, ()))) for name in known})
    classes: dict[int, list[str]] = {}
    for name, colour in sorted(known.items(), key=lambda one: one[1]):
        classes.setdefault(colour, []).append(name)
    groups = list(classes.values())
    if prod(factorial(len(group)) for group in groups) > MAX_NUMBERINGS:
        yield {name: number for number, name in enumerate(name for group in groups for name in group)}
        return
    for chosen in product(*(permutations(group) for group in groups)):
        yield {name: number for number, name in enumerate(name for group in chosen for name in group)}


def _seen_from(name: str, terms: tuple[str, ...], known: Mapping[str, int]) -> list[tuple[int, str]]:
    return [
        (-1, "") if term == "?" + name else (known[term[1:]], "") if term[0] == "?" else (-2, term)
        for term in terms
    ]


def _ranked(colours: Mapping[str, object]) -> dict[str, int]:
    order = {repr(colour): 0 for colour in colours.values()}
    for rank, colour in enumerate(sorted(order)):
        order[colour] = rank
    return {name: order[repr(colour)] for name, colour in colours.items()}


def _numbered(
    triples: Sequence[Triple], constraints: Sequence[GraphConstraint], numbers: Mapping[str, int]
) -> GraphPattern:
    def renamed(term: GraphTerm) -> GraphTerm:
        return Variable(str(numbers[term.name])) if isinstance(term, Variable) else term

    facts = {Triple(renamed(one.subject), renamed(one.predicate), renamed(one.object)) for one in triples}
    held = {
        about(one, str(numbers[name])): (numbers[name], _said(one))
        for one in constraints
        for name in variables_of(one)
    }
    return GraphPattern(
        tuple(
            sorted(
                facts,
                key=lambda one: (_written(one.subject), _written(one.predicate), _written(one.object)),
            )
        ),
        tuple(sorted(held, key=lambda one: held[one])),
    )
