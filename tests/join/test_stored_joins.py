"""Joins compiled once and opened by all: what is kept, what a change costs, and parts that give what one set gives."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import given, settings

from feedweir.join.patterns.pattern_logic import PatternLogic
from feedweir.join.patterns.pattern_set import PatternSet, compile_patterns
from feedweir.join.patterns.variables import PatternQuery
from feedweir.join.stored.compiled_joins import CompiledPart, load_part, save_part
from feedweir.join.stored.join_versions import change_joins, open_joins, prune_joins, save_joins
from feedweir.join.streams import JoinFeed, JoinSet
from feedweir.join.window_bounds import JoinBounds
from feedweir.match.trees import compile_trees
from feedweir.plan.nodes import AnnotationJoin, Block, PatternJoin, Source, TimeSpan, Window
from feedweir.plan.plan_wire import stream_keys
from feedweir.plan.predicates import PatternNode, TreePattern
from tests.join.naive import Document, Meaning
from tests.join.running import batch_of
from tests.join.strategies import documents, queries
from tests.join.test_join_streams import annotated

DAY = TimeSpan(timedelta(days=1))
_NONE = np.empty(0, np.int64)


def stored(one: PatternSet, directory: Path, name: str) -> PatternSet:
    """As it is read from its files."""
    save_part(directory, name, CompiledPart(one, _NONE, np.empty(0, np.bool_), _NONE, _NONE))
    return load_part(directory, name, one.bounds).patterns


@settings(max_examples=60, deadline=None)
@given(queries(), documents())
def test_joins_compiled_apart_and_kept_in_files_find_what_the_obvious_meaning_says(
    chosen: list[PatternQuery], stream: list[Document]
) -> None:
    expected = Meaning(stream, JoinBounds()).matches(chosen)
    with TemporaryDirectory() as scratch:
        apart = [compile_patterns(chosen[start::3]) for start in range(3)]
        parts = [stored(one, Path(scratch), str(place)) for place, one in enumerate(apart)]
        patterns = list(dict.fromkeys(pattern for one in parts for pattern in one.patterns))
        for cut in (2, 1000):
            trees, logic = compile_trees(patterns), PatternLogic(*parts, patterns=patterns)
            states, found = logic.start(), set()
            for number, start in enumerate(range(0, len(stream), cut)):
                results, states = logic.step(states, batch_of(stream[start : start + cut], trees), number)
                found |= set(results.matches())
            assert found == expected


def join(number: int, *, stream: str = "S", minutes: int = 60) -> PatternJoin:
    blocks = [
        Block(
            Source(stream), TreePattern(PatternNode("/", "item", (PatternNode("/", f"l{number}", (), name),)))
        )
        for name in ("x", "y")
    ]
    return PatternJoin("join", blocks[0], blocks[1], (("x", "y"),), TimeSpan(timedelta(minutes=minutes)))


def test_a_change_writes_what_it_changes_and_says_what_the_matcher_needs(tmp_path: Path) -> None:
    feeds = [JoinFeed(n, join(n % 50, stream=f"S{n % 5}", minutes=1 + n)) for n in range(500)]
    first, second, third = (tmp_path / f"{n}.joins" for n in (1, 2, 3))
    save_joins(first, feeds)
    (base,) = (tmp_path / "joins").iterdir()
    written = {path: path.stat().st_mtime_ns for path in base.iterdir()}
    new = JoinFeed(900, join(3, stream="new"))
    wanted, unread = change_joins(first, second, [new], {7})
    assert [query.sources for query in wanted] == [("new",)]
    assert unread == []
    assert {path: path.stat().st_mtime_ns for path in base.iterdir()} == written
    assert len([*(tmp_path / "joins").iterdir()]) == 2
    assert open_joins(second).feeds.tolist() == [*(n for n in range(500) if n != 7), 900]
    assert open_joins(second).plan_of(900) == new.plan
    assert open_joins(second).plan_of(7) is None
    assert open_joins(second).plan_of(8) == feeds[8].plan
    assert open_joins(first).plan_of(7) == feeds[7].plan, "versions in use stay as they are"
    wanted, unread = change_joins(second, third, [], {900})
    assert wanted == []
    assert unread == [stream_keys(new.plan)[id(new.plan.right.input)]]
    prune_joins(tmp_path, [3])
    assert [path.name for path in (tmp_path / "joins").iterdir()] == [base.name]


def test_small_changes_are_taken_together(tmp_path: Path) -> None:
    save_joins(tmp_path / "0.joins", [JoinFeed(n, join(n % 9, minutes=1 + n)) for n in range(200)])
    for n in range(1, 21):
        feed = JoinFeed(1_000 + n, join(n % 9, minutes=500 + n))
        change_joins(tmp_path / f"{n - 1}.joins", tmp_path / f"{n}.joins", [feed], ())
    prune_joins(tmp_path, [20])
    assert len([*(tmp_path / "joins").iterdir()]) <= 3
    assert len(open_joins(tmp_path / "20.joins").feeds) == 220


def test_feeds_of_one_join_share_it_and_those_that_are_dropped_show_nothing(tmp_path: Path) -> None:
    one, other = join(1), annotated(Source("A"), Source("B"))
    save_joins(tmp_path / "1.joins", [JoinFeed(5, one), JoinFeed(6, one), JoinFeed(7, other)])
    change_joins(tmp_path / "1.joins", tmp_path / "2.joins", [JoinFeed(8, join(1))], {5})
    joins = open_joins(tmp_path / "2.joins")
    key = stream_keys(one)[id(one)]
    compiled = [joins.compiled(shard) for shard in joins.shards]
    assert [found for one in compiled for found in one.stored.feeds_of([key])] == [(6, key), (8, key)]
    assert [feed.feed for feed in joins.others().feeds] == [7]
    assert isinstance(joins.others().feeds[0].plan, AnnotationJoin)
    assert isinstance(joins.others().feeds[0].plan.window, Window)


def test_questions_about_a_stream_open_only_the_joins_that_read_it(tmp_path: Path) -> None:
    feeds = [JoinFeed(n, join(n, stream=f"S{n % 10}")) for n in range(100)]
    save_joins(tmp_path / "1.joins", feeds)
    joins = open_joins(tmp_path / "1.joins")
    stream = next(iter(JoinSet([feeds[3]]).matched))
    assert [feed.feed for feed in joins.reading([stream]).feeds] == list(range(3, 100, 10))
