"""Filtering RSS documents as published: the subscription matrix, its matchers, and both of its indexes."""

from feedweir.published.graphs.containment_trees import (
    Checked,
    ContainmentTrees,
    containment_checking,
    maps_into,
)
from feedweir.published.graphs.matchers import GraphMatcher, MatrixMatcher, g_topss
from feedweir.published.graphs.merging import MergingIndex, PublicationMatrix, merger_of, similarity
from feedweir.published.graphs.subscription_matrix import SubscriptionMatrix

__all__ = [
    "Checked",
    "ContainmentTrees",
    "GraphMatcher",
    "MatrixMatcher",
    "MergingIndex",
    "PublicationMatrix",
    "SubscriptionMatrix",
    "containment_checking",
    "g_topss",
    "maps_into",
    "merger_of",
    "similarity",
]
