"""Plans on disk, the keys of their streams, and the planner that goes from one set of queries to the next."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.compile.plan_store import (
    left_to_index,
    load_plan,
    load_standings,
    plan_in_force,
    prune_plans,
    put_plan_in_force,
    save_plan,
    save_standings,
)
from feedweir.compile.planner import Planner, WantedPlan, make_plan
from feedweir.errors import CompiledSetError
from feedweir.language.plan_builder import build
from feedweir.language.queries import Group, Member
from feedweir.language.queries import Query as Written
from feedweir.optimize.filter_plans.drift import Drift, Standing
from feedweir.optimize.filter_plans.source_plans import Places, asked_of_sources, numbers_among_equals
from feedweir.optimize.statistics import SourceStatistics
from feedweir.plan.nodes import AnnotationJoin, Filter, Node, Source, Union, Window
from feedweir.plan.plan_wire import chains_of, plan_from_json, plan_to_json, stream_keys
from feedweir.plan.predicates import TRUE, And, Contains, Or, Predicate, Relates, Term
from feedweir.plan.query import Query
from feedweir.plan.walk import postorder
from feedweir.plan.window_lengths import LastItems, TimeSpan
from tests.language.generated import queries as written_queries
from tests.plan.made import SOURCES, World, queries

NOW = datetime(2020, 11, 1, tzinfo=UTC)
NOTHING = SourceStatistics()


def has(text: str) -> Contains:
    return Contains(None, (Term(text),), 1)


# Plans as JSON, and the keys of streams


@given(queries(SOURCES))
@settings(max_examples=80, deadline=None)
def test_a_plan_reads_back_from_its_json_with_what_it_shares(query: Written) -> None:
    plan = build(query, World(), feed="F")
    again = plan_from_json(json.loads(json.dumps(plan_to_json(plan))))
    assert again == plan
    assert len(postorder(again)) == len(postorder(plan))


def variables_in(member: Member) -> set[str]:
    below = map(variables_in, member.members) if isinstance(member, Group) else ()
    return {member.variable}.union(*below)


def joins_a_part_of_a_window(query: Written) -> bool:
    """Which is refused when a query is checked, so that nobody makes a plan of it."""
    windows = set[str]().union(*(variables_in(join.secondary) for join in query.joins))
    return any(join.primary in windows - {""} for join in query.joins)


@given(written_queries().filter(lambda query: not joins_a_part_of_a_window(query)))
@settings(max_examples=60, deadline=None)
def test_a_plan_of_any_syntax_reads_back(query: Written) -> None:
    class Everything(World):
        def kind_of(self, name: str):
            return "source"

    plan = build(query, Everything(), feed="F")
    assert plan_from_json(json.loads(json.dumps(plan_to_json(plan)))) == plan


@pytest.mark.parametrize(
    "rows",
    [[], [["Nobody", [], []]], [["Source", [], []]], [["Filter", [["And", ["@many"]]], [3]]], [["Union"]]],
)
def test_a_damaged_plan_is_an_error_of_the_set(rows: list) -> None:
    with pytest.raises(CompiledSetError, match="a stored plan cannot be read"):
        plan_from_json(rows)


@given(queries(SOURCES), queries(SOURCES))
@settings(max_examples=80, deadline=None)
def test_a_stream_has_one_key_wherever_it_stands(one: Written, other: Written) -> None:
    plans = [build(query, World(), feed="F") for query in (one, other)]
    said: dict[int, str] = {}
    for plan in plans:
        for node in postorder(plan):
            if not isinstance(node, AnnotationJoin):
                key = stream_keys(plan)[id(node)]
                assert key < 0
                if not any(isinstance(inner, AnnotationJoin) for inner in postorder(node)):
                    assert said.setdefault(key, repr(node)) == repr(node)


def joined(primary: Node, *names: str) -> Node:
    for name in names:
        primary = AnnotationJoin(
            name, primary, Window(Source(name), LastItems(3)), Relates("author", "=", "author")
        )
    return primary


def test_joins_one_above_the_other_are_one_stream_in_any_order() -> None:
    one, other = joined(Source("A"), "B", "C"), joined(Source("A"), "C", "B")
    assert stream_keys(one)[id(one)] == stream_keys(other)[id(other)]
    shorter = joined(Source("A"), "B")
    assert stream_keys(one)[id(one)] != stream_keys(shorter)[id(shorter)]


def test_a_join_is_known_by_the_same_name_wherever_in_its_chain_it_stands() -> None:
    one, other = joined(Source("A"), "B", "C"), joined(Source("A"), "C", "B")
    names = [
        {node.identifier: chain.name for node in postorder(plan) if (chain := chains_of(plan).get(id(node)))}
        for plan in (one, other)
    ]
    assert names[0] == names[1]
    elsewhere = joined(Source("Z"), "B")
    assert chains_of(elsewhere)[id(elsewhere)].name != names[0]["B"]


def test_another_predicate_or_window_is_another_stream() -> None:
    variants = [
        Filter(Source("A"), has("x")),
        Filter(Source("A"), has("y")),
        Filter(Source("B"), has("x")),
        Union((Source("A"), Source("B"))),
        Union((Source("B"), Source("A"))),
        Window(Source("A"), LastItems(3)),
        Window(Source("A"), TimeSpan(timedelta(days=3))),
    ]
    assert len({stream_keys(plan)[id(plan)] for plan in variants}) == len(variants)


# What is asked of sources


def naive_asked(queries: Sequence[Query]) -> dict[str, dict[tuple[int, int], Predicate]]:
    seen: dict[int, int] = {}
    asked: dict[str, dict[tuple[int, int], Predicate]] = {}
    for query in queries:
        number = seen[query.key] = seen.get(query.key, -1) + 1
        for source in query.sources:
            asked.setdefault(source, {})[query.key, number] = query.predicate
    return {source: some for source, some in asked.items() if any(each != TRUE for each in some.values())}


asking = st.lists(
    st.builds(
        Query,
        st.integers(-3, 3),
        st.lists(st.sampled_from("ABC"), max_size=2, unique=True).map(tuple),
        st.sampled_from([TRUE, has("a"), has("b"), And((has("a"), has("b"))), Or((has("a"), has("c")))]),
    ),
    max_size=10,
)


@given(asking)
@settings(max_examples=100, deadline=None)
def test_a_source_is_asked_what_the_queries_that_name_it_ask(some: list[Query]) -> None:
    assert asked_of_sources(some) == naive_asked(some)


@given(asking)
def test_of_too_many_questions_whole_sources_are_left_out(some: list[Query]) -> None:
    found = asked_of_sources(some, most=3)
    assert sum(map(len, found.values())) <= 3
    assert all(found[source] == asked for source, asked in naive_asked(some).items() if source in found)


@given(st.lists(st.integers(-3, 3), max_size=12))
def test_the_place_of_a_query_is_where_it_stands_when_all_are_sorted(keys: list[int]) -> None:
    numbers = numbers_among_equals(np.array(keys, np.int64)).tolist()
    names = list(zip(keys, numbers, strict=True))
    places = Places(np.array(keys, np.int64))
    assert list(places) == sorted(names)
    assert [places[name] for name in sorted(names)] == list(range(len(keys)))
    assert len(places) == len(keys)
    for name in [(99, 0), (0, len(keys)), (0, -1)]:
        if name not in names:
            with pytest.raises(KeyError):
                places[name]


# The planner


def put(planner: Planner, queries: list[Query]):
    return planner.put_in_force(queries, lambda source: NOTHING, NOW)


def conjunction_queries(count: int) -> list[Query]:
    return [Query(number, ("A",), And((has("common"), has(f"w{number}")))) for number in range(count)]


def test_a_planner_that_is_asked_the_same_gives_the_very_plan_it_gave() -> None:
    planner = Planner()
    (first,) = put(planner, conjunction_queries(5))
    (again,) = put(planner, conjunction_queries(5))
    assert again is first
    (more,) = put(planner, conjunction_queries(6))
    assert more is not first
    assert set(more.names) == {(number, 0) for number in range(6)}


def test_a_source_that_nobody_asks_any_more_is_forgotten() -> None:
    planner = Planner()
    put(planner, conjunction_queries(3))
    assert planner.noted()
    assert put(planner, []) == ()
    assert planner.noted() == ()


def test_very_many_new_filters_wait_for_a_plan_that_is_made_beside() -> None:
    planner = Planner(at_once=3)
    assert put(planner, conjunction_queries(10)) == ()
    (source, wanted), *_ = planner.waiting.items()
    assert (source, len(wanted.asked)) == ("A", 10)
    assert planner.take_over("A", make_plan(wanted, lambda: None), NOW)
    assert not planner.take_over("A", make_plan(wanted, lambda: None), NOW)
    (planned,) = put(planner, conjunction_queries(10))
    assert len(planned.names) == 10
    assert planner.waiting == {}


def test_making_a_plan_can_be_ended_at_any_step() -> None:
    class Stop(Exception):
        pass

    def stop() -> None:
        raise Stop

    with pytest.raises(Stop):
        make_plan(WantedPlan({(1, 0): has("a")}, NOTHING), stop)


def test_without_time_left_a_source_stays_with_the_index() -> None:
    assert put(Planner(most_s=-1.0), conjunction_queries(3)) == ()


def test_following_changes_leaves_what_is_in_force_and_shows_as_drift() -> None:
    planner = Planner()
    put(planner, conjunction_queries(4))
    planner.follow(conjunction_queries(12), None, lambda source: NOTHING, NOW)
    (standing,) = planner.standings(lambda source: NOTHING, NOW)
    assert standing.drift is not None
    assert standing.drift.excess > 0
    assert planner.noted() == (standing,)
    planner.replan("A", NOW + timedelta(hours=1))
    (noted,) = planner.noted()
    assert noted.made_at == NOW + timedelta(hours=1)
    assert noted.made_because.startswith("it had drifted by")


def test_a_plan_is_taken_over_from_disk_as_it_was(tmp_path: Path) -> None:
    planner = Planner()
    planned = put(planner, conjunction_queries(5))
    stored = load_plan(tmp_path, save_plan(tmp_path, planned))
    resumed = Planner()
    resumed.resume(
        stored, lambda source: NOTHING, NOW + timedelta(days=1), {one.source: one for one in planner.noted()}
    )
    (standing,) = resumed.standings(lambda source: NOTHING, NOW + timedelta(days=1))
    assert (standing.made_at, standing.made_because) == (NOW, "its filters were new")
    assert standing.drift is not None
    assert standing.drift.excess == pytest.approx(0.0)


# On disk


def test_a_stored_plan_says_what_was_planned(tmp_path: Path) -> None:
    (planned,) = put(Planner(), conjunction_queries(3))
    name = save_plan(tmp_path, [planned], {"B": "too many"})
    stored = load_plan(tmp_path, name)["A"]
    assert stored.way == planned.way
    assert stored.parents == tuple(planned.filters.tree.parent.tolist())
    assert {key for keys in stored.feeds for key in keys} == {0, 1, 2}
    assert stored.asks[0] == TRUE
    assert stored.watched == planned.watched
    assert set(stored.seconds) == {"index", "tree", "tree and index"}
    assert left_to_index(tmp_path, name) == {"B": "too many"}


def test_equal_plans_have_one_name_and_others_another(tmp_path: Path) -> None:
    one, same, other = (put(Planner(), conjunction_queries(count)) for count in (3, 3, 4))
    assert save_plan(tmp_path, one) == save_plan(tmp_path, same)
    assert save_plan(tmp_path, one) != save_plan(tmp_path, other)
    assert save_plan(tmp_path, one) != save_plan(tmp_path, one, {"B": "too many"})


def test_plans_that_are_neither_wanted_nor_in_force_are_removed(tmp_path: Path) -> None:
    names = [save_plan(tmp_path, put(Planner(), conjunction_queries(count))) for count in (1, 2, 3)]
    assert plan_in_force(tmp_path) == ""
    put_plan_in_force(tmp_path, names[0])
    assert plan_in_force(tmp_path) == names[0]
    prune_plans(tmp_path, [names[1]])
    assert [bool(load_plan(tmp_path, name)) for name in names] == [True, True, False]
    assert load_plan(tmp_path, "") == {}
    assert left_to_index(tmp_path, names[2]) == {}


def test_a_plan_that_was_damaged_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text('[{"source": "A"}]')
    with pytest.raises(CompiledSetError, match="plan broken cannot be read"):
        load_plan(tmp_path, "broken")


STANDINGS = [
    Standing("A", NOW, "its filters were new", 0.1),
    Standing(
        "B", NOW, "it had drifted by 20%", 0.1, Drift(3.0, 2.0), NOW + timedelta(hours=1), "it costs little"
    ),
]


def test_how_plans_stand_is_noted_for_whoever_asks(tmp_path: Path) -> None:
    save_standings(tmp_path, STANDINGS)
    assert load_standings(tmp_path) == {one.source: one for one in STANDINGS}
    assert [one.is_stale for one in STANDINGS] == [False, False]


@pytest.mark.parametrize("text", ["", "{", "[3]", '[{"source": "A"}]'])
def test_notes_that_cannot_be_read_are_none(tmp_path: Path, text: str) -> None:
    assert load_standings(tmp_path) == {}
    (tmp_path / "standings").write_text(text)
    assert load_standings(tmp_path) == {}
