"""Graph patterns, searched for in the triples of one item.

Every triple of a pattern is first given the facts that it can be by itself; then those are chosen that agree on the
variables they share, by backtracking. Constraints and patterns that must be absent are asked as soon as their
variables are bound. Triples that share no variable are searched apart. What remains can take very long (it contains
the search for subgraphs), so that steps are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TypeAlias

from feedweir.items.triples import Node, Statement
from feedweir.match.meaning.effort import Effort
from feedweir.match.meaning.term_tests import is_term, keeps
from feedweir.plan.graph_variables import names_in, variables_of
from feedweir.plan.predicates import GraphConstraint, GraphPattern, GraphTerm, Triple, Variable

_FACT_STEPS = 10
"""The steps that examining a fact counts for."""

Binding: TypeAlias = dict[str, Node]


@dataclass(frozen=True, slots=True, eq=False)
class _Wanted:
    """A triple of a pattern, and the values that each matching fact gives its variables."""

    names: tuple[str, ...]
    options: Collection[tuple[Node, ...]]
    """A dictionary's keys: in order, and quick to look up."""
    by_value: dict[str, dict[Node, list[tuple[Node, ...]]]] = field(default_factory=dict)
    """By variable the options with each of its values; made when the variable is first bound by another triple."""

    def fitting(self, binding: Binding) -> Collection[tuple[Node, ...]]:
        """The options that agree with a binding: with all of it when all variables are bound, else with one of them."""
        bound = [name for name in self.names if name in binding]
        if not bound:
            return self.options
        if len(bound) == len(self.names):
            option = tuple(binding[name] for name in self.names)
            return (option,) if option in self.options else ()
        name = bound[0]
        if name not in self.by_value:
            at = self.names.index(name)
            found = self.by_value[name] = {}
            for option in self.options:
                found.setdefault(option[at], []).append(option)
        return self.by_value[name].get(binding[name], ())


@dataclass(frozen=True, slots=True, eq=False)
class _Check:
    """What is asked of a binding once these variables are bound."""

    names: frozenset[str]
    passes: Callable[[Binding], bool]


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """Triples that share variables, directly or by others, and what is asked of those."""

    wanted: Sequence[_Wanted]
    checks: Sequence[_Check]


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    """A pattern prepared for the facts of one item."""

    at_once: Sequence[_Check]
    """What is asked of variables that are bound around the pattern."""
    parts: Sequence[_Part]

    def has(self, binding: Binding, effort: Effort) -> bool:
        return all(check.passes(binding) for check in self.at_once) and all(
            next(_agreements(part, binding, effort), None) is not None for part in self.parts
        )


def has_subgraph(pattern: GraphPattern, facts: Sequence[Statement], effort: Effort) -> bool:
    """Whether every triple of the pattern is one of the facts, under one binding that keeps the constraints."""
    search = _prepared(pattern, facts, frozenset(), effort)
    return search is not None and search.has({}, effort)


def bindings_of(pattern: GraphPattern, facts: Sequence[Statement], effort: Effort) -> Iterator[Binding]:
    """Every way in which the pattern is there: what its variables are bound to."""
    search = _prepared(pattern, facts, frozenset(), effort)
    if search is None or not all(check.passes({}) for check in search.at_once):
        return iter(())
    return reduce(
        lambda ways, part: (way | more for way in ways for more in _agreements(part, {}, effort)),
        search.parts,
        iter([Binding()]),
    )


def _prepared(
    pattern: GraphPattern, facts: Sequence[Statement], outer: frozenset[str], effort: Effort
) -> _Search | None:
    """A pattern within which some variables are bound from outside; None if one of its triples is no fact at all."""
    wanted: list[_Wanted] = []
    for triple in pattern.triples:
        effort.take(len(facts) * _FACT_STEPS)
        found = _wanted(triple, facts, pattern.constraints)
        if not found.options:
            return None
        wanted.append(found)
    names = outer.union(*(one.names for one in wanted))
    checks = [
        _Check(about, lambda binding, asked=constraint: keeps(asked, binding))  # type: ignore[misc]
        for constraint in pattern.constraints
        if not any((about := variables_of(constraint)) <= set(one.names) for one in wanted)
    ]
    checks += [_lacks(absent, facts, names, effort) for absent in pattern.absent]
    at_once = [check for check in checks if check.names <= outer]
    return _Search(at_once, list(_connected(wanted, checks, outer)))


