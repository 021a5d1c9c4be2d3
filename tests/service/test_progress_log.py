"""Long work is logged now and then, short work not at all."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedweir.service.progress_log import ProgressLog


class Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


def run(moments: list[float], totals: list[tuple[int, int]]) -> list[str]:
    """What is logged when the work has got so far at these moments."""
    log, lines = logging.Logger("work"), Lines()
    log.addHandler(lines)
    clock = iter([0.0, *moments])
    progress = ProgressLog(log, "feeds compiled", clock=lambda: next(clock), every_s=5.0)
    for done, total in totals:
        progress(done, total)
    return lines.messages


def test_work_that_is_done_within_seconds_is_not_logged() -> None:
    assert run([1.0, 2.0, 4.9], [(1, 3), (2, 3), (3, 3)]) == []


def test_work_that_takes_longer_is_logged_at_intervals_and_at_its_end() -> None:
    assert run([5.0, 6.0, 10.5, 11.0], [(1_000, 4_000), (2_000, 4_000), (3_000, 4_000), (4_000, 4_000)]) == [
        "feeds compiled: 1,000 of 4,000",
        "feeds compiled: 3,000 of 4,000",
        "feeds compiled: 4,000 of 4,000",
    ]


@pytest.mark.parametrize("total", [0, 1])
def test_work_that_hangs_until_its_end_is_logged_once(total: int) -> None:
    assert run([60.0], [(total, total)]) == [f"feeds compiled: {total} of {total}"]


@given(st.lists(st.floats(0.0, 3.0), min_size=1, max_size=40))
def test_two_lines_before_the_end_are_never_closer_than_the_interval(pauses: list[float]) -> None:
    moments = [sum(pauses[: n + 1]) for n in range(len(pauses))]
    steps = [(n + 1, len(pauses) + 1) for n in range(len(pauses))]
    logged = run(moments, steps)
    at = [moments[int(line.split(": ")[1].split(" of")[0].replace(",", "")) - 1] for line in logged]
    assert all(later - earlier >= 5.0 for earlier, later in zip([0.0, *at], at, strict=False))
