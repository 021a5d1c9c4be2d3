"""History as a value: what it answers, what compaction leaves out, and that files give back what they were given."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.errors import CompiledSetError, DamagedFileError
from feedweir.join.clock import LONG_AGO
from feedweir.join.patterns.binding_rows import BindingRows
from feedweir.join.patterns.history_store import HistoryStore, load_segment, saved_segment
from feedweir.join.patterns.level_history import (
    Asked,
    Compositions,
    LevelState,
    Reach,
    Segment,
    compacted,
    states_named,
    stem_of,
    with_segment,
)

Document = tuple[int, tuple[int, ...], dict[int, int]]
"""Of a document: its time, its streams, and by variable its value."""

documents = st.tuples(
    st.integers(0, 50),
    st.lists(st.sampled_from((1, 2)), max_size=2, unique=True).map(tuple),
    st.dictionaries(st.sampled_from((10, 11)), st.integers(0, 4), max_size=2),
)
batches = st.lists(st.lists(documents, max_size=5), max_size=8)


def segment_of(batch: int, first: int, chosen: list[Document]) -> Segment:
    numbers = np.arange(first, first + len(chosen), dtype=np.int64)
    rows = [
        (value, value * 3, variable, number, one[0])
        for number, one in zip(numbers.tolist(), chosen, strict=True)
        for variable, value in one[2].items()
    ]
    columns = np.array(rows, np.int64).reshape(-1, 5).T
    members = [
        (stream, number) for number, one in zip(numbers.tolist(), chosen, strict=True) for stream in one[1]
    ]
    streams = np.array(sorted(members), np.int64).reshape(-1, 2).T
    is_odd = numbers % 2 == 1
    return Segment(
        batch,
        batch,
        BindingRows(*(column.copy() for column in columns), np.zeros((len(rows), 2), np.int32)).sorted(),
        numbers,
        1_000 + numbers,
        np.zeros(len(chosen), np.int64),
        np.array([one[0] for one in chosen], np.int64),
        Compositions.of(
            {number: (number * 2, number * 2 + 1) for number in numbers.tolist() if number % 3 == 0}
        ),
        streams[0].copy(),
        streams[1].copy(),
        numbers[is_odd],
        np.full(int(is_odd.sum()), 4, np.int32),
        pa.array([f"text {number}" for number in numbers[is_odd].tolist()], pa.string()),
    )


def history_of(chosen: list[list[Document]]) -> LevelState:
    state = LevelState()
    for batch, some in enumerate(chosen):
        segment = segment_of(batch, state.next_number, some)
        state = with_segment(state, segment, max([state.clock, *(one[0] for one in some)]), Asked())
    return state


def items_of(state: LevelState, numbers: np.ndarray) -> list[tuple[int, ...]]:
    found = state.items_of(numbers)
    ends = found.ptr.tolist()
    return [tuple(found.longs[low:high].tolist()) for low, high in pairwise(ends)]


def listed(rows: BindingRows) -> list[tuple[int, int, int]]:
    return sorted(zip(rows.value.tolist(), rows.variable.tolist(), rows.document.tolist(), strict=True))


@given(batches, st.lists(st.integers(0, 4), unique=True, max_size=3).map(sorted))
def test_history_gives_the_rows_of_values_and_of_documents(
    chosen: list[list[Document]], asked: list[int]
) -> None:
    state, flat = history_of(chosen), [one for some in chosen for one in some]
    everything = [(v, name, number) for number, one in enumerate(flat) for name, v in one[2].items()]
    found = state.of_values(np.array(asked, np.int64), 1)
    assert listed(found) == sorted(row for row in everything if row[0] in asked)
    assert found.value.tolist() == sorted(found.value.tolist())
    numbers = np.arange(0, len(flat), 2, dtype=np.int64)
    own = state.of_documents(numbers, np.array([10], np.int64), 2)
    assert listed(own) == sorted(row for row in everything if row[1] == 10 and row[2] % 2 == 0)
    assert state.documents == len(flat)
    assert state.oldest == (0 if flat else state.next_number)


@given(batches)
def test_history_knows_when_and_of_what_its_documents_are(chosen: list[list[Document]]) -> None:
    state, flat = history_of(chosen), [one for some in chosen for one in some]
    asked = np.arange(len(flat) + 2, dtype=np.int64)
    assert state.sequence(asked)[0].tolist() == [*range(1_000, 1_000 + len(flat)), -1, -1]
    assert state.times(asked).tolist() == [*(one[0] for one in flat), LONG_AGO, LONG_AGO]
    assert state.latest == max([LONG_AGO, *(one[0] for one in flat)])
    numbers = np.arange(len(flat), dtype=np.int64)
    assert items_of(state, numbers) == [
        (2 * number, 2 * number + 1) if number % 3 == 0 else (1_000 + number,) for number in range(len(flat))
    ]
    assert state.texts(numbers, np.full(len(flat), 4, np.int32)).tolist() == [
        f"text {number}" if number % 2 else "" for number in range(len(flat))
    ]
    assert not any(state.texts(numbers, np.full(len(flat), 5, np.int32)))
    for stream in (1, 2):
        held = [number for number, one in enumerate(flat) if stream in one[1]]
        assert state.stream_documents(stream).tolist() == held
    if flat:
        over_and_over = np.array([len(flat) - 1, 0, 0, len(flat) - 1])
        assert state.seqs(over_and_over).tolist() == [1_000 + one for one in over_and_over.tolist()]


@given(batches, st.integers(0, 50), st.integers(0, 20), st.integers(0, 20))
def test_compaction_keeps_everything_in_reach_and_the_newest_batch(
    chosen: list[list[Document]], time: int, number: int, first: int
) -> None:
    state, flat = history_of(chosen), [one for some in chosen for one in some]
    reach = Reach(time, number, {1: first})
    after = compacted(state, reach)
    reached = {
        place
        for place, one in enumerate(flat)
        if place >= number and (one[0] >= time or (1 in one[1] and place >= first))
    }
    newest = set(state.segments[-1].number.tolist()) if state.segments else set()
    held = {number for segment in after.segments for number in segment.number.tolist()}
    assert reached | newest <= held <= set(range(len(flat)))
    assert after.next_number == state.next_number
    kept = [one for one in listed(state.of_values(np.arange(5), 2)) if one[2] in held]
    assert listed(after.of_values(np.arange(5), 2)) == kept
    numbers = np.array(sorted(held), np.int64)
    assert items_of(after, numbers) == items_of(state, numbers)
    nodes = np.full(len(numbers), 4, np.int32)
    assert after.texts(numbers, nodes).tolist() == state.texts(numbers, nodes).tolist()


def test_many_small_batches_become_few_segments() -> None:
    state = LevelState()
    for batch in range(200):
        state = compacted(state, Reach(0, 0, {}))
        segment = segment_of(batch, state.next_number, [(batch, (1,), {10: batch % 5})])
        state = with_segment(state, segment, batch, Asked())
    assert len(state.segments) <= 13
    assert state.documents == 200
    assert state.segments[0].first == 0


def test_a_batch_without_documents_moves_the_clock_and_leaves_no_segment() -> None:
    before = history_of([[(3, (1,), {10: 1})]])
    after = with_segment(before, segment_of(1, 1, []), 77, Asked(frozenset({1})))
    assert after.segments == before.segments
    assert (after.clock, after.last_batch, after.latest) == (77, 1, 3)
    assert after.asked.streams == {1}


def test_levels_are_stored_under_their_numbers() -> None:
    assert list(states_named([LevelState(), LevelState()])) == ["level0", "level1"]


def same(one: Segment, other: Segment) -> bool:
    arrays = ("number", "seq", "sub", "time", "member_stream", "member_number", "text_number", "text_node")
    return (
        all((getattr(one, name) == getattr(other, name)).all() for name in arrays)
        and listed(one.rows) == listed(other.rows)
        and one.derived.number.tolist() == other.derived.number.tolist()
        and one.derived.items.padded(-1).tolist() == other.derived.items.padded(-1).tolist()
        and one.texts.to_pylist() == other.texts.to_pylist()
        and (one.first, one.last) == (other.first, other.last)
    )


@settings(max_examples=25)
@given(chosen=st.lists(documents, min_size=1, max_size=5))
def test_a_segment_is_read_from_its_files_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, chosen: list[Document]
) -> None:
    folder = tmp_path_factory.mktemp("segments")
    segment = segment_of(3, 40, chosen)
    saved = saved_segment(folder, segment)
    assert saved.stem == stem_of(segment)
    assert same(saved, segment)
    assert same(load_segment(folder, saved.stem), segment)
    assert saved_segment(folder, saved) is saved


def test_a_segment_with_other_documents_has_another_name() -> None:
    one = segment_of(3, 40, [(1, (1,), {10: 1}), (2, (1,), {10: 2})])
    assert stem_of(one) != stem_of(one.kept(np.array([True, False])))
    assert stem_of(one) != stem_of(segment_of(3, 40, [(1, (1,), {10: 1}), (2, (1,), {10: 3})]))


def test_a_table_without_rows_has_no_file(tmp_path: Path) -> None:
    saved_segment(tmp_path, segment_of(0, 1, [(1, (), {})]))
    kinds = {path.name.split(".")[1] for path in tmp_path.glob("*.arrow")}
    assert kinds == {"rows", "documents", "texts"}


def test_a_segment_whose_rows_are_gone_cannot_be_read(tmp_path: Path) -> None:
    saved = saved_segment(tmp_path, segment_of(0, 1, [(1, (1,), {10: 1})]))
    (tmp_path / f"{saved.stem}.rows.arrow").unlink()
    with pytest.raises((OSError, DamagedFileError)):
        load_segment(tmp_path, saved.stem)


def test_a_state_comes_back_as_it_was_saved_with_what_was_noted(tmp_path: Path) -> None:
    asked = Asked(frozenset({1}), frozenset({10, 11}), frozenset({11}))
    state = replace(history_of([[(5, (1,), {10: 1})], [(6, (2,), {})]]), asked=asked, clock=99, latest=6)
    store = HistoryStore(tmp_path)
    store.save(1, {"level0": state}, note={"clock": 3})
    levels, note, _ = store.load_after(1)
    found = levels["level0"]
    assert note == {"clock": 3}
    assert (found.next_number, found.clock, found.last_batch, found.latest) == (2, 99, 1, 6)
    assert found.asked == asked
    assert all(same(one, other) for one, other in zip(found.segments, state.segments, strict=True))


def test_only_the_very_batch_is_gone_on_from(tmp_path: Path) -> None:
    store = HistoryStore(tmp_path)
    store.save(4, {"level0": history_of([[(5, (1,), {10: 1})]])})
    assert store.load_after(3) == ({}, None, None)
    assert store.load_after(5) == ({}, None, None)
    assert store.load(4) == {}
    assert list(store.load(9)) == ["level0"]


def test_the_state_before_a_batch_stays_until_the_batch_after_it(tmp_path: Path) -> None:
    store = HistoryStore(tmp_path)
    state = history_of([[(5, (1,), {10: 1})]])
    for batch in (2, 5, 9):
        store.save(batch, {"level0": state}, before=batch - 1)
    names = sorted(path.name for path in tmp_path.glob("state-*.json"))
    assert names == ["state-000000000005.json", "state-000000000009.json"]


def test_what_an_attempt_that_was_cut_otherwise_left_is_removed(tmp_path: Path) -> None:
    store = HistoryStore(tmp_path)
    state = history_of([[(5, (1,), {10: 1})]])
    for batch in (2, 4, 6):
        store.save(batch, {"level0": state}, before=2)
    assert [path.name for path in sorted(tmp_path.glob("state-*.json"))] == [
        "state-000000000002.json",
        "state-000000000006.json",
    ]


def test_segments_that_no_state_has_are_removed(tmp_path: Path) -> None:
    store = HistoryStore(tmp_path)
    first, second = history_of([[(5, (1,), {10: 1})]]), history_of([[(6, (1,), {10: 2})]])
    store.save(1, {"level0": first}, before=0)
    store.save(2, {"level0": second}, before=1)
    stems = {stem_of(one) for state in (first, second) for one in state.segments}
    assert {path.name.split(".")[0] for path in tmp_path.glob("*/*.arrow")} == stems
    store.save(3, {"level0": second}, before=2)
    assert {path.name.split(".")[0] for path in tmp_path.glob("*/*.arrow")} == {stem_of(second.segments[0])}


def test_a_file_that_is_missing_is_named_and_the_state_refused(tmp_path: Path) -> None:
    store = HistoryStore(tmp_path)
    store.save(1, {"level0": history_of([[(5, (1,), {10: 1})]])})
    assert store.missing() == []
    gone = next(tmp_path.glob("*/*.members.arrow"))
    gone.unlink()
    assert store.missing() == [gone]
    with pytest.raises(CompiledSetError, match=r"state-000000000001.json is damaged.*missing"):
        store.load(2)


def test_a_state_of_another_format_is_refused_by_its_number(tmp_path: Path) -> None:
    from feedweir.logs import seals

    path = tmp_path / "state-000000000001.json"
    path.write_bytes(seals.sealed_json({"format": 99, "levels": {}, "note": None}, seals.name_of(path)))
    with pytest.raises(CompiledSetError, match="format 99"):
        HistoryStore(tmp_path).load_after(1)
