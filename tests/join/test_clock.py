"""The clock that joins forget by is what the obvious meaning says, however the stream is cut, and no jump moves it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from feedweir.join.clock import LONG_AGO, Clock, clocks_of, highest
from tests import naive

START = datetime(2026, 6, 1, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)

Arrival: TypeAlias = tuple[int, datetime, datetime]
"""(number, time, arrival) of an item."""

moves = st.sampled_from(
    [timedelta(), MINUTE, -MINUTE, HOUR, 7 * HOUR, -7 * HOUR, DAY, -2 * DAY, 30 * DAY, -30 * DAY]
)
ages = st.sampled_from([timedelta(), timedelta(), MINUTE, 9 * DAY, 365 * DAY])
streams = st.lists(st.tuples(moves, ages), max_size=60)


def arrivals_after(moves: Sequence[timedelta], ages: Sequence[timedelta] = ()) -> list[Arrival]:
    found, now = [], START
    for place, move in enumerate(moves):
        now += move
        found.append((7 * place, now - (ages[place] if ages else timedelta()), now))
    return found


def us(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def columns_of(arrivals: Sequence[Arrival]) -> list[NDArray[np.int64]]:
    rows = [(seq, us(time), us(arrived)) for seq, time, arrived in arrivals]
    return [np.array(column, np.int64) for column in zip(*rows, strict=True)]


def clock_at_each(arrivals: Sequence[Arrival], size: int) -> tuple[list[int], list[list[int]]]:
    """The clock at each item, and the highest that it was since each item before it, when read in batches."""
    clock, clocks, highs = Clock(), list[int](), list[list[int]]()
    for start in range(0, len(arrivals), size):
        batch = arrivals[start : start + size]
        found = clocks_of(clock, *columns_of(batch))
        seq = columns_of(batch)[0]
        for last, now in zip(seq.tolist(), found.clock_us.tolist(), strict=True):
            first = np.arange(0, last + 1, 7)
            highs.append(
                highest(np.full(len(first), now), found.peaks, first, np.full(len(first), last)).tolist()
            )
        clocks += found.clock_us.tolist()
        clock = Clock.from_json(json.loads(json.dumps(found.after.to_json())))
    return clocks, highs


def prompt(*moves: timedelta) -> list[tuple[timedelta, timedelta]]:
    return [(move, timedelta()) for move in moves]


@given(streams, st.sampled_from([1, 7, 1000]))
@example(prompt(*[30 * DAY] * 30), 7)
@example(prompt(timedelta(), *[30 * DAY] * 8, -200 * DAY, *[DAY] * 9), 1)
def test_the_clock_is_the_same_however_the_stream_is_cut(
    stream: list[tuple[timedelta, timedelta]], size: int
) -> None:
    arrivals = arrivals_after([move for move, _ in stream], [age for _, age in stream])
    obvious = [us(clock) for _, clock in naive.clocks_of(tuple(arrivals))]
    clocks, highs = clock_at_each(arrivals, size)
    assert clocks == obvious
    assert highs == [
        [max(obvious[first : last + 1]) for first in range(last + 1)] for last in range(len(obvious))
    ]


def test_a_jump_ahead_for_two_days_moves_nothing() -> None:
    hourly, wrong = [HOUR] * 200, 365 * DAY
    true = [us(arrived) for _, _, arrived in arrivals_after([*hourly, *[HOUR] * 48, *hourly])]
    moves = [*hourly, HOUR + wrong, *[HOUR] * 47, HOUR - wrong, *hourly[1:]]
    clocks, highs = clock_at_each(arrivals_after(moves), 50)
    assert all(one <= other for one, other in zip(clocks, true, strict=True)), "it is never ahead"
    assert all(high[0] == now for high, now in zip(highs, clocks, strict=True)), "nor does it go back"
    assert true[-1] - clocks[-1] <= us(START + 3 * DAY) - us(START)


def test_a_gap_is_believed_when_arrivals_have_gone_on_for_three_days() -> None:
    after_a_month = arrivals_after([*[HOUR] * 200, 30 * DAY, *[HOUR] * 72])
    clocks = clock_at_each(after_a_month, 1000)[0]
    assert clocks[200] < us(START + 9 * DAY)
    assert clocks[-1] > us(START + 30 * DAY)


def test_a_machine_that_was_wrong_for_weeks_and_is_set_right_takes_the_clock_back() -> None:
    moves = [*[HOUR] * 10, 100 * DAY, *[HOUR] * 400, HOUR - 100 * DAY]
    clocks, highs = clock_at_each(arrivals_after(moves), 1)
    assert clocks[-1] < us(START + 18 * DAY)
    assert highs[-1][0] > us(START + 100 * DAY), "what was forgotten stays so"
    assert highs[-1][-1] == clocks[-1]


def test_arrivals_that_are_a_little_out_of_order_keep_little() -> None:
    moves = [HOUR if place % 2 else -HOUR + MINUTE for place in range(20_000)]
    arrivals = arrivals_after(moves)
    after = clocks_of(Clock(), *columns_of(arrivals)).after
    assert len(after.hours) <= 72
    assert len(after.peaks) <= 1
    assert us(arrivals[-1][2]) - after.now < 4 * 24 * 3_600_000_000


def test_the_clock_of_an_older_state_is_gone_on_from() -> None:
    assert Clock.from_json(LONG_AGO) == Clock()
    before = Clock.from_json(us(START + 30 * DAY))
    assert clocks_of(before, *columns_of([(5, START, START)])).after.now == us(START)


def test_an_archive_that_comes_in_one_go_takes_the_clock_through_its_times() -> None:
    ages = [timedelta(days=day) for day in range(400, 0, -1)]
    arrivals = arrivals_after([timedelta()] * 400, ages)
    assert clock_at_each(arrivals, 7)[0] == [us(time) for _, time, _ in arrivals]
