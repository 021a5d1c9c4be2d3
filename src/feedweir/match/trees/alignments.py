"""Where the variables of a linear pattern lie on a label path that the pattern ends at.

It depends on the labels only, so it is worked out once for each path: as pairs of depths, from which the bound nodes of
every node on that path follow by climbing.
"""

from __future__ import annotations

from collections.abc import Sequence

from feedweir.plan.predicates import PatternNode


def alignments(
    steps: Sequence[PatternNode], names: Sequence[str], pairs: Sequence[tuple[int, int]]
) -> list[tuple[int, int, int]]:
    """(step2, depth1, depth2) for each pair (step1, step2) and each way; depth 0 is the root, -1 is no step1."""
    reach = _reach(steps, names)
    finish = _finish(steps, names)
    found: list[tuple[int, int, int]] = []
    for first, second in pairs:
        starts = sorted(reach[first] & finish[first]) if first >= 0 else [-1]
        for start in starts:
            ends = reach[second] if first < 0 else _onwards(steps, names, first, second, start)
            found += [(second, start, end) for end in sorted(ends & finish[second])]
    return found


def _next(step: PatternNode, names: Sequence[str], depth: int) -> set[int]:
    """The depths that a step can reach from a node at `depth`."""
    below = (
        range(depth + 1, len(names)) if step.axis == "//" else range(depth + 1, min(depth + 2, len(names)))
    )
    return {place for place in below if _fits(step.name, names[place])}


def _fits(wanted: str, name: str) -> bool:
    if wanted == "*":
        return not name.startswith("@")
    return name.startswith("@") if wanted == "@*" else wanted == name


def _reach(steps: Sequence[PatternNode], names: Sequence[str]) -> list[set[int]]:
    reached: list[set[int]] = []
    places = {-1}
    for step in steps:
        places = {end for start in places for end in _next(step, names, start)}
        reached.append(places)
    return reached


def _finish(steps: Sequence[PatternNode], names: Sequence[str]) -> list[set[int]]:
    """Of each step the depths from which the steps after it can end exactly at the end of the path."""
    finishing = [{len(names) - 1}]
    for step in reversed(steps[1:]):
        later = finishing[-1]
        finishing.append({depth for depth in range(len(names)) if _next(step, names, depth) & later})
    return finishing[::-1]


def _onwards(
    steps: Sequence[PatternNode], names: Sequence[str], first: int, second: int, start: int
) -> set[int]:
    places = {start}
    for step in steps[first + 1 : second + 1]:
        places = {end for place in places for end in _next(step, names, place)}
    return places
