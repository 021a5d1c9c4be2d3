"""LOGA, Delta's greedy algorithm for latency (algorithm 2): as printed, and with its search for the best replacement.

A replacement that lowers the latency of one view raises that of no other where latencies do not depend on load, so the
best replacement of a rewriting is the one by which its own view has everything soonest: nothing else need be worked out
to choose it. Among equally quick ones both take the cheapest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from feedweir.network.copies import Filling
from feedweir.network.latency import Net, Site, Ways, ways_of
from feedweir.network.latency_search import Rule, Search, search_of
from feedweir.network.network_plan import Plan

WIDENED = 1.5
"""By how much the bounds are widened: within those of the plan there is next to no room."""
_LEAST = 1e-9


def loga(
    net: Net,
    fillings: Sequence[Filling],
    alternatives: Sequence[Sequence[Filling]],
    bounds: NDArray[np.int64],
) -> tuple[Filling, ...]:
    """As printed: every alternative is put in its place and the latency of the whole configuration worked out.

    `alternatives` has the rewritings of each view, the cheapest first.
    """
    chosen = list(fillings)
    newest = _latency(net, chosen)
    while True:
        previous = newest
        for view in by_impact(ways_of(net, chosen)):
            if chosen[view].is_direct:
                continue
            now, least, best = chosen[view], _latency(net, chosen), None
            for other in alternatives[view]:
                chosen[view] = other
                if _is_within(chosen, bounds) and not _has_circle(chosen, view):
                    latency = _latency(net, chosen)
                    if latency < least - _LEAST:
                        least, best = latency, other
            chosen[view] = best or now
        newest = _latency(net, chosen)
        if newest == previous:
            return tuple(chosen)


def quick_loga(plan: Plan, sites: Mapping[str, Site]) -> Search:
    """The same over all rewritings, which are not written down."""
    search = search_of(plan, sites, WIDENED)
    moved = 1
    while moved:
        order = by_impact(search.ways)
        moved, _ = search.passed(Rule(True, 0), order, 1.0, np.inf, with_evictions=False)
    return search


def by_impact(ways: Ways) -> NDArray[np.int64]:
    """Views, first those whose latency times the number of views behind them is the largest."""
    behind = np.zeros(len(ways.members))
    for view in range(len(ways.members)):
        behind[list(_before(ways.members, view))] += 1
    return np.argsort(-ways.latency * behind, kind="stable")


def _before(members: NDArray[np.int32], view: int) -> set[int]:
    """All views that a view is filled from, directly or not."""
    found: set[int] = set()
    waiting = [view]
    while waiting:
        for feeder in members[waiting.pop()].tolist():
            if feeder < 0:
                break
            if feeder not in found:
                found.add(feeder)
                waiting.append(feeder)
    return found


def _latency(net: Net, fillings: Sequence[Filling]) -> float:
    return float(ways_of(net, fillings).latency.sum())


def _is_within(fillings: Sequence[Filling], bounds: NDArray[np.int64]) -> bool:
    fed = np.zeros(len(fillings), np.int64)
    for filling in fillings:
        fed[list(filling.feeders)] += 1
    return bool((fed <= bounds).all())


def _has_circle(fillings: Sequence[Filling], view: int) -> bool:
    waiting, seen = list(fillings[view].feeders), set(fillings[view].feeders)
    while waiting:
        at = waiting.pop()
        if at == view:
            return True
        more = set(fillings[at].feeders) - seen
        seen |= more
        waiting += more
    return False
