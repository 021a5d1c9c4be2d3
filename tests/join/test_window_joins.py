"""Annotation joins compiled, the indexes that find candidates, and which windows a pair is in."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from feedweir.join.ragged import Ragged, rank_in_group
from feedweir.join.window_bounds import FOREVER, JoinBounds
from feedweir.join.windows import annotation_kernels as kernels
from feedweir.join.windows.annotation_kernels import Far, Near
from feedweir.join.windows.annotation_set import AnnotationQuery, AnnotationSet, Horizon, compile_annotations
from feedweir.join.windows.features import IDENTITY, feature_of
from feedweir.join.windows.window_history import (
    EqualityIndex,
    FinderIndex,
    WindowHistory,
    joined_pairs,
    places_of,
)
from feedweir.join.windows.window_state import NEVER, WindowSegment, segment_of
from feedweir.plan.nodes import LastItems, TimeSpan, WindowSpec
from feedweir.plan.predicates import JoinAnd, JoinOr, JoinPredicate, Relates

Longs = NDArray[np.int64]

EQUAL = Relates("title", "=", "title")
ALIKE = Relates("title", "similar", "title", 0.6)
HOUR = 3_600_000_000


def query(
    key: int,
    primary: int,
    window: int,
    spec: WindowSpec,
    predicate: JoinPredicate = EQUAL,
    *,
    stage: int = 0,
    is_story: bool = False,
) -> AnnotationQuery:
    return AnnotationQuery(key, primary, window, spec, predicate, stage, is_story)


def hours(count: int) -> TimeSpan:
    return TimeSpan(timedelta(hours=count))


def joins_in(joins: AnnotationSet) -> list[tuple[int, int, int, int]]:
    """(key, primary, window, length) of every join of the first stage, from the kernels' arrays."""
    found = []
    for group in joins.stages[0]:
        arrays = group.joins
        for k, primary in enumerate(arrays.primary.tolist()):
            for block in range(arrays.block_ptr[k], arrays.block_ptr[k + 1]):
                for place in range(arrays.start[block], arrays.start[block + 1]):
                    window = int(joins.streams[arrays.window[block]])
                    length = int(arrays.length[place])
                    found.append((int(group.keys[place]), int(joins.streams[primary]), window, length))
    return found


queries = st.lists(
    st.builds(
        query,
        st.just(0),
        st.sampled_from((-8, -5, -2)),
        st.sampled_from((-8, -5, -2)),
        st.one_of(st.integers(1, 4).map(hours), st.integers(1, 4).map(LastItems)),
        st.sampled_from((EQUAL, ALIKE)),
    ),
    max_size=12,
).map(lambda many: [query(place, q.primary, q.window, q.spec, q.predicate) for place, q in enumerate(many)])


def length_of(spec: WindowSpec) -> int:
    return spec.count if isinstance(spec, LastItems) else spec.length // timedelta(microseconds=1)


@given(queries)
def test_the_arrays_of_a_set_hold_every_join_once(chosen: list[AnnotationQuery]) -> None:
    joins = compile_annotations(chosen)
    expected = [(one.key, one.primary, one.window, length_of(one.spec)) for one in chosen]
    assert sorted(joins_in(joins) if chosen else []) == expected
    for group in joins.stages[0] if chosen else ():
        arrays = group.joins
        for block in range(len(arrays.window)):
            lengths = arrays.length[arrays.start[block] : arrays.start[block + 1]].tolist()
            assert lengths == sorted(lengths, reverse=True), "the longest first"


@given(queries)
def test_windows_reach_as_far_back_as_the_longest_over_each_stream(chosen: list[AnnotationQuery]) -> None:
    joins = compile_annotations(chosen)
    for stream, horizon in joins.horizons.items():
        specs = [one.spec for one in chosen if one.window == stream]
        times = [length_of(spec) for spec in specs if isinstance(spec, TimeSpan)]
        items = [length_of(spec) for spec in specs if isinstance(spec, LastItems)]
        assert horizon == Horizon(max(times, default=-1), max(items, default=-1))
    assert {*joins.horizons} == {one.window for one in chosen}
    is_counted = any(isinstance(one.spec, LastItems) for one in chosen)
    longest = max((length_of(one.spec) for one in chosen), default=FOREVER)
    assert joins.longest_us == (FOREVER if is_counted else longest)


def test_each_stage_has_its_own_groups_and_inputs() -> None:
    joins = compile_annotations(
        [query(1, -8, -5, hours(1)), query(2, -2, -8, hours(1), stage=2), query(3, -2, -5, hours(1), stage=2)]
    )
    assert [len(groups) for groups in joins.stages] == [1, 0, 1]
    inputs = [[side.tolist() for side in joins.inputs(stage)] for stage in (0, 2)]
    assert inputs == [[[-8], [-5]], [[-2], [-8, -5]]]


