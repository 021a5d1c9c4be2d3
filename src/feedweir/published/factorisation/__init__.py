"""Factorise the filters of a source: predicates in, a filter tree out, whatever the algorithm.

The answers of the trees are the same; what they cost differs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from feedweir.optimize.filter_plans.factored_filters import FactoredFilters, vcb
from feedweir.optimize.filter_plans.filter_tree import FilterTree
from feedweir.optimize.filter_plans.numbered_clauses import CodedPredicates, encode
from feedweir.optimize.selectivity import Selectivity
from feedweir.plan.predicates import Predicate
from feedweir.published.factorisation.exact import exact
from feedweir.published.factorisation.sta import sta
from feedweir.published.factorisation.unfactored import unfactored
from feedweir.published.factorisation.vca import vca

Factoriser = Callable[[CodedPredicates], FilterTree]

FACTORISERS: Mapping[str, Factoriser] = MappingProxyType({"vcb": vcb, "vca": vca, "sta": sta, "exact": exact})
"""`vcb` is ours and takes any number of predicates; `vca` takes thousands, `sta` dozens, `exact` a few.
`unfactored` is what all are compared with."""


def factorise(predicates: Sequence[Predicate], selectivity: Selectivity, algorithm: str) -> FactoredFilters:
    """The filter tree that the algorithm of this name makes."""
    coded, book = encode(predicates, selectivity)
    return FactoredFilters(FACTORISERS[algorithm](coded), book)


__all__ = ["FACTORISERS", "Factoriser", "exact", "factorise", "sta", "unfactored", "vca"]
