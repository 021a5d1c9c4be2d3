"""Why a query did or did not match: the atom that made the item a candidate, the clause that refused it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from feedweir.errors import CompiledSetError
from feedweir.items.model import Item
from feedweir.match.matches import Span
from feedweir.match.meaning.item_meaning import Reading, has_term, holds
from feedweir.match.meaning.spans import spans_of
from feedweir.match.sets.query_store import whole_predicate
from feedweir.plan.predicates import And, AtLeast, Contains, Not, Or, Predicate
from feedweir.plan.query import Query


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a query did or did not match an item."""

    is_match: bool
    candidate_by: str
    """The atom by which the item found the query; empty when it satisfied none that the query is found by."""
    lacked: str
    """The atoms that would have made it a candidate, when it was none."""
    refused_by: Predicate | None
    """The smallest clause that did not hold, when the query did not match."""
    spans: tuple[Span, ...] = ()
    """Where its words occur, whether it matched or not."""


@dataclass(frozen=True, slots=True)
class Finder:
    """An atom by which a query is found, and whether the item satisfies it."""

    name: str
    is_satisfied: bool


def explained(queries: list[tuple[Query, list[Finder]]], item: Item) -> Explanation:
    """Explain the queries of one key: the first that matches, or else the first that was a candidate."""
    if not queries:
        raise CompiledSetError("no query has that key")
    reading = Reading(item)
    explanations = [_explained(query, finders, reading) for query, finders in queries]
    return min(explanations, key=lambda one: (not one.is_match, not one.candidate_by))


def _explained(query: Query, finders: list[Finder], reading: Reading) -> Explanation:
    predicate = whole_predicate(query)
    is_match = holds(predicate, reading.for_next_query())
    candidate_by = next((finder.name for finder in finders if finder.is_satisfied), "")
    return Explanation(
        is_match=is_match,
        candidate_by=candidate_by,
        lacked="" if candidate_by else " or ".join(finder.name for finder in finders),
        refused_by=None if is_match else refusing(predicate, reading),
        spans=tuple(dict.fromkeys(_spans(predicate, reading.item))),
    )


def refusing(predicate: Predicate, reading: Reading) -> Predicate:
    """The smallest part of a predicate that explains why it does not hold."""
    match predicate:
        case And(parts):
            return refusing(
                next(part for part in parts if not holds(part, reading.for_next_query())), reading
            )
        case Or((part,)):
            return refusing(part, reading)
        case Contains(attribute, terms, at_least) if at_least == len(terms) > 1:
            missing = next(term for term in terms if not has_term(term, reading.texts(attribute)))
            return Contains(attribute, (missing,), 1)
        case _:
            return predicate


def _spans(predicate: Predicate, item: Item) -> Iterator[Span]:
    match predicate:
        case And(parts) | Or(parts) | AtLeast(_, parts):
            for part in parts:
                yield from _spans(part, item)
        case Not():
            return
        case _:
            yield from spans_of(predicate, item)
