"""Graph patterns by the set: all parts that naive search finds, whatever their shapes, and only those."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.items.triples import Node, Statement
from feedweir.match.atoms import Ask
from feedweir.match.formula import All, AnyOf, Count, Formula, Without, leaves_of
from feedweir.match.graphs.graph_builder import compile_graphs
from feedweir.match.graphs.graph_forms import Graph, Undecided, graph_formula, parts_of
from feedweir.match.graphs.graph_set import GraphSet
from feedweir.match.graphs.graph_wording import pattern_at, written_pattern
from feedweir.match.graphs.triple_batches import batch_of_statements
from feedweir.plan.predicates import Constant, Constraint, GraphPattern, Iri, RdfLiteral, Triple, Variable
from tests import naive
from tests.match.generated_graphs import EX, XSD, each_term, facts, graph_patterns, iri, text, triples

X, Y, Z = (Variable(name) for name in "xyz")
rows_of_facts = st.lists(facts, min_size=1, max_size=3)


def found(asked: Sequence[GraphPattern], rows: Sequence[Sequence[Statement]]) -> list[set[int]]:
    """By row the patterns that hold by their formulas; `Ask` is the naive search."""
    formulas = [graph_formula(pattern) for pattern in asked]
    leaves = dict.fromkeys(leaf for one in formulas for leaf in leaves_of(one))
    parts = list(dict.fromkeys(leaf.part for leaf in leaves if isinstance(leaf, Graph)))
    has = compile_graphs(parts).matches(batch_of_statements(rows))

    def holds(formula: Formula, row: int, had: set[GraphPattern], open_: set[GraphPattern]) -> bool:
        match formula:
            case All(some):
                return all(holds(one, row, had, open_) for one in some)
            case AnyOf(some):
                return any(holds(one, row, had, open_) for one in some)
            case Count(least, some):
                return sum(holds(one, row, had, open_) for one in some) >= least
            case Without(one):
                return not holds(one, row, had, open_)
            case Undecided(part):
                return part in open_
            case Graph(part):
                return part in had
            case Ask(GraphPattern() as pattern):
                return naive.has_subgraph(pattern, plain(rows[row]))
        raise AssertionError(formula)

    result = []
    for row in range(len(rows)):
        had, open_ = (
            {parts[part] for part, at in zip(numbers.tolist(), at_rows.tolist(), strict=True) if at == row}
            for numbers, at_rows in ((has.parts, has.rows), (has.undecided_parts, has.undecided_rows))
        )
        result.append({n for n, one in enumerate(formulas) if holds(one, row, had, open_)})
    return result


def plain(row: Sequence[Statement]) -> list[tuple[naive.GraphNode, naive.GraphNode, naive.GraphNode]]:
    return [(tuple(one.subject), tuple(one.predicate), tuple(one.object)) for one in row]


def expected(asked: Sequence[GraphPattern], rows: Sequence[Sequence[Statement]]) -> list[set[int]]:
    return [
        {number for number, pattern in enumerate(asked) if naive.has_subgraph(pattern, plain(row))}
        for row in rows
    ]


@settings(max_examples=100, deadline=None)
@given(st.lists(graph_patterns(), min_size=1, max_size=6), rows_of_facts)
def test_a_set_finds_what_trying_every_combination_finds(
    asked: list[GraphPattern], rows: list[list[Statement]]
) -> None:
    assert found(asked, rows) == expected(asked, rows)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(triples, min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(0, 5), st.sampled_from(("=", "!=", "<", "<=", ">", ">="))), max_size=3),
    rows_of_facts,
)
def test_patterns_that_differ_in_what_they_compare_with_are_one_shape(
    given_triples: list[Triple], compared: list[tuple[int, str]], rows: list[list[Statement]]
) -> None:
    names = [t.name for one in given_triples for t in each_term(one) if isinstance(t, Variable)]
    values: list[str | float | RdfLiteral] = ["a", "", "7", 7.0, 7.5, 0.0, "2026-01-01", "2026", "b"]
    values += [RdfLiteral("2026", f"{XSD}gYear"), RdfLiteral("2025-12-31T22:30:00Z", f"{XSD}dateTime"), 8.0]
    asked = [
        GraphPattern(
            tuple(given_triples),
            tuple(Constraint(names[at % len(names)], op, value) for at, op in compared if names),  # type: ignore[arg-type]
        )
        for value in values
    ]
    assert found(asked, rows) == expected(asked, rows)


CHAIN = tuple(Triple(Variable(f"v{i}"), Iri(EX + "a"), Variable(f"v{i + 1}")) for i in range(6))


def shapes(asked: Sequence[GraphPattern]) -> int:
    return len(compiled(asked).shapes.counts)


def compiled(asked: Sequence[GraphPattern]) -> GraphSet:
    return compile_graphs(list(dict.fromkeys(part for one in asked for part in parts_of(one))))


def test_what_is_compared_makes_no_shape_of_its_own() -> None:
    chain = [GraphPattern(CHAIN, (Constraint("v3", "<", float(n)),)) for n in range(50)]
    assert len(compiled(chain)) == 50
    assert shapes(chain) == 1
    assert shapes([*chain, GraphPattern(CHAIN, (Constraint("v3", ">", 1.0),))]) == 2


@settings(max_examples=80, deadline=None)
@given(st.lists(triples, min_size=1, max_size=4), st.permutations("xyz"), st.randoms())
def test_a_pattern_is_the_same_whatever_its_variables_are_called(
    given_triples: list[Triple], names: list[str], chance: object
) -> None:
    new = dict(zip("xyz", names, strict=True))

    def renamed(triple: Triple) -> Triple:
        return Triple(*(Variable(new[t.name]) if isinstance(t, Variable) else t for t in each_term(triple)))

    others = [renamed(one) for one in given_triples]
    chance.shuffle(others)  # type: ignore[attr-defined]
    one, other = GraphPattern(tuple(given_triples)), GraphPattern(tuple(others))
    assert set(parts_of(one)) == set(parts_of(other))


@settings(max_examples=40, deadline=None)
@given(st.lists(graph_patterns(), min_size=1, max_size=4), rows_of_facts)
def test_a_set_that_was_stored_answers_the_same(
    asked: list[GraphPattern], rows: list[list[Statement]]
) -> None:
    made = compiled(asked)
    arrays, details = made.stored()
    again = GraphSet.loaded(arrays, details)
    one, other = made.matches(batch_of_statements(rows)), again.matches(batch_of_statements(rows))
    assert (one.rows.tolist(), one.parts.tolist()) == (other.rows.tolist(), other.parts.tolist())


def test_a_part_is_named_as_it_was_written() -> None:
    asked = GraphPattern(
        (Triple(X, Iri("urn:p"), Constant("a")), Triple(X, Iri("urn:q"), Y)),
        (Constraint("y", ">", 3.0), Constraint("y", "contains", "b")),
    )
    made = compiled([asked])
    (part,) = parts_of(asked)
    again = pattern_at(made, 0)
    assert again is not None
    assert set(parts_of(again)) == {part}
    assert "<urn:q>" in written_pattern(again)
    assert pattern_at(made, 7) is None


CIRCLES = [
    GraphPattern((Triple(X, Iri(EX + "a"), Y), Triple(Y, Iri(EX + "a"), Z), Triple(Z, Iri(EX + "a"), X))),
    GraphPattern((Triple(X, Iri(EX + "a"), Y), Triple(Y, Iri(EX + "a"), X))),
    GraphPattern((Triple(X, Y, Z), Triple(Z, Y, X))),
]


@pytest.mark.parametrize("asked", CIRCLES)
@pytest.mark.parametrize("size", [3, 12, 60])
@pytest.mark.parametrize("is_closed", [True, False])
def test_circles_are_found_among_many_facts(asked: GraphPattern, size: int, is_closed: bool) -> None:
    edges = [(n, m) for n in range(size) for m in range(n + 1, size, 5)]
    if is_closed:
        edges += [(1, 0), (size - 1, 0)] + [(m, n) for n, m in edges[:1]]
    row = [Statement(iri(str(n)), iri("a"), iri(str(m))) for n, m in edges]
    assert found([asked], [row]) == expected([asked], [row])


def test_what_takes_too_many_steps_is_left_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [Variable(f"v{i}") for i in range(6)]
    clique = GraphPattern(
        tuple(Triple(a, Iri(EX + "a"), b) for i, a in enumerate(names) for b in names[i + 1 :])
    )
    sides = [[iri(f"{side}{n}") for n in range(40)] for side in "pqrst"]
    row = [
        Statement(a, iri("a"), b)
        for i, one in enumerate(sides)
        for other in sides[i + 1 :]
        for a in one
        for b in other
    ]
    has = compiled([clique]).matches(batch_of_statements([row]))
    assert (len(has.parts), has.undecided_parts.tolist()) == (0, [0])
    (part,) = parts_of(clique)
    assert graph_formula(clique) == Count(2, (Graph(part), Graph(part), Undecided(part), Ask(part)))


def test_blank_nodes_of_different_rows_have_nothing_to_do_with_each_other() -> None:
    rows = [
        [Statement(Node("blank", "b"), iri("a"), text("7"))],
        [Statement(iri("c"), iri("b"), Node("blank", "b"))],
    ]
    asked = [GraphPattern((Triple(X, Iri(EX + "b"), Y), Triple(Y, Iri(EX + "a"), Z)))]
    assert found(asked, rows) == [set(), set()]
