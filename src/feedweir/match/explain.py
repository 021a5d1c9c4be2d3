"""The twin of matching: why an item did or did not satisfy a query."""

from __future__ import annotations

from dataclasses import dataclass

from feedweir.errors import CompiledSetError
from feedweir.items.model import Item
from feedweir.match.matches import Span
from feedweir.match.meaning import holds
from feedweir.match.store import whole_predicate
from feedweir.plan.predicates import Predicate
from feedweir.plan.query import Query


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a query did or did not match an item."""

    is_match: bool
    candidate_by: str
    refused_by: Predicate | None
    spans: tuple[Span, ...] = ()


def explained(queries: list[Query], item: Item) -> Explanation:
    if not queries:
        raise CompiledSetError("no query has that key")
    is_match = any(holds(whole_predicate(query), item) for query in queries)
    return Explanation(is_match, "", None if is_match else queries[0].predicate)
