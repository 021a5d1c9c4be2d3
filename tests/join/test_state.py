from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.errors import CompiledSetError
from feedweir.join.patterns.found import Match
from feedweir.join.patterns.history_store import HistoryStore
from feedweir.join.patterns.pattern_logic import PatternLogic
from feedweir.join.patterns.pattern_set import compile_patterns
from feedweir.join.patterns.variables import PatternQuery
from feedweir.join.window_bounds import JoinBounds
from feedweir.match.trees import compile_trees
from feedweir.plan.nodes import Block, LastItems, PatternJoin, Source, TimeSpan, WindowSpec
from feedweir.plan.predicates import PatternNode, TreePattern
from tests.join.naive import Document, Meaning, item
from tests.join.running import batch_of
from tests.join.strategies import documents, queries


def same_title(window: WindowSpec, key: int = 1, select: str = "") -> PatternQuery:
    def block(variable: str) -> Block:
        return Block(Source("S"), TreePattern(PatternNode("//", "title", (), variable)))

    return PatternQuery(key, PatternJoin("join", block("x"), block("y"), (("x", "y"),), window, select))


def titled(seq: int, time: int, title: str) -> Document:
    return item(seq, time, f"<item><title>{title}</title></item>", "source S")


@settings(max_examples=60, deadline=None)
@given(queries(), documents(), st.lists(st.integers(0, 9), max_size=4))
def test_a_process_that_dies_and_starts_again_finds_everything_once(
    tmp_path_factory: pytest.TempPathFactory,
    chosen: list[PatternQuery],
    stream: list[Document],
    crashes: list[int],
) -> None:
    """A crash comes after the state is saved and before results are committed: the batch is repeated."""
    joins = compile_patterns(chosen)
    trees = compile_trees(joins.patterns)
    store = HistoryStore(tmp_path_factory.mktemp("state"))
    committed: list[Match] = []
    logic = PatternLogic(joins)
    for number, start in enumerate(range(0, len(stream), 2)):
        for attempt in range(2):
            states = store.load(number) or logic.start()
            found, after = logic.step(states, batch_of(stream[start : start + 2], trees), number)
            store.save(number, after)
            if number in crashes and attempt == 0:
                logic = PatternLogic(joins)
                continue
            committed += found.matches()
            break
    assert set(committed) == Meaning(stream, joins.bounds).matches(chosen)
    assert len(committed) == len(set(committed))


def test_state_is_bounded_by_the_windows_in_use(tmp_path: Path) -> None:
    joins = compile_patterns(
        [same_title(TimeSpan(timedelta(microseconds=20)))], bounds=JoinBounds(lateness=timedelta(0))
    )
    trees = compile_trees(joins.patterns)
    logic = PatternLogic(joins, max_cached_rows=100)
    store = HistoryStore(tmp_path)
    states = logic.start()
    sizes = []
    for number in range(60):
        stream = [titled(10 * number + place, 10 * number + place, f"t{place % 3}") for place in range(10)]
        found, states = logic.step(states, batch_of(stream, trees), number)
        store.save(number, states)
        sizes.append(states["level0"].documents)
    assert max(sizes) <= 100
    assert len(states["level0"].segments) <= 10
    assert found.count() > 0
    assert len(list(tmp_path.glob("state-*.json"))) == 2
    assert len(list(tmp_path.glob("*/*.rows.arrow"))) <= 20


def test_what_a_process_goes_on_from_lies_on_disk_and_the_view_cache_stays(tmp_path: Path) -> None:
    joins = compile_patterns([same_title(TimeSpan(timedelta(days=1)))])
    trees = compile_trees(joins.patterns)
    logic = PatternLogic(joins)
    store = HistoryStore(tmp_path)
    states = logic.start()
    for number in range(30):
        stream = [titled(10 * number + place, number, f"t{place}") for place in range(10)]
        found, after = logic.step(states, batch_of(stream, trees), number)
        states = store.save(number, after)
        logic.saved(after, states)
        assert all(segment.stem for segment in states["level0"].segments)
        assert not any(segment.rows.value.flags.owndata for segment in states["level0"].segments)
        assert found.count() == 2 * 10 * number
    assert logic.caches[0].view.misses == 10


