"""What must be named by a graph pattern for another to contain it: told before anything is searched for.

A constant of the containing pattern can only be one of the constants of the contained one: a plain text also a literal
of that text or an IRI that ends with it, a number also a literal of that value.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import TypeAlias

from feedweir.items.rdf_values import STRING, number_of
from feedweir.items.triples import Node
from feedweir.plan.predicates import Constant, GraphPattern, GraphTerm, Iri, RdfLiteral, Triple, Variable
from feedweir.plan.taxonomies import in_taxonomy

Name: TypeAlias = tuple[Hashable, ...]


@lru_cache(maxsize=65536)
def named_triples(pattern: GraphPattern) -> tuple[tuple[Name | None, ...], ...]:
    """By triple the names of its constants, None for variables."""
    return tuple(tuple(_name(term) for term in _terms(one)) for one in in_taxonomy(pattern).triples)


@lru_cache(maxsize=65536)
def reached_triples(pattern: GraphPattern) -> tuple[tuple[frozenset[Name | None], ...], ...]:
    """By triple, and by place of it, what a containing pattern may have there."""
    return tuple(
        tuple(frozenset((None, *_reached(term))) for term in _terms(one))
        for one in in_taxonomy(pattern).triples
    )


def may_contain(one: GraphPattern, other: GraphPattern) -> bool:
    """Whether each triple of a pattern has one of the other's where its constants are."""
    reached = reached_triples(other)
    return all(
        any(a in x and b in y and c in z for x, y, z in reached)
        for a, b, c in named_triples(one)  # unpacked, as this is asked of many pairs
    )


def is_part_of(one: GraphPattern, other: GraphPattern) -> bool:
    """Whether all that a pattern asks for is asked for by the other in the same words."""
    return (
        not one.absent
        and one.is_exact == other.is_exact
        and set(one.triples) <= set(other.triples)
        and set(one.constraints) <= set(other.constraints)
    )


def rarest_name(pattern: GraphPattern) -> Name | None:
    """The name under which a pattern is filed: not that of a predicate where there is another, and a long one, since
    few share those."""
    triples = named_triples(pattern)
    predicates = {predicate for _, predicate, _ in triples}
    names = {name for name in chain.from_iterable(triples) if name is not None}
    return max(names, key=lambda name: (name not in predicates, len(str(name)), str(name)), default=None)


def names_reached(pattern: GraphPattern) -> Sequence[Name]:
    """All names that a pattern containing this one may have, in an order that is the same in each run."""
    found = {name for name in chain.from_iterable(chain.from_iterable(reached_triples(pattern))) if name}
    return sorted(found, key=str)


def _terms(triple: Triple) -> tuple[GraphTerm, GraphTerm, GraphTerm]:
    return triple.subject, triple.predicate, triple.object


def _name(term: GraphTerm) -> Name | None:
    match term:
        case Variable():
            return None
        case Iri(iri):
            return ("iri", iri)
        case RdfLiteral(text, datatype, language):
            return ("literal", text, datatype, language)
        case Constant(str(text)):
            return ("text", text)
        case Constant(value):
            return ("number", float(value))


def _reached(term: GraphTerm) -> Iterator[Name]:
    own = _name(term)
    if own is not None:
        yield own
    if isinstance(term, Iri):
        yield ("text", term.iri)
        yield from (("text", term.iri[at + 1 :]) for at, mark in enumerate(term.iri) if mark in "/#:")
    elif isinstance(term, RdfLiteral):
        yield ("text", term.text)
        datatype = "" if term.datatype == STRING else term.datatype
        number = number_of(Node("literal", term.text, datatype, term.language))
        if number is not None:
            yield ("number", float(number))
