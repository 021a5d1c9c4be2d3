"""An item by itself is answered as it is in a batch; and no condition that has atoms is asked in Python."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from feedweir.items.attributes import WHOLE_TEXT, attribute_named
from feedweir.items.columns import ItemColumns, numbers_in, sources_in, texts_in
from feedweir.items.model import Item
from feedweir.items.schema import batch_of
from feedweir.match import Matches, apply_changes, open_version, write_version
from feedweir.match.sets import compiled_set
from feedweir.match.sets.query_store import table_of
from feedweir.plan import predicates
from feedweir.plan.predicates import (
    And,
    AtLeast,
    Compare,
    Constant,
    Constraint,
    Contains,
    Extends,
    FromFeeds,
    GraphPattern,
    Not,
    Now,
    Or,
    PatternNode,
    Predicate,
    References,
    SharesLink,
    Similar,
    Term,
    TreePattern,
    Triple,
    Variable,
)
from feedweir.plan.query import Query
from feedweir.text.analyser import analyse_raw
from tests.match.generated import START, items, queries
from tests.match.test_matching import naive_pairs, pairs_of


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(queries, min_size=1, max_size=8),
    st.lists(st.tuples(st.lists(queries, max_size=4), st.lists(st.integers(-5, 30), max_size=3)), max_size=3),
    st.lists(items(), min_size=1, max_size=4),
    st.sampled_from((None, "ann", "bob")),
)
def test_items_that_come_one_by_one_as_values_find_what_their_plain_meaning_says(
    first: list[Query],
    later: list[tuple[list[Query], list[int]]],
    batch: list[Item],
    owner: str | None,
) -> None:
    with TemporaryDirectory() as directory:
        root, wanted = Path(directory) / "set", first
        version = write_version(root, 1, first)
        for added, removed in later:
            wanted = [query for query in wanted if query.key not in removed] + added
            version = apply_changes(root, added, removed)
        opened = open_version(root, version.version)
        theirs = [query for query in wanted if owner is None or query.owner in ("", owner)]
        expected = naive_pairs(theirs, batch)
        for row, item in enumerate(batch):
            found = opened.match(ItemColumns([item]), owner=owner)
            assert pairs_of(found) == [(0, key) for at, key in expected if at == row]
        assert pairs_of(opened.match(ItemColumns(batch), owner=owner)) == expected


@settings(max_examples=60, deadline=None)
@given(st.lists(items(), max_size=4))
def test_values_of_items_read_as_their_columns_do(batch: list[Item]) -> None:
    columns, values = batch_of(batch), ItemColumns(batch)
    named = [attribute_named(name) for name in (*WHOLE_TEXT, "link", "enclosure", "e:x")]
    html = [one for one in named if one is not None and one.type.value == "html"]
    plain = [None, *(one for one in named if one not in html)]
    read = [[analyse_raw(raw) for raw in texts_in(each, plain, html)] for each in (columns, values)]
    rows = [[one.words(row) for one in parts for row in range(len(one))] for parts in read]
    assert rows[0] == rows[1]
    assert len(rows[0]) == len(batch) * (len(plain) + len(html))
    places = [[place for one in parts for place in one.positions.tolist()] for parts in read]
    assert places[0] == places[1]
    assert sources_in(values)[0] == sources_in(columns)[0]
    for name in ("published", "arrived", "revision"):
        for one, other in zip(numbers_in(columns, name), numbers_in(values, name), strict=True):
            assert one.tolist() == other.tolist()


def words(text: str, *more: str) -> Contains:
    terms = tuple(map(Term, (text, *more)))
    return Contains(None, terms, len(terms))


def story(title: str, **values: object) -> Item:
    return Item(source="s", identity=title, title=title, arrived=START, **values)  # type: ignore[arg-type]


def test_nothing_of_an_item_is_left_for_the_next() -> None:
    asked = [
        Query(1, (), words("storm")),
        Query(2, (), words("storm tide")),
        Query(3, (), words("calm", "sea")),
    ]
    asked.append(Query(4, (), And((Contains("title", (Term("sea"),), 1), Not(words("storm tide"))))))
    found = compiled_set.compiled_in_memory(table_of(asked))
    stories = [
        story(title) for title in ("storm tide", "tide storm", "sea", "calm", "storm tide sea", "calm sea")
    ]
    for item in [*stories, *reversed(stories)]:
        assert pairs_of(found.match(ItemColumns([item]))) == naive_pairs(asked, [item])


def test_nothing_is_left_of_an_item_that_has_more_pairs_than_a_part_may_hold() -> None:
    asked = [Query(key, (), words("storm")) for key in range(40)] + [Query(99, (), words("storm", "calm"))]
    found = compiled_set.compiled_in_memory(table_of(asked))
    parts = list(found.match_in_parts(ItemColumns([story("storm")]), limit=3))
    assert sum(map(len, parts)) == 40
    assert not len(found.match(ItemColumns([story("calm")])))


def path(name: str, value: str) -> TreePattern:
    return TreePattern(PatternNode("//", name, (), "", "=", value))


def graph(*triples: str, **where: tuple[Any, str | float]) -> GraphPattern:
    """Triples as `?x title storm`, and what variables are compared with."""
    terms = (
        [Variable(word[1:]) if word[0] == "?" else Constant(word) for word in one.split()] for one in triples
    )
    return GraphPattern(
        tuple(Triple(*one) for one in terms),
        tuple(Constraint(name, op, value) for name, (op, value) in where.items()),
    )


KINDS: dict[str, Predicate] = {
    "words": words("storm"),
    "words of an attribute": Contains("title", (Term("storm"),), 1),
    "a phrase": words("storm tide"),
    "a prefix": Contains(None, (Term("sto", True),), 1),
    "some of several words": Contains(None, tuple(map(Term, ("storm", "tide", "calm"))), 2),
    "a value": Compare("language", "=", "en"),
    "another value": Compare("language", "!=", "en"),
    "a text by its order": Compare("title", ">", "sea"),
    "a number": Compare("e:x", ">", 4.0),
    "a number of an item": Compare("revision", "<", 1.0),
    "a time": Compare("published", ">=", START),
    "a part of a time": Compare("published", "=", 2020, "year"),
    "an age": Compare("published", ">", Now(timedelta(days=-2))),
    "a reference": References(None, "http://x.org/a"),
    "a host": References("link", "x.org"),
    "links below": Extends("links", "x.org"),
    "shared links": SharesLink(None, ("http://x.org/a", "http://y.org/")),
    "a regular expression": predicates.Matches("title", "st[o0]rm"),
    "sources": FromFeeds(("s", "t")),
    "a path": path("category", "tides"),
    "no path": Not(path("category", "tides")),
    "one of several paths": Or((path("category", "tides"), path("title", "storm"))),
    "some of several paths": AtLeast(
        2, (path("category", "tides"), path("title", "calm"), path("title", "sea"))
    ),
    "a path and words": And((path("title", "storm tide"), words("tide"))),
    "a graph": graph("?x title storm"),
    "a graph of two triples": graph("?x title storm", "?x language en"),
    "a graph in two parts": graph("?x title storm", "?y language ?z"),
    "a graph with bounds": graph("?x title ?t", "?x date ?d", t=("<", "d"), d=(">", "2020-01-03")),
    "a graph in a circle": graph("?x references ?y", "?y ?p ?x"),
    "no graph": Not(graph("?x title storm")),
    "a graph and words": And((graph("?x e:x ?n", n=(">", 2.0)), words("tide"))),
}
"""Every kind of condition that has atoms of its own."""

STORIES = [
    story(
        title,
        language=language,
        revision=row % 2,
        published=START + timedelta(days=row),
        link="http://x.org/a" if row % 2 else "http://y.org/",
        links=("http://x.org/a",) if row % 2 else ("http://y.org/",),
        extensions=(("e:x", str(row)),),
        raw=f"<item><title>{title}</title><category>tides</category></item>",
    )
    for row, (title, language) in enumerate(
        (title, language) for title in ("storm", "storm tide", "calm", "sea") for language in ("en", "de")
    )
]


@pytest.mark.parametrize("kind", KINDS)
def test_no_condition_that_has_atoms_is_asked_of_a_row_in_python(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert calls_for(KINDS[kind], monkeypatch) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_no_connective_makes_it_be_asked_of_a_row(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one, word = KINDS[kind], words("calm")
    connected = (Not(one), Or((one, word)), Or((Not(one), word)), AtLeast(2, (one, word, words("sea"))))
    assert [calls_for(predicate, monkeypatch) for predicate in connected] == [0, 0, 0, 0]


def test_every_kind_of_condition_has_atoms_but_one() -> None:
    known = {type(predicate) for predicate in KINDS.values()}
    assert set(get_args(Predicate)) - known == {Similar}


def test_what_has_no_atoms_of_its_own_is_asked_only_where_its_words_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert calls_for(Similar(None, "storm tide", 0.9), monkeypatch) == 2
    x, y = Variable("x"), Variable("y")
    compared = GraphPattern((Triple(x, Constant("title"), y),), (Constraint("x", "!=", y),))
    assert calls_for(And((words("calm"), compared)), monkeypatch) == 2


def calls_for(predicate: Predicate, patch: pytest.MonkeyPatch) -> int:
    """How often a condition is asked of an item in Python, in a batch and item by item as often."""
    asked = [Query(1, (), predicate)]
    found = compiled_set.compiled_in_memory(table_of(asked))
    calls: list[object] = []
    real = compiled_set.holds
    patch.setattr(compiled_set, "holds", lambda *given: (calls.append(given), real(*given))[1])
    assert pairs_of(found.match(batch_of(STORIES))) == naive_pairs(asked, STORIES)
    in_batch = len(calls)
    singles: list[Matches] = [found.match(ItemColumns([item])) for item in STORIES]
    assert [len(one) for one in singles] == [len(naive_pairs(asked, [item])) for item in STORIES]
    assert len(calls) == 2 * in_batch
    return in_batch