def test_a_window_of_years_is_bounded_by_the_number_of_documents() -> None:
    bounds = JoinBounds(max_documents=5)
    joins = compile_patterns([same_title(TimeSpan(timedelta(days=36500)))], bounds=bounds)
    trees = compile_trees(joins.patterns)
    for cut in (1, 7, 30):
        logic = PatternLogic(joins)
        states = logic.start()
        pairs: set[tuple[int, ...]] = set()
        for number, start in enumerate(range(0, 30, cut)):
            stream = [titled(place, place, "same") for place in range(start, min(start + cut, 30))]
            found, states = logic.step(states, batch_of(stream, trees), number)
            pairs |= {match.items for match in found.matches()}
        assert pairs == {(a, b) for a in range(30) for b in range(30) if 0 < abs(a - b) <= 5}
        assert found.notices == {1: "its window is cut to the last 5 documents"}


def test_the_longest_possible_window_does_not_overflow() -> None:
    joins = compile_patterns([same_title(TimeSpan(timedelta.max)), same_title(LastItems(10**30), 2)])
    trees = compile_trees(joins.patterns)
    logic = PatternLogic(joins)
    stream = [titled(1, 0, "a"), titled(2, 2**52, "a")]
    found, _ = logic.step(logic.start(), batch_of(stream, trees), 0)
    assert {(match.key, match.items) for match in found.matches()} == {
        (1, (1, 2)),
        (1, (2, 1)),
        (2, (1, 2)),
        (2, (2, 1)),
    }


def test_history_is_kept_when_a_query_is_edited(tmp_path: Path) -> None:
    day = timedelta(microseconds=1000)
    store = HistoryStore(tmp_path)
    before = compile_patterns([same_title(TimeSpan(day))])
    trees = compile_trees(before.patterns)
    logic = PatternLogic(before)
    _, states = logic.step(logic.start(), batch_of([titled(1, 1, "a")], trees), 0)
    store.save(0, states)
    edited = compile_patterns([same_title(TimeSpan(3 * day), 7, "<o>{$y}</o>"), same_title(LastItems(1), 8)])
    logic = PatternLogic(edited)
    found, _ = logic.step(store.load(1), batch_of([titled(2, 2000, "a")], compile_trees(edited.patterns)), 1)
    assert (7, (1, 2)) in {(match.key, match.items) for match in found.matches()}


def test_a_damaged_state_is_reported_by_name(tmp_path: Path) -> None:
    store = HistoryStore(tmp_path)
    (tmp_path / "state-000000000003.json").write_text("{")
    with pytest.raises(CompiledSetError, match="state-000000000003"):
        store.load(4)
    assert store.load(3) == {}


def test_a_small_view_cache_changes_no_result() -> None:
    stream = [titled(place, place, f"t{place * place % 7}") for place in range(80)]
    joins = compile_patterns([same_title(TimeSpan(timedelta(microseconds=30)))])
    trees = compile_trees(joins.patterns)
    answers = []
    for size in (1, 20, 10**6):
        logic = PatternLogic(joins, max_cached_rows=size)
        states = logic.start()
        found: list[Match] = []
        for number, start in enumerate(range(0, 80, 5)):
            results, states = logic.step(states, batch_of(stream[start : start + 5], trees), number)
            found += results.matches()
        answers.append(found)
        misses = logic.caches[0].view.misses
        assert misses == 4 if size == 10**6 else misses > 4
    assert answers[0] == answers[1] == answers[2]
    assert answers[0]


def test_documents_that_meet_too_often_are_evaluated_in_smaller_groups() -> None:
    joins = compile_patterns([same_title(TimeSpan(timedelta(days=1)))], bounds=JoinBounds(max_pairs=50))
    trees = compile_trees(joins.patterns)
    logic = PatternLogic(joins)
    stream = [titled(place, place, "same") for place in range(40)]
    found, _ = logic.step(logic.start(), batch_of(stream, trees), 0)
    assert len(found.levels[0].found) > 2
    assert found.count() == 40 * 39