def test_stories_are_a_group_of_their_own_and_know_whose_wordings_items_are() -> None:
    joins = compile_annotations(
        [
            query(1, -8, 7, hours(1), is_story=True),
            query(2, -8, -8, hours(1)),
            query(3, -8, 9, LastItems(3), is_story=True),
        ]
    )
    assert sorted(group.is_story for group in joins.stages[0]) == [False, True]
    assert IDENTITY in joins.features
    kinds = {kind for group in joins.stages[0] for kind in group.joins.kind.tolist()}
    assert kinds == {kernels.TIME, kernels.STORY_TIME, kernels.STORY_COUNT}
    assert IDENTITY not in compile_annotations([query(2, -8, -8, hours(1))]).features


def test_the_lowest_threshold_of_all_is_looked_for() -> None:
    lower = Relates("title", "similar", "title", 0.2)
    joins = compile_annotations(
        [
            query(1, -8, -5, hours(1), ALIKE),
            query(2, -8, -5, hours(1), lower),
            query(3, -8, -5, hours(1), EQUAL),
        ]
    )
    words = feature_of("words", "title")
    assert joins.thresholds == {(words, words): 0.2}
    assert joins.equal == (feature_of("value", "title"),)


def test_a_similarity_that_only_decides_needs_no_index() -> None:
    joins = compile_annotations([query(1, -8, -5, hours(1), JoinAnd((EQUAL, ALIKE)))])
    assert joins.thresholds == {}
    assert [group.is_decided for group in joins.stages[0]] == [False]
    assert [group.is_decided for group in compile_annotations([query(1, -8, -5, hours(1))]).stages[0]] == [
        True
    ]
    either = compile_annotations([query(1, -8, -5, hours(1), JoinOr((EQUAL, ALIKE)))])
    assert [group.is_decided for group in either.stages[0]] == [False]


@pytest.mark.parametrize("spec", [LastItems(0), hours(0), TimeSpan(timedelta(days=-1))])
def test_a_window_that_is_no_longer_than_nothing_is_refused(spec: WindowSpec) -> None:
    joins = compile_annotations([query(1, -8, -5, spec), query(2, -8, -5, hours(1))])
    assert "greater than 0" in str(joins.failures[1])
    assert [key for key, *_ in joins_in(joins)] == [2]


runs = st.lists(st.lists(st.tuples(st.integers(0, 6), st.just(0)), max_size=6), max_size=6)


@given(runs, st.lists(st.integers(0, 8), max_size=5))
def test_items_are_found_by_any_of_their_keys(chosen: list[list[tuple[int, int]]], asked: list[int]) -> None:
    index, everything, number = EqualityIndex(), list[tuple[int, int]](), 0
    for part in chosen:
        keys = [key for key, _ in part]
        numbers = list(range(number, number + len(keys)))
        index.add(np.array(keys, np.int64), np.array(numbers, np.int64))
        everything += zip(keys, numbers, strict=True)
        number += len(keys)
    owner = np.arange(len(asked), dtype=np.int64)
    found = index.pairs(owner, np.array(asked, np.int64))
    expected = sorted((o, n) for o, key in enumerate(asked) for k, n in everything if k == key)
    assert sorted(zip(*(part.tolist() for part in found), strict=True)) == expected
    counts = index.counts(np.array(asked, np.int64)).tolist()
    assert counts == [sum(k == key for k, _ in everything) for key in asked]


def test_runs_of_an_index_stay_few() -> None:
    index = EqualityIndex()
    for number in range(500):
        index.add(np.array([number % 7], np.int64), np.array([number], np.int64))
    assert len(index._runs) <= 9


def test_only_the_atoms_that_are_named_are_indexed() -> None:
    joins = compile_annotations([query(1, -8, -5, hours(1)), query(2, -8, -5, hours(1), ALIKE)])
    index = FinderIndex(joins, [EQUAL])
    column = Ragged(np.arange(3, dtype=np.int64), np.array([4, 4], np.int64))
    value = feature_of("value", "title")
    index.add({value: column}, np.array([0, 1], np.int64))
    rows = np.array([5], np.int64)
    own = Ragged(np.array([0, 1], np.int64), np.array([4], np.int64))
    assert index.pairs((value, value), own, rows).number.tolist() == [0, 1]
    assert index.pairs((value, value), own, rows, np.array([1], np.int64)).number.tolist() == [0]
    assert index.counts((value, value), own).tolist() == [2]
    words = feature_of("words", "title")
    with pytest.raises(KeyError):
        index.pairs((words, words), own, rows)


def test_pairs_of_no_parts_are_none() -> None:
    assert [len(column) for column in (joined_pairs([]).row, joined_pairs([]).similarity)] == [0, 0]


