"""Policies: the plan against every possible plan, the rhythm against publishers whose rhythm is known, the replay."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from benchmarks._polls_replayed import FeedTrace, simulate, steering
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.acquire.refresh.planning_kernels import first_of_cheapest, moments_up_to
from feedweir.acquire.refresh.policies import Fixed, Planned, Policy, RateProportional, expected
from feedweir.acquire.refresh.refresh_rules import RefreshRules
from feedweir.acquire.refresh.request_budget import Budget, Spending, Steering, price_for
from feedweir.acquire.refresh.source_history import (
    MAX_POLLS,
    SLOT_S,
    History,
    array,
    counted,
    fitted,
    mean_rate_s,
    poll_before,
    polled,
    rhythm_of,
)

NOW = datetime(2024, 5, 6, tzinfo=UTC)
HOUR_S = 3_600.0


FLAT = History().factors
LOSS_S, SHELF_S = 10_000.0, 4_000.0


def naive_cost(
    plan: tuple[int, ...], edges: list[float], next_items: list[float], items: list[float], price: float
) -> float:
    """A plan's price, delay and loss, slot by slot; the first poll goes by what is expected next."""
    total = 0.0
    start = 0
    for stop in plan:
        known = next_items if start == 0 else items
        total += price
        for slot in range(start, stop):
            wait_s = edges[stop] - (edges[slot] + edges[slot + 1]) / 2
            total += known[slot] * (wait_s + LOSS_S * (wait_s / SHELF_S) ** 2)
        start = stop
    return total


@settings(max_examples=60)
@given(
    st.lists(st.integers(0, 8), min_size=2, max_size=8),
    st.lists(st.integers(0, 8), min_size=8, max_size=8),
    st.integers(1, 40_000),
    st.integers(1, 2),
    st.integers(1, 3),
)
def test_the_first_poll_is_that_of_the_cheapest_of_all_plans(
    items: list[int], following: list[int], price: int, gap_slots: int, first: int
) -> None:
    size = len(items)
    edges = [float(SLOT_S * place) for place in range(size + 1)]
    later = [float(value) for value in following[:size]]
    now = [float(value) for value in items]
    first = min(first, size)
    arrays = np.array(edges), summed(edges, now), summed(edges, later)
    gap_s = float(SLOT_S * gap_slots)
    chosen = first_of_cheapest(*arrays, first, size, gap_s, float(price), LOSS_S, SHELF_S, 0.0, 1.0)
    costs: dict[int, float] = {}
    for length in range(size):
        for inner in itertools.combinations(range(first, size), length):
            plan = (*inner, size)
            # The closing poll the end of the horizon is free of the gap.
            if any(b - a < gap_slots for a, b in itertools.pairwise(plan[:-1])):
                continue
            cost = naive_cost(plan, edges, now, later, float(price))
            costs[plan[0]] = min(cost, costs.get(plan[0], math.inf))
    assert costs[chosen] == pytest.approx(min(costs.values()))


def summed(edges: list[float], items: list[float]) -> np.ndarray:
    """Items up to each edge, their moments and the squares of these; items come in the middle between two edges."""
    middles = [(a + b) / 2 for a, b in itertools.pairwise(edges)]
    rows = [
        [count * middle**power for count, middle in zip(items, middles, strict=True)] for power in range(3)
    ]
    return np.array([[0.0, *itertools.accumulate(row)] for row in rows])


@given(st.lists(st.integers(0, 9), min_size=1, max_size=30), st.data())
def test_sums_up_to_some_minutes_are_those_of_all_minutes_before(
    items: list[int], data: st.DataObject
) -> None:
    stops = sorted(data.draw(st.sets(st.integers(0, len(items) - 1))))
    edges = [float(SLOT_S * place) for place in range(len(items) + 1)]
    counts = [float(count) for count in items]
    sums = moments_up_to(np.array(counts), np.array(edges[1:]), np.array(stops, dtype=np.intp))
    np.testing.assert_allclose(sums, summed(edges, counts)[:, [0, *(stop + 1 for stop in stops)]])


