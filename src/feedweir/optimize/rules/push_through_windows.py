"""Filters go below windows of time, and stay above windows of a count."""

from __future__ import annotations

from feedweir.optimize.rewrite import bottom_up
from feedweir.plan.nodes import Filter, Node, TimeSpan, Window


def push_through_windows(node: Node) -> Node:
    """σ(ω_d(a)) → ω_d(σ(a)): whether an item is in a window of time depends on that item alone.

    σ(ω_n(a)) stays: the last n items that satisfy a filter are others than those that satisfy it among the
    last n.
    """
    return bottom_up(node, _pushed)


def _pushed(node: Node) -> Node:
    match node:
        case Filter(Window(input, TimeSpan() as spec), predicate):
            return Window(_pushed(Filter(input, predicate)), spec)
        case _:
            return node
