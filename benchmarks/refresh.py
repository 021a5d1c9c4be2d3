"""Refresh policies on a trace of what feeds showed: loss and delay against an hourly poll with as many requests.

A trace says what each feed showed at certain moments; between them it is taken to have shown the same. Without
`--trace` one is generated after the figures of a recorded week (`_worlds.collections`). Every policy starts without any
knowledge, and what it learns counts. `delay_bound` and `missed_bound` are what the same planning reaches that has
watched a week before without a gap, and that week was just the same. `publishers_…` is another world, of sources that
publish by chance at very uneven rates; there `publishers_delay_bound` is what no policy can fall below, by the rates.

Means are over the `seeds`, which move the moments of the first looks; `…_worst` is the worst of them. The policy was
developed on seeds 0 to 4 of the recorded week; `--first-seed 10` runs others.
"""

from __future__ import annotations

import argparse
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from datetime import datetime
from functools import partial
from statistics import fmean

import pyarrow.parquet as pq

from benchmarks import _worlds
from feedweir.acquire.refresh.history import History
from feedweir.acquire.refresh.planned import Planned
from feedweir.acquire.refresh.policies import Fixed, RateProportional
from feedweir.acquire.refresh.rules import RefreshRules
from feedweir.acquire.refresh.simulate import Account, FeedTrace, Trace, a_week_later, simulate, steering

_DAYS = 7
_STEPS = 5
"""Of each search over budgets: a halving each."""

Play = Callable[[str], Account]
"""A policy on a trace, for a seed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--trace", default="", help="a Parquet file with poll_time, feed, item_ids")
    parser.add_argument("--feeds", type=int, default=40, help="feeds of a generated trace")
    parser.add_argument(
        "--seeds", type=int, default=5, help="runs that differ in the moments of the first looks"
    )
    parser.add_argument("--first-seed", type=int, default=0, help="the seed of the first run")
    parser.add_argument("--workers", type=int, default=2, help="runs at a time")


def run(options: argparse.Namespace) -> dict[str, object]:
    trace = read_trace(options.trace) if options.trace else _worlds.collections(options.feeds, _DAYS)
    last = options.first_seed + options.seeds * (3 if options.full else 1)
    seeds = [str(seed) for seed in range(options.first_seed, last)]
    few = seeds if options.full else seeds[:1]
    with ProcessPoolExecutor(max_workers=options.workers) as pool:

        def played(play: Play, seeds: list[str]) -> list[Account]:
            return list(pool.map(play, seeds))

        hourly, planned = played(partial(_hourly, trace), seeds), played(partial(_planned, trace, 1.0), seeds)
        known = played(partial(_knowing, trace), few)
        smooth = spread_out(trace)
        evenly = [played(play, few) for play in (partial(_planned, smooth, 1.0), partial(_hourly, smooth))]
        proportional = played(partial(_proportional, trace, hourly[0]), few)
        return {
            **_compared(planned, hourly),
            **_spread(planned, hourly),
            **_bounds(known, hourly[: len(few)]),
            "requests_ratio": requests_ratio(trace, hourly[: len(few)], few, played),
            "feeds": len(trace),
            "items": hourly[0].items,
            "seeds": f"{seeds[0]} to {seeds[-1]}",
            **_figures("hourly", hourly),
            **_figures("planned", planned),
            **_figures("proportional", proportional),
            **_compared(evenly[0], evenly[1], "spread_out_"),
            **_publishers(options.feeds, few, played),
        }


def _publishers(
    feeds: int, seeds: list[str], played: Callable[[Play, list[str]], list[Account]]
) -> dict[str, object]:
    publishers = _worlds.some_publishers(feeds)
    trace = _worlds.published(publishers, _DAYS)
    planned, hourly = played(partial(_planned, trace, 1.0), seeds), played(partial(_hourly, trace), seeds)
    bound = _worlds.least_delay_ratio(publishers, _DAYS, RefreshRules().floor_s)
    return {
        **_compared(planned, hourly, "publishers_"),
        "publishers_delay_bound": round(bound, 3),
    }


def read_trace(path: str) -> Trace:
    """A trace as it was recorded: what each poll of each feed returned."""
    feeds: dict[str, list[tuple[float, tuple[str, ...]]]] = defaultdict(list)
    for row in pq.read_table(path).to_pylist():
        moment = datetime.fromisoformat(str(row["poll_time"])).timestamp()
        feeds[row["feed"]].append((moment, tuple(row["item_ids"])))
    return {name: _feed(polls) for name, polls in sorted(feeds.items())}


def spread_out(trace: Trace) -> Trace:
    """The same items, each at a moment of its own: what came together comes evenly over the time before."""
    return {name: _spread_out_feed(feed) for name, feed in trace.items()}


def _hourly(trace: Trace, seed: str) -> Account:
    return simulate(trace, RefreshRules(policy=Fixed(interval_s=3_600), jitter=0.0), seed=seed)


def _planned(trace: Trace, fraction: float, seed: str, known: Mapping[str, History] | None = None) -> Account:
    """The planning policy, held to a fraction of the requests of an hourly poll: as a rate, and altogether."""
    requests_s, most = fraction * len(trace) / 3_600, fraction * _hourly(trace, seed).requests
    rules, steer = RefreshRules(policy=Planned()), steering(requests_s)
    return simulate(trace, rules, requests_s=requests_s, most=most, steer=steer, seed=seed, known=known)


def _knowing(trace: Trace, seed: str) -> Account:
    """The planning policy that has watched a week before, which was just the same."""
    return _planned(trace, 1.0, seed, a_week_later(trace))


def _proportional(trace: Trace, hourly: Account, seed: str) -> Account:
    """Looks in proportion to rates, with about as many requests as an hourly poll makes."""
    items_per_look = hourly.items / hourly.requests
    first = _at_rates(trace, items_per_look, seed)
    return _at_rates(trace, items_per_look * first.requests / hourly.requests, seed)


def _at_rates(trace: Trace, items_per_look: float, seed: str) -> Account:
    rules = RefreshRules(policy=RateProportional(items_per_look=items_per_look))
    return simulate(trace, rules, requests_s=1.1 * len(trace) / 3_600, seed=seed)


def requests_ratio(
    trace: Trace,
    hourly: list[Account],
    seeds: list[str],
    played: Callable[[Play, list[str]], list[Account]],
) -> float:
    """The smallest part of an hourly poll's requests with which no more is missed than by it, by halving.

    More than 1 when as many are not enough; infinite when twice as many are not.
    """

    def planned(fraction: float) -> list[Account]:
        return played(partial(_planned, trace, fraction), seeds)

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


def _bounds(known: list[Account], hourly: list[Account]) -> dict[str, object]:
    ratios = _compared(known, hourly)
    return {"missed_bound": ratios["missed_ratio"], "delay_bound": ratios["delay_ratio"]}


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
