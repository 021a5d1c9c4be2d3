"""Virtual feeds give way to their definitions."""

from __future__ import annotations

from feedweir.plan import expand
from feedweir.plan.expansion import Lookup
from feedweir.plan.nodes import Node


def expand_feeds(node: Node, lookup: Lookup) -> Node:
    """f → definition of f, however deep; the same object when there is none."""
    return expand(node, lookup)
