"""Generated feeds of feeds with joins, over generated histories, cut any way: the engine gives what the plan means."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.ask.preview import replay
from feedweir.errors import CompiledSetError
from feedweir.items.model import Item
from feedweir.items.schema import batch_of
from feedweir.join.constructed import items_shown
from feedweir.join.stored.join_versions import open_joins, save_joins
from feedweir.join.streams import JoinFeed, JoinSet
from feedweir.language import parse
from feedweir.language.plan_builder import build, same_story
from feedweir.language.queries import Query
from feedweir.language.statements import Ask
from feedweir.optimize.cost import JoinCounts
from feedweir.optimize.join_order import KnownStreams, ordered
from feedweir.optimize.normalisation import normalise
from feedweir.optimize.statistics import SourceStatistics
from feedweir.plan import expand
from feedweir.plan.nodes import (
    AnnotationJoin,
    Distinct,
    LastItems,
    Node,
    Source,
    TimeSpan,
    Union,
    Window,
)
from feedweir.plan.plan_wire import chains_of, plan_from_json, plan_to_json, stream_keys
from feedweir.plan.predicates import JoinAnd, Relates
from tests.join.stored import everything
from tests.join.test_join_feeds import grouped
from tests.naive import elements_of
from tests.plan.made import World, histories, queries

definitions = st.fixed_dictionaries(
    {"V": queries(most_joins=1), "W": queries(("A", "V"), most_joins=2), "X": queries(("B", "W", "V"))}
)
XSCL = (
    "A//item[author->a] FOLLOWED BY{a=b, 20 hours} B//item[author->b]",
    "A//item[author->a] JOIN{a=b, 2 items} V//item[author->b]",
    "A//item[category->a] FOLLOWED BY{30 hours} V//item[title->t] JOIN{a=c, 3 items} C//item[category->c]",
    "V//item[author->a][title->t] FOLLOWED BY{a=b, 1 items} A//item[author->b]"
    " FOLLOWED BY{t=u, 2 items} A//item[title->u]",
    "SELECT <d><author>{$a}</author><t>{$t}</t></d>"
    " FROM A//item[author->a] JOIN{a=b, 30 hours} V//item[author->b][title->t]",
    "SELECT <d>{$t}</d> FROM V//item[title->t]",
    "S/d[author->a] JOIN{a=b, 2 items} A//item[author->b]",
    "S//t->t FOLLOWED BY{t=u, 20 hours} B//item[title->u]",
)
SELECTED = parse(XSCL[4])[0]
StoryPairs: TypeAlias = list[tuple[int, dict[str, tuple[int, ...]]]]


def plan_of(defined: dict[str, Query], query: Query) -> Node:
    world = World(defined)
    plans = {name: build(one, world, feed=name) for name, one in defined.items()}
    return expand(build(query, world, feed="F"), plans.get)


def found(
    plan: Node, items: Sequence[Item], size: int
) -> list[tuple[int, dict[str, tuple[int, ...]], list[Item]]]:
    plan = normalise(plan, {}.get)
    batches = [batch_of(items[first : first + size]) for first in range(0, len(items), size)]
    by_number = {item.seq: item for item in items}
    return [
        (seq, hits.annotations.get(seq, {}), items_shown([by_number[seq]], hits.made, by_number))
        for hits in replay(plan, batches)
        for seq in hits.seqs
    ]


def meant(plan: Node, items: Sequence[Item]) -> list[tuple[int, dict[str, tuple[int, ...]], list[Item]]]:
    return grouped(elements_of(plan, items))


@settings(max_examples=25, deadline=None)
@given(definitions, histories(14), st.sampled_from([1, 3, 7, 1000]))
def test_feeds_of_feeds_with_joins_give_what_they_mean(
    defined: dict[str, Query], items: list[Item], size: int
) -> None:
    plan = plan_of(defined, defined["X"])
    assert found(plan, items, size) == meant(plan, items)


@settings(max_examples=15, deadline=None)
@given(queries(most_joins=3), histories(14), st.sampled_from([1, 3, 1000]), st.randoms(use_true_random=False))
def test_joins_in_any_order_give_what_they_mean(
    query: Query, items: list[Item], size: int, random: Random
) -> None:
    plan = plan_of({}, query)
    names = {chain.name for chain in chains_of(plan).values()}
    joins = {name: JoinCounts(1e6, random.choice([1e3, 1e6]), 0.0) for name in sorted(names)}
    sources = {name: SourceStatistics(1e6, 1e6) for name in ("A", "B", "C", "*")}
    other = ordered(plan, KnownStreams(sources, joins))
    assert stream_keys(other)[id(other)] == stream_keys(plan)[id(plan)]
    assert found(other, items, size) == meant(plan, items)


WINDOWS = st.one_of(
    st.sampled_from([1, 2, 4]).map(LastItems),
    st.sampled_from([20, 300]).map(lambda h: TimeSpan(timedelta(hours=h))),
)
ALIKE = st.sampled_from(
    [
        same_story(0.38),
        same_story(0.8),
        Relates("title", "similar", "title", 0.3),
        JoinAnd((Relates("title", "similar", "title", 0.2), Relates("author", "!=", "author"))),
        Relates("category", "!=", "category"),
    ]
)


@st.composite
def tellings(draw: st.DrawFn) -> Node:
    """Stories over sources, over joins and over stories; joins whose windows hold stories."""
    told: Node = Union((Source("A"), draw(st.sampled_from([Source("B"), Source("*")]))))
    joined = AnnotationJoin("j", told, Window(Source("C"), draw(WINDOWS)), draw(ALIKE))
    inner = Distinct("inner", draw(st.sampled_from([told, joined])), draw(WINDOWS), draw(ALIKE))
    match draw(st.integers(0, 2)):
        case 0:
            return inner
        case 1:
            return Distinct("outer", Union((inner, Source("C"))), draw(WINDOWS), draw(ALIKE))
        case _:
            return AnnotationJoin("k", Source("*"), Window(inner, draw(WINDOWS)), draw(ALIKE))


@settings(max_examples=40, deadline=None)
@given(tellings(), histories(14), st.sampled_from([1, 3, 7, 1000]))
def test_stories_are_told_as_they_mean(plan: Node, items: list[Item], size: int) -> None:
    """Every fifth item is a new wording of one that came before."""
    worded = [replace(item, identity=str(item.seq % 5), link=next(iter(item.links), "")) for item in items]
    told, late = found_with_late(plan, worded, size)
    assert with_late(told, late) == [one[:2] for one in meant(plan, worded)]


def found_with_late(plan: Node, items: Sequence[Item], size: int) -> tuple[StoryPairs, list[StoryPairs]]:
    """What came out, and what was noted later with what had come out in an earlier batch."""
    plan = normalise(plan, {}.get)
    batches = [batch_of(items[first : first + size]) for first in range(0, len(items), size)]
    out: StoryPairs = []
    late: list[StoryPairs] = []
    for hits in replay(plan, batches):
        out += [(seq, hits.annotations.get(seq, {})) for seq in hits.seqs]
        late.append([(seq, notes) for seq, notes in hits.annotations.items() if seq not in hits.seqs])
    return out, late


def with_late(out: StoryPairs, late: Sequence[StoryPairs]) -> StoryPairs:
    """Readers ask for the notes of what came out, and of nothing else."""
    found = {seq: dict(notes) for seq, notes in out}
    for seq, notes in (one for many in late for one in many if one[0] in found):
        for name, partners in notes.items():
            found[seq][name] = tuple(sorted({*found[seq].get(name, ()), *partners}))
    return list(found.items())


@settings(max_examples=12, deadline=None)
@given(queries(most_joins=1), histories(14), st.sampled_from([1, 3, 1000]))
@pytest.mark.parametrize("text", XSCL)
def test_pattern_joins_give_what_they_mean(text: str, inner: Query, items: list[Item], size: int) -> None:
    (statement,) = parse(text)
    assert isinstance(statement, Ask)
    assert isinstance(SELECTED, Ask)
    plan = plan_of({"V": inner, "S": SELECTED.query}, statement.query)
    assert found(plan, items, size) == meant(plan, items)


@settings(max_examples=30, deadline=None)
@given(definitions, st.sampled_from(XSCL))
def test_a_plan_survives_being_written_down(defined: dict[str, Query], text: str) -> None:
    (statement,) = parse(text)
    assert isinstance(statement, Ask)
    assert isinstance(SELECTED, Ask)
    defined = {**defined, "S": SELECTED.query}
    plan = Union((plan_of(defined, defined["X"]), plan_of(defined, statement.query)))
    again = plan_from_json(json.loads(json.dumps(plan_to_json(plan))))
    assert again == plan
    assert stream_keys(again)[id(again)] == stream_keys(plan)[id(plan)] < 0


def test_equal_streams_of_different_feeds_are_one(tmp_path) -> None:  # type: ignore[no-untyped-def]
    (statement,) = parse(XSCL[0])
    assert isinstance(statement, Ask)
    one, other = (JoinFeed(number, plan_of({}, statement.query)) for number in (1, 2))
    save_joins(tmp_path / "1.joins", [one, other])
    stored = open_joins(tmp_path / "1.joins")
    joins = everything(stored)
    assert joins.feeds == (one, other)
    assert joins.feeds[0].plan is joins.feeds[1].plan
    assert len(joins.matched) == 2
    assert len(joins.computed) == 1
    wanted = sorted(query.key for query in JoinSet([one]).queries())
    assert wanted == [query.key for query in stored.queries()]


BAD = (
    "{",
    "[]",
    '{"format": 9, "segments": [], "digest": 0}',
    '{"format": 3, "segments": [["none", []]], "digest": 0}',
    '{"format": 3, "segments": 7}',
)


@pytest.mark.parametrize("text", BAD)
def test_joins_that_cannot_be_read_are_refused(tmp_path, text: str) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "1.joins").mkdir()
    (tmp_path / "1.joins" / "segments.json").write_text(text)
    with pytest.raises(CompiledSetError):
        open_joins(tmp_path / "1.joins")


def test_feeds_over_feeds_may_be_as_deep_as_anybody_likes() -> None:
    (statement,) = parse("from A join last 3 items on B with [title = window.title]")
    assert isinstance(statement, Ask)
    plan: Node = plan_of({}, statement.query)
    for _ in range(1_500):
        plan = Union((plan, Source("C")))
    again = plan_from_json(json.loads(json.dumps(plan_to_json(plan))))
    assert len(JoinSet([JoinFeed(1, again)]).computed) == 1_501
