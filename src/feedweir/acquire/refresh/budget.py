"""How many requests may be spent, and what one of them is worth."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

DEFAULT_PRICE = 750.0
"""What a request is worth in item-seconds of delay: a source with ten items a day is then looked at hourly."""


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

    def allowance(self, spending: Spending, now: datetime) -> tuple[int, Spending]:
        """How many requests may leave now, and the spending with its tokens filled up."""
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

    A source with rate r is looked at every √(2·price/r) seconds, so the sum of the inverses has to meet the budget.
    """
    roots = sum(math.sqrt(max(rate, 0.0)) for rate in rates_s)
    return max((roots / requests_s) ** 2 / 2, 1e-6) if requests_s > 0 else math.inf


def adjusted(price: float, spent: float, allowed: float, gain: float = 0.5) -> float:
    """The price after a while in which so much was spent of so much allowed."""
    ratio: float = min(max(spent / max(allowed, 1e-9), 0.25), 4.0)
    return price * math.pow(ratio, 2 * gain)
