"""Tree and graph patterns, evaluated on one item."""

from __future__ import annotations

from functools import cached_property, lru_cache

from feedweir.errors import DocumentError, WorkError
from feedweir.items.model import Item
from feedweir.items.tree import tree_of
from feedweir.items.triples import Statement, triples_of
from feedweir.match.meaning.effort import MAX_STEPS, Effort
from feedweir.match.meaning.graph_search import has_subgraph
from feedweir.match.trees import DocumentTree, TreeSet, compile_trees
from feedweir.match.trees import tree_of as document_of
from feedweir.plan.predicates import GraphPattern, TreePattern
from feedweir.plan.taxonomies import in_taxonomy

_KEPT = 256


@lru_cache(maxsize=_KEPT)
def _set_of(pattern: TreePattern) -> TreeSet:
    """A pattern alone, for a single item: compiled sets find all their patterns together, as atoms."""
    return compile_trees([pattern])


class Patterns:
    """The patterns of one item: its tree and its triples are built once, and equal patterns are evaluated once."""

    def __init__(self, item: Item) -> None:
        self._item = item
        self._trees: dict[TreePattern, bool] = {}
        self._graphs: dict[GraphPattern, tuple[bool, int]] = {}

    def has(self, pattern: TreePattern | GraphPattern, effort: Effort) -> bool:
        if isinstance(pattern, TreePattern):
            if pattern not in self._trees:
                self._trees[pattern] = self._has_tree(pattern)
            return self._trees[pattern]
        if pattern not in self._graphs:
            self._graphs[pattern] = self._search(pattern)
        is_there, steps = self._graphs[pattern]
        # Each query pays for itself: no answer depends on what others have asked before.
        effort.take(steps)
        return is_there

    def _has_tree(self, pattern: TreePattern) -> bool:
        return self._tree is not None and len(_set_of(pattern).matches_of([self._tree]).patterns) > 0

    def _search(self, pattern: GraphPattern) -> tuple[bool, int]:
        """Whether the item has a graph pattern, and how many steps that took; if too many, more than any query has."""
        effort = Effort()
        try:
            return has_subgraph(in_taxonomy(pattern), self._triples, effort), effort.spent
        except WorkError:
            return False, MAX_STEPS + 1

    @cached_property
    def _tree(self) -> DocumentTree | None:
        """The item's XML tree; an item beyond the bounds of trees has none."""
        try:
            return document_of(tree_of(self._item))
        except DocumentError:
            return None

    @cached_property
    def _triples(self) -> tuple[Statement, ...]:
        return triples_of(self._item)
