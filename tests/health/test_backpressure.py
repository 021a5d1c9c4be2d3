"""Who adds to what waits to be published is held back by how much that is: decided from values, obeyed by all."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from feedweir.health.backpressure import NO_PRESSURE, Backlog, Pressure, in_words, pressure_of

_BYTES = st.integers(0, 1 << 40)


def test_nothing_is_held_back_up_to_half_the_bound() -> None:
    assert pressure_of(Backlog(waiting_bytes=500), 1_000) == NO_PRESSURE
    assert in_words(NO_PRESSURE) == ""


def test_fetching_slows_evenly_between_half_the_bound_and_the_bound() -> None:
    shares = [pressure_of(Backlog(waiting_bytes=waiting), 1_000) for waiting in (600, 750, 900)]
    assert [round(one.fetch_share, 9) for one in shares] == [0.8, 0.5, 0.2]
    assert {one.wait_s for one in shares} == {0}
    assert in_words(shares[1]) == "fetching at 50%"


def test_the_wait_lasts_until_half_the_bound_is_free_again() -> None:
    full = pressure_of(Backlog(waiting_bytes=1_000, published_per_s=50), 1_000)
    assert full == Pressure(wait_s=10, fetch_share=0)
    assert in_words(full) == "pushing clients are asked to wait, and nothing is fetched"


def test_the_wait_is_never_nothing_and_never_for_ever() -> None:
    waits = [
        pressure_of(Backlog(waiting_bytes=1_000, published_per_s=pace), 1_000).wait_s
        for pace in (1e9, 1e-9, 0)
    ]
    assert waits == [1, 300, 60]


def test_without_a_bound_everything_is_taken() -> None:
    assert pressure_of(Backlog(waiting_bytes=1 << 50), 0) == NO_PRESSURE


@given(_BYTES, _BYTES, st.integers(1, 1 << 40), st.floats(0, 1e12))
def test_more_that_waits_is_never_less_pressure(one: int, other: int, most: int, pace: float) -> None:
    less, more = (
        pressure_of(Backlog(waiting_bytes=waiting, published_per_s=pace), most)
        for waiting in sorted((one, other))
    )
    assert less.wait_s <= more.wait_s
    assert less.fetch_share >= more.fetch_share
    for waiting, pressure in zip(sorted((one, other)), (less, more), strict=True):
        assert 0 <= pressure.fetch_share <= 1
        assert (pressure.wait_s > 0) == (waiting >= most) == (pressure.fetch_share == 0)
