"""How many requests may be spent, and what one of them is worth."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime


def price_of(interval_s: float) -> float:
    """The price at which a source with ten items a day is polled every `interval_s`, busier ones more often."""
    return 10 / 86_400 * interval_s**2 / 2


DEFAULT_PRICE = price_of(3_600.0)
"""What a request is worth, in item-seconds of delay."""
_HALF_LIFE_S = 3 * 86_400.0
"""How fast past spending is forgotten."""

_RESERVE = 0.98
"""The part of a budget that is planned for; the rest keeps polls from queuing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Requests that all sources together may cost."""

    per_second: float = 200.0
    per_day: float = math.inf
    burst_s: float = 5.0
    """How much of an unused allowance may be saved up."""

    @property
    def rate(self) -> float:
        """Requests a second, over a day."""
        return min(self.per_second, self.per_day / 86_400)

    def part(self, share: float) -> Budget:
        """This share of the budget."""
        return replace(self, per_second=share * self.per_second)

    def allowance(self, spending: Spending, now: datetime) -> tuple[int, Spending]:
        """How many requests may be made now, and the spending with its tokens refilled."""
        moment = now.timestamp()
        elapsed_s = self.burst_s if spending.at is None else max(moment - spending.at, 0.0)
        tokens = min(spending.tokens + elapsed_s * self.per_second, max(self.burst_s * self.per_second, 1.0))
        today = spending.today if spending.day == int(moment // 86_400) else 0
        filled = Spending(tokens=tokens, at=moment, day=int(moment // 86_400), today=today)
        return max(int(min(tokens, self.per_day - today)), 0), filled


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    tokens: float = 0.0
    at: float | None = None
    day: int = 0
    today: int = 0

    def spent(self, requests: int) -> Spending:
        return replace(self, tokens=self.tokens - requests, today=self.today + requests)


def price_for(rates_s: Iterable[float], requests_s: float) -> float:
    """The price at which sources with these rates spend so many requests a second.

    A source with rate r is polled every √(2·price/r) seconds, so the sum of the inverses has to meet the budget.
    """
    roots = sum(math.sqrt(max(rate, 0.0)) for rate in rates_s)
    return max((roots / requests_s) ** 2 / 2, 1e-6) if requests_s > 0 else math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Steering:
    """Keeps the price such that the budget is used up, but not exceeded in the long run.

    A plain value that can be written down: time counts only while the system runs, and the past fades, so that
    neither a pause nor a year of plenty is made up for.
    """

    correction: float = 1.0
    """By how much sources spend more than their rates alone predict."""
    elapsed_s: float = 0.0
    requests: float = 0.0

    def steered(
        self,
        rates_s: Iterable[float],
        requests: int,
        waiting: int,
        period_s: float,
        *,
        requests_s: float,
        least: float = 0.0,
    ) -> tuple[Steering, float]:
        """The price from now on, when `requests` were made in the last `period_s`, and so many polls wait.

        `least` is what a request costs even where the budget has plenty: the patience of publishers.
        """
        base = price_for(rates_s, requests_s)
        if period_s <= 0:
            return self, max(self.correction * base, least)
        kept = 0.5 ** (period_s / _HALF_LIFE_S)
        elapsed_s, spent = self.elapsed_s * kept + period_s, self.requests * kept + requests
        lately = (requests + waiting) / (period_s * requests_s)
        overall = (spent + waiting) / (elapsed_s * requests_s)
        # Slow to follow the hours of a day: a constant price is what moves requests from quiet hours to busy ones.
        step = math.pow(_within(lately, 2.0), 0.15) * math.pow(_within(overall / _RESERVE, 1.25), 0.5)
        if self.correction * base < least and step < 1.0:
            # What the budget leaves over is not saved up: it would all be spent on the first busy day.
            return Steering(correction=self.correction), least
        correction = min(max(self.correction * step, 1e-3), 1e3)
        steering = Steering(correction=correction, elapsed_s=elapsed_s, requests=spent)
        return steering, max(correction * base, least)


def _within(ratio: float, factor: float) -> float:
    return min(max(ratio, 1 / factor), factor)
