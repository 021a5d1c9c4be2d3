"""Conjunctions of a formula: they say the same, there are few of them, and the rarest atoms find them."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.match.atoms import Ask, Atom, Axis, Leaf, Ordered, Phrase, Prefix, Within, Word
from feedweir.match.conjunctions import Conjunction, conjunctions_of, cost_of, normal_form_size
from feedweir.match.formula import (
    NO,
    YES,
    All,
    AnyOf,
    Count,
    Formula,
    Without,
    all_of,
    any_of,
    count_of,
    leaves_of,
    negated,
)
from feedweir.plan.predicates import Similar

RARE, SOME, USUAL, COMMON = (Word(None, word) for word in ("rare", "some", "usual", "common"))
SHARES = {RARE: 0.001, SOME: 0.01, USUAL: 0.1, COMMON: 0.5}
PHRASE = Phrase(None, ("rare", "some"))
BOUND = Within(Axis("published"), 0, 10)
QUESTION = Ask(Similar(None, "x", 0.5))
TEXT = Ordered(Axis("title", reading="text", end="greatest"), "<", "m")


def likely(atom: Atom) -> float:
    return SHARES[atom]  # type: ignore[index]


def found(formula: Formula) -> tuple[Conjunction, ...]:
    return conjunctions_of(formula, likely)


@pytest.mark.parametrize(
    ("formula", "conjunctions"),
    [
        (RARE, [Conjunction((RARE,))]),
        (All((RARE, SOME)), [Conjunction((RARE, SOME))]),
        (AnyOf((RARE, SOME)), [Conjunction((RARE,)), Conjunction((SOME,))]),
        (PHRASE, [Conjunction((RARE, SOME), (PHRASE,))]),
        (BOUND, [Conjunction((), (BOUND,))]),
        (QUESTION, [Conjunction((), (QUESTION,))]),
        (TEXT, [Conjunction((), (TEXT,))]),
        (Without(RARE), [Conjunction((), (Without(RARE),))]),
        (All((RARE, Without(SOME))), [Conjunction((RARE,), (Without(SOME),))]),
        (All((RARE, BOUND, QUESTION)), [Conjunction((RARE,), (BOUND, QUESTION))]),
        (YES, [Conjunction(())]),
        (NO, []),
    ],
)
def test_each_kind_of_formula_is_found_by_its_atoms_and_verified_by_the_rest(
    formula: Formula, conjunctions: list[Conjunction]
) -> None:
    assert list(found(formula)) == conjunctions


def test_a_phrase_of_one_word_said_twice_needs_it_once() -> None:
    twice = Phrase(None, ("rare", "rare"))
    assert found(twice) == (Conjunction((RARE,), (twice,)),)


def test_an_atom_is_enough_where_it_is_rarer_than_the_disjunction_beside_it() -> None:
    either = AnyOf((USUAL, COMMON))
    assert found(All((RARE, either))) == (Conjunction((RARE,), (either,)),)


def test_a_disjunction_finds_where_it_is_rarer_than_the_atoms_beside_it() -> None:
    either = AnyOf((RARE, SOME))
    assert found(All((COMMON, either))) == (Conjunction((COMMON, RARE)), Conjunction((COMMON, SOME)))


def test_of_several_disjunctions_the_rarest_finds_and_the_others_are_verified() -> None:
    one, other = AnyOf((USUAL, COMMON)), AnyOf((RARE, SOME))
    assert found(All((one, other))) == (Conjunction((RARE,), (one,)), Conjunction((SOME,), (one,)))


def test_a_count_is_found_by_its_rarest_parts_and_verified_whole() -> None:
    count = Count(3, (COMMON, RARE, USUAL, SOME))
    assert found(count) == (Conjunction((RARE,), (count,)), Conjunction((SOME,), (count,)))


def test_equal_conjunctions_are_one() -> None:
    again = AnyOf((All((RARE, SOME)), AnyOf((RARE, USUAL)), All((RARE, SOME))))
    assert found(again) == (Conjunction((RARE, SOME)), Conjunction((RARE,)), Conjunction((USUAL,)))


def test_a_conjunction_of_many_disjunctions_is_not_multiplied_out() -> None:
    words = [AnyOf((Word(None, f"a{n}"), Word(None, f"b{n}"))) for n in range(30)]
    some = conjunctions_of(All(tuple(words)), lambda _: 0.1)
    assert len(some) == 2
    assert normal_form_size(All(tuple(words))) == 2**30


@pytest.mark.parametrize(
    ("formula", "size"),
    [
        (RARE, 1),
        (YES, 1),
        (NO, 0),
        (All((AnyOf((RARE, SOME)), AnyOf((RARE, USUAL, COMMON)))), 6),
        (AnyOf((All((RARE, SOME)), USUAL)), 2),
        (Count(2, (RARE, SOME, USUAL, COMMON)), 6),
        (Count(2, (AnyOf((RARE, SOME)), USUAL, COMMON)), 6),
    ],
)
def test_how_large_a_normal_form_would_be_is_told_without_making_it(formula: Formula, size: int) -> None:
    assert normal_form_size(formula) == size


def test_what_has_no_atom_makes_every_item_a_candidate() -> None:
    assert cost_of([Conjunction((), (QUESTION,))], likely) == 1.0
    assert cost_of([Conjunction((RARE, COMMON)), Conjunction((SOME,))], likely) == pytest.approx(0.011)
    assert cost_of([], likely) == 0


leaves = st.sampled_from([RARE, SOME, USUAL, COMMON, Prefix(None, "ra"), BOUND, QUESTION])


def combined(parts: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
    several = st.lists(parts, min_size=1, max_size=4)
    return st.one_of(
        several.map(all_of),
        several.map(any_of),
        parts.map(negated),
        st.tuples(st.integers(0, 4), several).map(lambda both: count_of(*both)),
    )


formulas: st.SearchStrategy[Formula] = st.recursive(leaves, combined, max_leaves=10)


def value(formula: Formula, truth: dict[Leaf, bool]) -> bool:
    match formula:
        case All(parts):
            return all(value(part, truth) for part in parts)
        case AnyOf(parts):
            return any(value(part, truth) for part in parts)
        case Without(part):
            return not value(part, truth)
        case Count(least, parts):
            return sum(value(part, truth) for part in parts) >= least
        case _:
            return truth[formula]


@settings(max_examples=200, deadline=None)
@given(formulas, st.permutations([0.001, 0.01, 0.1, 0.5, 0.2]))
def test_one_of_the_conjunctions_holds_exactly_where_the_formula_does(
    formula: Formula, shares: list[float]
) -> None:
    shares_of = dict(zip([RARE, SOME, USUAL, COMMON, Prefix(None, "ra")], shares, strict=True))
    some = conjunctions_of(formula, lambda atom: shares_of[atom])  # type: ignore[index]
    named = list(dict.fromkeys(leaves_of(formula)))
    for truths in product((False, True), repeat=len(named)):
        truth = dict(zip(named, truths, strict=True))
        held = [
            all(truth[atom] for atom in one.atoms) and all(value(rest, truth) for rest in one.rest)
            for one in some
        ]
        assert any(held) == value(formula, truth)


@settings(max_examples=200, deadline=None)
@given(formulas)
def test_there_are_no_more_conjunctions_than_leaves(formula: Formula) -> None:
    some = conjunctions_of(formula, lambda _: 0.1)
    assert len(some) <= max(1, len(list(leaves_of(formula))))
    assert len(set(some)) == len(some)
