"""An index read backwards: every atom has a name, and an item satisfies the atoms that its plain meaning says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings

from feedweir.items.columns import ItemColumns
from feedweir.items.model import Enclosure, Item
from feedweir.items.schema import batch_of
from feedweir.match.meaning.explanations import Finder, explained, refusing
from feedweir.match.meaning.finders import finders_of, name_of, root_atoms, satisfied_atoms
from feedweir.match.meaning.item_meaning import Reading
from feedweir.match.sets.compiled_set import IndexedSet, compiled_in_memory
from feedweir.match.sets.query_store import table_of, whole_predicate
from feedweir.plan.predicates import (
    And,
    AtLeast,
    Compare,
    Contains,
    Extends,
    FromFeeds,
    Matches,
    Not,
    Now,
    Or,
    PatternNode,
    Predicate,
    References,
    SharesLink,
    Term,
    TreePattern,
)
from feedweir.plan.query import Query
from tests.match.generated import items, queries
from tests.naive import holds

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ITEM = Item(
    source="wire",
    identity="1",
    title="storm surge",
    link="http://x.org/a/b",
    links=("http://x.org/a/b",),
    categories=("4", "11"),
    published=NOW,
    arrived=NOW + timedelta(hours=1),
    language="en",
    enclosures=(Enclosure(url="http://f.org/1"),),
    raw="<item><title>storm</title></item>",
)

OLD = Compare("published", "<", Now(timedelta(days=-1)))


def words(text: str, attribute: str | None = None, *, is_prefix: bool = False) -> Contains:
    return Contains(attribute, (Term(text, is_prefix),), 1)


def opened(*asked: Predicate) -> IndexedSet:
    return compiled_in_memory(table_of([Query(key, (), one) for key, one in enumerate(asked)]))


def finders(predicate: Predicate, item: Item = ITEM) -> list[Finder]:
    ((_, found),) = opened(predicate).finders_of(item, 0)
    return found


@pytest.mark.parametrize(
    ("predicate", "name"),
    [
        (words("storm"), "storm"),
        (words("sto", is_prefix=True), "sto*"),
        (words("storm", "title"), "title: storm"),
        (words("sto", "title", is_prefix=True), "title: sto*"),
        (words("storm", "m:x"), "m:x: storm"),
        (FromFeeds(("wire",)), "source = wire"),
        (Compare("language", "=", "EN"), "language = en"),
        (Compare("category", "=", 4), "category = 4.0"),
        (References(None, "http://x.org/a"), "links url x.org/a"),
        (References("link", "x.org"), "link host x.org"),
        (Extends("link", "x.org"), "link domain x.org"),
        (Extends("link", "http://x.org/a"), "link opening x.org/a"),
        (SharesLink("enclosure", ("http://f.org/1",)), "enclosure url f.org/1"),
        (Compare("published", ">", NOW), "published within bounds"),
        (Compare("published", "=", 2026, "year"), "year published within bounds"),
        (Compare("title", ">", "m"), "title as text within bounds"),
        (Compare("category", ">", 4), "category as number within bounds"),
        (Matches("title", "sto.m", "i"), "title matches /sto.m/i"),
        (Matches(None, "sto.m"), "matches /sto.m/"),
        (TreePattern(PatternNode("//", "title")), "path //*[name()='title']"),
        (Not(words("storm")), "every item"),
    ],
)
def test_an_atom_is_named_as_a_person_would(predicate: Predicate, name: str) -> None:
    assert [finder.name for finder in finders(predicate)] == [name]


def test_a_range_of_several_values_is_found_by_a_value_in_it_or_by_several() -> None:
    between = And((Compare("category", ">", 5), Compare("category", "<", 10)))
    names = {finder.name: finder.is_satisfied for finder in finders(between)}
    assert names["several values of category"] is True
    assert holds(between, ITEM)


def test_a_query_found_by_several_atoms_names_each() -> None:
    either = Or((words("storm"), words("calm"), FromFeeds(("wire", "other"))))
    assert {finder.name: finder.is_satisfied for finder in finders(either)} == {
        "storm": True,
        "calm": False,
        "source = other or wire": True,
    }


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(queries, items())
def test_an_item_that_a_query_wants_satisfies_an_atom_that_finds_it(query: Query, item: Item) -> None:
    compiled_set = compiled_in_memory(table_of([query]))
    found = finders_of(compiled_set.index, 0, batch_of([item]))
    if holds(whole_predicate(query), item):
        assert any(finder.is_satisfied for finder in found)
    assert all(finder.name for finder in found)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(queries, items())
def test_values_and_columns_satisfy_the_same_atoms_and_each_has_a_name(query: Query, item: Item) -> None:
    index = compiled_in_memory(table_of([query])).index
    one, other = (satisfied_atoms(index, given) for given in (batch_of([item]), ItemColumns([item])))
    assert one == other
    assert all(name_of(index, atom) for atom in one)
    assert set(root_atoms(index, 0)) <= set(range(index.n_atoms))


# Refusals


def test_the_first_query_of_a_key_that_matches_is_the_one_explained() -> None:
    asked = [Query(1, (), words("calm")), Query(1, (), words("storm"))]
    told = compiled_in_memory(table_of(asked)).explain(ITEM, 1)
    assert (told.is_match, told.candidate_by, told.refused_by) == (True, "storm", None)


def test_of_queries_that_do_not_match_a_candidate_is_explained_first() -> None:
    asked = [(Query(1, (), words("calm")), [Finder("calm", False)])]
    asked.append((Query(1, (), And((words("storm"), words("sea")))), [Finder("storm", True)]))
    told = explained(asked, ITEM)
    assert (told.candidate_by, told.refused_by) == ("storm", words("sea"))


@pytest.mark.parametrize(
    ("predicate", "smallest"),
    [
        (And((words("storm"), words("calm"))), words("calm")),
        (And((words("storm"), And((words("surge"), Not(words("storm")))))), Not(words("storm"))),
        (Or((words("calm"),)), words("calm")),
        (Or((words("calm"), words("sea"))), Or((words("calm"), words("sea")))),
        (Contains(None, (Term("storm"), Term("calm"), Term("sea")), 3), words("calm")),
        (Contains("title", (Term("storm"), Term("sea")), 2), words("sea", "title")),
        (
            Contains(None, (Term("calm"), Term("sea")), 1),
            Contains(None, (Term("calm"), Term("sea")), 1),
        ),
        (AtLeast(2, (words("storm"), words("sea"))), AtLeast(2, (words("storm"), words("sea")))),
        (
            And((Compare("published", "<", Now(timedelta(days=-1))),)),
            Compare("published", "<", Now(timedelta(days=-1))),
        ),
    ],
)
def test_the_smallest_clause_that_refuses_is_told(predicate: Predicate, smallest: Predicate) -> None:
    assert refusing(predicate, Reading(ITEM)) == smallest