def test_a_document_about_to_overflow_is_polled_at_before() -> None:
    edges = 300 * np.arange(49.0)
    items = summed(list(edges), [1.0] * 48)
    polls = [
        first_of_cheapest(edges, items, items, 1, 48, 300.0, 1e6, 1e6, 1e9, shown, 1.0)
        for shown in (0.0, 30.0, 12.0)
    ]
    assert polls[0] == 48
    assert polls[2] < 12 <= polls[1] < 30


def watched(publish_s: list[float], polls_s: list[float], shown: int = 50) -> History:
    """What is known of a publisher after polls these moments."""
    history = History()
    before = -1.0
    for moment in polls_s:
        at = NOW + timedelta(seconds=moment)
        new = sum(before < published <= moment for published in publish_s)
        history = polled(history, at, is_changed=new > 0)
        history = counted(history, at, new, shown) if new else history
        before = moment
    return history


def test_a_rate_is_found_and_an_unknown_source_is_taken_for_a_quiet_one() -> None:
    assert mean_rate_s(History()) == pytest.approx(4 / 86_400)
    busy = watched([600.0 * n for n in range(300)], [HOUR_S * n for n in range(40)])
    assert mean_rate_s(busy) == pytest.approx(1 / 600, rel=0.2)


def test_a_rate_is_remembered_longer_than_the_polls_it_was_seen_by() -> None:
    """Dates of items fill the polls of a busy source within hours."""
    history = polled(History(), NOW, is_changed=True)
    for poll in range(1, 200):
        at = NOW + timedelta(seconds=900 * poll)
        published = [at - timedelta(seconds=850 - 100 * place) for place in range(9)]
        history = polled(history, at, is_changed=True)
        history = counted(history, at, 9, 20, published=published)
    assert mean_rate_s(history) == pytest.approx(1 / 100, rel=0.15)


@pytest.mark.parametrize("ages_days", [(40, 50, 60), (3, 90), (200,)])
def test_old_dates_in_a_first_document_tell_a_quiet_source(ages_days: tuple[int, ...]) -> None:
    published = [NOW - timedelta(days=days) for days in ages_days]
    first = polled(History(), NOW, is_changed=True)
    known = counted(first, NOW, len(published), len(published), published=published)
    recent = sum(days < 28 for days in ages_days)
    assert mean_rate_s(known) == pytest.approx(recent / (28 * 86_400), abs=0.5 / 86_400 / 7)
    assert mean_rate_s(known) < mean_rate_s(first) / 10


def test_who_publishes_all_the_time_is_polled_at_as_soon_as_allowed() -> None:
    history = replace(
        watched([61.0 * n for n in range(3_000)], [907.0 * n for n in range(200)]), factors=FLAT
    )
    for seconds in range(0, 3_600, 217):
        now = NOW + timedelta(seconds=907 * 199 + seconds)
        earliest = now + timedelta(seconds=900)
        poll = Planned(price=10.0).next_poll(history, now, earliest, now + timedelta(days=1))
        assert poll - earliest < timedelta(seconds=60)


def test_a_poll_does_not_come_right_before_the_strike_because_it_is_allowed_then() -> None:
    minutes = np.ones(60, dtype=np.float32)
    minutes[29] = 30.0
    factors = np.concatenate((np.ones(31), minutes, np.ones(30))).astype(np.float32).tobytes()
    history = replace(
        watched([61.0 * n for n in range(3_000)], [907.0 * n for n in range(200)]), factors=factors
    )
    now = NOW + timedelta(days=3, minutes=12)
    poll = Planned(price=10.0).next_poll(history, now, now + timedelta(seconds=900), now + timedelta(days=1))
    assert poll == NOW + timedelta(days=3, minutes=30)


