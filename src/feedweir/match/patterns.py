"""Tree and graph patterns, judged on one item."""

from __future__ import annotations

from feedweir.items.model import Item
from feedweir.plan.predicates import GraphPattern, TreePattern


def has_tree_pattern(pattern: TreePattern, item: Item) -> bool:
    """Whether the item's XML tree has the pattern."""
    raise NotImplementedError


def has_graph_pattern(pattern: GraphPattern, item: Item) -> bool:
    """Whether the item's triples have a subgraph that matches the pattern."""
    raise NotImplementedError
