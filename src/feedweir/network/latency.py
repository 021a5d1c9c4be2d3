"""Latency: when a view has what was published, by the way it takes through the network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import hypot

import numpy as np
from numpy.typing import NDArray

from feedweir.network.copies import Filling
from feedweir.network.problem import Problem

MS_PER_KM = 0.01
"""Light in a cable goes 200 km in a millisecond; cables are about twice as long as the way is."""


@dataclass(frozen=True, slots=True)
class Site:
    """Where a site is, in kilometres on a plane, and its link: what it adds to every way, and its speed."""

    delay_ms: float = 5.0
    x: float = 0.0
    y: float = 0.0
    bytes_per_s: float = 12.5e6


def delay_ms(one: Site, other: Site, size: float) -> float:
    """How long so many bytes take from one site to another."""
    way = MS_PER_KM * hypot(one.x - other.x, one.y - other.y)
    return one.delay_ms + other.delay_ms + way + 1e3 * size / min(one.bytes_per_s, other.bytes_per_s)


def latencies(
    problem: Problem, fillings: Sequence[Filling], sites: Mapping[str, Site]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """(milliseconds, level) of each view: the slowest of its feeders, and then its own rewriting; sources are at 0."""
    here = [sites.get(view.site, Site()) for view in problem.views]
    of_source = [sites.get(source.site, Site()) for source in problem.sources]
    sizes = (problem.work.tuples * problem.work.size)[problem.kind_of]
    found = np.full(len(fillings), np.nan)
    level = np.zeros(len(fillings), np.int64)
    for view in in_order(fillings):
        filling = fillings[view]
        size = float(sizes[view])
        if filling.is_direct:
            read = np.flatnonzero(problem.reads[problem.kind_of[view]])
            found[view] = max(delay_ms(of_source[s], here[view], size) for s in read)
            level[view] = 1
            continue
        local = max(delay_ms(here[v], here[view], size) for v in filling.feeders)
        found[view] = max(found[v] for v in filling.feeders) + local
        level[view] = max(level[v] for v in filling.feeders) + 1
    return found, level


def in_order(fillings: Sequence[Filling]) -> list[int]:
    """Views, each after all that it is filled from."""
    waits: dict[int, list[int]] = {}
    missing = [len(filling.feeders) for filling in fillings]
    for filling in fillings:
        for feeder in filling.feeders:
            waits.setdefault(feeder, []).append(filling.view)
    order = [view for view, count in enumerate(missing) if not count]
    for view in order:
        for fed in waits.get(view, ()):
            missing[fed] -= 1
            if not missing[fed]:
                order.append(fed)
    return order
