"""What the variables are bound to that SELECT names: told to readers, and no part of what is found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from feedweir.errors import WorkError
from feedweir.items.model import Item
from feedweir.items.rdf_terms import Bound
from feedweir.items.triples import Statement, triples_of
from feedweir.match.meaning.effort import Effort
from feedweir.match.meaning.graph_search import bindings_of
from feedweir.plan.predicates import And, AtLeast, GraphPattern, Or, Predicate
from feedweir.plan.taxonomies import in_taxonomy

MOST_BINDINGS = 100
"""That are told of one item."""


def selecting(predicate: Predicate) -> Iterator[GraphPattern]:
    """The patterns of a predicate that name variables to be told; not those below a negation."""
    match predicate:
        case And(parts) | Or(parts) | AtLeast(_, parts):
            for part in parts:
                yield from selecting(part)
        case GraphPattern(selected=names) if names:
            yield predicate


def selected_bindings(patterns: Iterable[GraphPattern], item: Item) -> tuple[Bound, ...]:
    """What patterns bind in an item, each binding once, `MOST_BINDINGS` at most."""
    found: dict[Bound, None] = {}
    facts = triples_of(item)
    for pattern in patterns:
        for bound in islice(_bound(pattern, facts), MOST_BINDINGS - len(found)):
            found[bound] = None
    return tuple(found)


def _bound(pattern: GraphPattern, facts: Sequence[Statement]) -> Iterator[Bound]:
    seen: set[Bound] = set()
    try:
        for way in bindings_of(in_taxonomy(pattern), facts, Effort()):
            bound = tuple((name, way[name]) for name in pattern.selected)
            if bound not in seen:
                seen.add(bound)
                yield bound
    except WorkError:
        return
