"""The shape of the common index for the predicates of one source: what an item of it makes the index do.

The index files every conjunction under its rarest atom, and orders the others so that those filed together share what
they begin with. The same decisions are taken here, on numbers, to know the cost without building anything.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from feedweir.optimize.filter_plans.numbered_clauses import Bools, CodedPredicates, Floats, Ints, Longs

MAX_DEPTH = 9
"""Atoms of one conjunction that the index tests one by one."""


@dataclass(frozen=True, slots=True, eq=False)
class RarestFirst:
    """Expected numbers for an item of the source."""

    tests: float
    blocks: float
    matches: float
    end_share: Floats
    """For each predicate how likely its path is walked to the end."""
    rest_starts: Longs
    rest: Ints
    """For each predicate, as runs, the clauses that are not atoms and are verified at the end."""


def rarest_first(coded: CodedPredicates, is_atom: Bools, origin_share: float) -> RarestFirst:
    """Lay the predicates out as paths of atoms; the source itself is the last atom, which its items always satisfy."""
    origin = coded.selectivity.size
    believed = np.append(coded.selectivity, origin_share)
    share = np.append(coded.selectivity, 1.0)
    paths, rests = [], []
    for number in range(coded.count):
        run = coded.run(number)
        paths.append([*(clause for clause in run if is_atom[clause]), origin])
        rests.append([clause for clause in run if not is_atom[clause]])
    for group in _by_first(paths, believed):
        _order_for_sharing(group, believed)
    tests, blocks, ends = _walked(paths, share)
    starts = np.zeros(len(rests) + 1, np.int64)
    np.cumsum([len(rest) for rest in rests], out=starts[1:])
    flat = np.array([clause for rest in rests for clause in rest], np.int32)
    missed = np.array([float(np.prod(share[rest])) if rest else 1.0 for rest in rests])
    return RarestFirst(tests, blocks, float((ends * missed).sum()), ends, starts, flat)


def _by_first(paths: list[list[int]], believed: Floats) -> list[list[list[int]]]:
    """Put the rarest atom of each path first, and group them by it."""
    groups: dict[int, list[list[int]]] = {}
    for path in paths:
        rarest = min(path, key=lambda atom: (believed[atom], atom))
        path.remove(rarest)
        path.insert(0, rarest)
        groups.setdefault(rarest, []).append(path)
    return [groups[atom] for atom in sorted(groups)]


def _order_for_sharing(group: list[list[int]], believed: Floats) -> None:
    """What refuses most at once comes first: atoms that are in many paths and seldom satisfied."""
    counts: dict[int, int] = {}
    for path in group:
        for atom in path[1:]:
            counts[atom] = counts.get(atom, 0) + 1
    for path in group:
        path[1:] = sorted(path[1:], key=lambda atom: (-counts[atom] * (1.0 - believed[atom]), atom))


def _walked(paths: list[list[int]], share: Floats) -> tuple[float, float, Floats]:
    """(tests, blocks entered, share of each path that is walked to its end)."""
    reached: dict[tuple[int, ...], float] = {(): 1.0}
    children: dict[tuple[int, ...], int] = {}
    ends: dict[tuple[int, ...], int] = {}
    last: list[float] = []
    for path in paths:
        here: tuple[int, ...] = ()
        for atom in path[:MAX_DEPTH]:
            there = (*here, atom)
            if there not in reached:
                reached[there] = reached[here] * float(share[atom])
                children[here] = children.get(here, 0) + 1
            here = there
        ends[here] = ends.get(here, 0) + 1
        last.append(reached[here])
    tests = sum(reached[node] * count for node, count in children.items() if node)
    has_block = (node for node in reached if len(node) == 1 or node in children or ends.get(node, 0) > 1)
    return tests, sum(reached[node] for node in has_block if node), np.array(last)
