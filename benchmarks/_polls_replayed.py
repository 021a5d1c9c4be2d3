"""Replay of a trace: what a policy would have seen, missed and seen late, had it been in charge.

The policy meets the trace only through polls, by the very functions that run in production; what a feed will show
later is out of its reach.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from statistics import median

import numpy as np

from feedweir.acquire.fetch.transport import Changed, FetchResult, Unchanged, Validators
from feedweir.acquire.refresh.policies import Planned
from feedweir.acquire.refresh.refresh_rules import RefreshRules, fraction, learned, next_check
from feedweir.acquire.refresh.request_budget import Steering
from feedweir.acquire.refresh.source_history import History, fitted, kept, mean_rate_s, rhythm_of
from feedweir.acquire.refresh.source_state import SourceState
from feedweir.logs.landing import Landed


@dataclass(frozen=True, slots=True)
class FeedTrace:
    """What one feed showed: from each moment until the next, these items, with their dates as far as they tell them."""

    moments: tuple[float, ...]
    shown: tuple[tuple[str, ...], ...]
    published: Mapping[str, float] = field(default_factory=dict)

    def at(self, moment: float) -> int:
        """Which of its documents the feed shows at a moment."""
        return max(bisect_right(self.moments, moment) - 1, 0)


Trace = Mapping[str, FeedTrace]


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """How a policy fared on a trace."""

    requests: int
    items: int
    """That appeared after the first document of their feed."""
    missed: int
    delay_s: float
    """Mean time from an item's appearance to the poll that saw it, over those seen."""
    settled_missed: int
    settled_delay_s: float
    """The same for items that appeared after `settle_s`, when a policy that learns has learnt."""
    unchanged: int
    """Polls that found nothing new."""


@dataclass(slots=True)
class _Watch:
    """One feed under watch: what a poll it finds, and what was found so far."""

    trace: FeedTrace
    appeared: dict[str, float]
    state: SourceState
    document: int = -1
    seen: set[str] = field(default_factory=set)
    unchanged: int = 0
    delays_s: dict[str, float] = field(default_factory=dict)

    def poll(self, moment: float, rules: RefreshRules) -> None:
        now = datetime.fromtimestamp(moment, UTC)
        document = self.trace.at(moment)
        items = self.trace.shown[document]
        new = [item for item in items if item not in self.seen]
        self._note(new, moment)
        if document == self.document:
            self.unchanged += 1
            outcome: Changed | Unchanged = Unchanged(validators=Validators())
            result = FetchResult(source=self.state.source, at=now, outcome=outcome)
            self.state = next_check(self.state, result, now, rules)
            return
        landed = Landed(source=self.state.source, arrived=now, body=b"")
        outcome = Changed(document=landed, validators=Validators())
        result = FetchResult(source=self.state.source, at=now, outcome=outcome)
        state = next_check(self.state, result, now, rules)
        told = items if self.document < 0 else new
        dates = sorted(self.trace.published[item] for item in told if item in self.trace.published)
        published = [datetime.fromtimestamp(date, UTC) for date in dates]
        self.state = learned(state, now, len(new), len(items), now, rules, published=published)
        self.document = document

    def _note(self, new: Sequence[str], moment: float) -> None:
        self.seen.update(new)
        self.delays_s |= {item: moment - self.appeared[item] for item in new if item in self.appeared}


Steer = Callable[[RefreshRules, Sequence[SourceState], int, int, float], RefreshRules]
"""(rules, states, requests so far, polls that wait, seconds so far) → rules: how a budget is kept to."""


def simulate(
    trace: Trace,
    rules: RefreshRules,
    *,
    requests_s: float = math.inf,
    most: float = math.inf,
    burst_s: float = 6 * 3_600.0,
    saved_s: float = 2 * 3_600.0,
    steer: Steer | None = None,
    steer_every_s: float = 1_800.0,
    settle_s: float = 2 * 86_400.0,
    seed: str = "",
    known: Mapping[str, History] | None = None,
) -> Account:
    """Play a trace from its first moment to its last, with a closing poll every feed that costs nothing.

    Never more than `requests_s` requests a second in the long run, with what is unused in `burst_s` saved up (at the
    start that of `saved_s`): sources that share a clock are all polled when it strikes; beyond that polls wait. And
    never more than `most` altogether.
    `seed` moves the moments of the first polls. `known` is what is known of feeds beforehand.
    """
    start = min(feed.moments[0] for feed in trace.values())
    end = max(feed.moments[-1] for feed in trace.values())
    watches = [_watch(name, trace[name], start, seed, (known or {}).get(name)) for name in sorted(trace)]
    queue = [(watch.state.next_at.timestamp(), place) for place, watch in enumerate(watches)]
    heapq.heapify(queue)
    steered = start
    turn = start - saved_s
    requests = 0
    while queue:
        due, place = heapq.heappop(queue)
        turn = max(turn, due - burst_s) + 1 / requests_s
        moment = max(due, turn)
        if moment > end or requests >= most:
            break
        while steer and moment >= steered + steer_every_s:
            steered += steer_every_s
            waiting = sum(due < steered for due, _ in queue)
            states = [watch.state for watch in watches]
            rules = steer(rules, states, requests, waiting, steered - start)
        requests += 1
        watches[place].poll(moment, rules)
        heapq.heappush(queue, (watches[place].state.next_at.timestamp(), place))
    for watch in watches:
        watch.poll(end, rules)
    return _account(watches, requests, start + settle_s)


