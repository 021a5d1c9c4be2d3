"""Joins that are divided among tasks by the value that they compare find what one task finds, each at one place."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.items.model import Item
from feedweir.items.schema import batch_of as item_batch
from feedweir.items.string_keys import keys_of
from feedweir.join.patterns.pattern_logic import PatternLogic
from feedweir.join.patterns.pattern_set import compile_patterns
from feedweir.join.patterns.scope import UNDIVIDED, ValueSlice
from feedweir.join.patterns.variables import PatternQuery
from feedweir.join.replay import Replay
from feedweir.join.stored.join_versions import open_joins, save_joins
from feedweir.join.streams import JoinFeed
from feedweir.join.window_bounds import JoinBounds
from feedweir.match.trees import compile_trees
from feedweir.plan.nodes import LastItems
from tests.join.divided import DividedReplay
from tests.join.naive import Document, Meaning, item
from tests.join.running import batch_of
from tests.join.strategies import documents, queries
from tests.join.test_result_bounds import START, join


@settings(max_examples=60, deadline=None)
@given(queries(), documents(), st.sampled_from([1, 2, 7, 64]))
def test_slices_and_the_rest_together_find_what_the_obvious_meaning_says(
    chosen: list[PatternQuery], stream: list[Document], tasks: int
) -> None:
    expected = Meaning(stream, JoinBounds()).matches(chosen)
    joins = compile_patterns(chosen)
    trees = compile_trees(joins.patterns)
    for cut in (1, 3, 1000):
        logic, *workers = (PatternLogic(joins, is_piecewise=True) for _ in range(3))
        states, found = logic.start(), set()
        for number, start in enumerate(range(0, len(stream), cut)):
            batch = batch_of(stream[start : start + cut], trees)
            for slice_ in range(tasks):
                divided = workers[slice_ % 2].divided(states, batch, number, ValueSlice(slice_, tasks))
                found |= {match for level in divided for match in level.matches()}
            results, states = logic.step(states, batch, number, scope=UNDIVIDED)
            found |= set(results.matches())
        assert found == expected


def test_a_match_of_one_value_is_found_by_one_task_only() -> None:
    joins = compile_patterns([PatternQuery(1, join(LastItems(50)))])
    trees = compile_trees(joins.patterns)
    logic = PatternLogic(joins, is_piecewise=True)
    stream = [item(n, n * 10, f"<item><a>{n % 9}</a></item>", "source S") for n in range(36)]
    batch = batch_of(stream, trees)
    whole = logic.step(logic.start(), batch, 0)[0].matches()
    found = [
        [match for level in logic.divided({}, batch, 0, ValueSlice(n, 4)) for match in level.matches()]
        for n in range(4)
    ]
    assert sorted(match.items for one in found for match in one) == sorted(match.items for match in whole)
    assert sum(bool(one) for one in found) > 1
    value, _ = keys_of([str(n) for n in range(9)])
    assert [int(ValueSlice(n, 4).has(value).sum()) for n in range(4)] == [
        len({match.items[0] % 9 for match in one}) for one in found
    ]


def test_where_bounds_may_be_struck_the_whole_decides() -> None:
    with TemporaryDirectory() as scratch:
        save_joins(Path(scratch) / "1.joins", [JoinFeed(1, join(LastItems(50)))])
        joins = open_joins(Path(scratch) / "1.joins")
        bounds = JoinBounds(max_steps=100)
        opened = [joins.compiled(joins.shards[0], bounds) for _ in range(2)]
        replay = DividedReplay(opened[0], opened[1:], 4)
        some = [item_of(n) for n in range(30)]
        seqs = np.array([item.seq for item in some], np.int64)
        found = replay.step(item_batch(some), dict.fromkeys(replay.compiled.matched, seqs))
        whole = Replay(joins.compiled(joins.shards[0], bounds))
        expected = whole.step(item_batch(some), dict.fromkeys(whole.compiled.matched, seqs))
        assert replay.found == 0
        assert found.made.num_rows == 30 * 29
        assert found.made.equals(expected.made)


def item_of(place: int) -> Item:
    return Item(
        source="S",
        identity=str(place),
        arrived=START,
        published=START,
        seq=place + 1,
        raw="<item><a>same</a></item>",
    )
