"""The graph patterns of a feed whose variables are told with its entries."""

from __future__ import annotations

from functools import lru_cache

from feedweir.items.model import Item
from feedweir.items.rdf_terms import Bound
from feedweir.plan.predicates import GraphPattern


@lru_cache(maxsize=256)
def patterns_told(statement: str, vocabularies: tuple[str, ...] = ()) -> tuple[GraphPattern, ...]:
    """Those that a feed's definition names variables of, in its own conditions, as they are in vocabularies, which are
    given by the statements that register them."""
    if not may_name_variables(statement):
        return ()
    # Imported where there is such a feed: lists read no statements.
    from feedweir.language import parse
    from feedweir.language.defined_names import taxonomy_said
    from feedweir.language.statements import AlterFeed, CreateFeed
    from feedweir.match.meaning.graph_bindings import selecting
    from feedweir.plan.vocabularies import in_vocabularies

    (made,) = parse(statement)
    query = made.query if isinstance(made, CreateFeed | AlterFeed) else None
    if query is None:
        return ()
    found = tuple(pattern for condition in query.where for pattern in selecting(condition.predicate))
    return in_vocabularies(found, taxonomy_said(vocabularies)) if found else ()


def may_name_variables(statement: str) -> bool:
    return "select" in statement.lower()


def bindings_told(patterns: tuple[GraphPattern, ...], item: Item) -> tuple[Bound, ...]:
    """What their variables are bound to in an item."""
    from feedweir.match.meaning.graph_bindings import selected_bindings

    return selected_bindings(patterns, item)
