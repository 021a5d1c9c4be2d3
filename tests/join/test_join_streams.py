"""Plans cut into streams: what is matched, what is made, in which round, on which side, and in which shard."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from feedweir.errors import CompiledSetError
from feedweir.join.clock import Clock
from feedweir.join.notices import late_notices, messages_by_feed, setback_notices
from feedweir.join.patterns.variables import blocks_of
from feedweir.join.sides import DIRECT, JoinPart, sides_of
from feedweir.join.stored.join_segments import SHARDS
from feedweir.join.stored.join_segments import shard_of as shard_of_set
from feedweir.join.stored.join_versions import open_joins, save_joins
from feedweir.join.streams import (
    JoinFeed,
    JoinSet,
    compile_plan,
    has_joins,
    inside_patterns,
    is_construction,
    is_plain,
    paths_to,
    plain_queries,
    streams_read,
)
from feedweir.plan.nodes import (
    AnnotationJoin,
    Block,
    Distinct,
    Filter,
    LastItems,
    Node,
    PatternJoin,
    Source,
    TimeSpan,
    Union,
    Window,
    WindowSpec,
)
from feedweir.plan.plan_wire import stream_keys
from feedweir.plan.predicates import FALSE, Contains, PatternNode, Relates, Term, TreePattern
from feedweir.plan.query import Query
from tests.join.stored import everything
from tests.join.test_join_levels import block, chain, same

DAY = TimeSpan(timedelta(days=1))
RED = Contains("title", (Term("red"),), 1)
EQUAL = Relates("title", "=", "title")
A, B, C = Source("A"), Source("B"), Source("C")


def annotated(primary: Node, window: Node, name: str = "w", spec: WindowSpec = DAY) -> AnnotationJoin:
    return AnnotationJoin(name, primary, Window(window, spec), EQUAL)


def told_once(input: Node) -> Distinct:
    return Distinct("d", input, DAY, EQUAL)


def join_set(*plans: Node) -> JoinSet:
    return JoinSet(JoinFeed(place, plan) for place, plan in enumerate(plans, 1))


def key_of(plan: Node, node: Node) -> int:
    return stream_keys(plan)[id(node)]


def test_sources_filters_unions_and_blocks_that_let_documents_through_need_no_join_step() -> None:
    plain = Filter(Union((A, B)), RED)
    shown = Block(A, TreePattern(PatternNode("//", "title")))
    assert not has_joins(Union((plain, shown)))
    assert all(map(is_plain, (plain, shown, A)))
    assert has_joins(replace(shown, select="<x/>"))
    assert is_construction(replace(shown, select="<x/>"))
    assert has_joins(told_once(A))


def test_a_plan_without_joins_is_queries_and_one_with_joins_is_streams() -> None:
    assert compile_plan(3, Filter(A, RED)) == [Query(3, ("A",), RED)]
    compiled = compile_plan(3, annotated(A, B))
    assert isinstance(compiled, JoinFeed)
    assert compiled.feed == 3


def test_a_block_by_itself_is_a_filter_by_its_pattern() -> None:
    pattern = TreePattern(PatternNode("//", "title"))
    assert plain_queries(3, Block(A, pattern)) == [Query(3, ("A",), pattern)]


def test_who_asks_for_nothing_asks_for_it_in_one_query() -> None:
    assert plain_queries(3, Union(())) == [Query(3, (), FALSE)]


def test_the_largest_parts_without_joins_are_what_the_matcher_finds() -> None:
    primary, window = Filter(Union((A, B)), RED), Filter(C, RED)
    plan = Union((annotated(primary, window), Filter(A, RED)))
    joins = join_set(plan)
    assert joins.matched == {
        key_of(plan, primary): primary,
        key_of(plan, window): window,
        key_of(plan, plan.inputs[1]): plan.inputs[1],
    }
    assert {type(one.node) for one in joins.computed.values()} == {AnnotationJoin, Union}
    assert {query.key for query in joins.queries()} == set(joins.matched)


def test_made_streams_come_after_what_they_read() -> None:
    plan = told_once(Filter(annotated(annotated(A, B), C), RED))
    seen: set[int] = set()
    joins = join_set(plan)
    for stream in joins.computed.values():
        assert set(stream.inputs) <= seen | set(joins.matched)
        seen.add(stream.key)


def test_annotation_joins_behind_each_other_are_deeper_and_pattern_joins_later() -> None:
    inner = annotated(A, B)
    pattern = PatternJoin("join", Block(inner, block("x").pattern), block("y"), (("x", "y"),), DAY)
    plan = annotated(Filter(pattern, RED), C)
    joins = join_set(plan)
    rounds = {type(one.node).__name__ + str(one.round): one.depth for one in joins.computed.values()}
    assert rounds == {"AnnotationJoin0": 1, "PatternJoin1": 0, "Filter1": 0, "AnnotationJoin1": 1}
    assert joins.rounds == 1
    assert [type(one.node) for one in joins.patterns(1)] == [PatternJoin]
    assert joins.patterns(0) == []
    assert [type(one.node) for one in joins.others(1, 0)] == [Filter]


def test_equal_parts_of_feeds_are_one_stream_of_the_oldest_of_them() -> None:
    shared = annotated(A, B)
    joins = JoinSet(
        [
            JoinFeed(9, Filter(shared, RED)),
            JoinFeed(4, annotated(A, B)),
            JoinFeed(6, told_once(annotated(A, B))),
        ]
    )
    assert sum(isinstance(one.node, AnnotationJoin) for one in joins.computed.values()) == 1
    key = next(one.key for one in joins.computed.values() if isinstance(one.node, AnnotationJoin))
    assert joins.owners[key] == 4
    assert [feed for feed, _ in joins.roots] == [9, 4, 6]


def test_what_is_made_under_a_window_or_told_once_must_be_remembered() -> None:
    inner, once = annotated(A, B), told_once(A)
    plan = Union((annotated(C, inner), once))
    joins = join_set(plan)
    assert joins.remembered == {key_of(plan, inner), key_of(plan, once)}


def test_only_documents_that_pattern_joins_may_read_are_looked_at_for_bindings() -> None:
    filtered = Filter(annotated(A, C), RED)
    pattern = PatternJoin(
        "join", Block(filtered, block("x").pattern), Block(B, block("y").pattern), (("x", "y"),), DAY
    )
    plan = Union((pattern, annotated(Source("D"), Source("E"))))
    found = {
        plan_node.name
        for key in join_set(plan).witness_streams()
        if isinstance(plan_node := join_set(plan).matched[key], Source)
    }
    assert found == {"A", "B", "C"}


def test_a_pattern_join_reads_what_its_blocks_read_and_has_those_inside_it() -> None:
    plan = chain()
    assert [one.pattern.root.variable for one in blocks_of(plan)] == ["a", "b", "c"]
    assert [node.name for node in streams_read(plan) if isinstance(node, Source)] == ["S", "T", "U"]
    assert inside_patterns(plan) == {
        id(one)
        for one in (plan.left, plan.right, plan.left.left, plan.left.right)  # type: ignore[union-attr]
    }
    joins = join_set(plan)
    assert len(joins.computed) == 1, "an inner join is evaluated with the one around it"


def test_a_window_is_read_through_by_the_join_over_it() -> None:
    assert streams_read(annotated(A, B)) == [A, B]


def test_an_element_is_shown_through_unions_filters_and_primary_sides() -> None:
    story = told_once(A)
    wanted, plain = Filter(story, RED), annotated(story, B)
    plan = Union((wanted, plain, annotated(C, story)))
    joins = join_set(plan)
    root, key = joins.roots[0][1], key_of(plan, story)
    ways = [[type(one.node) for one in way] for way in paths_to(joins, root, key)]
    assert ways == [[Union, Filter], [Union, AnnotationJoin]]
    assert paths_to(joins, key, key) == ((),)
    assert paths_to(joins, root, 12345) == ()


def test_a_story_is_not_shown_in_what_is_made_of_it() -> None:
    story = told_once(A)
    made = Block(story, TreePattern(PatternNode("//", "title", (), "t")), "<x>{$t}</x>")
    joins = join_set(made)
    assert paths_to(joins, joins.roots[0][1], key_of(made, story)) == ()


def test_every_side_of_a_join_names_the_feed_and_the_join() -> None:
    plan = Union((annotated(Filter(A, RED), B, "w"), told_once(C), A))
    joins = join_set(plan)
    keys = {
        name: key_of(plan, node)
        for name, node in [
            ("B", plan.inputs[0].window.input),
            ("C", plan.inputs[1].input),
            ("A", plan.inputs[2]),
        ]
    }  # type: ignore[union-attr]
    texts = {name: [side.text for side in sides_of(joins, [key])[key]] for name, key in keys.items()}
    assert texts == {"B": ["w: the window"], "C": ["d: stories"], "A": [DIRECT]}
    primary = key_of(plan, plan.inputs[0].primary)  # type: ignore[union-attr]
    assert [one.text for one in sides_of(joins, [primary])[primary]] == ["w: the side that is annotated"]
    assert sides_of(joins, [12345]) == {}


def test_blocks_are_sides_by_their_place_and_a_stream_read_twice_is_on_both() -> None:
    joins = join_set(same(1))
    (key,) = joins.matched
    assert [side.text for side in sides_of(joins, [key])[key]] == ["block 1 of 2", "block 2 of 2"]


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (JoinPart("F", "w: the window", partners=(4, 7)), "F (w: the window): joined with items 4, 7"),
        (JoinPart("F", "s", is_in=True, partners=(4,)), "F (s): joined with item 4"),
        (JoinPart("F", DIRECT, is_in=True), "F (as it is): in it without a partner"),
        (JoinPart("F", "s"), "F (s): no partner found"),
        (JoinPart("F", "s", note="not stored yet"), "F (s): not stored yet"),
    ],
)
def test_what_became_of_an_item_in_a_join_is_told_in_one_line(part: JoinPart, text: str) -> None:
    assert part.text == text
    assert part.to_json()["partners"] == list(part.partners)
    assert json.loads(json.dumps(part.to_json()))["in_feed"] is part.is_in


def test_the_shard_of_a_feed_stays_when_the_rest_of_its_query_is_edited() -> None:
    plans = [
        annotated(A, B),
        annotated(A, B, "other"),
        annotated(Filter(C, RED), B, spec=LastItems(4)),
        told_once(annotated(Filter(A, RED), B)),
    ]
    assert len({shard_of(plan) for plan in plans}) == 1
    shards = {shard_of(annotated(A, Source(str(n)))) for n in range(200)}
    assert shards == set(range(SHARDS)), "feeds are spread"


def test_a_pattern_join_has_one_shard_in_whichever_order_it_reads() -> None:
    there = PatternJoin("join", block("x", stream="S"), block("y", stream="T"), (("x", "y"),), DAY)
    back = PatternJoin("join", block("y", stream="T"), block("x", stream="S"), (("x", "y"),), DAY)
    assert shard_of(there) == shard_of(back)


def test_feeds_are_kept_by_shard_and_equal_plans_once(tmp_path: Path) -> None:
    plans = [annotated(A, Source(str(n % 10))) for n in range(30)]
    directory = tmp_path / "1.joins"
    save_joins(directory, [JoinFeed(n, plan) for n, plan in enumerate(plans)])
    joins = open_joins(directory)
    assert joins.shards == sorted({shard_of(plan) for plan in plans})
    feeds = {feed.feed: feed.plan for shard in joins.shards for feed in joins.others(shard).feeds}
    assert feeds == dict(enumerate(plans))
    assert {feed.feed for feed in everything(joins).feeds} == set(range(30)) == {*joins.feeds.tolist()}
    assert len({id(feed.plan) for feed in everything(joins).feeds}) == 10
    assert joins.others(max(joins.shards) + 100).feeds == ()


def test_a_set_without_joins_has_no_shards(tmp_path: Path) -> None:
    save_joins(tmp_path / "1.joins", [])
    assert open_joins(tmp_path / "1.joins").shards == []
    assert everything(open_joins(tmp_path / "1.joins")).feeds == ()


def test_a_changed_byte_of_joins_is_noticed(tmp_path: Path) -> None:
    save_joins(tmp_path / "1.joins", [JoinFeed(1, annotated(A, B))])
    (path,) = tmp_path.glob("joins/*/plans.arrow")
    body = path.read_bytes()
    path.write_bytes(body.replace(b'"A"', b'"X"'))
    with pytest.raises(CompiledSetError, match=r"plans\.arrow of .* is damaged"):
        everything(open_joins(tmp_path / "1.joins"))
    with pytest.raises(CompiledSetError, match=r"plans\.arrow of .* is damaged"):
        open_joins(tmp_path / "1.joins").check()


def test_a_version_that_does_not_say_its_segments_is_refused(tmp_path: Path) -> None:
    save_joins(tmp_path / "1.joins", [JoinFeed(1, annotated(A, B))])
    (tmp_path / "1.joins" / "segments.json").unlink()
    with pytest.raises(CompiledSetError, match=r"segments\.json"):
        open_joins(tmp_path / "1.joins")
    assert open_joins(tmp_path / "2.joins").shards == []


def shard_of(plan: Node) -> int:
    return shard_of_set(JoinSet([JoinFeed(0, plan)]))


def rows(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int32)


WEEK_US = 7 * 86_400_000_000


def test_late_documents_are_told_of_joins_with_windows_of_time_each_once() -> None:
    timed, counted = same(1), replace(same(1), window=LastItems(3))
    streams = join_set(timed, counted).patterns(1)
    (key,) = {key for stream in streams for key in stream.inputs}
    is_late = np.array([False, True, True])
    (message,) = late_notices(streams, {key: rows(0, 1, 2)}, is_late, WEEK_US).values()
    assert message == "2 items came more than 7 days late, and joined only with what is still remembered"
    (one,) = late_notices(streams, {key: rows(0, 1)}, is_late, WEEK_US).values()
    assert one.startswith("1 item came")
    assert late_notices(streams, {key: rows(0)}, is_late, WEEK_US) == {}
    assert late_notices(streams, {key: rows(0)}, np.zeros(3, np.bool_), WEEK_US) == {}


def test_a_clock_that_went_back_further_than_is_remembered_is_told_of_windows_of_time() -> None:
    joins = join_set(annotated(A, B), annotated(A, C, spec=LastItems(3)), told_once(A))
    back = np.array([[5, 20 * 86_400_000_000]], np.int64)
    clock = np.array([2 * 86_400_000_000], np.int64)
    messages = setback_notices(joins, Clock(), back, clock, WEEK_US)
    assert {type(joins.computed[key].node) for key in messages} == {AnnotationJoin, Distinct}
    assert set(messages.values()) == {
        "arrival times went back by 18 days: what the window had forgotten by then is missing"
    }
    assert len(messages) == 2
    near = np.array([[5, 3 * 86_400_000_000]], np.int64)
    assert setback_notices(joins, Clock(), near, clock, WEEK_US) == {}
    known = Clock(peaks=((5, 20 * 86_400_000_000),))
    assert setback_notices(joins, known, back, clock, WEEK_US) == {}, "it was reported when it happened"


def test_what_is_told_of_a_stream_is_told_of_all_feeds_that_read_it() -> None:
    story = told_once(A)
    joins = join_set(Filter(story, RED), annotated(B, C), story)
    key = key_of(story, story)
    assert messages_by_feed(joins, {key: "bad"}) == [(1, "bad"), (3, "bad")]
    assert messages_by_feed(joins, {}) == ()
    assert messages_by_feed(joins, {joins.roots[0][1]: "worse", key: "bad"}) == [(1, "worse"), (3, "bad")]
