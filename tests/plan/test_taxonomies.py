"""Subclasses and subproperties satisfy what asks for the broader one."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.items.model import Item
from feedweir.items.namespaces import NAMESPACES
from feedweir.items.triples import Node, Statement
from feedweir.match.meaning.effort import Effort
from feedweir.match.meaning.graph_search import has_subgraph
from feedweir.match.meaning.item_meaning import holds
from feedweir.plan.predicates import GraphPattern, Iri, Triple, Variable
from feedweir.plan.taxonomies import in_taxonomy, packaged_taxonomy, taxonomy_of
from tests import naive
from tests.language.reading import parse_predicate

SCHEMA = "http://schema.org/"
TYPE = NAMESPACES["rdf"] + "type"
S = Variable("s")


def test_what_is_narrower_is_found_through_any_number_of_steps_and_cycles() -> None:
    known = taxonomy_of(["# a", "base urn:", "class b a", "class c b", "class a c", "property q p"])
    assert set(known.class_and_below("urn:a")) == {"urn:a", "urn:b", "urn:c"}
    assert known.property_and_below("urn:p") == ("urn:p", "urn:q")
    assert known.class_and_below("urn:none") == ("urn:none",)


def test_the_package_knows_schema_org() -> None:
    known = packaged_taxonomy()
    assert {f"{SCHEMA}NewsArticle", f"{SCHEMA}OpinionNewsArticle"} < set(
        known.class_and_below(f"{SCHEMA}Article")
    )
    assert f"{SCHEMA}Person" not in known.class_and_below(f"{SCHEMA}CreativeWork")
    assert len(known.class_and_below(f"{SCHEMA}Thing")) > 800


def test_a_pattern_without_broader_terms_stays_the_same() -> None:
    pattern = GraphPattern(
        (Triple(S, Iri(TYPE), Iri("urn:c")), Triple(S, Variable("p"), Iri(f"{SCHEMA}Article")))
    )
    assert in_taxonomy(pattern) is pattern


def item(kind: str) -> Item:
    raw = f"""<rdf:RDF xmlns:rdf="{NAMESPACES["rdf"]}" xmlns:s="{SCHEMA}"><s:{kind} rdf:about="urn:a">
        <s:acceptedAnswer>yes</s:acceptedAnswer></s:{kind}></rdf:RDF>"""
    return Item(source="s", identity="1", raw=raw, arrived=datetime(2026, 6, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    ("written", "is_there"),
    [
        ("graph { ?s a schema:CreativeWork }", True),
        ("graph { (?s, rdf:type, schema:Article) }", True),
        ("graph { ?s a schema:Person }", False),
        ("graph exactly { ?s a schema:CreativeWork }", False),
        ("graph exactly { ?s a schema:NewsArticle }", True),
        ("graph { ?s schema:suggestedAnswer 'yes' }", True),
        ("graph exactly { ?s schema:suggestedAnswer 'yes' }", False),
        ("graph { ?s schema:acceptedAnswer 'yes' FILTER NOT EXISTS { ?s a schema:Thing } }", False),
        ("graph exactly { ?s schema:acceptedAnswer 'yes' FILTER NOT EXISTS { ?s a schema:Thing } }", True),
        ("graph { ?s a ?c FILTER(?c = schema:CreativeWork) }", False),
    ],
)  # fmt: skip
def test_conditions_ask_for_what_is_narrower_unless_they_say_exactly(written: str, is_there: bool) -> None:
    predicate = parse_predicate(written)
    assert holds(predicate, item("NewsArticle")) is is_there
    assert naive.holds(predicate, item("NewsArticle")) is is_there


iris = st.sampled_from(
    ["Article", "NewsArticle", "CreativeWork", "Person", "suggestedAnswer", "acceptedAnswer"]
).map(lambda name: SCHEMA + name)
properties = st.one_of(st.just(TYPE), iris)
terms = st.one_of(st.sampled_from("xy").map(Variable), iris.map(Iri))
patterns = st.builds(
    lambda triples, absent, exact: GraphPattern(
        tuple(triples),
        absent=(GraphPattern(tuple(absent), is_exact=exact),) if absent else (),
        is_exact=exact,
    ),
    st.lists(st.builds(Triple, terms, properties.map(Iri), terms), min_size=1, max_size=3),
    st.lists(st.builds(Triple, terms, properties.map(Iri), terms), max_size=2),
    st.booleans(),
)
facts = st.lists(
    st.builds(
        lambda s, p, o: Statement(Node("iri", s), Node("iri", p), Node("iri", o)), iris, properties, iris
    ),
    max_size=6,
    unique=True,
)


@settings(max_examples=200, deadline=None)
@given(patterns, facts)
def test_a_rewritten_pattern_is_there_when_going_up_from_each_fact_leads_to_it(
    pattern: GraphPattern, given_facts: list[Statement]
) -> None:
    plain = [(tuple(one.subject), tuple(one.predicate), tuple(one.object)) for one in given_facts]
    assert has_subgraph(in_taxonomy(pattern), given_facts, Effort()) == naive.has_subgraph(pattern, plain)
