"""Programs of what is left to verify: their code, and that a plain stack machine runs them as formulas mean."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.match.arrays import frozen
from feedweir.match.atoms import Ask, Atom, Axis, Phrase, Prefix, Within, Word
from feedweir.match.formula import (
    All,
    AnyOf,
    Count,
    Formula,
    Without,
    all_of,
    any_of,
    count_of,
    negated,
)
from feedweir.match.index.atom_numbers import ScopedWords, numbered, texts_in
from feedweir.match.index.programs import Programs
from feedweir.match.matching.program_kernels import (
    FALSE,
    OP_ALL,
    OP_ALL_ATOMS,
    OP_ANY,
    OP_ASK,
    OP_ATOM,
    OP_COUNT,
    OP_NOT,
    OP_PHRASE,
    OP_REQUIRE,
    OP_WITHIN,
    TRUE,
    UNKNOWN,
    renumbered,
)
from feedweir.plan.predicates import Similar

ATOMS = tuple(Word("title", letter) for letter in "abcd")
A, B, C, D = ATOMS
BOUND, OTHER = Within(Axis("published"), 0, 9), Within(Axis("published"), 5, 9)
PHRASE = Phrase(None, ("x", "y"))
QUESTION = Ask(Similar(None, "x", 0.5))


def number_of(atom: Atom) -> int:
    return ATOMS.index(atom)  # type: ignore[arg-type]


def code_of(*rest: Formula, atoms: tuple[int, ...] = ()) -> list[int]:
    programs = Programs(number_of)
    programs.add(atoms, rest)
    return programs.code


@pytest.mark.parametrize(
    ("formula", "code"),
    [
        (B, [OP_ATOM, 1]),
        (Without(B), [OP_ATOM, 1, OP_NOT]),
        (AnyOf((A, C)), [OP_ATOM, 0, OP_ATOM, 2, OP_ANY, 2]),
        (All((A, C)), [OP_ATOM, 0, OP_ATOM, 2, OP_ALL, 2]),
        (Count(2, (A, B, C)), [OP_ATOM, 0, OP_ATOM, 1, OP_ATOM, 2, OP_COUNT, 3, 2]),
        (PHRASE, [OP_PHRASE, 0]),
        (BOUND, [OP_WITHIN, 0, 0]),
        (QUESTION, [OP_ASK]),
    ],
)
def test_each_formula_is_code_that_leaves_its_value_on_the_stack(formula: Formula, code: list[int]) -> None:
    assert code_of(formula) == [*code, OP_REQUIRE]


def test_atoms_come_first_and_what_costs_most_comes_last() -> None:
    code = code_of(QUESTION, PHRASE, AnyOf((A, B)), BOUND, Without(C), atoms=(3,))
    ops = [OP_ALL_ATOMS, OP_NOT, OP_WITHIN, OP_ANY, OP_PHRASE, OP_ASK]
    places = [place for place, op in enumerate(_ops(code)) if op == OP_REQUIRE]
    assert [_ops(code)[place - 1] for place in places] == ops


def _ops(code: list[int]) -> list[int]:
    """The operations of a program without what they are about."""
    sizes = {OP_ATOM: 1, OP_PHRASE: 1, OP_WITHIN: 2, OP_ALL: 1, OP_ANY: 1, OP_COUNT: 2}
    found, at = [], 0
    while at < len(code):
        op = code[at]
        found.append(op)
        at += 2 + code[at + 1] if op == OP_ALL_ATOMS else 1 + sizes.get(op, 0)
    return found


def test_equal_programs_phrases_and_bounds_are_there_once() -> None:
    programs = Programs(number_of)
    numbers = [
        programs.add((), (PHRASE, BOUND)),
        programs.add((), (BOUND, PHRASE)),
        programs.add((), (OTHER,)),
        programs.add((), (PHRASE, BOUND)),
    ]
    assert numbers == [0, 0, 1, 0]
    assert (len(programs.phrases), len(programs.axes), list(programs.bounds)) == (1, 1, [(0, 9), (5, 9)])
    assert programs.starts[-1] == len(programs.code)


def run(code: list[int], satisfied: set[int]) -> int:
    """The stack machine, as plain as can be; of questions nothing is known."""
    stack: list[int] = []
    verdict, at = TRUE, 0
    while at < len(code):
        op, at = code[at], at + 1
        if op == OP_ATOM:
            stack.append(TRUE if code[at] in satisfied else FALSE)
            at += 1
        elif op == OP_ALL_ATOMS:
            n = code[at]
            stack.append(TRUE if satisfied.issuperset(code[at + 1 : at + 1 + n]) else FALSE)
            at += 1 + n
        elif op == OP_ASK:
            stack.append(UNKNOWN)
        elif op == OP_NOT:
            stack.append(TRUE - stack.pop())
        elif op == OP_REQUIRE:
            verdict = min(verdict, stack.pop())
        else:
            n = code[at]
            at += 1
            least = {OP_ALL: n, OP_ANY: 1}.get(op, code[at] if op == OP_COUNT else 0)
            at += op == OP_COUNT
            some, stack = stack[len(stack) - n :], stack[: len(stack) - n]
            possible = sum(value != FALSE for value in some)
            stack.append(TRUE if some.count(TRUE) >= least else UNKNOWN if possible >= least else FALSE)
    assert not stack
    return verdict


def combined(parts: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
    several = st.lists(parts, min_size=1, max_size=4)
    return st.one_of(
        several.map(all_of),
        several.map(any_of),
        parts.map(negated),
        st.tuples(st.integers(0, 4), several).map(lambda both: count_of(*both)),
    )


formulas = st.recursive(st.sampled_from((*ATOMS, QUESTION)), combined, max_leaves=10)


def value(formula: Formula, satisfied: set[int], answer: bool) -> bool:
    match formula:
        case All(parts):
            return all(value(part, satisfied, answer) for part in parts)
        case AnyOf(parts):
            return any(value(part, satisfied, answer) for part in parts)
        case Without(part):
            return not value(part, satisfied, answer)
        case Count(least, parts):
            return sum(value(part, satisfied, answer) for part in parts) >= least
        case Ask():
            return answer
        case _:
            return number_of(formula) in satisfied  # type: ignore[arg-type]


@settings(max_examples=200, deadline=None)
@given(st.lists(formulas, min_size=1, max_size=3), st.sets(st.integers(0, 3), max_size=2).map(sorted))
def test_a_program_tells_what_its_formulas_mean_whatever_a_question_would_answer(
    rest: list[Formula], atoms: list[int]
) -> None:
    code = code_of(*rest, atoms=tuple(atoms))
    for truths in product((False, True), repeat=4):
        satisfied = {atom for atom, is_true in enumerate(truths) if is_true}
        found = run(code, satisfied)
        for answer in (False, True):
            means = satisfied.issuperset(atoms) and all(value(one, satisfied, answer) for one in rest)
            assert found == UNKNOWN or (found == TRUE) == means


@settings(max_examples=100, deadline=None)
@given(formulas, st.permutations(range(10, 14)))
def test_programs_of_atoms_alone_can_be_given_other_numbers(formula: Formula, numbers: list[int]) -> None:
    code = code_of(formula, atoms=(2, 0))
    found = renumbered(frozen(np.array(code, np.int32)), frozen(np.array(numbers, np.int32))).tolist()
    if OP_ASK in _ops(code):
        assert found == []
    else:
        assert _ops(found) == _ops(code)
        turned = {atom: numbers[atom] for atom in range(4)}
        for truths in product((False, True), repeat=4):
            satisfied = {atom for atom, is_true in enumerate(truths) if is_true}
            assert run(found, {turned[atom] for atom in satisfied}) == run(code, satisfied)


# Numbers of atoms


def test_words_of_the_whole_text_and_prefixes_are_numbered_first_and_others_as_they_come() -> None:
    scoped = ScopedWords(np.array([1, 0]), np.array([1, 2], np.uint64))
    numbering = numbered(3, {"a": 0, "b": 2}, ["st", "ti"], scoped)
    assert [numbering.atom_id(atom) for atom in (Word(None, "b"), Prefix(None, "ti"))] == [2, 4]
    assert [numbering.atom_id(atom) for atom in (A, B, A, Prefix("title", "st"))] == [7, 8, 7, 9]
    assert (numbering.n_entries, numbering.n_atoms) == (5, 10)
    assert [numbering.entry_of(part) for part in (Word("title", "b"), Prefix("title", "st"))] == [2, 3]


def test_texts_are_told_as_often_as_leaves_name_them() -> None:
    leaves = [A, PHRASE, Phrase("title", ("x", "ti"), True), Prefix(None, "st"), BOUND, QUESTION]
    assert texts_in(leaves) == (["a", "x", "y", "x"], ["ti", "st"])
