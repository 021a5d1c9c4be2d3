"""Graph patterns in small graphs: found where trying every combination finds them, and counted in steps."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from feedweir.errors import WorkError
from feedweir.items.triples import Node, Statement
from feedweir.match.meaning.effort import Effort
from feedweir.match.meaning.graph_search import has_subgraph
from feedweir.plan.predicates import Comparison, Constant, Constraint, GraphPattern, Iri, Triple, Variable
from tests import naive
from tests.match.generated_graphs import EX, facts, graph_patterns, iri, text


def graph(*triples: tuple[str, str, str | Node]) -> list[Statement]:
    return [Statement(iri(s), iri(p), o if isinstance(o, Node) else iri(o)) for s, p, o in triples]


def pattern(*triples: str, where: tuple[Constraint, ...] = ()) -> GraphPattern:
    """Triples as `?a knows ?b`: names with a mark are variables, all others constants."""

    def term(word: str) -> Variable | Constant | Iri:
        if word.startswith("?"):
            return Variable(word[1:])
        return Iri(word[1:-1]) if word.startswith("<") else Constant(word)

    return GraphPattern(tuple(Triple(*map(term, triple.split())) for triple in triples), where)


def has(wanted: GraphPattern, facts: list[Statement]) -> bool:
    return has_subgraph(wanted, facts, Effort())


FRIENDS = graph(
    ("ann", "knows", "bob"),
    ("bob", "knows", "cid"),
    ("cid", "knows", "ann"),
    ("ann", "age", text("31")),
    ("bob", "age", text("29")),
    ("cid", "name", text("Cid")),
    ("ann", "knows", Node("blank", "b0")),
)


@pytest.mark.parametrize(
    ("wanted", "is_there"),
    [
        (pattern("?x knows ?y"), True),
        (pattern("?x hates ?y"), False),
        (pattern("ann knows bob"), True),
        (pattern("bob knows ann"), False),
        (pattern(f"<{EX}ann> knows ?x"), True),
        (pattern("<ann> knows ?x"), False),
        (pattern("?x knows ?x"), False),
        (pattern("?x knows ?y", "?y knows ?z", "?z knows ?x"), True),
        (pattern("?x knows ?y", "?y knows ?x"), False),
        (pattern("?x knows ?y", "?y name Cid"), True),
        (pattern("?x knows ?y", "?x name Cid", "?y name Cid"), False),
        (pattern("?x ?p ?y", "?y ?p ?z"), True),
        (pattern("?x age ?y", "?x name ?z"), False),
        (pattern("?x age ?y", "?u name ?z"), True),
    ],
)
def test_triples_meet_in_the_variables_they_share(wanted: GraphPattern, is_there: bool) -> None:
    assert has(wanted, FRIENDS) is is_there


@pytest.mark.parametrize(
    ("op", "value", "is_there"),
    [
        (">", 30.0, True),
        (">", 31.0, False),
        ("<", 30, True),
        ("=", 31.0, True),
        ("!=", 31.0, True),
        ("=", "31", True),
        ("<", "29", False),
        ("<=", "29", True),
    ],
)
def test_constraints_compare_numbers_as_numbers_and_texts_as_texts(
    op: Comparison, value: str | float, is_there: bool
) -> None:
    assert has(pattern("?x age ?y", where=(Constraint("y", op, value),)), FRIENDS) is is_there


def test_a_constraint_holds_of_the_triple_that_binds_its_variable() -> None:
    old = Constraint("y", ">", 30.0)
    assert has(pattern("?x age ?y", "?x knows ?z", where=(old,)), FRIENDS)
    assert not has(pattern("?x age ?y", "?x knows cid", where=(old,)), FRIENDS)


def test_nothing_is_found_among_no_facts_and_no_triples_are_everywhere() -> None:
    assert not has(pattern("?x knows ?y"), [])
    assert has(GraphPattern(()), [])


@settings(max_examples=600, deadline=None)
@given(graph_patterns(), facts)
def test_a_graph_is_found_where_trying_every_combination_finds_it(
    wanted: GraphPattern, given_facts: list[Statement]
) -> None:
    plain = [(tuple(fact.subject), tuple(fact.predicate), tuple(fact.object)) for fact in given_facts]
    assert has(wanted, given_facts) == naive.has_subgraph(wanted, plain)


@settings(max_examples=100, deadline=None)
@given(graph_patterns(), facts)
def test_the_order_of_facts_and_of_triples_changes_no_answer(
    wanted: GraphPattern, given_facts: list[Statement]
) -> None:
    turned = GraphPattern(wanted.triples[::-1], wanted.constraints[::-1], wanted.absent[::-1])
    assert has(wanted, given_facts) == has(turned, given_facts[::-1])


def test_looking_at_facts_costs_steps() -> None:
    effort = Effort()
    has_subgraph(pattern("?x knows ?y"), FRIENDS, effort)
    assert effort.spent >= len(FRIENDS)
    with pytest.raises(WorkError, match="more than 5 steps"):
        has_subgraph(pattern("?x knows ?y"), FRIENDS, Effort(5))


X, Y = Variable("x"), Variable("y")
AGES = Triple(X, Constant("age"), Y)


@pytest.mark.parametrize(
    ("absent", "is_there"),
    [
        (pattern("?x name ?z"), True),
        (pattern("?x knows ?z"), False),
        (pattern("?z name ?w"), False),
        (pattern("?x knows ?z", where=(Constraint("y", ">", 30.0),)), True),
        (GraphPattern((Triple(Variable("z"), Constant("age"), Variable("w")),), (Constraint("w", ">", Y),)), True),
    ],
)  # fmt: skip
def test_a_pattern_may_have_to_be_absent_for_what_is_bound(absent: GraphPattern, is_there: bool) -> None:
    assert has(GraphPattern((AGES,), absent=(absent,)), FRIENDS) is is_there


def test_what_is_absent_may_itself_lack_something() -> None:
    """Someone knows only people who have an age."""
    aged = GraphPattern((Triple(Y, Constant("age"), Variable("z")),))
    ageless = GraphPattern((Triple(X, Constant("knows"), Y),), absent=(aged,))
    named = GraphPattern((Triple(X, Constant("name"), Constant("Cid")),), absent=(ageless,))
    assert has(named, FRIENDS)
    assert not has(named, [*FRIENDS, *graph(("cid", "knows", "dan"))])


def test_two_variables_are_compared() -> None:
    older = GraphPattern(
        (AGES, Triple(Variable("u"), Constant("age"), Variable("v"))), (Constraint("y", ">", Variable("v")),)
    )
    assert has(older, FRIENDS)
    assert not has(older, FRIENDS[:4])
