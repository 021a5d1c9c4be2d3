"""Prices for feeding: what one more place at each feeder is worth, and the lower bound that follows.

Without its bounds the problem falls apart into a cheapest cover for each view. Whatever prices feeders ask for their
places, what all views then pay, less what all places would bring, is a lower bound of every plan within the bounds,
over all rewritings. The prices are raised where more is wanted than there is, and lowered elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from feedweir.network.covers import Covers, Pairs, cheapest, place_of
from feedweir.network.problem import Problem

ROUNDS = 20
PATIENCE = 4


@dataclass(frozen=True, slots=True)
class Prices:
    """Of each kind of view, of each source, and of leaving a circle of two kinds to both of them."""

    kinds: NDArray[np.float64]
    sources: NDArray[np.float64]
    circles: tuple[tuple[int, int], ...] = ()
    tolls: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))


@dataclass(frozen=True, slots=True)
class Relaxed:
    """What every view would take at some prices."""

    prices: Prices
    bound: float
    """No plan costs less."""
    outside: NDArray[np.float64]
    """Of each kind what it pays, unless it is filled from an equal view."""
    covers: Covers
    is_direct: NDArray[np.bool_]
    """Filled from its sources."""
    used: NDArray[np.float64]
    source_used: NDArray[np.float64]


def no_prices(problem: Problem) -> Prices:
    return Prices(np.zeros(len(problem.copies)), np.zeros(len(problem.sources)))


def relaxed(problem: Problem, prices: Prices) -> Relaxed:
    """The cheapest of all rewritings for each view at these prices."""
    pairs, credit = with_tolls(problem.pairs, prices)
    costs, covers = cheapest(pairs, problem.work, prices.kinds)
    costs -= credit
    direct = problem.direct_cost + problem.reads @ prices.sources - credit
    outside = np.minimum(costs, direct)
    copied = problem.copy_cost + prices.kinds
    others = problem.copies - 1
    is_copied = copied <= outside
    bound = float((outside + others * np.minimum(outside, copied)).sum())
    bound -= _product(prices.kinds, problem.capacity) + _product(prices.sources, problem.source_capacity)
    bound += float(prices.tolls.sum())
    is_direct = direct <= costs
    times = np.where(is_copied, 1, problem.copies).astype(float)
    used = np.where(is_copied, others, 0).astype(float)
    row, place = np.nonzero((covers.members >= 0) & ~is_direct[:, None])
    used += np.bincount(covers.members[row, place], weights=times[row], minlength=len(used))
    source_used = (problem.reads * (times * is_direct)[:, None]).sum(axis=0)
    return Relaxed(prices, bound, outside, covers, is_direct, used, source_used)


def with_tolls(pairs: Pairs, prices: Prices) -> tuple[Pairs, NDArray[np.float64]]:
    """Of two views that could feed each other one must be filled by others. Whoever is gets the price of that; that
    is, all get it, and pay it back where one feeds the other."""
    credit = np.zeros(len(pairs.bits))
    if not prices.circles:
        return pairs, credit
    toll = np.zeros(len(pairs.feeder), np.float32)
    for (one, other), price in zip(prices.circles, prices.tolls.tolist(), strict=True):
        if not price:
            continue
        for target, feeder in ((one, other), (other, one)):
            credit[target] += price
            place = place_of(pairs, target, feeder)
            if place >= 0:
                toll[place] += np.float32(price)
    return pairs._replace(toll=toll), credit


def _product(prices: NDArray[np.float64], capacity: NDArray[np.float64]) -> float:
    is_asked = prices > 0
    return float((prices[is_asked] * capacity[is_asked]).sum())


def raised(problem: Problem, start: Prices | None = None, rounds: int = ROUNDS) -> Relaxed:
    """The best bound that so many rounds find: a subgradient method with remembered directions."""
    best = relaxed(problem, start or no_prices(problem))
    capacity = np.append(problem.capacity, problem.source_capacity)
    is_bounded = np.isfinite(capacity)
    current, step, waited = best, 1.0, 0
    remembered = np.zeros(len(capacity))
    aim = best.bound * 1.02
    for _ in range(rounds):
        excess = np.where(is_bounded, np.append(current.used, current.source_used) - capacity, 0.0)
        price = np.append(current.prices.kinds, current.prices.sources)
        excess[(price <= 0) & (excess < 0)] = 0.0
        if not excess.any():
            break
        remembered = 0.6 * remembered + excess
        remembered[(price <= 0) & (remembered < 0)] = 0.0
        aim = max(aim, best.bound * 1.0005)
        length = step * (aim - current.bound) / max(float(remembered @ remembered), 1e-300)
        price = np.maximum(price + length * remembered, 0.0)
        n = len(problem.copies)
        current = relaxed(problem, Prices(price[:n], price[n:]))
        if current.bound > best.bound:
            waited = 0
            if current.bound > best.bound + 0.5 * (aim - best.bound):
                aim = current.bound + 0.02 * abs(current.bound)
            best = current
        else:
            waited += 1
            if waited >= PATIENCE:
                waited, step = 0, step * 0.6
                aim = best.bound + 0.5 * (aim - best.bound)
                current = best
                remembered[:] = 0.0
    return best


def between(one: Prices, other: Prices) -> Prices:
    """Half way, where the bound is often better than at either end; tolls are those of the other."""
    return replace(other, kinds=(one.kinds + other.kinds) / 2, sources=(one.sources + other.sources) / 2)
