"""Refresh policies on a trace of what feeds showed: loss and delay against an hourly poll with as many requests.

A trace says what each feed showed at certain moments; between them it is taken to have shown the same. Without
`--trace` one is generated for each seed (`_worlds`: publishers whose rates are as uneven as measured). Every policy
starts without any knowledge, and what it learns counts. `delay_bound` and `missed_bound` are what the same planning
reaches that has watched a week before without a gap, and that week was just the same; `least_delay_ratio` is what
nobody can fall below on a generated trace, by its rates. `collections_…` is another generated world, of feeds that are
like the recorded ones. An hourly poll misses one item in five hundred there, when two changes are half an hour apart.

Means are over the `seeds`, which draw the generated worlds and move the moments of the first polls; `…_worst` is the
worst of them. Seeds below 70 were seen while the policy was developed; `--first-seed 100` runs others.
"""

from __future__ import annotations

import argparse
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from statistics import fmean

import pyarrow.parquet as pq

from benchmarks import _worlds
from benchmarks._polls_replayed import Account, FeedTrace, Trace, a_week_later, simulate, steering
from feedweir.acquire.refresh.policies import Fixed, Planned, RateProportional
from feedweir.acquire.refresh.refresh_rules import RefreshRules
from feedweir.acquire.refresh.source_history import History

_DAYS = 7
_COLLECTIONS = 40
"""Feeds of the other world."""
_STEPS = 5
"""Of each search over budgets: a halving each."""

Play = Callable[[Trace, str], Account]
"""A policy on a trace, for a seed."""
Played = Callable[[Play, Sequence["Run"]], list[Account]]


@dataclass(frozen=True, slots=True)
class Run:
    trace: Trace
    seed: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--trace", default="", help="a Parquet file with poll_time, feed, item_ids")
    parser.add_argument("--feeds", type=int, default=200, help="feeds of a generated trace")
    parser.add_argument(
        "--seeds", type=int, default=5, help="runs that differ in the moments of the first polls"
    )
    parser.add_argument("--first-seed", type=int, default=0, help="the seed of the first run")
    parser.add_argument("--workers", type=int, default=2, help="runs at a time")


def run(options: argparse.Namespace) -> dict[str, object]:
    last = options.first_seed + options.seeds * (3 if options.full else 1)
    seeds = range(options.first_seed, last)
    recorded = read_trace(options.trace) if options.trace else None
    runs = [Run(recorded or _publishers(options.feeds, seed), str(seed)) for seed in seeds]
    few = runs if options.full else runs[:1]
    with ProcessPoolExecutor(max_workers=options.workers) as pool:

        def played(play: Play, runs: Sequence[Run]) -> list[Account]:
            return list(pool.map(play, [one.trace for one in runs], [one.seed for one in runs]))

        hourly, planned = played(_hourly, runs), played(partial(_planned, 1.0), runs)
        known, proportional = played(_knowing, few), played(_proportional, few)
        return {
            **_compared(planned, hourly),
            **_spread(planned, hourly),
            **_bounds(known, hourly[: len(few)]),
            "requests_ratio": requests_ratio(few, hourly[: len(few)], played),
            "feeds": len(runs[0].trace),
            "items": round(fmean(account.items for account in hourly), 1),
            "seeds": f"{seeds[0]} to {seeds[-1]}",
            **_figures("hourly", hourly),
            **_figures("planned", planned),
            **_figures("proportional", proportional),
            **(_evenly(few, played) if recorded else _least(options.feeds, seeds)),
            **_collections(seeds, played),
        }


def _publishers(feeds: int, seed: int) -> Trace:
    return _worlds.published(_worlds.some_publishers(feeds, seed), _DAYS, seed)


def _least(feeds: int, seeds: Sequence[int]) -> dict[str, object]:
    floor_s = RefreshRules().floor_s
    ratios = [
        _worlds.least_delay_ratio(_worlds.some_publishers(feeds, seed), _DAYS, floor_s) for seed in seeds
    ]
    return {"least_delay_ratio": round(fmean(ratios), 3)}


def _collections(seeds: Sequence[int], played: Played) -> dict[str, object]:
    runs = [Run(_worlds.collections(_COLLECTIONS, _DAYS, seed), str(seed)) for seed in seeds]
    return _compared(played(partial(_planned, 1.0), runs), played(_hourly, runs), "collections_")


def _evenly(runs: Sequence[Run], played: Played) -> dict[str, object]:
    """The same trace without its clockwork."""
    smooth = [replace(one, trace=spread_out(one.trace)) for one in runs]
    return _compared(played(partial(_planned, 1.0), smooth), played(_hourly, smooth), "spread_out_")


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


def _planned(fraction: float, trace: Trace, seed: str, known: Mapping[str, History] | None = None) -> Account:
    """The planning policy, held to a fraction of the requests of an hourly poll: as a rate, and altogether."""
    requests_s, most = fraction * len(trace) / 3_600, fraction * _hourly(trace, seed).requests
    rules, steer = RefreshRules(policy=Planned()), steering(requests_s)
    return simulate(trace, rules, requests_s=requests_s, most=most, steer=steer, seed=seed, known=known)


def _knowing(trace: Trace, seed: str) -> Account:
    """The planning policy that has watched a week before, which was just the same."""
    return _planned(1.0, trace, seed, a_week_later(trace))


def _proportional(trace: Trace, seed: str) -> Account:
    """Polls in proportion to rates, with about as many requests as an hourly poll makes."""
    hourly = _hourly(trace, seed)
    items_per_poll = hourly.items / hourly.requests
    first = _at_rates(trace, items_per_poll, seed)
    return _at_rates(trace, items_per_poll * first.requests / hourly.requests, seed)


def _at_rates(trace: Trace, items_per_poll: float, seed: str) -> Account:
    rules = RefreshRules(policy=RateProportional(items_per_poll=items_per_poll))
    return simulate(trace, rules, requests_s=1.1 * len(trace) / 3_600, seed=seed)


def requests_ratio(runs: Sequence[Run], hourly: list[Account], played: Played) -> float:
    """The smallest part of an hourly poll's requests with which no more is missed than by it, by halving.

    More than 1 when as many are not enough; infinite when twice as many are not.
    """

    def planned(fraction: float) -> list[Account]:
        return played(partial(_planned, fraction), runs)

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
