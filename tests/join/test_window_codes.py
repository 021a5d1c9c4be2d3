"""Windows as numbers: how long they are, what is refused, and which clock they go by."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedweir.errors import LanguageError
from feedweir.join.window_bounds import (
    COUNT_EITHER,
    COUNT_FOLLOWED,
    FOREVER,
    TIME_EITHER,
    TIME_FOLLOWED,
    JoinBounds,
    microseconds,
    running_clock,
    window_code,
)
from feedweir.plan.nodes import LastItems, TimeSpan, WindowSpec

DAY = TimeSpan(timedelta(days=1))


@pytest.mark.parametrize(
    ("kind", "window", "code"),
    [
        ("followed by", DAY, (TIME_FOLLOWED, 86_400_000_000)),
        ("join", DAY, (TIME_EITHER, 86_400_000_000)),
        ("followed by", LastItems(3), (COUNT_FOLLOWED, 3)),
        ("join", LastItems(3), (COUNT_EITHER, 3)),
        ("join", LastItems(10**30), (COUNT_EITHER, FOREVER)),
        ("join", TimeSpan(timedelta(microseconds=1)), (TIME_EITHER, 1)),
    ],
)
def test_a_window_is_a_mode_and_a_length(kind: str, window: WindowSpec, code: tuple[int, int]) -> None:
    assert window_code(kind, window) == code


@pytest.mark.parametrize(
    ("window", "message", "hint"),
    [
        (None, "a join needs a window", "`3 days`"),
        (LastItems(0), "greater than 0", "`last 10 items`"),
        (LastItems(-1), "greater than 0", "`3 days`"),
        (TimeSpan(timedelta(0)), "greater than 0", "`3 days`"),
        (TimeSpan(timedelta(days=-1)), "greater than 0", "`last 10 items`"),
    ],
)
def test_a_window_that_holds_nothing_is_refused_with_an_example(
    window: WindowSpec | None, message: str, hint: str
) -> None:
    with pytest.raises(LanguageError, match=message) as refused:
        window_code("join", window)
    assert hint in str(refused.value.hint)


def test_the_longest_time_span_can_be_added_to_any_time_of_an_item() -> None:
    assert microseconds(timedelta.max) <= FOREVER
    assert 2**61 + FOREVER < 2**63


def test_a_time_span_is_cut_to_whole_microseconds() -> None:
    assert microseconds(timedelta(days=1, microseconds=7)) == 86_400_000_007
    assert JoinBounds(lateness=timedelta(seconds=2)).lateness_us == 2_000_000


@given(st.lists(st.integers(-100, 100)), st.integers(-100, 100))
def test_the_running_clock_is_the_latest_time_so_far(times: list[int], before: int) -> None:
    clock = running_clock(np.array(times, np.int64), before).tolist()
    assert clock == [max(before, *times[: place + 1]) for place in range(len(times))]
