"""What annotation joins remember: segments of items under windows, what of them is in reach, and their files."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.errors import CompiledSetError
from feedweir.join.clock import LONG_AGO
from feedweir.join.ragged import Ragged
from feedweir.join.windows.features import Feature, feature_of
from feedweir.join.windows.window_state import (
    NEVER,
    WindowReach,
    WindowSegment,
    WindowState,
    in_order,
    merged,
    segment_of,
    swept,
)
from feedweir.join.windows.window_store import WindowStore
from feedweir.logs import seals

TITLE = feature_of("value", "title")
STREAMS = (-9, -4, -1)

Row = tuple[int, tuple[int, ...]]
"""When an item arrived, and the streams it is in."""

rows = st.lists(
    st.tuples(
        st.integers(0, 30),
        st.lists(st.sampled_from(STREAMS), min_size=1, max_size=3, unique=True).map(
            lambda many: tuple(sorted(many))
        ),
    ),
    min_size=1,
    max_size=12,
)


def segment(chosen: list[Row], first: int = 100, feature: Feature = TITLE) -> WindowSegment:
    count = len(chosen)
    seq = np.arange(first, first + count, dtype=np.int64)
    arrived = np.array([one[0] for one in chosen], np.int64)
    ptr = np.cumsum([0, *(len(one[1]) for one in chosen)]).astype(np.int64)
    streams = np.array([stream for one in chosen for stream in one[1]], np.int64)
    column = Ragged(np.arange(count + 1, dtype=np.int64), seq * 7)
    return segment_of(seq, arrived - 1, arrived, seq % 5 == 0, Ragged(ptr, streams), {feature: column})


def members(one: WindowSegment) -> set[tuple[int, int]]:
    """(number, stream)."""
    owner = np.repeat(one.seq, np.diff(one.streams.ptr))
    return set(zip(owner.tolist(), one.streams.data.tolist(), strict=True))


def of_all(segments: tuple[WindowSegment, ...]) -> set[tuple[int, int]]:
    return {pair for one in segments for pair in members(one)}


def is_whole(one: WindowSegment) -> bool:
    """Whether the columns of every row are its own."""
    compared = one.column(TITLE)
    return (
        (compared.data == one.seq * 7).all()
        and (one.time == one.arrived - 1).all()
        and (one.is_made == (one.seq % 5 == 0)).all()
    )


@given(rows)
def test_a_segment_says_what_it_was_made_of(chosen: list[Row]) -> None:
    one = segment(chosen)
    assert len(one) == len(chosen)
    assert one.arrived.tolist() == [arrived for arrived, _ in chosen]
    assert members(one) == {(100 + place, stream) for place, row in enumerate(chosen) for stream in row[1]}
    assert is_whole(one)
    assert one.has([TITLE])
    assert not one.has([])
    assert not one.has([TITLE, feature_of("words", "title")])


@given(rows, rows)
def test_segments_have_one_name_exactly_when_they_hold_the_same_members(
    one: list[Row], other: list[Row]
) -> None:
    same = [streams for _, streams in one] == [streams for _, streams in other]
    assert (segment(one).name == segment(other).name) is same


def test_a_segment_that_compares_something_else_has_another_name() -> None:
    assert segment([(1, (-1,))]).name != segment([(1, (-1,))], feature=feature_of("words", "title")).name


@given(rows, st.sets(st.sampled_from(STREAMS), max_size=2))
def test_of_some_streams_their_members_stay_and_no_others(chosen: list[Row], wanted: set[int]) -> None:
    left = segment(chosen).of_streams(wanted)
    assert members(left) == {(seq, stream) for seq, stream in members(segment(chosen)) if stream in wanted}
    assert is_whole(left)


reaches = st.lists(
    st.tuples(st.integers(-1, 31), st.integers(95, 115), st.integers(95, 115)), min_size=3, max_size=3
).map(
    lambda many: WindowReach(
        np.array(STREAMS, np.int64), *(np.array(column, np.int64) for column in zip(*many, strict=True))
    )
)


def in_reach(seq: int, arrived: int, stream: int, reach: WindowReach) -> bool:
    place = STREAMS.index(stream)
    is_recent = arrived > reach.later_than[place] and seq >= reach.not_before[place]
    return bool(is_recent or seq >= reach.from_number[place])


@given(rows, reaches)
def test_what_is_out_of_reach_goes_when_it_is_at_least_a_quarter(
    chosen: list[Row], reach: WindowReach
) -> None:
    one = segment(chosen)
    reached = {
        (100 + place, stream)
        for place, (arrived, streams) in enumerate(chosen)
        for stream in streams
        if in_reach(100 + place, arrived, stream, reach)
    }
    left = one.within(reach)
    assert reached <= members(left) <= members(one)
    assert is_whole(left)
    gone = len(one) - len({seq for seq, _ in reached})
    if 4 * gone >= len(one):
        assert members(left) == reached
    else:
        assert left is one
    assert of_all(swept([one], reach)) == (members(left) if len(left) else set())


def test_nothing_is_in_reach_of_no_streams() -> None:
    none = np.empty(0, np.int64)
    reach = WindowReach(none, none, none, none)
    assert reach.includes(np.array([-1]), np.array([5]), np.array([NEVER])).tolist() == [False]
    assert swept([segment([(1, (-1,))])], reach) == ()


@given(st.lists(rows, max_size=9))
def test_merging_changes_nothing_but_how_many_segments_there_are(many: list[list[Row]]) -> None:
    firsts = np.cumsum([100, *map(len, many)]).tolist()
    before = tuple(segment(one, first) for one, first in zip(many, firsts, strict=False))
    after = merged(before)
    assert of_all(after) == of_all(before)
    assert all(map(is_whole, after))
    assert all(one.seq[-1] < other.seq[0] for one, other in pairwise(after))
    assert len(after) <= len(before)


def test_many_batches_of_one_size_become_few_segments() -> None:
    segments: tuple[WindowSegment, ...] = ()
    for batch in range(256):
        segments = merged((*segments, segment([(1, (-1,))] * 3, 100 + 3 * batch)))
    assert len(segments) <= 8


def test_segments_that_overlap_become_one_in_the_order_of_the_stream() -> None:
    one, other = segment([(1, (-1,))] * 3, 100), segment([(1, (-4,))] * 3, 101)
    (together,) = in_order([one, other])
    assert together.seq.tolist() == [100, 101, 101, 102, 102, 103]
    assert is_whole(together)


def test_segments_that_follow_each_other_stay_as_they_are() -> None:
    one, other = segment([(1, (-1,))] * 3, 100), segment([(1, (-4,))] * 3, 103)
    assert [id(each) for each in in_order([one, other])] == [id(one), id(other)]
    assert in_order([]) == ()


def test_a_state_takes_over_what_others_know_of_streams_that_it_does_not_know() -> None:
    own = WindowState((segment([(1, (-1,))]),), 7, (-1,))
    first = WindowState((segment([(2, (-9, -4, -1))], 200),), 8, (-9, -4, -1))
    second = WindowState((segment([(3, (-9,))], 300),), 9, (-9,))
    found = own.adopting([first, second], STREAMS)
    assert of_all(found.segments) == {(100, -1), (200, -9), (200, -4)}, (
        "each stream from whoever knows it first"
    )
    assert (found.clock, found.streams) == (7, (-1,))
    assert own.adopting([first], [-1]) is own
    assert own.adopting([], STREAMS) is own


def test_an_older_file_that_does_not_say_when_items_arrived_takes_their_times() -> None:
    one = segment([(5, (-1,)), (9, (-1,))])
    older = WindowSegment(one.table.drop_columns(["arrived"]))
    assert older.arrived.tolist() == [4, 8]


def test_nothing_is_remembered_at_first() -> None:
    assert (WindowState().items, WindowState().nbytes, WindowState().clock) == (0, 0, LONG_AGO)


def test_a_state_is_read_as_it_was_written(tmp_path: Path) -> None:
    state = WindowState((segment([(1, (-1,))]), segment([(2, (-4,))], 200)), 55, (-4, -1))
    store = WindowStore(tmp_path)
    written = store.save(7, state, before=6)
    for found in (written, store.load(8), store.load_after(7)):
        assert found is not None
        assert (found.clock, found.streams) == (55, (-4, -1))
        assert [one.name for one in found.segments] == [one.name for one in state.segments]
        assert all(map(is_whole, found.segments))
    assert store.load_after(8) is None
    assert store.load(7) == WindowState()


def test_saving_again_writes_the_same(tmp_path: Path) -> None:
    state = WindowState((segment([(1, (-1,))]),), 55, (-1,))
    store = WindowStore(tmp_path)
    store.save(7, state, before=6)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    store.save(7, state, before=6)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


@settings(max_examples=30)
@given(cuts=st.lists(st.integers(1, 3), min_size=1, max_size=8))
def test_a_state_and_the_one_it_came_from_are_kept_with_their_segments(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int]
) -> None:
    store, batch, state = WindowStore(tmp_path_factory.mktemp("windows")), 0, WindowState()
    for cut in cuts:
        before, batch = batch, batch + cut
        segments = (*state.segments[-1:], segment([(batch, (-1,))], 100 * batch))
        previous, state = state, WindowState(segments, batch, (-1,))
        store.save(batch, state, before=before)
        found = store.load_after(batch)
        assert found is not None
        assert of_all(found.segments) == of_all(state.segments)
        if before:
            earlier = store.load_after(before)
            assert earlier is not None
            assert of_all(earlier.segments) == of_all(previous.segments)
        names = {one.name for kept in (previous, state) for one in kept.segments}
        assert {path.stem for path in store._segments.glob("*.arrow")} == names
        assert store.missing() == []


def test_what_batches_before_one_left_can_be_forgotten(tmp_path: Path) -> None:
    store = WindowStore(tmp_path)
    store.save(3, WindowState((segment([(1, (-1,))]),), 5, (-1,)), before=2)
    store.forget(before=3)
    assert store.load_after(3) is not None
    store.forget(before=4)
    assert store.load_after(3) is None
    assert not list(tmp_path.rglob("*.arrow"))


def test_a_segment_that_is_missing_is_named(tmp_path: Path) -> None:
    store = WindowStore(tmp_path)
    store.save(3, WindowState((segment([(1, (-1,))]),), 5, (-1,)), before=2)
    (gone,) = tmp_path.rglob("*.arrow")
    gone.unlink()
    assert store.missing() == [gone]
    with pytest.raises(CompiledSetError, match=r"state-000000000003.json is damaged") as refused:
        store.load_after(3)
    assert "go on without what it remembered" in str(refused.value.hint)


def test_windows_of_another_format_are_refused_by_its_number(tmp_path: Path) -> None:
    path = tmp_path / "state-000000000001.json"
    path.write_bytes(seals.sealed_json({"format": 77}, seals.name_of(path)))
    with pytest.raises(CompiledSetError, match="format 77, not 1"):
        WindowStore(tmp_path).load_after(1)
