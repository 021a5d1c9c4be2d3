"""Batches grow and shrink until they take as long as they should."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from feedweir.pipeline.batch_run import LEAST_BYTES, Pace

MOST = 64 << 20


@given(st.floats(0.05, 20.0), st.floats(0.0, 0.4), st.floats(1.0, 30.0))
def test_a_steady_machine_is_met_within_a_dozen_batches(
    seconds_per_mb: float, fixed_s: float, wanted_s: float
) -> None:
    pace = Pace(MOST, wanted_s)
    for _ in range(12):
        size = pace.bytes_at_once
        pace = pace.after(size, fixed_s + seconds_per_mb * size / (1 << 20))
    took_s = fixed_s + seconds_per_mb * pace.bytes_at_once / (1 << 20)
    assert LEAST_BYTES <= pace.bytes_at_once <= MOST
    assert took_s <= 1.2 * wanted_s or pace.bytes_at_once == LEAST_BYTES
    assert took_s >= 0.5 * wanted_s or pace.bytes_at_once == MOST


def test_small_batches_of_a_quiet_stream_teach_nothing_and_slow_ones_do() -> None:
    pace = Pace(MOST, 10.0)
    assert pace.after(10_000, 0.2) == pace
    assert pace.after(10_000, 20.0).bytes_at_once < MOST
    assert Pace(MOST).after(MOST, 1_000.0).bytes_at_once == MOST


def test_it_grows_again_when_batches_become_quick() -> None:
    pace = Pace(MOST, 10.0, limit=1 << 20)
    sizes = [pace.bytes_at_once]
    while len(sizes) < 8:
        pace = pace.after(pace.bytes_at_once, 0.5)
        sizes.append(pace.bytes_at_once)
    assert sizes == [(1 << 20) << step for step in range(7)] + [MOST]
