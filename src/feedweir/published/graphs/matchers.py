"""Matching a publication against all subscriptions: `match` as published, and in the order of G-ToPSS.

Both first find the edges of the matrix that each edge of the publication may be, and then join, for each subscription
all of whose edges were found, the tables of what each edge was bound to. They differ in when constraints are asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from feedweir.items.triples import Node, Statement
from feedweir.plan.predicates import Constraint, GraphPattern, Triple, Variable
from feedweir.published.graphs.binding_tables import Table, joined, table_of
from feedweir.published.graphs.subscription_matrix import SubscriptionMatrix, Use, holds


class GraphMatcher(Protocol):
    """What all matchers of this folder can be asked."""

    def add(self, subscription: int, pattern: GraphPattern) -> None: ...

    def remove(self, subscription: int) -> None: ...

    def match(self, publication: Sequence[Statement]) -> set[int]:
        """The subscriptions that are embedded in a publication."""


_Bindings = dict[Use, list[tuple[Node, Node]]]
"""By subscription and edge what the edge was bound to."""


@dataclass(slots=True)
class MatrixMatcher:
    """Algorithm match: constraints first, by the tables of the matrix; then joins for what remains.

    The binding table of line 7 is kept for each edge of each subscription: one for all would let a subscription be
    joined with a binding that only another's constraints allow.
    """

    matrix: SubscriptionMatrix = field(default_factory=SubscriptionMatrix)
    joins: int = 0
    """How many subscriptions were joined."""
    has_constraints_first: bool = True
    """If not, every subscription that has an edge is joined, and constraints are asked of the result, as in G-ToPSS."""

    def add(self, subscription: int, pattern: GraphPattern) -> None:
        self.matrix.add(subscription, pattern)

    def remove(self, subscription: int) -> None:
        self.matrix.remove(subscription)

    def match(self, publication: Sequence[Statement]) -> set[int]:
        bindings: _Bindings = {}
        subset: dict[int, None] = {}
        for fact in publication:
            v, w = fact.subject, fact.object
            for edge in self.matrix.edges_for(fact):
                for use in sorted(edge.satisfied(v, w) if self.has_constraints_first else edge.uses):
                    bindings.setdefault(use, []).append((v, w))
                    subset[use[0]] = None
        return {one for one in subset if self._is_embedded(one, bindings)}

    def _is_embedded(self, subscription: int, bindings: _Bindings) -> bool:
        pattern = self.matrix.written[subscription]
        tables = _tables(subscription, pattern.triples, bindings)
        self.joins += 1
        if tables is None:
            return False
        names, rows = joined(tables)
        if self.has_constraints_first:
            return bool(rows)
        return any(_keeps(dict(zip(names, row, strict=True)), pattern) for row in rows)


def g_topss() -> MatrixMatcher:
    """The order of the system before: joins first."""
    return MatrixMatcher(has_constraints_first=False)


def _tables(subscription: int, triples: Iterable[Triple], bindings: _Bindings) -> list[Table[Node]] | None:
    """The binding table of each edge, its columns the variables there; None where an edge has none."""
    tables: list[Table[Node]] = []
    for at, triple in enumerate(dict.fromkeys(triples)):
        pairs = bindings.get((subscription, at))
        if pairs is None:
            return None
        terms = (triple.subject, triple.object)
        places = [place for place, term in enumerate(terms) if isinstance(term, Variable)]
        names = [terms[place].name for place in places]  # type: ignore[union-attr]
        tables.append(table_of(names, ([pair[place] for place in places] for pair in pairs)))
    return tables


def _keeps(binding: dict[str, Node], pattern: GraphPattern) -> bool:
    return all(
        holds(binding[one.variable], one.op, float(one.value))  # type: ignore[arg-type]
        for one in pattern.constraints
        if isinstance(one, Constraint)
    )