def steering(requests_s: float, every_s: float = 1_800.0) -> Steer:
    """Steers a `Planned` policy to a budget, and shares the rhythm of all sources among them."""
    current = Steering()
    before = 0

    def steer(
        rules: RefreshRules, states: Sequence[SourceState], requests: int, waiting: int, _at_s: float
    ) -> RefreshRules:
        nonlocal current, before
        histories = [state.history for state in states]
        rates_s = [mean_rate_s(history) for history in histories]
        current, price = current.steered(rates_s, requests - before, waiting, every_s, requests_s=requests_s)
        before = requests
        return replace(rules, policy=Planned(price=price), peers=rhythm_of(histories, rules.peers))

    return steer


def a_week_later(trace: Trace, back_s: float = 7 * 86_400.0) -> dict[str, History]:
    """What somebody would know of the feeds who had watched them without a gap, in a week that was just like this.

    An optimist's bound for what can be learnt of a trace: no policy has it, and with it none has to learn.
    """
    return {name: _known(feed, back_s) for name, feed in trace.items()}


def _known(feed: FeedTrace, back_s: float) -> History:
    changes = Counter(moment - back_s for moment in _appearances(feed).values())
    return recorded(changes, feed.moments[0] - back_s, float(median(map(len, feed.shown))))


def _watch(name: str, feed: FeedTrace, start: float, seed: str, known: History | None) -> _Watch:
    first = datetime.fromtimestamp(start, UTC) + timedelta(seconds=3_600 * fraction(seed + name))
    state = SourceState(source=name, url=name, next_at=first, history=known or History())
    watch = _Watch(feed, _appearances(feed), state)
    watch.seen.update(feed.shown[0])
    return watch


def _appearances(feed: FeedTrace) -> dict[str, float]:
    """When each item appeared first; those of the first document were there before anybody polled."""
    appeared: dict[str, float] = {}
    known = set(feed.shown[0])
    for moment, items in zip(feed.moments, feed.shown, strict=True):
        for item in items:
            if item not in known:
                appeared.setdefault(item, moment)
    return appeared


def _account(watches: Sequence[_Watch], requests: int, settled: float) -> Account:
    items, missed, delay_s = _tally(watches, 0.0)
    _, settled_missed, settled_delay_s = _tally(watches, settled)
    return Account(
        requests=requests,
        items=items,
        missed=missed,
        delay_s=delay_s,
        settled_missed=settled_missed,
        settled_delay_s=settled_delay_s,
        unchanged=sum(watch.unchanged for watch in watches),
    )


def _tally(watches: Sequence[_Watch], since: float) -> tuple[int, int, float]:
    """How many items appeared since then, how many of them were missed, and the mean delay of the others."""
    counted = [(w, item) for w in watches for item, moment in w.appeared.items() if moment >= since]
    delays_s = [watch.delays_s[item] for watch, item in counted if item in watch.delays_s]
    return len(counted), len(counted) - len(delays_s), sum(delays_s) / max(len(delays_s), 1)


def recorded(changes: Mapping[float, int], since: float, shown: float) -> History:
    """The history of a source of which every change is known, with the number of its items; none before `since`."""
    moments = np.array(sorted(changes), dtype=np.int64)
    found = np.array([changes[moment] for moment in sorted(changes)], dtype=np.int64)
    polls, first = np.unique(np.stack((moments + 1, moments), axis=1).ravel(), return_index=True)
    counts = np.stack((found, np.zeros_like(found)), axis=1).ravel()[first]
    times, counts = np.append(int(since) - 1, polls), np.append(0, counts)
    history = History(shown=shown, items=float(found.sum()), watched_s=float(times[-1] - times[0]))
    return fitted(kept(history, times, counts))
