"""Algorithm 4 of the Delta paper (cover-based greedy rewriting), as printed: the first k covers of a view, depth first.

Views come as sets of the attributes of the target that they cover. Line 15 of the print sorts `altViews`, which nothing
fills; `remainViews` is meant. A set is reported when it covers everything, and the search then goes on to add views to
it, so that the first k solutions may be one and the same cover after minimisation: `minimised` shows that.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Set

Attribute = tuple[int, Hashable]
"""A node of the target, and what of it."""


def greedy_covers(
    wanted: Set[Attribute], views: Mapping[int, Set[Attribute]], k: int
) -> list[frozenset[int]]:
    """At most k sets of views that cover all attributes, in the order in which the algorithm finds them."""
    if not wanted <= frozenset().union(*views.values()):
        return []
    found: list[frozenset[int]] = []
    visited: set[frozenset[int]] = set()

    def backtrack(current: frozenset[int]) -> None:
        covered = frozenset().union(*(views[view] for view in current))
        if wanted <= covered and current not in visited:
            visited.add(current)
            found.append(current)
        if len(found) == k:
            return
        for view in sorted(
            set(views) - current, key=lambda view: _interest(views[view], wanted - covered, view)
        ):
            backtrack(current | {view})
            if len(found) == k:
                return

    backtrack(frozenset())
    return found


def _interest(view: Set[Attribute], missing: Set[Attribute], number: int) -> tuple[int, int, int]:
    """The more attributes not covered yet it covers, the sooner; then the more nodes these are of."""
    gains = view & missing
    return -len(gains), -len({node for node, _ in gains}), number


def minimised(
    cover: frozenset[int], wanted: Set[Attribute], views: Mapping[int, Set[Attribute]]
) -> frozenset[int]:
    """A cover without redundant views: each is tried to be left out, here in the order of their numbers."""
    for view in sorted(cover):
        rest = cover - {view}
        if wanted <= frozenset().union(*(views[one] for one in rest)):
            cover = rest
    return cover
