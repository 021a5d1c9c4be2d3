"""Which graph patterns contain which: never wrong, and complete where one mapping of variables proves it."""

from __future__ import annotations

import operator
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.items.triples import Node, Statement
from feedweir.match.graphs.graph_containment import PatternIndex, contains, implied
from feedweir.plan.predicates import (
    AnyConstraint,
    Constant,
    Constraint,
    GraphPattern,
    GraphTerm,
    Iri,
    RdfLiteral,
    Triple,
    Variable,
)
from tests import naive
from tests.match.generated_graphs import EX, XSD, facts, graph_patterns
from tests.match.test_graph_sets import plain

X, Y, Z, W = (Variable(name) for name in "xyzw")
P, Q, A, B = (Iri(EX + name) for name in "pqab")


def pattern(
    *triples: tuple[GraphTerm, GraphTerm, GraphTerm], where: tuple[Constraint, ...] = ()
) -> GraphPattern:
    return GraphPattern(tuple(Triple(*one) for one in triples), where)


@pytest.mark.parametrize(
    ("one", "other", "does"),
    [
        (pattern((X, P, Y)), pattern((A, P, B)), True),
        (pattern((A, P, B)), pattern((X, P, Y)), False),
        (pattern((X, P, Y)), pattern((Z, P, W)), True),
        (pattern((X, P, Y), (Y, P, Z)), pattern((X, P, X)), True),
        (pattern((X, P, X)), pattern((X, P, Y), (Y, P, X)), False),
        (pattern((X, P, Y), (X, P, Z)), pattern((X, P, Y)), True),
        (pattern((X, P, Y), (Z, Q, W)), pattern((X, P, Y), (X, Q, Y)), True),
        (pattern((X, P, Y), (Y, P, X)), pattern((A, P, B), (B, P, A), (A, Q, B)), True),
        (pattern((X, W, Y)), pattern((A, P, B)), True),
        (pattern((X, Constant("p"), Y)), pattern((A, P, B)), True),
        (pattern((X, P, Y)), pattern((A, Constant("p"), B)), False),
        (pattern((X, Constant("p"), Y)), pattern((A, Constant("p"), B)), True),
        # a plain text may be two terms in two places
        (pattern((X, P, Z), (Y, Q, Z)), pattern((X, P, Constant("t")), (Y, Q, Constant("t"))), False),
        (pattern((X, P, Z), (Y, Q, Z)), pattern((X, P, A), (Y, Q, A)), True),
        (pattern((X, P, Constant(7.0))), pattern((X, P, RdfLiteral("07", f"{XSD}int"))), True),
        (pattern((X, P, Constant("t"))), pattern((X, P, RdfLiteral("t", "", "en"))), True),
        (pattern((X, P, RdfLiteral("t", "", "fr"))), pattern((X, P, RdfLiteral("t", "", "en"))), False),
    ],
)
def test_a_pattern_contains_what_it_can_be_mapped_into(
    one: GraphPattern, other: GraphPattern, does: bool
) -> None:
    assert contains(one, other) is does


def compared(op: str, value: object) -> GraphPattern:
    return pattern((X, P, Y), where=(Constraint("y", op, value),))  # type: ignore[arg-type]


VALUES = (1.0, 2.0, 3.0)
OPS: dict[str, Callable[[float, float], bool]] = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("wanted", OPS)
@pytest.mark.parametrize("ours", VALUES)
def test_constraints_are_contained_where_all_numbers_that_keep_one_keep_the_other(
    op: str, wanted: str, ours: float
) -> None:
    tried = [n / 2 for n in range(9)]
    expected = all(OPS[wanted](n, 2.0) for n in tried if OPS[op](n, ours))
    # what is no number is unequal to every number
    expected = expected and (op != "!=" or wanted == "!=")
    assert contains(compared(wanted, 2.0), compared(op, ours)) is expected


def test_constraints_on_constants_are_decided_by_their_values() -> None:
    seven = pattern((X, P, RdfLiteral("7", f"{XSD}int")))
    assert contains(compared("<", 8.0), seven)
    assert not contains(compared("<", 7.0), seven)
    assert contains(compared(">=", 7.0), pattern((X, P, Constant(7.0))))
    assert contains(compared("=", "t"), pattern((X, P, RdfLiteral("t", f"{XSD}string"))))
    assert not contains(compared("=", "t"), pattern((X, P, Constant("t"))))  # it may be an IRI that ends so
    assert contains(compared("<", "2027"), compared("<", "2026"))
    assert contains(compared("!=", "x"), compared("=", "y"))


def test_bounds_from_both_sides_are_taken_together() -> None:
    within = pattern((X, P, Y), where=(Constraint("y", ">", 2.0), Constraint("y", "<", 5.0)))
    wider = pattern((X, P, Y), where=(Constraint("y", ">", 1.0), Constraint("y", "<=", 5.0)))
    assert contains(wider, within)
    assert not contains(within, wider)
    assert implied(AnyConstraint((Constraint("y", "<", 1.0), Constraint("y", ">", 1.0))), within.constraints)


def test_what_only_meaning_decides_contains_nothing_but_itself() -> None:
    lacking = GraphPattern((Triple(X, P, Y),), absent=(pattern((X, Q, Z)),))
    assert contains(lacking, lacking)
    assert contains(pattern((X, P, Y)), lacking)
    assert not contains(lacking, pattern((X, P, Y)))


@settings(max_examples=150, deadline=None)
@given(graph_patterns(), graph_patterns(), st.lists(facts, min_size=3, max_size=6))
def test_every_item_that_has_a_contained_pattern_has_the_one_that_contains_it(
    one: GraphPattern, other: GraphPattern, rows: list[list[Statement]]
) -> None:
    if contains(one, other):
        assert all(
            naive.has_subgraph(one, plain(row)) for row in rows if naive.has_subgraph(other, plain(row))
        )


_terms = st.one_of(
    st.sampled_from("xyzw").map(Variable), st.sampled_from("ab").map(lambda name: Iri(EX + name))
)
_patterns = st.lists(
    st.builds(Triple, _terms, st.sampled_from((P, Q, W)), _terms), min_size=1, max_size=4, unique=True
).map(lambda triples: GraphPattern(tuple(triples)))


@settings(max_examples=60, deadline=None)
@given(st.lists(_patterns, min_size=1, max_size=12))
def test_all_containments_of_a_set_are_those_that_freezing_by_hand_finds(asked: list[GraphPattern]) -> None:
    index = PatternIndex(asked)
    rows, users = index.containing(index)
    expected = [
        (n, m)
        for n, other in enumerate(asked)
        for m, one in enumerate(asked)
        if naive.has_subgraph(one, plain(by_hand(other)))
    ]
    assert list(zip(rows.tolist(), users.tolist(), strict=True)) == expected


def by_hand(pattern: GraphPattern) -> list[Statement]:
    def node(term: GraphTerm) -> Node:
        assert isinstance(term, Variable | Iri)
        return Node("blank", term.name) if isinstance(term, Variable) else Node("iri", term.iri)

    return [Statement(node(one.subject), node(one.predicate), node(one.object)) for one in pattern.triples]
