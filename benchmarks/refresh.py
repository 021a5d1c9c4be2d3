"""Refresh policies on a trace of what feeds showed: loss and delay against an hourly poll with as many requests.

A trace says what each feed showed at certain moments; between them it is taken to have shown the same. Without
`--trace` one is generated. Every policy starts without any knowledge, and what it learns counts.
"""

from __future__ import annotations

import argparse
import math
import random
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime
from statistics import fmean

import pyarrow.parquet as pq

from feedweir.acquire.refresh.planned import Planned
from feedweir.acquire.refresh.policies import Fixed, RateProportional
from feedweir.acquire.refresh.rules import RefreshRules
from feedweir.acquire.refresh.simulate import Account, FeedTrace, Trace, simulate, steering

START = datetime(2024, 5, 6, tzinfo=UTC).timestamp()
_DAY_S = 86_400.0
_FRACTIONS = (0.8, 0.6, 0.4)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--trace", default="", help="a Parquet file with poll_time, feed, item_ids")
    parser.add_argument("--feeds", type=int, default=40, help="feeds of a generated trace")
    parser.add_argument(
        "--seeds", type=int, default=3, help="runs that differ in the moments of the first looks"
    )


def run(options: argparse.Namespace) -> dict[str, object]:
    trace = read_trace(options.trace) if options.trace else generated(options.feeds, days=7)
    seeds = [str(seed) for seed in range(options.seeds * (3 if options.full else 1))]
    hourly = [_hourly(trace, seed) for seed in seeds]
    planned = [_planned(trace, 1.0, seed) for seed in seeds]
    smooth = spread_out(trace)
    return {
        **_compared(planned, hourly),
        "requests_ratio": _requests_ratio(trace, hourly[0], seeds[0]),
        "feeds": len(trace),
        "items": hourly[0].items,
        "runs": len(seeds),
        **_figures("hourly", hourly),
        **_figures("planned", planned),
        **_figures("proportional", [_proportional(trace, seeds[0])]),
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
    """Feeds of many rates; some publish by a clock, some by day, some at any time; all show their newest items."""
    draw = random.Random(20)
    return {f"feed{number:03d}": _generated_feed(draw, days * _DAY_S) for number in range(feeds)}


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


def _proportional(trace: Trace, seed: str) -> Account:
    """Looks in proportion to rates, with as many items a look as an hourly poll finds on average."""
    days = (
        max(feed.moments[-1] for feed in trace.values()) - min(f.moments[0] for f in trace.values())
    ) / _DAY_S
    items = sum(len({item for shown in feed.shown for item in shown}) for feed in trace.values())
    rules = RefreshRules(policy=RateProportional(items_per_look=items / (24 * days * len(trace))))
    return simulate(trace, rules, requests_s=len(trace) / 3_600, seed=seed)


def _requests_ratio(trace: Trace, hourly: Account, seed: str) -> float:
    """The smallest part of an hourly poll's requests with which no more is missed than by it."""
    best = math.inf
    for fraction in _FRACTIONS:
        account = _planned(trace, fraction, seed)
        if account.missed > hourly.missed:
            break
        best = round(account.requests / hourly.requests, 3)
    return best if best < math.inf else 1.0


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


def _generated_feed(draw: random.Random, length_s: float) -> FeedTrace:
    per_day = min(math.exp(draw.gauss(2.5, 1.3)), 600.0)
    window = draw.choice((10, 15, 20, 50))
    kind = draw.choice(("clock", "day", "any"))
    period_s = draw.choice((1_800.0, 3_600.0, 7_200.0, 14_400.0))
    phase_s = draw.uniform(0, period_s)
    wake = draw.uniform(0, 24)
    moments: list[float] = []
    moment = 0.0
    while moment < length_s:
        moment += draw.expovariate(2 * per_day / _DAY_S)
        awake = ((moment / 3_600 - wake) % 24) < 12
        if (kind == "day" and not awake) or (kind != "day" and draw.random() < 0.5):
            continue
        if kind == "clock":
            shown = math.ceil((moment - phase_s) / period_s) * period_s + phase_s
        else:
            shown = moment
        moments.append(START + shown)
    return _rolling(sorted(moments), window)


def _rolling(moments: list[float], window: int) -> FeedTrace:
    """The documents of a feed that shows its newest items; items of one moment appear together."""
    documents: dict[float, tuple[str, ...]] = {START: ()}
    shown: tuple[str, ...] = ()
    for number, moment in enumerate(moments):
        shown = (str(number), *shown)[:window]
        documents[moment] = shown
    return _feed(documents.items())


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
