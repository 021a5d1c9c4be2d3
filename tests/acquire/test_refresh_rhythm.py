"""The fit of a rhythm against an obvious twin, minute by minute; what is known of a source beforehand."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from benchmarks._polls_replayed import FeedTrace, a_week_later, recorded, simulate
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.acquire.refresh.policies import Planned, best_minutes, expected
from feedweir.acquire.refresh.refresh_rules import RefreshRules
from feedweir.acquire.refresh.rhythm_kernels import SIZE, fit
from feedweir.acquire.refresh.source_history import SLOT_S, History, array, mean_rate_s
from feedweir.acquire.refresh.source_state import SourceState
from tests.acquire.stored_states import read_back

NOW = datetime(2024, 5, 6, tzinfo=UTC)
START = int(NOW.timestamp())
TABLES = (0, 24, 31, 91, 121)


def places_of(minute: int, changed: int) -> tuple[int, int, int, int]:
    """Where a minute is in the tables of hours, weekdays, minutes and ages."""
    moment = datetime.fromtimestamp(60 * minute, UTC)
    age = 29
    if changed >= 0:
        age = min(int(3 * math.log2(max((minute - changed) / 5 - 0.5, 1.0))), 29)
    return moment.hour, 24 + moment.weekday(), 31 + moment.minute, 91 + age


def naive_fit(
    times: list[int],
    events: list[float],
    peers: list[float],
    prior: list[float],
    rounds: int,
    steps: list[int],
) -> list[float]:
    """Factors of one source: every table in turn, every interval by its minutes."""
    factors = [1.0] * SIZE
    for table in list(range(4)) * rounds:
        changed = -1
        intervals: list[tuple[float, dict[int, float]]] = []
        for before, end, count in zip(times, times[1:], events[1:], strict=False):
            held: dict[int, float] = defaultdict(float)
            best, likeliest = -1.0, 0
            for minute in range(before // 60, end // 60 + 1):
                seconds = min(60 * minute + 60, end) - max(60 * minute, before)
                others = places_of(minute, changed)
                place = others[table]
                hour, day, stroke, age = (1.0 if p == place else factors[p] for p in others)
                rate = hour * day * stroke * age * seconds
                held[place] += rate
                if rate * factors[place] >= best:
                    best, likeliest = rate * factors[place], minute
            changed = likeliest if count else changed
            intervals.append((count, held))
        for _ in range(steps[table]):
            told = sum(rate * factors[place] for _, held in intervals for place, rate in held.items())
            level = (sum(events[1:]) + 0.5) / (told + 3_600.0)
            counts: dict[int, float] = defaultdict(float)
            foreseen: dict[int, float] = defaultdict(float)
            for count, held in intervals:
                total = sum(rate * factors[place] for place, rate in held.items())
                for place, rate in held.items():
                    counts[place] += count * rate * factors[place] / total
                    foreseen[place] += level * rate
            ended = max(
                (place + 1 for place, count in counts.items() if count > 0.0 and place < 120), default=91
            )
            for place in range(TABLES[table], TABLES[table + 1]):
                factors[place] = (counts[place] + prior[place] * peers[place]) / (
                    foreseen[place] + prior[place]
                )
                if table == 3 and place >= ended:
                    factors[place] = max(factors[place], 1.0)
    return factors


@settings(max_examples=40)
@given(
    st.integers(0, 7 * 86_400),
    st.lists(st.tuples(st.integers(2, 9_000), st.integers(0, 3)), min_size=1, max_size=6),
    st.integers(1, 2),
    st.lists(st.integers(1, 3), min_size=4, max_size=4),
    st.integers(0, 100),
)
def test_a_fit_is_what_sharing_out_minute_by_minute_leads_to(
    start: int, polls: list[tuple[int, int]], rounds: int, steps: list[int], seed: int
) -> None:
    times = [START + start + sum(gap for gap, _ in polls[:place]) for place in range(len(polls) + 1)]
    events = [0.0, *(float(count) for _, count in polls)]
    draw = np.random.default_rng(seed)
    peers, prior = draw.uniform(0.5, 2.0, SIZE), draw.uniform(0.1, 5.0, SIZE)
    factors = np.ones(SIZE)
    borders, weights = np.array([0, len(times)]), np.ones(len(times))
    arrays = np.array(times), np.array(events), weights, borders
    fit(*arrays, factors, prior, peers, rounds, 3_600.0, np.array(steps))
    twin = naive_fit(times, events, list(peers), list(prior), rounds, steps)
    np.testing.assert_allclose(factors, twin, rtol=1e-9)


@given(
    st.integers(0, 30 * 86_400),
    st.integers(1, 200),
    st.floats(1e-6, 1e-2),
    st.one_of(st.just(-1.0), st.floats(0, 3 * 86_400)),
    st.integers(0, 100),
)
def test_what_is_foreseen_of_a_minute_is_the_rate_times_its_factors_and_an_even_part(
    start: int, slots: int, rate_s: float, age_s: float, seed: int
) -> None:
    factors = np.random.default_rng(seed).uniform(0.1, 3.0, SIZE).astype(np.float32)
    changed_at = START + start - age_s if age_s >= 0 else -1.0
    history = History(
        factors=factors.tobytes(), rate_s=rate_s, changed_at=changed_at, items=70.0, watched_s=86_400.0
    )
    next_items, items = expected(history, START + start, slots)
    hours, days, minutes, ages = (factors[a:b].astype(float) for a, b in itertools.pairwise(TABLES))
    for slot in range(slots):
        moment = datetime.fromtimestamp((START + start) // SLOT_S * SLOT_S + SLOT_S * slot, UTC)
        minute = minutes[moment.minute]
        rhythm = rate_s * hours[moment.hour] * days[moment.weekday()] * minute
        even = mean_rate_s(history) * (0.9 * minute / minutes.mean() + 0.1)
        whole = 0.4 * rhythm + 0.6 * even
        octave = 3.0 * np.log2(np.clip((moment.timestamp() - changed_at) / 300, 1.0, 4_096.0))
        next_rate = 0.4 * whole * ages[min(int(octave), 29)] + 0.6 * even if age_s >= 0 else whole
        assert items[slot] == pytest.approx(SLOT_S * whole)
        assert next_items[slot] == pytest.approx(SLOT_S * next_rate)


def test_polls_come_after_the_last_of_the_busy_minutes_and_one_in_five_elsewhere() -> None:
    factors = np.ones(SIZE, dtype=np.float32)
    factors[31 + 12] = 30.0
    moments = np.flatnonzero(best_minutes(History(factors=factors.tobytes())))
    assert list(moments) == [4, 9, 12, 19, 24, 29, 34, 39, 44, 49, 54, 59]


def a_striking_feed(days: int = 7) -> FeedTrace:
    """One that shows five items more at 29:30 of every other hour."""
    moments = [START + 1_770.0 + 7_200 * n for n in range(12 * days)]
    shown = [tuple(str(5 * n - k) for k in range(20)) for n in range(len(moments))]
    return FeedTrace(tuple(moments), tuple(shown))


def test_who_has_watched_a_week_without_a_gap_knows_the_minute_and_the_rate() -> None:
    changes = {START + 1_770.0 + 7_200 * n: 5 for n in range(84)}
    history = recorded(changes, START, 20.0)
    items, _ = expected(history, START + 7 * 86_400.0, 1_440)
    assert int(items[:120].argmax()) == 29
    assert history.burst == 5.0
    poll = Planned(price=20_000.0).next_poll(
        history, NOW + timedelta(days=7), NOW + timedelta(days=7, minutes=15), NOW + timedelta(days=8)
    )
    assert poll == NOW + timedelta(days=7, minutes=30)


def test_who_knows_beforehand_finds_at_once_what_learning_finds_late() -> None:
    trace = {"f": a_striking_feed()}
    rules = RefreshRules(policy=Planned(price=20_000.0), jitter=0.0)
    learning = simulate(trace, rules)
    knowing = simulate(trace, rules, known=a_week_later(trace))
    assert knowing.missed == learning.missed == 0
    assert knowing.delay_s < 120.0 < 600.0 < learning.delay_s


def test_tables_of_another_grain_are_forgotten_and_the_polls_kept() -> None:
    history = recorded({START + 100.0: 3}, START, 20.0)
    new = SourceState(source="f", url="u", next_at=NOW, history=history)
    old = SourceState(
        source="f", url="u", next_at=NOW, history=History(times=history.times, factors=b"\0\0\0\0" * 73)
    )
    assert read_back(new).history == history
    read = read_back(old).history
    assert read.times == history.times
    assert (array(read.factors) == 1.0).all()
