"""Why an item did or did not match."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from feedweir.errors import CompiledSetError
from feedweir.items.model import Item
from feedweir.items.schema import batch_of
from feedweir.match import CompiledSet, Span, compile_set
from feedweir.match.sets.compiled_set import open_compiled
from feedweir.match.sets.query_store import whole_predicate
from feedweir.plan.predicates import And, Compare, Contains, Extends, FromFeeds, Not, Or, Predicate, Term
from feedweir.plan.query import Query
from tests.match.generated import items, queries
from tests.naive import holds

ITEM = Item(
    source="wire",
    identity="1",
    title="Über Zürich: COVID-19 in 東京都",
    summary="<p>the <b>mayor</b> said</p>",
    links=("https://a.org/x/y",),
    published=datetime(2026, 1, 1, tzinfo=UTC),
    arrived=datetime(2026, 1, 2, tzinfo=UTC),
)


def compiled(*asked: Query) -> CompiledSet:
    with TemporaryDirectory() as directory:
        compile_set(asked, Path(directory) / "set")
        return open_compiled(Path(directory) / "set")


def words(*terms: str, attribute: str | None = None) -> Contains:
    return Contains(attribute, tuple(map(Term, terms)), len(terms))


def text_at(span: Span) -> str:
    return str(getattr(ITEM, span.attribute))[span.start : span.end]


def test_the_missing_word_is_named() -> None:
    told = compiled(Query(1, (), words("mayor", "zürich", "lisbon"))).explain(ITEM, 1)
    assert not told.is_match
    assert told.refused_by == words("lisbon")


def test_the_refusing_clause_is_named_and_the_atom_that_made_it_a_candidate() -> None:
    predicate = And((words("mayor"), Not(words("covid 19"))))
    told = compiled(Query(1, (), predicate)).explain(ITEM, 1)
    assert (told.is_match, told.candidate_by, told.refused_by) == (False, "mayor", Not(words("covid 19")))


def test_what_it_lacked_to_be_a_candidate_is_named() -> None:
    told = compiled(Query(1, (), Or((words("lisbon"), words("porto", attribute="title"))))).explain(ITEM, 1)
    assert (told.candidate_by, told.lacked) == ("", "lisbon or title: porto")


def test_spans_show_where_the_words_stand() -> None:
    told = compiled(Query(1, (), words("covid 19", "ZÜRICH", "京", "mayor"))).explain(ITEM, 1)
    assert told.is_match
    assert [text_at(span) for span in told.spans] == ["COVID-19", "Zürich", "京", "mayor"]


@pytest.mark.parametrize(
    ("predicate", "name"),
    [
        (FromFeeds(("wire",)), "source = wire"),
        (Extends(None, "a.org/x"), "links opening a.org/x"),
        (Compare("published", ">", datetime(2025, 1, 1, tzinfo=UTC)), "published within bounds"),
        (Contains("title", (Term("cov", is_prefix=True),), 1), "title: cov*"),
        (Not(words("lisbon")), "every item"),
    ],
)
def test_every_kind_of_atom_has_a_name(predicate: Predicate, name: str) -> None:
    told = compiled(Query(1, (), predicate)).explain(ITEM, 1)
    assert (told.is_match, told.candidate_by) == (True, name)


def test_an_unknown_key_is_an_error() -> None:
    with pytest.raises(CompiledSetError, match="no query has that key"):
        compiled().explain(ITEM, 1)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(queries, min_size=1, max_size=4), items())
def test_explanations_agree_with_matching(asked: list[Query], item: Item) -> None:
    compiled_set = compiled(*asked)
    found = compiled_set.match(batch_of([item])).keys.tolist()
    for query in asked:
        told = compiled_set.explain(item, query.key)
        assert told.is_match == (query.key in found)
        assert told.is_match or told.refused_by is not None
        if told.is_match:
            assert told.candidate_by, "what matches was a candidate"
        else:
            assert not any(holds(whole_predicate(one), item) for one in asked if one.key == query.key)