def test_the_minutes_at_which_a_publisher_strikes_are_found_from_polls_at_other_minutes() -> None:
    publish = [HOUR_S * n + 1_790 for n in range(200)]
    polls = [2_900.0 * n for n in range(220)]
    history = watched(publish, polls)
    start = (NOW + timedelta(seconds=polls[-1])).timestamp()
    _, items = expected(history, start, 1_440)
    by_minute = np.zeros(60)
    np.add.at(by_minute, (int(start // SLOT_S) + np.arange(1_440)) % 60, items)
    # The strike is ten seconds before the end of the thirtieth minute: polls can hardly tell it from its neighbours.
    assert by_minute[25:35].sum() > 0.4 * by_minute.sum()
    assert int(by_minute.argmax()) in range(27, 33)


def test_the_hours_at_which_a_publisher_is_awake_are_found() -> None:
    publish = [86_400 * day + HOUR_S * (8 + hour) + 60 * day for day in range(10) for hour in range(8)]
    history = watched(publish, [HOUR_S * 1.3 * n for n in range(180)])
    evening = NOW.timestamp() + 9 * 86_400 + 18 * HOUR_S
    items, _ = expected(history, evening, 1_440)
    assert items[14 * 60 : 22 * 60].mean() > 1.7 * items[: 14 * 60].mean()


def test_a_history_keeps_the_last_changes_only_and_a_silence_in_one_place() -> None:
    silent = watched([], [60.0 * n for n in range(2 * MAX_POLLS)])
    assert len(silent.times) == 4 * 2
    busy = watched([60.0 * n for n in range(2 * MAX_POLLS)], [60.0 * n for n in range(2 * MAX_POLLS)])
    assert len(busy.times) == 4 * MAX_POLLS
    assert len(busy.counts) == 2 * MAX_POLLS


def test_what_few_polls_at_one_source_cannot_tell_all_tell_together() -> None:
    publish = [HOUR_S * n + 1_790 for n in range(48)]
    histories = [
        watched(publish, [300.0 * k + 100 + 2_900 * n for n in range(40)], shown=50) for k in range(12)
    ]
    peers = rhythm_of(histories)
    brief = watched(publish, [100.0 + HOUR_S * n for n in range(6)])
    start = (NOW + timedelta(hours=6)).timestamp()
    alone, helped = (expected(fitted(brief, known), start, 60)[1] for known in (b"", peers))
    assert helped[25:35].sum() > 1.4 * alone[25:35].sum()


def test_published_times_sharpen_at_once() -> None:
    history = polled(polled(History(), NOW, is_changed=True), NOW + timedelta(hours=10), is_changed=True)
    times = [NOW + timedelta(hours=hour, minutes=31) for hour in range(10)]
    dated = counted(history, NOW + timedelta(hours=10), 10, 50, published=times)
    _, items = expected(dated, NOW.timestamp() + 36_000, 60)
    assert int(items.argmax()) == 31


def test_a_planned_poll_comes_right_after_the_strike() -> None:
    publish = [2 * HOUR_S * n + 1_790 + k for n in range(80) for k in range(10)]
    polls = [2_900.0 * n for n in range(190)]
    history = watched(publish, polls)
    now = NOW + timedelta(seconds=polls[-1])
    poll = Planned(price=20_000.0).next_poll(
        history, now, now + timedelta(seconds=900), now + timedelta(hours=24)
    )
    next_strike = next(moment for moment in publish if moment > polls[-1])
    assert 0 <= (poll - NOW).total_seconds() - next_strike <= 300


@pytest.mark.parametrize(
    "policy", [Fixed(), RateProportional(), Planned()], ids=lambda policy: type(policy).__name__
)
@given(st.integers(0, 10_000), st.integers(0, 50_000), st.integers(0, 100_000), st.integers(0, 10))
def test_a_policy_keeps_within_what_it_is_allowed(
    policy: Policy, polls: int, soonest: int, longer: int, items: int
) -> None:
    history = watched([100.0 * n for n in range(items)], [60.0 * n for n in range(polls % 5)])
    now = NOW + timedelta(seconds=polls)
    earliest = now + timedelta(seconds=soonest)
    latest = earliest + timedelta(seconds=longer)
    assert earliest <= policy.next_poll(history, now, earliest, latest) <= latest


def a_trace(feeds: int = 8) -> dict[str, FeedTrace]:
    """Feeds that publish three items at a fixed minute of every third hour by day, or hardly anything."""
    trace = {}
    for number in range(feeds):
        every_s = 3 * HOUR_S if number % 2 else 24 * HOUR_S
        moments = [NOW.timestamp() + every_s * n + 60 * number for n in range(int(8 * 86_400 / every_s))]
        shown = [tuple(f"{n * 3 - k}" for k in range(12)) for n in range(len(moments))]
        trace[f"feed{number}"] = FeedTrace(tuple(moments), tuple(shown))
    return trace


def test_a_replay_counts_what_an_obvious_poll_would_see() -> None:
    feed = FeedTrace(
        (0.0, 100.0, 5_000.0, 5_100.0, 20_000.0), (("a",), ("b", "a"), ("c",), ("d",), ("d", "e"))
    )
    rules = RefreshRules(policy=Fixed(interval_s=10_000), jitter=0.0)
    account = simulate({"f": feed}, rules, seed="x")
    assert account.items == 4
    assert account.missed == 1, "c was shown between two polls only"
    assert account.requests in (2, 3)


def test_a_replay_makes_no_more_requests_than_it_may() -> None:
    rules = RefreshRules(policy=Fixed(), jitter=0.0)
    assert simulate(a_trace(), rules, most=100).requests == 100


def test_the_planning_policy_beats_an_hourly_poll_with_the_same_requests() -> None:
    trace = a_trace()
    hourly = simulate(trace, RefreshRules(policy=Fixed(), jitter=0.0))
    requests_s = len(trace) / HOUR_S
    planned = simulate(
        trace, RefreshRules(policy=Planned()), requests_s=requests_s, steer=steering(requests_s)
    )
    assert planned.requests <= hourly.requests * 1.01
    assert planned.missed <= hourly.missed
    assert planned.settled_delay_s < 0.5 * hourly.settled_delay_s


def test_a_source_that_has_not_changed_yet_is_taken_to_be_like_its_peers_and_the_quieter_the_longer() -> None:
    publish = [HOUR_S * n + 1_790 for n in range(200)]
    peers = rhythm_of([watched(publish, [2_900.0 * n for n in range(220)])])
    alone = silent = polled(History(), NOW, is_changed=True)
    rates = []
    for hour in range(1, 30):
        silent = polled(silent, NOW + timedelta(hours=hour), is_changed=False, peers=peers)
        rates.append(silent.rate_s)
    assert silent.factors != alone.factors
    assert all(later < earlier for earlier, later in itertools.pairwise(rates))
    assert rates[0] > 5 * rates[-1]


def test_what_sources_share_is_sharpened_by_beginning_with_what_was_found_before() -> None:
    """Sources that strike together, each always asked at the same minute of another hour."""
    publish = [2 * HOUR_S * n + 1_750 for n in range(60)]
    histories = [watched(publish, [3_500.0 * n + 211 * one for n in range(100)]) for one in range(6)]
    once = rhythm_of(histories)
    often = once
    for _ in range(10):
        often = rhythm_of(histories, often)
    minutes = [array(found)[31:91] for found in (once, often)]
    shares = [found[25:30].sum() / found.sum() for found in minutes]
    assert shares[1] > shares[0] > 1 / 12


def test_dates_in_the_first_document_tell_a_busy_source_from_a_quiet_one_at_once() -> None:
    start = NOW.timestamp()

    def shown(spacing_s: float) -> FeedTrace:
        items = tuple(str(n) for n in range(20))
        draw = random.Random(1)
        ages_s = itertools.accumulate(draw.expovariate(1 / spacing_s) for _ in items)
        dates = dict(zip(items, (start - age_s for age_s in ages_s), strict=True))
        return FeedTrace((start, start + 6 * HOUR_S), (items, items), dates)

    rules = RefreshRules(policy=Planned(price=2_000.0))
    busy, quiet = (simulate({"f": shown(spacing_s)}, rules) for spacing_s in (600, 40_000))
    assert busy.requests > 2 * quiet.requests


def test_the_poll_before_one_is_known_by_its_time() -> None:
    history = watched([5_000.0], [0.0, 3_600.0, 7_200.0])
    assert poll_before(history, NOW + timedelta(seconds=7_200)) == NOW + timedelta(seconds=3_600)
    assert poll_before(history, NOW) is None
    assert poll_before(history, NOW + timedelta(seconds=17)) is None


def test_a_policy_cannot_see_the_future_of_a_trace() -> None:
    """Two traces that agree up to a moment lead to the same looks up to that moment."""
    trace = a_trace(4)
    cut = NOW.timestamp() + 3 * 86_400
    other = {
        name: replace(
            feed,
            shown=tuple(s if m < cut else (f"x{m}",) for m, s in zip(feed.moments, feed.shown, strict=True)),
        )
        for name, feed in trace.items()
    }
    polls: list[list[tuple[str, float]]] = []
    for played in (trace, other):
        seen: list[tuple[str, float]] = []

        class Noted(Planned):
            def next_poll(
                self, history: History, now: datetime, earliest: datetime, latest: datetime
            ) -> datetime:
                if now.timestamp() < cut:
                    seen.append((str(now), history.rate_s))  # noqa: B023
                return Planned.next_poll(self, history, now, earliest, latest)

        simulate(played, RefreshRules(policy=Noted()))
        polls.append(seen)
    assert polls[0] == polls[1]
    assert len(polls[0]) > 20


def test_a_budget_is_a_bucket_and_a_day() -> None:
    budget = Budget(per_second=2, per_day=15, burst_s=5)
    allowance, spending = budget.allowance(Spending(), NOW)
    assert allowance == 10
    spending = spending.spent(10)
    assert budget.allowance(spending, NOW)[0] == 0
    allowance, spending = budget.allowance(spending, NOW + timedelta(seconds=2))
    assert allowance == 4
    spending = spending.spent(4)
    assert budget.allowance(spending, NOW + timedelta(hours=1))[0] == 1
    assert budget.allowance(spending, NOW + timedelta(days=1))[0] == 10


def test_the_price_meets_the_budget_for_even_sources() -> None:
    rates_s = [1e-3, 1e-4, 5e-4]
    price = price_for(rates_s, 0.01)
    assert sum(1 / math.sqrt(2 * price / rate) for rate in rates_s) == pytest.approx(0.01)


def test_the_price_rises_when_too_much_is_spent_and_falls_when_too_little() -> None:
    _, even = Steering().steered([1e-3], 98, 0, 100.0, requests_s=1.0)
    _, high = Steering().steered([1e-3], 98, 100, 100.0, requests_s=1.0)
    _, low = Steering().steered([1e-3], 50, 0, 100.0, requests_s=1.0)
    assert low < even < high


def test_a_year_of_plenty_does_not_keep_the_price_down_when_the_budget_binds() -> None:
    steering = Steering()
    for _ in range(1_000):
        steering, price = steering.steered([1e-4], 1, 0, 1_800.0, requests_s=1.0, least=750.0)
    assert price == 750.0
    busy = [1e-2] * 5_000
    for _ in range(48 * 7):
        # What such sources ask for at a price, all of it waiting for its turn.
        wanted = int(1_800 * sum(1 / math.sqrt(2 * price / rate) for rate in busy[:1]) * len(busy))
        made = min(wanted, 1_800)
        steering, price = steering.steered(busy, made, wanted - made, 1_800.0, requests_s=1.0)
    assert price == pytest.approx(price_for(busy, 1.0), rel=0.2)
