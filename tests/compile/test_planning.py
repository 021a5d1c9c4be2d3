"""Factored trees in the compiled set: the same answers in every way of execution, and the work that was foreseen."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from feedweir.compile.planner import Planner
from feedweir.items.model import Item
from feedweir.items.schema import batch_of, items_of
from feedweir.match import CompiledSet, Frequencies, compile_set
from feedweir.match.index.filter_forest import SourceTree
from feedweir.match.matching.answer_parts import joined
from feedweir.match.sets.compiled_set import open_compiled
from feedweir.optimize.filter_plans.factored_filters import factorise
from feedweir.optimize.filter_plans.source_plans import (
    PlannedSource,
    asked_of_sources,
    places_of,
    planned_source,
    tree_of,
)
from feedweir.optimize.statistics import SourceStatistics
from feedweir.plan.predicates import TRUE, And, Contains, Not, Or, Predicate, Term
from feedweir.plan.query import Query
from tests.match.generated import START, items, queries
from tests.match.test_matching import naive_pairs, pairs_of
from tests.naive import holds

WAYS = ("index", "tree", "tree and index")
quick = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


def planned(asked: list[Query]) -> list[PlannedSource]:
    return [
        planned_source(
            source, predicates, factorise(list(predicates.values()), SourceStatistics()), SourceStatistics()
        )
        for source, predicates in asked_of_sources(asked).items()
    ]


def trees_of(asked: list[Query], ways: tuple[str, ...]) -> list[SourceTree]:
    """Every source's tree, executed in the ways given in turn."""
    return [
        tree_of(replace(one, way=ways[number % len(ways)]), places_of(asked))  # type: ignore[arg-type]
        for number, one in enumerate(planned(asked))
    ]


def compiled(asked: list[Query], trees: list[SourceTree]) -> CompiledSet:
    with TemporaryDirectory() as directory:
        compile_set(asked, Path(directory) / "set", trees=trees)
        return open_compiled(Path(directory) / "set")


@quick
@given(
    st.lists(queries, max_size=10),
    st.lists(items(), max_size=4),
    st.lists(st.sampled_from(WAYS), min_size=1, max_size=3),
)
def test_factored_or_indexed_the_pairs_are_those_of_the_plain_meaning(
    asked: list[Query], batch: list[Item], ways: list[str]
) -> None:
    found = compiled(asked, trees_of(asked, tuple(ways))).match(batch_of(batch))
    assert pairs_of(found) == naive_pairs(asked, batch)


def titled(number: int, title: str) -> Item:
    return Item(seq=number + 1, source="s1", identity=str(number), title=title, arrived=START)


SHARE = 0.3 / np.arange(1, 41) ** 0.8


def some_words(count: int, *, seed: int = 4) -> tuple[list[Query], pa.RecordBatch, SourceStatistics]:
    """Conjunctions of words that come independently, items that have them, and how often they do."""
    random = np.random.default_rng(seed)
    drawn = [
        sorted(random.choice(40, random.integers(1, 4), replace=False, p=SHARE / SHARE.sum()))
        for _ in range(count)
    ]
    atoms = [Contains(None, (Term(f"w{number}"),), 1) for number in range(40)]
    asked = [
        Query(key, ("s1",), And(tuple(atoms[word] for word in words))) for key, words in enumerate(drawn)
    ]
    texts = [" ".join(f"w{n}" for n in np.flatnonzero(row)) for row in random.random((3_000, 40)) < SHARE]
    batch = batch_of([titled(number, text) for number, text in enumerate(texts)])
    known = SourceStatistics(1e9, 1e9, {atom: 1e9 * share for atom, share in zip(atoms, SHARE, strict=True)})
    return asked, batch, known


@pytest.mark.parametrize("way", WAYS)
def test_the_work_of_each_way_is_the_work_that_was_foreseen(way: str) -> None:
    asked, batch, known = some_words(300)
    predicates = asked_of_sources(asked)["s1"]
    plan = planned_source("s1", predicates, factorise(list(predicates.values()), known), known)
    tree = tree_of(replace(plan, way=way), places_of(asked))  # type: ignore[arg-type]
    frequencies = Frequencies(10**9, {f"w{n}": int(1e9 * share) for n, share in enumerate(SHARE)})
    with TemporaryDirectory() as directory:
        compile_set(asked, Path(directory) / "set", trees=[tree], frequencies=frequencies)
        found = open_compiled(Path(directory) / "set").match(batch)
    expected = plan.works[way]  # type: ignore[index]
    assert found.work.tests / 3_000 == pytest.approx(expected.tests, rel=0.07)
    assert found.work.checks / 3_000 == pytest.approx(expected.programs, rel=0.1, abs=0.01)
    assert len(found) / 3_000 == pytest.approx(expected.matches, rel=0.1)