@given(st.lists(st.integers(0, 4), max_size=20))
def test_a_rank_is_how_often_a_value_was_there_before(groups: list[int]) -> None:
    ranks = rank_in_group(np.array(groups, np.int64)).tolist()
    assert ranks == [groups[:place].count(value) for place, value in enumerate(groups)]


@given(
    st.lists(st.integers(0, 5), unique=True).map(sorted), st.lists(st.lists(st.integers(0, 6)), max_size=6)
)
def test_streams_that_no_join_reads_are_left_out(known: list[int], chosen: list[list[int]]) -> None:
    ptr = np.cumsum([0, *map(len, chosen)]).astype(np.int64)
    data = np.array([stream for row in chosen for stream in row], np.int64)
    found = places_of(np.array(known, np.int64), Ragged(ptr, data))
    rows = [found.data[a:b].tolist() for a, b in zip(found.ptr[:-1], found.ptr[1:], strict=True)]
    assert rows == [[known.index(stream) for stream in row if stream in known] for row in chosen]


def stored(first: int, streams: list[tuple[int, ...]], joins: AnnotationSet) -> WindowSegment:
    count = len(streams)
    seq = np.arange(first, first + count, dtype=np.int64)
    ptr = np.cumsum([0, *map(len, streams)]).astype(np.int64)
    data = np.array([stream for row in streams for stream in row], np.int64)
    columns = {feature: Ragged(np.arange(count + 1), np.zeros(count, np.int64)) for feature in joins.features}
    return segment_of(seq, seq * HOUR, seq * HOUR, np.zeros(count, np.bool_), Ragged(ptr, data), columns)


member_rows = st.lists(
    st.lists(st.sampled_from((-8, -5)), min_size=1, max_size=2, unique=True).map(
        lambda many: tuple(sorted(many))
    ),
    min_size=1,
    max_size=10,
)


@given(st.lists(member_rows, min_size=1, max_size=3), st.integers(1, 4), st.integers(1, 4))
def test_windows_of_items_reach_the_last_of_their_stream_and_no_others(
    parts: list[list[tuple[int, ...]]], count: int, most: int
) -> None:
    bounds = JoinBounds(max_documents=most, lateness=timedelta(0))
    joins = compile_annotations(
        [query(1, -2, -8, LastItems(count)), query(2, -2, -5, hours(2))], bounds=bounds
    )
    history, first = WindowHistory(joins), 10
    for part in parts:
        history.append(stored(first, part, joins))
        first += len(part)
    flat = [streams for part in parts for streams in part]
    of = {stream: [10 + n for n, streams in enumerate(flat) if stream in streams] for stream in (-8, -5)}
    assert len(history) == len(flat)
    assert history.members.tolist() == [len(of.get(stream, ())) for stream in joins.streams.tolist()]
    clock = (first - 1) * HOUR
    reach = history.reach(clock)
    by_stream = dict(zip(reach.streams.tolist(), range(len(reach.streams)), strict=True))
    counted, timed = by_stream[-8], by_stream[-5]
    last = of[-8][-min(count, most) :]
    assert reach.from_number[counted] == (last[0] if last else NEVER)
    assert reach.later_than[counted] == NEVER, "no window of time is over it"
    assert reach.later_than[timed] == clock - 2 * HOUR
    assert reach.not_before[timed] == (of[-5][-most:] or [NEVER])[0]
    assert history.cut(most) == {
        stream: of[stream][-most] * HOUR for stream in sorted(of) if len(of[stream]) > most
    }


@st.composite
def pairs_of_items(draw: st.DrawFn) -> tuple[Near, Far, list[AnnotationQuery], Longs, Longs]:
    """A few items of a batch and a few older ones, in some of three streams, with joins over them."""
    streams = st.lists(st.integers(0, 2), max_size=3, unique=True).map(sorted)
    older = draw(st.lists(st.tuples(streams, st.integers(0, 9)), min_size=1, max_size=5))
    batch = draw(st.lists(st.tuples(streams, st.integers(5, 15)), min_size=1, max_size=4))
    chosen = draw(queries)
    before, ordinal = [0, 0, 0], []
    for own, _ in older:
        for stream in own:
            ordinal.append(before[stream])
            before[stream] += 1
    far = Far(
        np.cumsum([0, *(len(own) for own, _ in older)]).astype(np.int64),
        np.array([stream for own, _ in older for stream in own], np.int64),
        np.array(ordinal, np.int64),
        np.array([time * HOUR for _, time in older], np.int64),
        np.array([time * HOUR for _, time in older], np.int64),
    )
    members = [[row for row, (own, _) in enumerate(batch) if stream in own] for stream in range(3)]
    times = np.array([time * HOUR for _, time in batch], np.int64)
    near = Near(
        np.cumsum([0, *(len(own) for own, _ in batch)]).astype(np.int64),
        np.array([stream for own, _ in batch for stream in own], np.int64),
        times,
        times,
        np.maximum.accumulate(times),
        np.array(before, np.int64),
        np.cumsum([0, *map(len, members)]).astype(np.int64),
        np.array([row for own in members for row in own], np.int64),
    )
    rows, places = np.meshgrid(np.arange(len(batch)), np.arange(len(older)))
    return near, far, chosen, rows.ravel().astype(np.int64), places.ravel().astype(np.int64)


