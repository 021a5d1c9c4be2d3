"""Normalisation: filters at the sources, joins over filters, unions over joins, whatever was written."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from feedweir.errors import FeedweirError
from feedweir.optimize.rules import RULES, Rule, expand_feeds
from feedweir.plan.expansion import Lookup
from feedweir.plan.nodes import (
    AnnotationJoin,
    Distinct,
    Feed,
    Node,
    Source,
    Window,
)
from feedweir.plan.walk import postorder

MOST_ROUNDS = 100
"""Each round brings a filter down by a level at least; no plan that a person wrote is as deep as this."""
MOST_VISITED = 100_000
"""Nodes that all rules together look at, in all rounds; of a plan that is very large the rest stays as it is."""
MOST_GROWTH = 4
"""How many times as large a plan may become; one that would grow more is left as it was written."""

OnChange = Callable[[str, Node], None]
"""Called with the name of each rule that changed the plan, and the new plan."""


def normalise(
    node: Node, lookup: Lookup, *, rules: Sequence[Rule] | None = None, on_change: OnChange | None = None
) -> Node:
    """An equivalent plan in normal form; the same object when it has that form already.

    After every rule the plan means the same, so it may be left at any time. A plan grows where many feeds ask something
    else of one that they share.
    """
    on_change = on_change or _no_progress
    expanded = current = expand_feeds(node, lookup)
    if current is not node:
        on_change("expand_feeds", current)
    check(node, current, "expand_feeds")
    size = most = len(postorder(expanded))
    visits_left = MOST_VISITED
    for _ in range(MOST_ROUNDS):
        before = current
        for rule in RULES if rules is None else rules:
            visits_left -= size
            if visits_left < 0:
                return current
            changed = rule(current)
            if changed is not current:
                check(current, changed, rule.__name__)
                size = len(postorder(changed))
                if size > MOST_GROWTH * (most + MOST_GROWTH):
                    on_change("left as it was written, as it would grow too much", expanded)
                    return expanded
                on_change(rule.__name__, changed)
            current = changed
        if current is before:
            return current
    raise FeedweirError(f"the rules did not come to an end in {MOST_ROUNDS} rounds")


def _no_progress(rule: str, plan: Node) -> None:
    """Nobody follows the changes."""


def check(before: Node, after: Node, rule: str) -> None:
    """What must hold after every rule, whatever it does; the error names the rule."""
    old, new = postorder(before), postorder(after)
    feeds = [one.name for one in new if isinstance(one, Feed)]
    if feeds:
        raise FeedweirError(f"rule `{rule}` left the virtual feed `{min(feeds)}`")
    for what, said in () if rule == "expand_feeds" else _KEPT.items():
        made_up = {said(one) for one in new} - {said(one) for one in old}
        if made_up:
            raise FeedweirError(f"rule `{rule}` made up a {what}: {min(map(str, made_up))}")


_KEPT: dict[str, Callable[[Node], object]] = {
    "source": lambda node: node.name if isinstance(node, Source) else None,
    "join": lambda node: node.identifier if isinstance(node, (AnnotationJoin, Distinct)) else None,
    "window": lambda node: node.spec if isinstance(node, (Window, Distinct)) else None,
}
"""What a rule may leave out and not invent."""
