"""The naive plan: what every factored one is compared with."""

from __future__ import annotations

import numpy as np

from feedweir.optimize.filter_plans.filter_tree import ROOT, FilterTree
from feedweir.optimize.filter_plans.graph_kernels import set_selectivities
from feedweir.optimize.filter_plans.numbered_clauses import CodedPredicates


def unfactored(coded: CodedPredicates) -> FilterTree:
    """Every predicate by itself below the root, equal ones too."""
    predicates = coded.count
    parent = np.zeros(predicates + 1, np.int32)
    parent[ROOT] = -1
    starts = np.concatenate((np.zeros(1, np.int64), coded.starts))
    selectivity = set_selectivities(
        starts, coded.clauses, coded.selectivity, coded.pair_keys, coded.pair_lifts
    )
    node_of = np.arange(1, predicates + 1, dtype=np.int32)
    return FilterTree(parent, starts, coded.clauses, selectivity, node_of)
