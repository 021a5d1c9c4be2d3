"""Latency: when each view has what was published, by the way it takes through the network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from feedweir.network.copies import Filling
from feedweir.network.covers import MOST_FEEDERS
from feedweir.network.latency_kernels import MS_PER_KM, settle
from feedweir.network.problem import Problem


@dataclass(frozen=True, slots=True)
class Site:
    """Where a site is, in kilometres on a plane, and its link: what it adds to every way, and its speed."""

    delay_ms: float = 5.0
    x: float = 0.0
    y: float = 0.0
    bytes_per_s: float = 12.5e6


class Net(NamedTuple):
    """Views at their sites, one by one, as kernels see them."""

    kind_of: NDArray[np.int32]
    starts: NDArray[np.int64]
    """Of each kind where its views begin in `by_kind`."""
    by_kind: NDArray[np.int32]
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    delay: NDArray[np.float64]
    speed: NDArray[np.float64]
    """Bytes in a second."""
    size: NDArray[np.float64]
    """Of each view the bytes of its result."""
    direct_ms: NDArray[np.float64]
    """When a view would have what was published, filled from its sources."""
    direct_cost: NDArray[np.float64]
    copy_cost: NDArray[np.float64]


class Ways(NamedTuple):
    """How views are filled, and what follows from that. See the picture in `latency_kernels`."""

    members: NDArray[np.int32]
    is_hosted: NDArray[np.bool_]
    cost: NDArray[np.float64]
    latency: NDArray[np.float64]
    level: NDArray[np.int64]
    """Sources are at 0."""
    fed: NDArray[np.int64]
    """Of each view how many are filled from it."""
    direct: NDArray[np.int64]
    """How many are filled from sources."""
    first: NDArray[np.int64]
    next: NDArray[np.int64]
    before: NDArray[np.int64]


def net_of(problem: Problem, sites: Mapping[str, Site]) -> Net:
    here = [sites.get(view.site, Site()) for view in problem.views]
    x, y, delay, speed = (
        np.array([getattr(site, name) for site in here], float)
        for name in ("x", "y", "delay_ms", "bytes_per_s")
    )
    size = (problem.work.tuples * problem.work.size)[problem.kind_of]
    direct_ms = np.zeros(len(here))
    for number, source in enumerate(problem.sources):
        site = sites.get(source.site, Site())
        way = MS_PER_KM * np.hypot(x - site.x, y - site.y)
        late = delay + site.delay_ms + way + 1e3 * size / np.minimum(speed, site.bytes_per_s)
        direct_ms = np.maximum(direct_ms, np.where(problem.reads[problem.kind_of, number], late, 0.0))
    order = np.argsort(problem.kind_of, kind="stable").astype(np.int32)
    starts = np.searchsorted(problem.kind_of[order], np.arange(len(problem.copies) + 1))
    return Net(
        problem.kind_of,
        starts,
        order,
        x,
        y,
        delay,
        speed,
        size,
        direct_ms,
        problem.direct_cost,
        problem.copy_cost,
    )


def ways_of(net: Net, fillings: Sequence[Filling]) -> Ways:
    n = len(fillings)
    members = np.full((n, MOST_FEEDERS), -1, np.int32)
    for filling in fillings:
        members[filling.view, : len(filling.feeders)] = filling.feeders
    ways = Ways(
        members,
        np.array([filling.is_hosted for filling in fillings], np.bool_),
        np.array([filling.cost for filling in fillings], float),
        np.zeros(n),
        np.zeros(n, np.int64),
        np.zeros(n, np.int64),
        np.zeros(1, np.int64),
        np.full(n, -1, np.int64),
        np.full(n * MOST_FEEDERS, -1, np.int64),
        np.full(n * MOST_FEEDERS, -1, np.int64),
    )
    settle(net, ways, order_of(ways))
    return ways


def latencies(
    problem: Problem, fillings: Sequence[Filling], sites: Mapping[str, Site]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """(milliseconds, level) of each view."""
    ways = ways_of(net_of(problem, sites), fillings)
    return ways.latency, ways.level


def order_of(ways: Ways) -> NDArray[np.int64]:
    """Views, each after all that it is filled from."""
    members = ways.members
    target, place = np.nonzero(members >= 0)
    feeder = members[target, place]
    by_feeder = np.argsort(feeder, kind="stable")
    starts = np.searchsorted(feeder[by_feeder], np.arange(len(members) + 1))
    missing = (members >= 0).sum(axis=1)
    ready = np.flatnonzero(missing == 0)
    found = [ready]
    while len(ready):
        lengths = starts[ready + 1] - starts[ready]
        at = np.repeat(starts[ready] - np.append(0, np.cumsum(lengths)[:-1]), lengths) + np.arange(
            lengths.sum()
        )
        fed, counts = np.unique(target[by_feeder[at]], return_counts=True)
        missing[fed] -= counts
        ready = fed[missing[fed] == 0]
        found.append(ready)
    return np.concatenate(found)
