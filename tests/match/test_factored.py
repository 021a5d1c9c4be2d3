"""Trees of filters given by hand: the pairs they find, what they count on samples, how explanations name them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from feedweir.items.model import Item
from feedweir.items.schema import batch_of
from feedweir.match.atoms import Atom, Phrase, Word, is_atom
from feedweir.match.formula import YES, All, AnyOf, Count, Formula, Without
from feedweir.match.index.filter_forest import (
    SourceTree,
    keys_of,
    left_to_index,
    read_trees,
    sources_in_trees,
    trees_of_rows,
)
from feedweir.match.matching.answer_parts import joined
from feedweir.match.sets.compiled_set import IndexedSet, compiled_in_memory
from feedweir.match.sets.query_store import table_of
from feedweir.plan.predicates import TRUE, And, Contains, Not, Predicate, Term
from feedweir.plan.query import Query
from tests.match.generated import items, predicates
from tests.match.test_matching import pairs_of
from tests.naive import holds

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def words(*texts: str, at_least: int | None = None) -> Contains:
    return Contains(None, tuple(map(Term, texts)), len(texts) if at_least is None else at_least)


def story(title: str, source: str = "wire") -> Item:
    return Item(source=source, identity=title, title=title, arrived=NOW)


TREE = SourceTree(
    source="wire",
    plan="p1",
    parents=(-1, 0, 1, 0),
    asks=(TRUE, words("storm"), words("tide"), Not(words("calm"))),
    queries=((), (0,), (1,), (2,)),
    is_indexed=False,
    watched=(words("storm"), words("tide"), Not(words("calm"))),
    pairs=((0, 1), (1, 2)),
)
QUERIES = [
    Query(10, ("wire",), words("storm")),
    Query(11, ("wire",), words("storm", "tide")),
    Query(12, ("wire",), Not(words("calm"))),
    Query(13, ("other",), words("storm")),
]
STORIES = [
    story("storm"),
    story("storm tide"),
    story("calm tide"),
    story("storm", "other"),
    story("calm storm"),
]


def opened(tree: SourceTree = TREE) -> IndexedSet:
    return compiled_in_memory(table_of(QUERIES), trees=[tree])


@pytest.mark.parametrize("is_indexed", [False, True])
def test_a_tree_finds_the_queries_of_its_nodes_where_all_above_hold(is_indexed: bool) -> None:
    found = opened(replace(TREE, is_indexed=is_indexed)).match(batch_of(STORIES))
    assert pairs_of(found) == [(0, 10), (0, 12), (1, 10), (1, 11), (1, 12), (3, 13), (4, 10)]


def test_below_a_node_that_does_not_hold_nothing_is_asked() -> None:
    asked = [opened().match(batch_of([story(title)])).work.tests for title in ("sea", "storm", "storm tide")]
    assert asked[0] < asked[1] == asked[2]


def test_what_is_watched_is_counted_on_sampled_items_only() -> None:
    sampled = np.array([1, 1, 1, 1, 0], np.uint8)
    found = joined(opened().match_in_parts(batch_of(STORIES), is_sampled=sampled))
    (seen,) = found.observed
    assert (seen.source, seen.plan, seen.sampled) == ("wire", "p1", 3)
    assert dict(seen.atoms) == {0: 2, 1: 2, 2: 2}
    assert dict(seen.pairs) == {0: 1, 1: 1}
    assert dict(seen.nodes)[1] == 2


def test_nothing_is_counted_without_a_sample() -> None:
    assert opened().match(batch_of(STORIES)).observed == ()


def test_an_explanation_names_the_filters_of_the_source() -> None:
    told = opened().explain(story("storm"), 10)
    assert (told.is_match, told.candidate_by) == (True, "the filters of wire")
    elsewhere = opened().explain(story("storm", "other"), 10)
    assert (elsewhere.is_match, elsewhere.lacked) == (False, "the filters of wire")


def test_a_tree_that_cannot_be_read_is_left_out_and_the_index_finds_its_queries() -> None:
    broken = replace(TREE, asks=(TRUE, "storm", words("tide"), TRUE))  # type: ignore[arg-type]
    assert read_trees([broken]) == []
    assert pairs_of(opened(broken).match(batch_of(STORIES))) == pairs_of(opened().match(batch_of(STORIES)))


def test_trees_are_taken_in_the_order_of_their_sources() -> None:
    drafts = read_trees([TREE, replace(TREE, source="a")])
    assert [draft.tree.source for draft in drafts] == ["a", "wire"]
    assert sources_in_trees(drafts) == {place: {"a", "wire"} for place in range(3)}
    assert trees_of_rows((("a", ""), ("wire", "p")), batch_of(STORIES)).tolist() == [1, 1, 1, -1, 1]
    assert trees_of_rows((), batch_of([])).tolist() == []


@pytest.mark.parametrize(
    ("sources", "in_trees", "left"),
    [
        ((), {"a"}, ()),
        (("a", "b"), set(), ("a", "b")),
        (("a", "b"), {"a"}, ("b",)),
        (("a", "b"), {"a", "b"}, None),
    ],
)
def test_a_query_is_left_to_the_index_for_the_sources_that_have_no_tree(
    sources: tuple[str, ...], in_trees: set[str], left: tuple[str, ...] | None
) -> None:
    query = Query(1, sources, words("storm"))
    assert left_to_index(query, in_trees) == (None if left is None else replace(query, sources=left))


# The atoms by which a child of the root is found


RARE, SOME, COMMON = (Word(None, word) for word in ("rare", "some", "common"))
SHARES = {RARE: 0.01, SOME: 0.1, COMMON: 0.5}
PHRASE = Phrase(None, ("some", "rare"))


@pytest.mark.parametrize(
    ("formula", "keys"),
    [
        (RARE, [(RARE, RARE)]),
        (All((COMMON, RARE)), [(RARE, COMMON)]),
        (All((COMMON, SOME, RARE)), [(RARE, All((COMMON, SOME)))]),
        (PHRASE, [(RARE, PHRASE)]),
        (Without(RARE), []),
        (Count(2, (RARE, SOME, COMMON)), []),
        (YES, []),
        (AnyOf((RARE, Without(SOME))), []),
        (AnyOf((RARE, SOME)), [(RARE, RARE), (SOME, All((Without(RARE),)))]),
        (
            All((COMMON, AnyOf((RARE, SOME)))),
            [(RARE, All((COMMON,))), (SOME, All((Without(RARE), COMMON)))],
        ),
    ],
)
def test_each_atom_is_filed_with_what_is_left_to_ask(
    formula: Formula, keys: list[tuple[Atom, Formula]]
) -> None:
    assert keys_of(formula, lambda atom: SHARES[atom]) == keys  # type: ignore[index]


def test_a_disjunction_of_very_many_is_tried_and_not_filed() -> None:
    many = AnyOf(tuple(Word(None, f"w{n}") for n in range(129)))
    assert keys_of(many, lambda _: 0.1) == []
    assert len(keys_of(AnyOf(many.parts[1:]), lambda _: 0.1)) == 128


def test_items_list_atoms_and_not_what_is_made_of_them() -> None:
    assert is_atom(RARE)
    assert not any(map(is_atom, (YES, AnyOf((RARE,)), Without(RARE), PHRASE, Count(2, (RARE, SOME)))))


# Any tree over any predicates


@st.composite
def trees(draw: st.DrawFn) -> tuple[SourceTree, list[Query]]:
    """A tree of any shape whose nodes ask anything; a query of a node is the conjunction of all on the way."""
    asks = [TRUE, *draw(st.lists(predicates, min_size=1, max_size=4))]
    parents = [-1, *(draw(st.integers(0, node)) for node in range(len(asks) - 1))]

    def way(node: int) -> tuple[Predicate, ...]:
        return (*way(parents[node]), asks[node]) if parents[node] >= 0 else (asks[node],)

    tree = SourceTree(
        source="s1",
        parents=tuple(parents),
        asks=tuple(asks),
        queries=tuple((node,) for node in range(len(asks))),
        is_indexed=draw(st.booleans()),
        watched=tuple(asks[1:]),
        pairs=((0, len(asks) - 2),),
    )
    return tree, [Query(node, ("s1",), And(way(node))) for node in range(len(asks))]


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(trees(), st.lists(items(), max_size=4), st.sampled_from((1, 3, 1000)))
def test_any_tree_finds_what_its_queries_mean_and_counts_what_holds(
    both: tuple[SourceTree, list[Query]], batch: list[Item], limit: int
) -> None:
    tree, asked = both
    opened = compiled_in_memory(table_of(asked), trees=[tree])
    sampled = np.ones(len(batch), np.uint8)
    found = joined(opened.match_in_parts(batch_of(batch), is_sampled=sampled, limit=limit))
    own = [item for item in batch if item.source == "s1"]
    assert pairs_of(found) == [
        (row, query.key)
        for row, item in enumerate(batch)
        for query in asked
        if item.source == "s1" and holds(query.predicate, item)
    ]
    assert len(found.observed) == bool(own)
    for seen in found.observed:
        truths = [sum(holds(atom, item) for item in own) for atom in tree.watched]
        assert seen.sampled == len(own)
        # what only the plain meaning decides is not counted
        assert all(count <= truths[place] for place, count in seen.atoms)