def _lacks(
    absent: GraphPattern, facts: Sequence[Statement], around: frozenset[str], effort: Effort
) -> _Check:
    outer = around & names_in(absent)
    search = _prepared(absent, facts, outer, effort)
    if search is None:
        return _Check(frozenset(), lambda binding: True)
    return _Check(outer, lambda binding: not search.has({name: binding[name] for name in outer}, effort))


def _wanted(triple: Triple, facts: Sequence[Statement], constraints: Sequence[GraphConstraint]) -> _Wanted:
    terms = triple.subject, triple.predicate, triple.object
    names = tuple(dict.fromkeys(term.name for term in terms if isinstance(term, Variable)))
    asked = [constraint for constraint in constraints if variables_of(constraint) <= set(names)]
    options = dict.fromkeys(
        tuple(binding[name] for name in names)
        for fact in facts
        if (binding := _binding(terms, fact)) is not None
        and all(keeps(constraint, binding) for constraint in asked)
    )
    return _Wanted(names, options.keys())


def _binding(terms: Sequence[GraphTerm], fact: Statement) -> Binding | None:
    """What a fact gives the variables of a triple; None when it does not fit."""
    binding: Binding = {}
    for term, node in zip(terms, fact, strict=True):
        if isinstance(term, Variable):
            if binding.setdefault(term.name, node) != node:
                return None
        elif not is_term(term, node):
            return None
    return binding


def _connected(wanted: Sequence[_Wanted], checks: Sequence[_Check], outer: frozenset[str]) -> Iterator[_Part]:
    """Triples that share variables, directly, by others or by what is asked of both; those bound before aside."""
    groups: list[set[str]] = []
    for names in [set(one.names) - outer for one in wanted] + [set(check.names - outer) for check in checks]:
        meeting = [group for group in groups if group & names]
        groups = [group for group in groups if not group & names] + [names.union(*meeting)]
    yield _Part([one for one in wanted if outer.issuperset(one.names)], ())
    for group in groups:
        if group:
            yield _Part(
                [one for one in wanted if group.intersection(one.names)],
                [check for check in checks if group & check.names],
            )


def _agreements(part: _Part, binding: Binding, effort: Effort) -> Iterator[Binding]:
    """The ways in which triples agree on what is not bound yet."""
    if not part.wanted:
        yield binding
        return
    # A stack of our own, since a pattern may have more triples than Python may nest calls.
    choices = [_choices(part.wanted, part.checks, binding, effort)]
    while choices:
        chosen = next(choices[-1], None)
        if chosen is None:
            choices.pop()
        elif not chosen[0]:
            yield chosen[2]
        else:
            choices.append(_choices(*chosen, effort))


def _choices(
    wanted: Sequence[_Wanted], checks: Sequence[_Check], binding: Binding, effort: Effort
) -> Iterator[tuple[Sequence[_Wanted], Sequence[_Check], Binding]]:
    """What is left to choose and to ask after one more triple was chosen: that with the fewest options."""
    effort.take(len(wanted))
    options = [one.fitting(binding) for one in wanted]
    at = min(range(len(wanted)), key=lambda place: len(options[place]))
    one, others = wanted[at], [*wanted[:at], *wanted[at + 1 :]]
    for option in options[at]:
        effort.take(_FACT_STEPS)
        given = dict(zip(one.names, option, strict=True))
        if any(binding.get(name, value) != value for name, value in given.items()):
            continue
        known = binding | given
        now = [check for check in checks if known.keys() >= check.names]
        later = [check for check in checks if not known.keys() >= check.names]
        if all(check.passes(known) for check in now):
            yield others, later, known
