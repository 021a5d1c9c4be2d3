"""Where the variables of a linear pattern lie on a label path that the pattern ends at.

It depends on the labels only, so it is worked out once for each path: as pairs of depths, from which the bound nodes
of every node on that path follow by climbing.
"""

from __future__ import annotations

from collections.abc import Sequence

from feedweir.match.trees.tree_codes import ANY_ATTRIBUTE, ANY_ELEMENT

Step = tuple[int, int]
"""(axis, label)."""


def alignments(
    steps: Sequence[Step], labels: Sequence[int], pairs: Sequence[tuple[int, int]]
) -> list[tuple[int, int, int]]:
    """(step2, depth1, depth2) for each pair (step1, step2) and each embedding; depth 0 is the root, -1 is no step1."""
    reach = _reach(steps, labels)
    finish = _finish(steps, labels)
    found: list[tuple[int, int, int]] = []
    for first, second in pairs:
        starts = sorted(reach[first] & finish[first]) if first >= 0 else [-1]
        for start in starts:
            ends = reach[second] if first < 0 else _onwards(steps, labels, first, second, start)
            found += [(second, start, end) for end in sorted(ends & finish[second])]
    return found


def _next(step: Step, labels: Sequence[int], depth: int) -> set[int]:
    """The depths that a step can reach from a node at `depth`."""
    axis, wanted = step
    below = range(depth + 1, len(labels) if axis else min(depth + 2, len(labels)))
    return {place for place in below if _fits(wanted, labels[place])}


def _fits(wanted: int, label: int) -> bool:
    if wanted in (ANY_ELEMENT, ANY_ATTRIBUTE):
        return wanted & 1 == label & 1
    return wanted == label


def _reach(steps: Sequence[Step], labels: Sequence[int]) -> list[set[int]]:
    reached: list[set[int]] = []
    places = {-1}
    for step in steps:
        places = {end for start in places for end in _next(step, labels, start)}
        reached.append(places)
    return reached


def _finish(steps: Sequence[Step], labels: Sequence[int]) -> list[set[int]]:
    """Of each step the depths from which the steps after it can end exactly at the end of the path."""
    finishing = [{len(labels) - 1}]
    for step in reversed(steps[1:]):
        later = finishing[-1]
        finishing.append({depth for depth in range(len(labels)) if _next(step, labels, depth) & later})
    return finishing[::-1]


def _onwards(steps: Sequence[Step], labels: Sequence[int], first: int, second: int, start: int) -> set[int]:
    places = {start}
    for step in steps[first + 1 : second + 1]:
        places = {end for place in places for end in _next(step, labels, place)}
    return places
