"""Tree and graph patterns are judged once an item, however many queries have them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedweir.items.model import Item
from feedweir.items.namespaces import NAMESPACES
from feedweir.items.triples import triples_of
from feedweir.match.meaning import item_patterns
from feedweir.match.meaning.item_meaning import Reading, holds
from feedweir.plan.predicates import (
    And,
    Comparison,
    Constant,
    Constraint,
    GraphPattern,
    Iri,
    Not,
    Triple,
    Variable,
)
from tests.naive import has_graph_pattern

ITEM = Item(source="a", identity="1", title="a storm", seq=1, arrived=datetime(2026, 1, 1, tzinfo=UTC))


def pattern() -> GraphPattern:
    return GraphPattern((Triple(Variable("x"), Variable("p"), Constant("a storm")),), ())


def test_equal_patterns_of_an_item_are_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Item] = []
    real = item_patterns.triples_of

    def counting(item: Item) -> object:
        made.append(item)
        return real(item)

    monkeypatch.setattr(item_patterns, "triples_of", counting)
    reading = Reading(ITEM)
    answers = [holds(And((pattern(), Not(Not(pattern())))), reading) for _ in range(50)]
    assert len(set(answers)) == 1
    assert len(made) == 1


TERMS = (
    "<q:p rdf:datatype='xsd:int'>5</q:p>",
    "<q:p>5</q:p>",
    "<q:p xml:lang='fr'>5</q:p>",
    "<q:p rdf:datatype='xsd:dateTime'>2026-01-01T00:30:00+02:00</q:p>",
    "<q:p>2025-12-31T22:30:00Z</q:p>",
    "<q:p>2026-01-01</q:p>",
    "<q:p>2026</q:p>",
    "<q:p rdf:parseType='Resource'><q:r>5</q:r></q:p>",
    "<q:p rdf:nodeID='b'/>",
    "<q:s rdf:nodeID='b'/>",
    "<q:s rdf:resource='urn:c'/>",
    "<q:s rdf:datatype='xsd:int'>5</q:s>",
)
Q = "urn:q#"
VALUES = ("5", 5.0, "c", "2025", "2026", "2025-12-31T22:30:00Z", "2026-01-01T00:00:00-01:00", "2026-01")


def described(properties: tuple[str, ...]) -> Item:
    xml = f"""<rdf:RDF xmlns:rdf="{NAMESPACES["rdf"]}" xmlns:q="{Q}"><rdf:Description rdf:about="urn:it">{
        "".join(properties).replace("'xsd:", f"'{NAMESPACES['xsd']}")
    }</rdf:Description></rdf:RDF>"""
    return Item(source="a", identity="1", raw=xml, seq=1, arrived=datetime(2026, 1, 1, tzinfo=UTC))


def judged(item: Item, *triples: Triple, such_that: Constraint | None = None) -> bool:
    """As the matcher says; the obvious meaning must say the same."""
    wanted = GraphPattern(triples, (such_that,) if such_that else ())
    answer = holds(wanted, Reading(item))
    assert answer == has_graph_pattern(wanted, item)
    return answer


def asked(item: Item, op: Comparison, value: str | float) -> bool:
    triple = Triple(Variable("i"), Iri(f"{Q}p"), Variable("x"))
    return judged(item, triple, such_that=Constraint("x", op, value))


@given(
    st.lists(st.sampled_from(TERMS), max_size=3).map(tuple),
    st.sampled_from(("=", "!=", "<", "<=", ">", ">=")),
    st.sampled_from(VALUES),
)
def test_terms_compare_as_they_mean(properties: tuple[str, ...], op: Comparison, value: str | float) -> None:
    item = described(properties)
    asked(item, op, value)
    meeting = [Triple(Variable("i"), Iri(Q + name), Variable("x")) for name in "ps"]
    judged(item, *meeting, such_that=Constraint("x", op, value))


def test_a_blank_node_compares_with_nothing() -> None:
    for place in (7, 8):
        item = described((TERMS[place],))
        assert not any(asked(item, op, "c") for op in ("=", "<", "<=", ">", ">="))
        assert asked(item, "!=", "c")


def test_blank_nodes_are_the_same_at_each_reading() -> None:
    item = described((TERMS[8], TERMS[9], TERMS[7]))
    assert triples_of(item) == triples_of(item)
    assert judged(item, *(Triple(Variable("i"), Iri(Q + name), Variable("x")) for name in "ps"))


def test_variables_meet_by_term() -> None:
    meeting = [Triple(Variable("i"), Iri(Q + name), Variable("x")) for name in "ps"]
    assert judged(described((TERMS[0], TERMS[11])), *meeting)
    assert not judged(described((TERMS[1], TERMS[11])), *meeting)
    assert not judged(described((TERMS[2], TERMS[11])), *meeting)


def test_times_compare_by_the_moment_they_name() -> None:
    item = described((TERMS[3],))
    assert asked(item, "=", "2025-12-31T22:30:00Z")
    assert asked(item, "<", "2025-12-31T23:00:00Z")
    assert asked(item, "<", "2026")
    assert not asked(item, ">", "2026-01-01")
