"""One interface to all ways of factorising the filters of a source: predicates in, a filter tree out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from feedweir.optimize.coded import CodedPredicates
from feedweir.optimize.coding import Book, encode
from feedweir.optimize.exact import exact
from feedweir.optimize.selectivity import Selectivity
from feedweir.optimize.sta import sta
from feedweir.optimize.tree import FilterTree
from feedweir.optimize.vca import vca
from feedweir.optimize.vcb import vcb
from feedweir.plan.predicates import Predicate

Algorithm = Callable[[CodedPredicates], FilterTree]

ALGORITHMS: Mapping[str, Algorithm] = MappingProxyType({"vcb": vcb, "vca": vca, "sta": sta, "exact": exact})
"""`vcb` is for any number of predicates, `vca` for thousands, `sta` for dozens, `exact` for a few."""


@dataclass(frozen=True, slots=True)
class FactoredFilters:
    """The filter tree of a source with the meaning of its numbers."""

    tree: FilterTree
    book: Book

    def predicate_of(self, node: int) -> Predicate:
        return self.book.predicate_of(self.tree.run(node))

    def residual_of(self, node: int) -> Predicate:
        """What is left to ask at a node when its parent holds."""
        above = set(self.tree.run(int(self.tree.parent[node]))) if node else set()
        return self.book.predicate_of(clause for clause in self.tree.run(node) if clause not in above)


def factorise(
    predicates: Sequence[Predicate], selectivity: Selectivity, *, algorithm: str = "vcb"
) -> FactoredFilters:
    """A filter tree that answers every predicate; the answers are the same whatever the algorithm."""
    coded, book = encode(predicates, selectivity)
    return FactoredFilters(ALGORITHMS[algorithm](coded), book)
