"""Items invented for a query: the query wants them, and so does whatever is proved to contain it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.catalog import Definition
from feedweir.items.schema import batch_of
from feedweir.language import parse
from feedweir.language.defined_names import DefinedNames
from feedweir.language.plan_builder import build
from feedweir.language.statements import CreateFeed
from feedweir.match.graphs.graph_containment import contains
from feedweir.match.sets.compiled_set import compiled_in_memory
from feedweir.match.sets.query_store import table_of
from feedweir.optimize.boolean_forms import to_cnf
from feedweir.optimize.specimens import MOST_WAYS, NOWHERE, specimens_of, ways_of
from feedweir.optimize.subsumption import cnf_implies, is_never
from feedweir.plan import branches, expand
from feedweir.plan.predicates import And, Compare, Contains, GraphPattern, Not, Now, Or, Predicate, Term
from feedweir.plan.query import Query
from tests.match import generated_graphs
from tests.naive import holds
from tests.optimize import generated


def alone(predicate: Predicate) -> list[Query]:
    return [Query(1, (), predicate)]


@settings(max_examples=300, deadline=None)
@given(generated.predicates())
def test_a_query_wants_its_specimens(predicate: Predicate) -> None:
    made = specimens_of(alone(predicate))
    assert len(made) <= MOST_WAYS
    assert all(holds(predicate, item) for item in made)


@settings(max_examples=300, deadline=None)
@given(generated.predicates(), generated.predicates(), st.booleans())
def test_what_contains_a_query_wants_its_specimens(one: Predicate, more: Predicate, is_wider: bool) -> None:
    """By the matcher, as advice asks it."""
    narrow, wide = (one, Or((one, more))) if is_wider else (And((one, more)), one)
    for other in (wide, more):
        if cnf_implies(to_cnf(narrow), to_cnf(other)):
            items = specimens_of(alone(narrow))
            found = compiled_in_memory(table_of([Query(7, (), other)])).match(batch_of(items))
            assert found.rows.tolist() == list(range(len(items)))


@settings(max_examples=200, deadline=None)
@given(generated.predicates(generated.words_only))
def test_of_words_alone_there_is_always_a_specimen(predicate: Predicate) -> None:
    assert specimens_of(alone(predicate)) or is_never(to_cnf(predicate)) or _is_odd(predicate)


def _is_odd(predicate: Predicate) -> bool:
    """None of its first ways can be gone."""
    return all(is_never(to_cnf(And(way))) for way in ways_of(predicate))


DAY = datetime(2020, 5, 17, 8, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    "predicate",
    [
        And((Compare("published", ">", DAY), Compare("published", "<=", DAY + timedelta(hours=1)))),
        And((Compare("published", "=", 2020.0, "year"), Compare("published", "=", 2.0, "month"))),
        And((Compare("published", "=", 6.0, "weekday"), Compare("published", "<", 9.0, "hour"))),
        Compare("published", ">", Now(-timedelta(days=2))),
        And((Compare("media:rating", ">", 4.0), Not(Compare("media:rating", "=", 5.0)))),
        And((Compare("language", "!=", "en"), Compare("language", ">", "de"))),
        And((Compare("title", "=", "Rain & <sun>"), Contains("title", (Term("rain"),), 1))),
        And((Contains("summary", (Term("fish & chips"),), 1), Not(Contains(None, (Term("fish"),), 2)))),
        And(tuple(Contains("author", (Term(name),), 1) for name in ("Ann Broder", "Dana"))),
        Contains(None, (Term("東京都"), Term("שלום"), Term("q", is_prefix=True)), 2),
    ],
)
def test_there_is_a_specimen(predicate: Predicate) -> None:
    (item, *_) = specimens_of(alone(predicate))
    assert item.source == NOWHERE


@pytest.mark.parametrize(
    "condition",
    [
        "path '/item/category[. = \"jazz\"]'",
        "path '//item[author = \"Dana\"][.//@id > 5]/title'",
        "references 'muse.mu' and extends 'http://example.org/jazz'",
        "links shares-link ('http://a.example/1', 'http://b.example/2')",
        "title similar 'rock concert in Paris' at least 0.5",
        "at least 2 of (title contains 'rain', language = 'en', category = 'music')",
        "graph { ?i dc:creator 'Ann' ; dc:date ?d . FILTER(?d > '2024-01-01' && ?d < '2024-01-03') }",
        "graph { ?p a foaf:Person ; foaf:age ?a , ?b . FILTER(?a < ?b && ?a >= 18 && ?b != 20) }",
        "graph { ?p foaf:name ?n . FILTER(STRSTARTS(?n, 'An') && LANG(?n) = 'en') }",
        "graph { ?p foaf:knows ?q . ?q foaf:age ?a . FILTER NOT EXISTS { ?q foaf:knows ?p } FILTER(?a > 2.5) }",
        "graph { ?x ?y ?x . FILTER(?y IN (foaf:knows, dc:relation)) }",
        "title contains 'rain' and graph { ?i dc:creator 'Ann' . } and not graph { ?i dc:language 'de' . }",
    ],
)
def test_there_is_a_specimen_of_a_condition_as_it_is_written(condition: str) -> None:
    (statement,) = parse(f"create feed N from A | B where {condition}")
    assert isinstance(statement, CreateFeed)
    assert specimens_of(queries_of(statement))


@settings(max_examples=300, deadline=None)
@given(generated_graphs.graph_patterns())
def test_whoever_has_a_graph_pattern_wants_its_specimens(pattern: GraphPattern) -> None:
    items = specimens_of(alone(pattern))
    assert all(holds(pattern, item) for item in items)


@settings(max_examples=300, deadline=None)
@given(generated_graphs.graph_patterns(), generated_graphs.graph_patterns())
def test_a_graph_pattern_that_contains_another_wants_its_specimens(
    one: GraphPattern, more: GraphPattern
) -> None:
    both = replace(one, triples=one.triples + more.triples, constraints=one.constraints + more.constraints)
    for narrow, wide in ((both, one), (both, more), (one, more)):
        if contains(wide, narrow):
            items = specimens_of(alone(narrow))
            found = compiled_in_memory(table_of([Query(7, (), wide)])).match(batch_of(items))
            assert found.rows.tolist() == list(range(len(items)))


def queries_of(statement: CreateFeed) -> list[Query]:
    names = DefinedNames(
        Definition(n, name, "source", f"register feed push://{name} as {name}") for n, name in enumerate("AB")
    )
    plan = expand(build(statement.query, names, feed="N"), names.plan_of)
    return [Query(0, sources, predicate) for sources, predicate in branches(plan)]


def test_each_source_has_a_specimen_before_any_has_a_second() -> None:
    either = Or(tuple(Contains(None, (Term(word),), 1) for word in "abcdefghijkl"))
    made = specimens_of([Query(1, ("s1", "s2", "s3"), either)])
    assert [item.source for item in made[:3]] == ["s1", "s2", "s3"]
    assert len(made) == MOST_WAYS
