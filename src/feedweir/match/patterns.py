"""Tree and graph patterns, judged on one item."""

from __future__ import annotations

from functools import lru_cache

from feedweir.errors import DocumentError
from feedweir.items.model import Item
from feedweir.match.trees import TreeSet, compile_trees
from feedweir.plan.predicates import GraphPattern, TreePattern


def has_tree_pattern(pattern: TreePattern, item: Item) -> bool:
    """Whether the item's XML tree has the pattern; an item that is not XML has none."""
    try:
        return bool(len(_compiled(pattern).matches(item.raw)))
    except DocumentError:
        return False


@lru_cache(maxsize=4096)
def _compiled(pattern: TreePattern) -> TreeSet:
    return compile_trees([pattern])


def has_graph_pattern(pattern: GraphPattern, item: Item) -> bool:
    """Whether the item's triples have a subgraph that matches the pattern."""
    raise NotImplementedError