def in_window(
    near: Near, far: Far, one: AnnotationQuery, row: int, place: int, lateness: int, most: int
) -> bool:
    names = [-8, -5, -2]
    primary, window = names.index(one.primary), names.index(one.window)
    mine = near.stream[near.ptr[row] : near.ptr[row + 1]].tolist()
    theirs = far.stream[far.ptr[place] : far.ptr[place + 1]].tolist()
    if primary not in mine or window not in theirs:
        return False
    ordinal = int(far.ordinal[far.ptr[place] + theirs.index(window)])
    own = near.members[near.members_ptr[window] : near.members_ptr[window + 1]]
    come = int(near.before[window]) + int((own <= row).sum())
    if come - ordinal > most:
        return False
    if isinstance(one.spec, LastItems):
        return come - ordinal <= one.spec.count
    length = length_of(one.spec)
    time = int(far.time[place])
    return time > int(near.arrived[row]) - length and time > int(near.clock[row]) - lateness - length


@given(pairs_of_items(), st.sampled_from((0, 2 * HOUR)), st.sampled_from((2, 100)))
def test_a_pair_is_wanted_by_the_joins_in_whose_windows_it_is(
    drawn: tuple[Near, Far, list[AnnotationQuery], Longs, Longs], lateness: int, most: int
) -> None:
    near, far, chosen, rows, places = drawn
    # All streams are known, so that they go by the same places.
    everywhere = [query(100 + n, s, s, hours(1), JoinOr((EQUAL, ALIKE))) for n, s in enumerate((-8, -5, -2))]
    joins = compile_annotations([*chosen, *everywhere])
    for group in joins.stages[0]:
        of_group = [one for one in [*chosen, *everywhere] if one.predicate == group.predicate]
        expected = {
            (one.key, pair)
            for one in of_group
            for pair, (row, place) in enumerate(zip(rows.tolist(), places.tolist(), strict=True))
            if in_window(near, far, one, row, place, lateness, most)
        }
        dropped = np.zeros(len(group.keys), np.bool_)
        found, counts = kernels.wanted(rows, places, group.joins, near, far, lateness, most, dropped, 10_000)
        assert {(int(group.keys[join]), pair) for join, pair, _ in found.tolist()} == expected
        assert int(counts.sum()) == len(expected)
        is_wanted = kernels.is_wanted(rows, places, group.joins, near, far, lateness, most)
        assert set(np.flatnonzero(is_wanted).tolist()) == {pair for _, pair in expected}
        few, counted = kernels.wanted(rows, places, group.joins, near, far, lateness, most, dropped, 1)
        assert len(few) <= 1
        assert counted.sum() <= counts.sum()
        none, _ = kernels.wanted(rows, places, group.joins, near, far, lateness, most, ~dropped, 10_000)
        assert len(none) == 0


keys = st.lists(st.lists(st.integers(0, 6), max_size=4, unique=True).map(sorted), min_size=1, max_size=5)


def packed(rows: list[list[int]]) -> tuple[Longs, Longs]:
    flat = np.array([key for row in rows for key in row], np.int64)
    return np.cumsum([0, *map(len, rows)]).astype(np.int64), flat


@given(keys, keys)
def test_rows_meet_when_they_have_a_key_in_common(one: list[list[int]], other: list[list[int]]) -> None:
    rows, others = (
        side.ravel().astype(np.int64) for side in np.meshgrid(np.arange(len(one)), np.arange(len(other)))
    )
    found = kernels.any_equal(rows, others, *packed(one), *packed(other)).tolist()
    pairs = zip(rows.tolist(), others.tolist(), strict=True)
    assert found == [not set(one[a]).isdisjoint(other[b]) for a, b in pairs]


@given(keys, st.lists(keys, min_size=1, max_size=4))
def test_words_hold_a_value_when_they_hold_all_of_its_words(
    one: list[list[int]], other: list[list[list[int]]]
) -> None:
    values = [[word for value in row if value for word in (len(value), *value)] for row in other]
    rows, others = (
        side.ravel().astype(np.int64) for side in np.meshgrid(np.arange(len(one)), np.arange(len(other)))
    )
    found = kernels.any_contained(rows, others, *packed(one), *packed(values)).tolist()
    pairs = zip(rows.tolist(), others.tolist(), strict=True)
    assert found == [any(value and set(value) <= set(one[a]) for value in other[b]) for a, b in pairs]
