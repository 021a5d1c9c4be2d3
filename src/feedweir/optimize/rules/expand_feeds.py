"""Virtual feeds give way to their definitions."""

from __future__ import annotations

from feedweir.plan import expand
from feedweir.plan.expand import Lookup
from feedweir.plan.nodes import Node


def expand_feeds(node: Node, lookup: Lookup) -> Node:
    """f → definition of f, however deep."""
    expanded = expand(node, lookup)
    return node if expanded == node else expanded
