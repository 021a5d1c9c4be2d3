"""Graph patterns and items that are meant to cost too much: exact or left undecided, and the same in every run."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from feedweir.items.triples import Node, Statement
from feedweir.match.graphs.graph_builder import compile_graphs
from feedweir.match.graphs.graph_forms import Graph, graph_formula, parts_of
from feedweir.match.graphs.graph_set import GraphMatches
from feedweir.match.graphs.triple_batches import batch_of_statements
from feedweir.plan.predicates import Constant, Constraint, GraphPattern, Iri, RdfLiteral, Triple, Variable
from tests.match.generated_graphs import EX, XSD, iri, text

P, Q = Iri(EX + "p"), Iri(EX + "q")
X, Y, Z = (Variable(name) for name in "xyz")
MANY = 10_000


def matched(pattern: GraphPattern, facts: Sequence[Statement]) -> GraphMatches:
    return compile_graphs(parts_of(pattern)).matches(batch_of_statements([facts]))


def is_found(pattern: GraphPattern, facts: Sequence[Statement]) -> bool:
    has = matched(pattern, facts)
    assert not len(has.undecided_parts)
    return len(has.parts) == len(parts_of(pattern))


def test_many_values_of_one_property_under_a_tree_take_a_step_each() -> None:
    values = [Statement(iri("a"), iri("p"), text(str(n))) for n in range(MANY)]
    pairs = GraphPattern(
        (Triple(X, P, Y), Triple(X, P, Z), Triple(X, Q, Variable("w"))), (Constraint("z", ">", MANY - 1.5),)
    )
    assert not is_found(pairs, values)
    assert is_found(pairs, [*values, Statement(iri("a"), iri("q"), iri("b"))])


@pytest.mark.parametrize("is_closed", [True, False])
def test_many_values_of_one_property_under_a_circle_are_decided(is_closed: bool) -> None:
    ring = [Statement(iri(f"n{n}"), iri("p"), iri(f"n{n + 1}")) for n in range(MANY)]
    if is_closed:
        ring.append(Statement(iri(f"n{MANY // 2}"), iri("p"), iri(f"n{MANY // 2 - 2}")))
    circle = GraphPattern((Triple(X, P, Y), Triple(Y, P, Z), Triple(Z, P, X)))
    assert is_found(circle, ring) is is_closed


def test_a_hub_under_a_circle_is_undecided_in_every_run() -> None:
    hub = [Statement(iri(f"n{n}"), iri("p"), iri("hub")) for n in range(2000)]
    hub += [Statement(iri("hub"), iri("p"), iri(f"m{n}")) for n in range(2000)]
    circle = GraphPattern((Triple(X, P, Y), Triple(Y, P, Z), Triple(Z, P, X)))
    runs = [matched(circle, hub) for _ in range(2)]
    assert [(len(one.parts), one.undecided_parts.tolist()) for one in runs] == [(0, [0])] * 2


def test_a_pattern_of_a_thousand_triples_is_found() -> None:
    chain = GraphPattern(tuple(Triple(Variable(f"v{n}"), P, Variable(f"v{n + 1}")) for n in range(1000)))
    facts = [Statement(iri(f"n{n}"), iri("p"), iri(f"n{n + 1}")) for n in range(1000)]
    assert is_found(chain, facts)
    assert not is_found(chain, facts[1:])


def test_a_pattern_of_only_variables_is_in_every_item_that_has_a_triple() -> None:
    anything = GraphPattern((Triple(X, Y, Z),))
    assert is_found(anything, [Statement(iri("a"), iri("p"), text("b"))])
    assert not is_found(anything, [])
    crossed = GraphPattern((Triple(X, Y, Z), Triple(Z, Y, X)))
    assert is_found(crossed, [Statement(iri("a"), iri("p"), iri("a"))])
    assert not is_found(crossed, [Statement(iri("a"), iri("p"), iri("b"))])


def test_bounds_that_contradict_each_other_are_never_kept() -> None:
    bounds = (Constraint("y", ">", 5.0), Constraint("y", "<", 5.0))
    facts = [Statement(iri("a"), iri("p"), text(value)) for value in ("4", "5", "6")]
    assert not is_found(GraphPattern((Triple(X, P, Y),), bounds), facts)


def test_a_literal_of_ten_megabytes_is_one_term_like_others() -> None:
    long = "7" * 10_000_000
    facts = [Statement(iri("a"), iri("p"), text(long)), Statement(iri("b"), iri("q"), text(long))]
    asked = GraphPattern((Triple(X, P, Z), Triple(Y, Q, Z)), (Constraint("z", ">", "6"),))
    assert is_found(asked, facts)
    assert not is_found(GraphPattern((Triple(X, P, Y),), (Constraint("y", ">", 6.0),)), facts)
    assert is_found(GraphPattern((Triple(X, P, Constant(long)),)), facts)


@pytest.mark.parametrize(
    ("value", "datatype", "is_seven"),
    [("7", "int", True), ("7.0", "decimal", True), ("+7", "", True), (" 7\n", "", True), ("7e0", "double", True),
     ("abc", "int", False), ("NaN", "double", False), ("1e400", "double", False), ("7_0", "", False),
     ("\u0667", "", False), ("7.", "", True), (".7e1", "", True), ("0x7", "", False), ("", "int", False)],
)  # fmt: skip
def test_odd_numbers_are_read_as_xml_schema_has_them(value: str, datatype: str, is_seven: bool) -> None:
    facts = [Statement(iri("a"), iri("p"), text(value, datatype))]
    assert is_found(GraphPattern((Triple(X, P, Constant(7.0)),)), facts) is is_seven
    assert is_found(GraphPattern((Triple(X, P, Y),), (Constraint("y", "=", 7.0),)), facts) is is_seven
    assert is_found(GraphPattern((Triple(X, P, Y),), (Constraint("y", "!=", 7.0),)), facts) is not is_seven


def test_iris_that_differ_by_case_or_escapes_are_different_terms() -> None:
    facts = [Statement(iri("a"), iri("p"), Node("iri", "http://E.org/%7Ex"))]
    for other in ("http://e.org/%7Ex", "http://E.org/~x", "http://E.org/%7ex"):
        assert not is_found(GraphPattern((Triple(X, P, Iri(other)),)), facts)
    assert is_found(GraphPattern((Triple(X, P, Iri("http://E.org/%7Ex")),)), facts)


def test_a_year_beyond_9999_is_no_moment() -> None:
    facts = [Statement(iri("a"), iri("p"), text("10000-01-01", "date"))]
    late = Constraint("y", ">", RdfLiteral("2026-01-01", f"{XSD}date"))
    assert not is_found(GraphPattern((Triple(X, P, Y),), (late,)), facts)


def test_a_variable_that_only_a_constraint_names_is_left_to_meaning() -> None:
    lost = GraphPattern((Triple(X, P, Y),), (Constraint("w", "=", 1.0),))
    assert not isinstance(graph_formula(lost), Graph)
