"""Refresh policies on a trace of what feeds showed: loss and delay against an hourly poll with as many requests.

A trace says what each feed showed at certain moments; between them it is taken to have shown the same. Without
`--trace` one is generated, whose items have dates, as those of real feeds have. Every policy starts without any
knowledge, and what it learns counts.
"""

from __future__ import annotations

import argparse
import math
import random
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from statistics import NormalDist, fmean

import pyarrow.parquet as pq

from feedweir.acquire.refresh.planned import Planned
from feedweir.acquire.refresh.policies import Fixed, RateProportional
from feedweir.acquire.refresh.rules import RefreshRules
from feedweir.acquire.refresh.simulate import Account, FeedTrace, Trace, simulate, steering

START = datetime(2024, 5, 6, tzinfo=UTC).timestamp()
_DAY_S = 86_400.0
_BACK_DAYS = 7
"""How long a generated feed has been publishing when it is met."""
_WAKING_SHARE = 0.8
"""What news publish in the twelve busiest hours of a day."""
_STEPS = 5
"""Of each search over budgets: a halving each."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--trace", default="", help="a Parquet file with poll_time, feed, item_ids")
    parser.add_argument("--feeds", type=int, default=40, help="feeds of a generated trace")
    parser.add_argument(
        "--seeds", type=int, default=5, help="runs that differ in the moments of the first looks"
    )


def run(options: argparse.Namespace) -> dict[str, object]:
    trace = read_trace(options.trace) if options.trace else generated(options.feeds, days=7)
    seeds = [str(seed) for seed in range(options.seeds * (3 if options.full else 1))]
    hourly = [_hourly(trace, seed) for seed in seeds]
    planned = [_planned(trace, 1.0, seed) for seed in seeds]
    smooth = spread_out(trace)
    most = len(seeds) if options.full else 1
    return {
        **_compared(planned, hourly),
        **_spread(planned, hourly),
        "requests_ratio": requests_ratio(trace, hourly[:most], seeds[:most]),
        "feeds": len(trace),
        "items": hourly[0].items,
        "runs": len(seeds),
        **_figures("hourly", hourly),
        **_figures("planned", planned),
        **_figures("proportional", [_proportional(trace, hourly[0], seeds[0])]),
        **_compared([_planned(smooth, 1.0, seeds[0])], [_hourly(smooth, seeds[0])], "spread_out_"),
    }


def read_trace(path: str) -> Trace:
    """A trace as it was recorded: what each poll of each feed returned."""
    feeds: dict[str, list[tuple[float, tuple[str, ...]]]] = defaultdict(list)
    for row in pq.read_table(path).to_pylist():
        moment = datetime.fromisoformat(str(row["poll_time"])).timestamp()
        feeds[row["feed"]].append((moment, tuple(row["item_ids"])))
    return {name: _feed(polls) for name, polls in sorted(feeds.items())}


def generated(feeds: int, days: int) -> Trace:
    """Feeds whose rates are spread as those of news are, most of them slow; all show their newest items."""
    draw = random.Random(20)
    rates = [NormalDist(2.5, 1.5).inv_cdf((number + 0.5) / feeds) for number in range(feeds)]
    return {
        f"feed{n:03d}": _generated_feed(draw, math.exp(rate), days * _DAY_S) for n, rate in enumerate(rates)
    }


def spread_out(trace: Trace) -> Trace:
    """The same items, each at a moment of its own: what came together comes evenly over the time before."""
    return {name: _spread_out_feed(feed) for name, feed in trace.items()}


def _hourly(trace: Trace, seed: str) -> Account:
    return simulate(trace, RefreshRules(policy=Fixed(interval_s=3_600), jitter=0.0), seed=seed)


def _planned(trace: Trace, fraction: float, seed: str) -> Account:
    """The planning policy, held to a fraction of the requests of an hourly poll."""
    requests_s = fraction * len(trace) / 3_600
    rules = RefreshRules(policy=Planned())
    return simulate(trace, rules, requests_s=requests_s, steer=steering(requests_s), seed=seed)


def _proportional(trace: Trace, hourly: Account, seed: str) -> Account:
    """Looks in proportion to rates, with about as many requests as an hourly poll makes."""
    items_per_look = hourly.items / hourly.requests
    first = _at_rates(trace, items_per_look, seed)
    return _at_rates(trace, items_per_look * first.requests / hourly.requests, seed)


def _at_rates(trace: Trace, items_per_look: float, seed: str) -> Account:
    rules = RefreshRules(policy=RateProportional(items_per_look=items_per_look))
    return simulate(trace, rules, requests_s=1.1 * len(trace) / 3_600, seed=seed)


def requests_ratio(trace: Trace, hourly: list[Account], seeds: list[str]) -> float:
    """The smallest part of an hourly poll's requests with which no more is missed than by it, by halving.

    More than 1 when as many are not enough; infinite when twice as many are not.
    """

    def planned(fraction: float) -> list[Account]:
        return [_planned(trace, fraction, seed) for seed in seeds]

    def is_enough(accounts: list[Account]) -> bool:
        return sum(account.missed for account in accounts) <= sum(account.missed for account in hourly)

    most = next((fraction for fraction in (1.0, 2.0) if is_enough(planned(fraction))), math.inf)
    if most == math.inf:
        return most
    least, enough = most - 1.0, planned(most)
    for _ in range(_STEPS):
        middle = (least + most) / 2
        accounts = planned(middle)
        if is_enough(accounts):
            most, enough = middle, accounts
        else:
            least = middle
    return round(sum(a.requests for a in enough) / sum(a.requests for a in hourly), 3)


def _spread(planned: list[Account], hourly: list[Account]) -> dict[str, object]:
    """The worst run of each: what chance makes of it."""
    runs = list(zip(planned, hourly, strict=True))
    missed = [ours.missed / max(theirs.missed, 1) for ours, theirs in runs]
    delays = [ours.delay_s / theirs.delay_s for ours, theirs in runs]
    return {"missed_ratio_worst": round(max(missed), 3), "delay_ratio_worst": round(max(delays), 3)}


def _compared(planned: list[Account], hourly: list[Account], prefix: str = "") -> dict[str, object]:
    return {
        f"{prefix}{name}_ratio": round(
            fmean(getattr(a, key) for a in planned) / max(fmean(getattr(a, key) for a in hourly), 1e-9), 3
        )
        for name, key in (
            ("missed", "missed"),
            ("delay", "delay_s"),
            ("settled_missed", "settled_missed"),
            ("settled_delay", "settled_delay_s"),
        )
    }


def _figures(name: str, accounts: list[Account]) -> dict[str, object]:
    keys = ("requests", "missed", "delay_s", "unchanged")
    return {f"{name}_{key}": round(fmean(getattr(account, key) for account in accounts), 1) for key in keys}


def _feed(polls: Iterable[tuple[float, tuple[str, ...]]]) -> FeedTrace:
    ordered = sorted(polls)
    return FeedTrace(tuple(moment for moment, _ in ordered), tuple(items for _, items in ordered))


def _generated_feed(draw: random.Random, per_day: float, length_s: float) -> FeedTrace:
    """Items are dated when they are written; some publishers show them at once, some by the strokes of a clock."""
    window = draw.choice((10, 15, 20, 50))
    period_s = draw.choice((0.0, 1_800.0, 3_600.0, 7_200.0))
    phase_s = draw.uniform(0, period_s)
    wake = draw.uniform(0, 24)
    items: list[tuple[float, float]] = []
    written = -_BACK_DAYS * _DAY_S
    while written < length_s:
        written += draw.expovariate(2 * _WAKING_SHARE * per_day / _DAY_S)
        is_awake = ((written / 3_600 - wake) % 24) < 12
        if is_awake or draw.random() < 1 / _WAKING_SHARE - 1:
            shown = math.ceil((written - phase_s) / period_s) * period_s + phase_s if period_s else written
            items.append((START + shown, START + written))
    return _rolling([item for item in sorted(items) if item[0] <= START + length_s], window)


def _rolling(items: list[tuple[float, float]], window: int) -> FeedTrace:
    """The documents of a feed that shows its newest items, from (shown, written); what is shown together is so."""
    documents: dict[float, tuple[str, ...]] = {START: ()}
    shown: tuple[str, ...] = ()
    for number, (moment, _) in enumerate(items):
        shown = (str(number), *shown)[:window]
        documents[max(moment, START)] = shown
    return replace(_feed(documents.items()), published={str(n): date for n, (_, date) in enumerate(items)})


def _spread_out_feed(feed: FeedTrace) -> FeedTrace:
    documents = [(feed.moments[0], feed.shown[0])]
    for before, moment, items in zip(feed.moments, feed.moments[1:], feed.shown[1:], strict=False):
        shown = documents[-1][1]
        new = [item for item in reversed(items) if item not in shown]
        leaving = [item for item in shown if item not in items]
        for place, item in enumerate(new, 1):
            left = set(leaving[: round(len(leaving) * place / len(new))])
            shown = (item, *(kept for kept in shown if kept not in left))
            documents.append((before + (moment - before) * place / len(new), shown))
        documents[-1] = (documents[-1][0], items) if new else documents[-1]
    return _feed(documents)