def test_what_a_tree_watches_is_counted_on_the_sampled_items() -> None:
    asked, batch, known = some_words(50)
    predicates = asked_of_sources(asked)["s1"]
    plan = planned_source("s1", predicates, factorise(list(predicates.values()), known), known)
    assert plan.pairs
    sample = (np.arange(3_000) % 15 == 0).astype(np.uint8)
    sampled = list(items_of(batch))[::15]
    titles = [set(one.title.split()) for one in sampled]

    def has(title: set[str], atom: Predicate) -> bool:
        assert isinstance(atom, Contains)
        return atom.terms[0].text in title

    for way, limit in product(WAYS, (1, 64, 1_000_000)):
        tree = tree_of(replace(plan, way=way), places_of(asked), plan="p1")  # type: ignore[arg-type]
        matches = joined(compiled(asked, [tree]).match_in_parts(batch, is_sampled=sample, limit=limit))
        (observed,) = matches.observed
        assert (observed.source, observed.plan, observed.sampled) == ("s1", "p1", 200)
        atoms = [sum(has(title, atom) for title in titles) for atom in plan.watched]
        assert dict(observed.atoms) == {n: count for n, count in enumerate(atoms) if count}
        pairs = [sum(has(title, a) and has(title, b) for title in titles) for a, b in plan.pairs]
        assert dict(observed.pairs) == {n: count for n, count in enumerate(pairs) if count}
        for node, count in observed.nodes:
            held = plan.filters.predicate_of(node) if node else TRUE
            assert count == sum(holds(held, one) for one in sampled)
        assert pairs_of(matches) == pairs_of(compiled(asked, []).match(batch))


changes = st.lists(st.tuples(st.integers(0, 5), st.one_of(st.none(), queries)), max_size=8)


@settings(quick, max_examples=25)
@given(changes, st.lists(items(), min_size=1, max_size=3))
def test_plans_kept_through_changes_answer_as_the_plain_meaning(steps: list, batch: list[Item]) -> None:
    """Feeds come, change and go; after each change the set is compiled with the plan changed in place."""
    planner = Planner()
    current: dict[int, Query] = {}
    for key, query in steps:
        current.pop(key, None)
        if query is not None:
            current[key] = replace(query, key=key)
        asked = [current[key] for key in sorted(current)]
        plans = planner.put_in_force(asked, lambda _: SourceStatistics(), START)
        for standing in planner.standings(lambda _: SourceStatistics(), START):
            assert standing.drift.excess < 0.5
        trees = [tree_of(one, places_of(asked)) for one in plans]
    if steps:
        assert pairs_of(compiled(asked, trees).match(batch_of(batch))) == naive_pairs(asked, batch)


def test_an_item_is_told_that_the_filters_of_its_source_found_a_query() -> None:
    asked, batch, known = some_words(5)
    predicates = asked_of_sources(asked)["s1"]
    plan = planned_source("s1", predicates, factorise(list(predicates.values()), known), known)
    item = next(items_of(batch))
    for way in ("tree", "tree and index"):
        found = compiled(asked, [tree_of(replace(plan, way=way), places_of(asked))])
        for key in range(5):
            told = found.explain(item, key)
            assert told.candidate_by == "the filters of s1"
            assert found.explain(replace(item, source="s2"), key).lacked == "the filters of s1"


atoms = st.sampled_from("abcde").map(lambda word: Contains(None, (Term(word),), 1))
clauses = st.one_of(
    atoms, atoms.map(Not), st.lists(atoms, min_size=2, max_size=3).map(lambda parts: Or(tuple(parts)))
)
filters = st.builds(
    Query,
    st.integers(0, 20),
    st.sampled_from((("s1",), ("s2",), ("s1", "s2"))),
    st.lists(clauses, min_size=1, max_size=3).map(lambda parts: And(tuple(parts))),
)
titles = st.lists(st.lists(st.sampled_from("abcde"), max_size=4).map(" ".join), min_size=6, max_size=6)


@settings(quick, max_examples=60)
@given(st.lists(filters, min_size=2, max_size=10), titles, st.sampled_from(WAYS))
def test_conjunctions_of_few_words_are_answered_alike_in_every_way(
    asked: list[Query], texts: list[str], way: str
) -> None:
    batch = [replace(titled(n, text), source=f"s{n % 3}") for n, text in enumerate(texts)]
    found = compiled(asked, trees_of(asked, (way,))).match(batch_of(batch))
    assert pairs_of(found) == naive_pairs(asked, batch)
