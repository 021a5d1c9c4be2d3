"""Sorted streams merged as they come: the pairs of all, each once and in order, however they were cut."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.match import Matches, Work
from feedweir.match.matching.answer_parts import Part, joined, merged_parts

Pair = tuple[int, int]


def answer(pairs: list[Pair], work: Work | None = None) -> Matches:
    rows, keys = zip(*pairs, strict=True) if pairs else ((), ())
    return Matches(np.array(rows, np.int32), np.array(keys, np.int64), work or Work(held=len(pairs)))


def pairs_of(matches: Matches) -> list[Pair]:
    return list(zip(matches.rows.tolist(), matches.keys.tolist(), strict=True))


def stream(pairs: list[Pair], cuts: list[int]) -> Iterator[Part]:
    """A sorted list as parts that end at these places; the last part is marked."""
    places = [0, *sorted(min(cut, len(pairs)) for cut in cuts), len(pairs)]
    last = len(places) - 2
    for number, (start, end) in enumerate(pairwise(places)):
        yield Part(answer(pairs[start:end]), number == last)


streams = st.lists(
    st.tuples(
        st.lists(st.tuples(st.integers(0, 3), st.integers(0, 6)), max_size=10, unique=True).map(sorted),
        st.lists(st.integers(0, 10), max_size=4),
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=200, deadline=None)
@given(streams)
def test_streams_merged_have_the_pairs_of_all_in_order(some: list[tuple[list[Pair], list[int]]]) -> None:
    parts = list(merged_parts([stream(*one) for one in some]))
    found = [pair for part in parts for pair in pairs_of(part)]
    assert found == sorted({pair for pairs, _ in some for pair in pairs})
    assert parts


@settings(max_examples=100, deadline=None)
@given(streams)
def test_no_more_is_held_than_a_part_of_each_stream_and_what_is_made_of_them(
    some: list[tuple[list[Pair], list[int]]],
) -> None:
    longest = [max((len(part.matches) for part in stream(*one)), default=0) for one in some]
    for part in merged_parts([stream(*one) for one in some]):
        assert part.work.held <= 2 * sum(longest)


def test_what_an_answer_tells_besides_its_pairs_is_told_once() -> None:
    told = [
        Part(Matches(*_columns([(0, 1), (1, 1)]), Work(3), ((1, "x"),)), False),
        Part(Matches(*_columns([(2, 1)]), Work(4), ((2, "y"),)), True),
    ]
    other = [
        Part(Matches(*_columns([(0, 5)]), Work(10)), False),
        Part(Matches(*_columns([(2, 0)]), Work(20)), True),
    ]
    whole = joined(merged_parts([iter(told), iter(other)]))
    assert pairs_of(whole) == [(0, 1), (0, 5), (1, 1), (2, 0), (2, 1)]
    assert (whole.work.tests, whole.failures) == (37, ((1, "x"), (2, "y")))


def _columns(pairs: list[Pair]) -> tuple[np.ndarray, np.ndarray]:
    return answer(pairs).rows, answer(pairs).keys


def test_empty_parts_are_passed_over_and_what_they_tell_is_kept() -> None:
    parts = [
        Part(Matches(*_columns([]), Work(1), ((9, "broken"),)), False),
        Part(Matches(*_columns([]), Work(2)), False),
        Part(answer([(0, 1)]), True),
    ]
    (one,) = merged_parts([iter(parts)])
    assert (pairs_of(one), one.work.tests, one.failures) == ([(0, 1)], 3, ((9, "broken"),))


def test_streams_of_nothing_are_one_empty_answer() -> None:
    (one,) = merged_parts([iter([Part(answer([]), True)]) for _ in range(3)])
    assert len(one) == 0


def test_a_stream_that_does_not_end_is_a_mistake() -> None:
    with pytest.raises(AssertionError, match="ends with its last part"):
        list(merged_parts([iter([Part(answer([]), False)])]))


def test_parts_that_follow_each_other_are_joined_and_one_is_left_as_it_is() -> None:
    one, other = answer([(0, 1)], Work(1)), answer([(1, 0), (1, 2)], Work(2))
    assert joined([one]) is one
    both = joined([one, other])
    assert (pairs_of(both), both.work) == ([(0, 1), (1, 0), (1, 2)], Work(3))
    assert (joined([]).rows.dtype, joined([]).keys.dtype) == (np.int32, np.int64)
