"""Boolean structure: laws of simplifying, clauses against truth tables, bounds on growth."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.optimize.boolean_forms import (
    MAX_ATOMS,
    NEVER,
    Clause,
    clause_key,
    clause_predicate,
    from_cnf,
    is_large,
    is_tautology,
    minimal,
    simplify,
    to_cnf,
)
from feedweir.optimize.subsumption import (
    atoms_of,
    clause_implies,
    literal_implies,
    minimal_by_implication,
    negation,
    reduced,
    signed,
)
from feedweir.plan.predicates import (
    FALSE,
    TRUE,
    And,
    AtLeast,
    Compare,
    Contains,
    Not,
    Or,
    Predicate,
    Term,
)

A, B, C, D = LETTERS = tuple(Contains(None, (Term(letter),), 1) for letter in ("a", "b", "c", "d"))
formulas = st.recursive(
    st.sampled_from(LETTERS),
    lambda inner: st.one_of(
        st.builds(And, st.lists(inner, max_size=3).map(tuple)),
        st.builds(Or, st.lists(inner, max_size=3).map(tuple)),
        st.builds(Not, inner),
        st.builds(AtLeast, st.integers(-1, 4), st.lists(inner, max_size=3).map(tuple)),
    ),
    max_leaves=10,
)
WORLDS = list(product((False, True), repeat=len(LETTERS)))


def value(predicate: Predicate, world: tuple[bool, ...]) -> bool:
    """Truth, by the truth of the letters."""
    match predicate:
        case And(parts):
            return all(value(part, world) for part in parts)
        case Or(parts):
            return any(value(part, world) for part in parts)
        case Not(part):
            return not value(part, world)
        case AtLeast(count, parts):
            return sum(value(part, world) for part in parts) >= count
        case _:
            return world[LETTERS.index(predicate)]  # type: ignore[arg-type]


def table(predicate: Predicate) -> list[bool]:
    return [value(predicate, world) for world in WORLDS]


def depth(predicate: Predicate) -> int:
    match predicate:
        case And(parts) | Or(parts) | AtLeast(_, parts):
            return 1 + max(map(depth, parts), default=0)
        case Not(part):
            return 1 + depth(part)
        case _:
            return 0


@given(formulas)
@settings(max_examples=200, deadline=None)
def test_simplifying_keeps_the_truth_table_and_never_makes_a_formula_deeper(formula: Predicate) -> None:
    simple = simplify(formula)
    assert table(simple) == table(formula)
    assert depth(simple) <= max(depth(formula), 1)
    assert simplify(simple) is simple


@given(formulas)
@settings(max_examples=200, deadline=None)
def test_what_is_simple_has_negations_at_atoms_and_no_needless_parts(formula: Predicate) -> None:
    def check(part: Predicate, above: type | None) -> None:
        match part:
            case And(parts) | Or(parts):
                assert len(parts) != 1
                assert above is None or len(parts) > 1
                assert type(part) is not above
                assert len(set(parts)) == len(parts)
                assert not any(simplify(Not(one)) in parts for one in parts)
                for one in parts:
                    check(one, type(part))
            case Not(inner):
                assert inner in LETTERS
            case AtLeast(count, parts):
                assert 1 < count < len(parts)
                for one in parts:
                    check(one, AtLeast)

    check(simplify(formula), None)


@given(formulas)
@settings(max_examples=100, deadline=None)
def test_de_morgan_holds(formula: Predicate) -> None:
    assert table(simplify(Not(formula))) == [not each for each in table(formula)]
    assert simplify(Not(Not(formula))) == simplify(formula)


@pytest.mark.parametrize(
    ("written", "simple"),
    [
        (And(()), TRUE),
        (Or(()), FALSE),
        (Not(TRUE), FALSE),
        (And((A,)), A),
        (And((A, A)), A),
        (And((A, TRUE)), A),
        (And((A, FALSE)), FALSE),
        (And((A, Not(A))), FALSE),
        (Or((A, Not(A))), TRUE),
        (And((A, And((B, C)))), And((A, B, C))),
        (And((A, Or((A, B)))), A),
        (Or((A, And((A, B)))), A),
        (Not(And((A, B))), Or((Not(A), Not(B)))),
        (AtLeast(0, (A,)), TRUE),
        (AtLeast(2, (A,)), FALSE),
        (AtLeast(2, (A, B)), And((A, B))),
        (AtLeast(1, (A, B)), Or((A, B))),
        (AtLeast(2, (A, B, TRUE)), Or((A, B))),
        (AtLeast(2, (A, B, FALSE)), And((A, B))),
        (AtLeast(2, (A, A, B)), AtLeast(2, (A, A, B))),
        (Not(AtLeast(2, (A, B, C))), AtLeast(2, (Not(A), Not(B), Not(C)))),
        (Contains(None, (Term("a"), Term("b")), 2), And((A, B))),
        (Contains(None, (Term("a"), Term("b")), 1), Or((A, B))),
        (Contains(None, (Term("a"), Term("b")), 0), TRUE),
        (Contains(None, (Term("a"),), 2), FALSE),
        (Not(Compare("title", "=", "x")), Compare("title", "!=", "x")),
        (Not(Compare("title", "!=", "x")), Compare("title", "=", "x")),
        (Not(Compare("title", "<", "x")), Not(Compare("title", "<", "x"))),
        (And((Compare("title", "=", "x"), Compare("title", "!=", "x"))), FALSE),
    ],
)
def test_a_formula_becomes_its_simple_form(written: Predicate, simple: Predicate) -> None:
    assert simplify(written) == simple


def clause_value(clause: Clause, world: tuple[bool, ...]) -> bool:
    return any(value(literal, world) for literal in clause)


@given(formulas, st.sampled_from([1, 2, 8, 32]))
@settings(max_examples=200, deadline=None)
def test_clauses_hold_together_exactly_when_the_formula_does(formula: Predicate, most: int) -> None:
    clauses = to_cnf(formula, max_clauses=most)
    for world, truth in zip(WORLDS, table(formula), strict=True):
        assert all(clause_value(clause, world) for clause in clauses) == truth
    assert table(from_cnf(clauses)) == table(formula)
    assert table(from_cnf(reduced(clauses))) == table(formula)


@given(formulas)
@settings(max_examples=150, deadline=None)
def test_no_clause_is_a_part_of_another_and_none_always_holds(formula: Predicate) -> None:
    clauses = to_cnf(formula)
    assert not any(one < other for one in clauses for other in clauses)
    assert not any(map(is_tautology, clauses))
    assert from_cnf(clauses) == from_cnf(frozenset(sorted(clauses, key=clause_key, reverse=True)))


clauses = st.frozensets(st.sampled_from([*LETTERS, *map(Not, LETTERS)]), max_size=4)


@given(st.frozensets(clauses, max_size=6))
def test_what_is_left_out_of_clauses_follows_from_the_others(some: frozenset[Clause]) -> None:
    kept = minimal(some)
    for world in WORLDS:
        assert all(clause_value(clause, world) for clause in kept) == all(
            clause_value(clause, world) for clause in some
        )
    assert kept == NEVER or kept <= some


@given(clauses, clauses)
def test_a_clause_implies_another_only_when_it_does(one: Clause, other: Clause) -> None:
    follows = all(clause_value(other, world) for world in WORLDS if clause_value(one, world))
    if clause_implies(one, other):
        assert follows
    if one <= other:
        assert clause_implies(one, other)


@given(st.lists(clauses, max_size=6))
def test_of_clauses_that_imply_each_other_the_first_stays(some: list[Clause]) -> None:
    kept = minimal_by_implication(some)
    assert all(any(clause_implies(one, clause) for one in kept) for clause in some)
    for number, clause in enumerate(kept):
        rest = kept[:number] + kept[number + 1 :]
        assert not any(clause_implies(other, clause) for other in rest)


@given(formulas, formulas)
@settings(max_examples=200, deadline=None)
def test_one_formula_implies_another_only_when_it_does(one: Predicate, other: Predicate) -> None:
    if literal_implies(one, other):
        assert all(there for here, there in zip(table(one), table(other), strict=True) if here)


@pytest.mark.parametrize(
    ("literal", "expected"),
    [
        (A, (A, False)),
        (Not(A), (A, True)),
        (Not(Not(A)), (A, False)),
        (Compare("title", "!=", "x"), (Compare("title", "=", "x"), True)),
        (Not(Compare("title", "!=", "x")), (Compare("title", "=", "x"), False)),
        (Compare("title", "<", "x"), (Compare("title", "<", "x"), False)),
    ],
)
def test_a_literal_is_an_atom_with_a_sign(literal: Predicate, expected: tuple[Predicate, bool]) -> None:
    assert signed(literal) == expected
    assert signed(negation(literal)) == (expected[0], not expected[1])


def test_atoms_are_listed_as_often_as_they_stand() -> None:
    assert atoms_of(And((A, Or((Not(B), A)), AtLeast(1, (C,))))) == [A, B, A, C]


def test_what_would_grow_beyond_measure_stays_in_one_clause() -> None:
    wide = Or(
        tuple(
            And((Contains(None, (Term(f"a{n}"),), 1), Contains(None, (Term(f"b{n}"),), 1))) for n in range(20)
        )
    )
    assert len(to_cnf(wide)) <= 32
    assert to_cnf(AtLeast(10, tuple(Contains(None, (Term(f"a{n}"),), 1) for n in range(20)))) != NEVER


def test_a_predicate_of_very_many_atoms_is_one_literal() -> None:
    many = And(tuple(Contains(None, (Term(f"w{n}"),), 1) for n in range(MAX_ATOMS + 1)))
    assert is_large(many)
    assert not is_large(And(many.parts[:10]))
    (clause,) = to_cnf(many)
    assert clause == {many}
    assert clause_predicate(clause) == many
