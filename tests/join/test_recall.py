"""What an edit newly asks of what is remembered, what windows still reach, and what is told when they do not."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.items.string_keys import stable_number
from feedweir.join.patterns.evaluate import Found
from feedweir.join.patterns.level_history import Asked, Compositions, LevelState
from feedweir.join.patterns.pattern_logic import PatternLogic
from feedweir.join.patterns.pattern_set import PatternSet, compile_patterns
from feedweir.join.patterns.reach import (
    cut_short,
    is_timed,
    reach_of,
    within_counts,
    within_memory,
    without_own_parts,
)
from feedweir.join.patterns.recall import Recall, asked_by, forgetting, lacking, recalled_batch, remembered
from feedweir.join.patterns.variables import PatternQuery
from feedweir.join.window_bounds import FOREVER, JoinBounds
from feedweir.match.trees import compile_trees
from feedweir.plan.nodes import Block, LastItems, PatternJoin, Source, TimeSpan, WindowSpec
from feedweir.plan.predicates import PatternNode, TreePattern
from tests.join.naive import Document, item
from tests.join.running import batch_of

S = stable_number("source S")
US = timedelta(microseconds=1)


def on(name: str, window: WindowSpec, *, stream: str = "S", select: str = "") -> PatternQuery:
    """Equal values of elements called so."""

    def block(variable: str) -> Block:
        return Block(Source(stream), TreePattern(PatternNode("//", name, (), variable)))

    return PatternQuery(1, PatternJoin("join", block("x"), block("y"), (("x", "y"),), window, select))


def compiled(*queries: PatternQuery, bounds: JoinBounds | None = None) -> PatternSet:
    joins = compile_patterns([replace(one, key=place) for place, one in enumerate(queries)], bounds=bounds)
    assert not joins.failures
    return joins


def state_after(joins: PatternSet, documents: list[Document]) -> LevelState:
    logic = PatternLogic(joins)
    _, states = logic.step(logic.start(), batch_of(documents, compile_trees(joins.patterns)), 0)
    return states["level0"]


def titled(seq: int, time: int, text: str = "t", stream: str = "source S") -> Document:
    return item(seq, time, f"<i><a>{text}</a><b>{text}</b></i>", stream)


def test_a_longer_window_asks_for_nothing_new_and_another_path_or_text_does() -> None:
    before = compiled(on("a", TimeSpan(5 * US)))
    state = state_after(before, [titled(1, 1)])
    for query, expected in [
        (on("a", TimeSpan(500 * US)), []),
        (on("a", LastItems(4)), []),
        (on("b", TimeSpan(5 * US)), ["source S"]),
        (on("a", TimeSpan(5 * US), select="<o>{$x}</o>"), ["source S"]),
        (on("a", TimeSpan(5 * US), stream="T"), ["source T"]),
    ]:
        (level,) = compiled(query).levels
        assert lacking(level, asked_by(level), state) == expected


def test_what_a_level_took_in_is_kept_with_its_state() -> None:
    joins = compiled(on("a", TimeSpan(5 * US)))
    state = state_after(joins, [titled(1, 1)])
    assert state.asked == asked_by(joins.levels[0])
    assert lacking(joins.levels[0], asked_by(joins.levels[0]), LevelState()) == ["source S"]


@given(
    st.lists(st.integers(0, 30), min_size=1, max_size=12),
    st.integers(1, 20),
    st.integers(0, 4),
    st.integers(1, 9),
)
@settings(max_examples=30, deadline=None)
def test_what_is_remembered_of_a_stream_is_taken_as_far_back_as_windows_reach(
    times: list[int], span: int, count: int, most: int
) -> None:
    window: WindowSpec = TimeSpan(span * US)
    state = state_after(compiled(on("a", window)), [titled(10 + n, time) for n, time in enumerate(times)])
    bounds = JoinBounds(lateness=2 * US, max_documents=most)
    counted = [on("b", LastItems(count))] if count else []
    (level,) = compiled(on("b", window), *counted).levels
    clock = max(times)
    found = remembered(level, ["source S"], [state], clock, bounds)["source S"]
    back = {10 + n: len(times) - n for n in range(len(times))}
    expected = [
        10 + n
        for n, time in enumerate(times)
        if back[10 + n] <= most and (time >= clock - span - 2 or back[10 + n] <= count)
    ]
    assert found.id.tolist() == expected
    assert found.seq.tolist() == expected
    assert found.time.tolist() == [times[seq - 10] for seq in expected]


def test_what_two_shards_remember_of_a_stream_is_taken_once() -> None:
    joins = compiled(on("a", TimeSpan(90 * US)))
    one = state_after(joins, [titled(1, 1), titled(2, 2)])
    other = state_after(joins, [titled(2, 2), titled(3, 3)])
    found = remembered(joins.levels[0], ["source S"], [one, other], 3, JoinBounds())
    assert found["source S"].id.tolist() == [1, 2, 3]
    assert remembered(joins.levels[0], ["source S"], [], 3, JoinBounds()) == {}
    unaware = replace(one, asked=Asked())
    assert remembered(joins.levels[0], ["source S"], [unaware], 3, JoinBounds()) == {}


def test_remembered_documents_are_a_batch_in_the_order_of_the_stream() -> None:
    joins = compiled(on("a", TimeSpan(90 * US)))
    state = state_after(joins, [titled(3, 5), titled(4, 6)])
    trees = compile_trees(joins.patterns)
    asked: list[list[int]] = []

    def witness(ids: np.ndarray) -> object:
        asked.append(ids.tolist())
        return trees.witnesses(["<a/>"] * len(ids))

    found = remembered(joins.levels[0], ["source S"], [state], 6, JoinBounds())
    batch = recalled_batch(found, witness)  # type: ignore[arg-type]
    assert asked == [[3, 4]]
    assert batch.members["source S"].tolist() == [0, 1]
    assert batch.seq.tolist() == [3, 4]


def test_what_is_asked_anew_is_forgotten_first_and_the_rest_stays() -> None:
    both = compiled(on("a", TimeSpan(90 * US)), on("b", TimeSpan(90 * US), stream="T"))
    state = state_after(both, [titled(1, 1), titled(2, 2, "u", "source T")])
    left = forgetting(state, both.levels[0], ["source S"])
    assert left.stream_documents(S).tolist() == []
    assert left.stream_documents(stable_number("source T")).tolist() == [1]
    assert {int(n) for segment in left.segments for n in segment.rows.document.tolist()} == {1}
    assert forgetting(state, both.levels[0], []).segments == state.segments


def test_after_an_edit_documents_of_before_are_met_on_the_new_path() -> None:
    day = TimeSpan(timedelta(days=1))
    old, new = compiled(on("a", day)), compiled(on("b", day))
    before = [titled(1, 1, "same"), titled(2, 2, "other")]
    state = state_after(old, before)
    logic, trees = PatternLogic(new), compile_trees(new.patterns)
    by_id = {one.items[0]: one.xml for one in before}
    recall = Recall([state], 2, lambda ids: trees.witnesses([by_id[one] for one in ids.tolist()]), 0)
    assert logic.lacking({"level0": state}) == {"level0": ["source S"]}
    states = logic.recalled({"level0": state}, recall)
    found, after = logic.step(states, batch_of([titled(3, 3, "same")], trees), 1)
    assert {match.items for match in found.matches()} == {(1, 3), (3, 1)}
    assert logic.lacking(after) == {}
    assert logic.recalled(after, recall) == after, "it is asked for once"


def test_the_cache_of_a_state_stays_when_the_state_is_written_down() -> None:
    joins = compiled(on("a", TimeSpan(90 * US)))
    logic, trees = PatternLogic(joins), compile_trees(joins.patterns)
    _, states = logic.step(logic.start(), batch_of([titled(1, 1)], trees), 0)
    mapped = {name: replace(one) for name, one in states.items()}
    logic.saved(states, mapped)
    assert logic.caches[0].state is mapped["level0"]
    logic.step(mapped, batch_of([titled(2, 2)], trees), 1)
    assert logic.caches[0].view.hits == 1
    view = logic.caches[0].view
    logic.step({"level0": replace(mapped["level0"])}, batch_of([titled(2, 2)], trees), 1)
    assert logic.caches[0].view is not view, "another state is not what the cache is of"


def test_what_windows_reach_follows_from_the_clock_and_from_the_last_documents() -> None:
    bounds = JoinBounds(lateness=3 * US, max_documents=50)
    joins = compiled(on("a", TimeSpan(10 * US)), on("a", LastItems(2)), bounds=bounds)
    state = state_after(joins, [titled(n, n * 10) for n in range(1, 6)])
    reach = reach_of(joins.levels[0], state, bounds)
    assert reach.time == 50 - 10 - 3
    assert reach.streams == {S: 3}
    assert reach.number == 5 - 50
    (counted,) = compiled(on("a", LastItems(2))).levels
    assert reach_of(counted, state, bounds).time == FOREVER
    assert reach_of(compiled(on("a", LastItems(9))).levels[0], state, bounds).streams == {S: 0}


def test_a_window_that_is_cut_short_is_named() -> None:
    bounds = JoinBounds(max_documents=3)
    joins = compiled(
        on("a", TimeSpan(1_000 * US)), on("a", TimeSpan(5 * US)), on("a", LastItems(9)), bounds=bounds
    )
    (level,) = joins.levels
    few = state_after(joins, [titled(n, n * 10) for n in range(1, 4)])
    assert cut_short(level, few, bounds) == []
    many = state_after(joins, [titled(n, n * 10) for n in range(1, 7)])
    assert [level.results[one].key for one in cut_short(level, many, bounds)] == [0]
    assert [is_timed(one).tolist() for one in level.relations] == [[True, True, False]]


def pairs(*some: tuple[int, int, int]) -> Found:
    """(row of R_T, left, right)."""
    columns = np.array(some, np.int64).reshape(-1, 3).T
    return Found(0, columns[0], columns[1], columns[2], np.zeros(len(some), np.int64))


def test_windows_of_documents_count_the_documents_of_the_earlier_ones_stream() -> None:
    joins = compiled(on("a", LastItems(2)), on("b", TimeSpan(9 * US), stream="T"))
    stream = [titled(n, n, stream="source T" if n % 2 else "source S") for n in range(8)]
    state = state_after(joins, stream)
    (level,) = joins.levels
    place = next(n for n, mode in enumerate(level.relations[0].mode) if mode >= 2)
    found = within_counts(pairs((place, 4, 6), (place, 2, 6), (place, 0, 6), (place, 6, 2)), level, state)
    assert list(zip(found.left.tolist(), found.right.tolist(), strict=True)) == [(4, 6), (2, 6), (6, 2)]
    assert found.needed.tolist() == [1, 2, 2]


def test_what_was_forgotten_before_the_clock_went_back_is_met_no_more() -> None:
    joins = compiled(on("a", TimeSpan(10 * US)))
    state = state_after(joins, [titled(n, n) for n in range(1, 5)])
    (level,) = joins.levels
    found = pairs((0, 0, 3), (0, 2, 3))
    assert len(within_memory(found, level, state, np.empty((0, 2), np.int64), 0)) == 2
    peak_between = np.array([[2, 100]], np.int64)
    left = within_memory(found, level, state, peak_between, 5)
    assert (left.left.tolist(), left.right.tolist()) == ([2], [3])
    assert len(within_memory(found, level, state, peak_between, 95)) == 2, "lateness covers the jump"


def test_a_result_does_not_meet_the_items_that_it_was_made_of() -> None:
    joins = compiled(on("a", TimeSpan(10 * US)))
    state = state_after(joins, [titled(n, n) for n in range(1, 5)])
    made = replace(state.segments[0], derived=Compositions.of({3: (1, 2)}))
    state = replace(state, segments=(made,))
    left = without_own_parts(pairs((0, 0, 3), (0, 2, 3), (0, 0, 1)), state)
    assert list(zip(left.left.tolist(), left.right.tolist(), strict=True)) == [(2, 3), (0, 1)]
    assert len(without_own_parts(pairs(), state)) == 0


@pytest.mark.parametrize("dropped", [[], [0], [0, 1]])
def test_rows_that_found_too_much_leave_the_others(dropped: list[int]) -> None:
    found = pairs((0, 1, 2), (1, 1, 3), (1, 2, 3))
    marks = np.zeros(3, np.bool_)
    marks[dropped] = True
    left = found.without(marks)
    assert left.row.tolist() == [row for row in (0, 1, 1) if row not in dropped]
    assert (left is found) is (not dropped)
