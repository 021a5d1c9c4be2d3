"""Which atoms are compared with which: no implication is missed that comparing every pair would find."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.optimize.atom_relations import MAX_NEAR, atom_implies, atoms_exclude, keys_of, reach_of, relate
from feedweir.optimize.boolean_forms import to_cnf
from feedweir.optimize.filter_plans.clause_registry import ClauseRegistry
from feedweir.optimize.implication import (
    bound_of,
    canonical,
    is_in_whole_text,
    link_attribute,
    term_implies,
)
from feedweir.optimize.subsumption import clause_implies, cnf_implies, is_never
from feedweir.plan.predicates import (
    Atom,
    Compare,
    Constant,
    Constraint,
    Contains,
    Extends,
    FromFeeds,
    GraphPattern,
    Matches,
    Not,
    Now,
    Or,
    PatternNode,
    Predicate,
    References,
    SharesLink,
    Similar,
    Term,
    TreePattern,
    Triple,
    Variable,
)
from tests.language import generated as language
from tests.optimize import generated

S, X = Variable("s"), Variable("x")
ONE, TWO = Triple(S, Constant("p"), X), Triple(S, Constant("q"), X)
GRAPHS = [
    GraphPattern((ONE,)),
    GraphPattern((ONE, TWO)),
    GraphPattern((TWO,), (Constraint("x", ">", 3.0),)),
    GraphPattern((ONE, TWO), (Constraint("x", ">", 3.0),)),
]
OTHERS = [
    *GRAPHS,
    Matches("title", "a"),
    Matches("title", "a", "i"),
    TreePattern(PatternNode("//", "a")),
    TreePattern(PatternNode("//", "b")),
    Similar("title", "a b", 0.5),
    Similar("title", "B a", 0.8),
    Similar(None, "a b", 0.5),
    FromFeeds(("A",)),
    FromFeeds(("A", "B")),
    FromFeeds(("C",)),
    FromFeeds(()),
]
atoms = st.one_of(generated.atoms, st.sampled_from(OTHERS), language.item_atoms)


@given(st.lists(atoms, max_size=12, unique=True))
@settings(max_examples=150, deadline=None)
def test_what_is_found_by_keys_is_what_comparing_all_pairs_finds(some: list[Atom]) -> None:
    found = relate(some)
    for number, one in enumerate(some):
        others = [other for other in range(len(some)) if other != number]
        assert found.implied[number] == {other for other in others if _found_by_one_word(one, some[other])}
        assert found.excluded[number] == {other for other in others if atoms_exclude(one, some[other])}


def _found_by_one_word(one: Atom, other: Atom) -> bool:
    """Of several terms implications are not looked for: simplified predicates have a `contains` for each."""
    if any(isinstance(atom, Contains) and not _is_single(atom) for atom in (one, other)):
        return False
    return atom_implies(one, other)


def _is_single(atom: Contains) -> bool:
    return len(atom.terms) == 1 == atom.at_least and bool(keys_of(atom))


@given(st.one_of(generated.atoms, st.sampled_from(OTHERS)))
def test_an_atom_reaches_itself(atom: Atom) -> None:
    assert not keys_of(atom) or set(keys_of(atom)) & set(reach_of(atom))


def test_of_a_huge_family_the_neighbours_in_order_are_compared() -> None:
    some = [Compare("revision", ">", float(number)) for number in range(3 * MAX_NEAR)]
    found = relate(some)
    middle = len(some) // 2
    assert middle - 1 in found.implied[middle]
    assert all(other < middle for other in found.implied[middle])
    assert len(found.implied[middle]) <= MAX_NEAR


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (GRAPHS[1], GRAPHS[0]),
        (GRAPHS[3], GRAPHS[2]),
        (GRAPHS[3], GRAPHS[1]),
        (Similar("title", "a b", 0.8), Similar("title", "b A", 0.5)),
        (FromFeeds(("A",)), FromFeeds(("B", "A"))),
        (FromFeeds(()), FromFeeds(("B",))),
        (Compare("date", ">", Now(timedelta(days=-1))), Compare("published", ">", Now(timedelta(days=-2)))),
        (References("link", "http://x.org/a/b"), References("link", "www.x.org")),
        (SharesLink(None, ("http://x.org/a",)), Extends(None, "x.org")),
    ],
)
def test_one_atom_implies_the_weaker_and_not_the_other_way_round(one: Atom, other: Atom) -> None:
    assert atom_implies(one, other)
    assert not atom_implies(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Matches("title", "a"), Matches("title", "a|b")),
        (TreePattern(PatternNode("//", "*")), TreePattern(PatternNode("//", "a"))),
        (Compare("title", ">", "a"), Compare("summary", ">", "a")),
        (Compare("published", "=", 2020.0, "year"), Compare("published", ">", 2019.0, "month")),
        (Compare("media:rating", ">", 3.0), Compare("media:rating", ">", "2")),
        (Contains("summary", (Term("a"),), 1), Contains("title", (Term("a"),), 1)),
        (Contains(None, (Term("a"),), 1), Contains("title", (Term("a"),), 1)),
        (Contains("link", (Term("a"),), 1), Contains(None, (Term("a"),), 1)),
        (Extends("link", "x.org"), References("link", "x.org")),
        (Similar("title", "a", 0.8), Similar("title", "a b", 0.5)),
    ],
)
def test_what_may_be_otherwise_is_not_said_to_follow(one: Atom, other: Atom) -> None:
    assert not atom_implies(one, other)


@pytest.mark.parametrize(
    ("one", "other", "follows"),
    [
        ("a b c", "b c", True),
        ("a b c", "a c", False),
        ("a", "a b", False),
        ("", "", True),
        ("a", "", False),
        ("...", "a", True),
    ],
)
def test_a_phrase_has_the_phrases_within_it(one: str, other: str, follows: bool) -> None:
    assert term_implies(Term(one), Term(other)) is follows


def test_a_prefix_follows_from_words_that_begin_so() -> None:
    assert term_implies(Term("rockets"), Term("rock", True))
    assert term_implies(Term("rockets", True), Term("rock", True))
    assert not term_implies(Term("rock", True), Term("rock"))
    assert term_implies(Term("big rock", True), Term("big"))
    assert not term_implies(Term("big rock", True), Term("rock"))


def test_synonyms_and_missing_attributes_have_one_name() -> None:
    assert canonical("description") == canonical("summary") == "summary"
    assert canonical(None) is None
    assert canonical("media:title") == "media:title"
    assert link_attribute(References(None, "x.org")) == link_attribute(References("links", "x.org"))
    assert [is_in_whole_text(name) for name in (None, "tags", "dc:x", "link", "guid")] == [
        True,
        True,
        True,
        False,
        False,
    ]


@given(generated.comparisons)
def test_only_values_of_one_kind_have_an_order(atom: Compare) -> None:
    bound = bound_of(atom)
    assert bound is None or bound[0] in ("now", "time", "text", "number")
    assert bound_of(Compare("revision", "=", float("nan"))) is None


@given(st.lists(generated.predicates(leaves=4), max_size=6))
@settings(max_examples=100, deadline=None)
def test_clauses_that_come_one_by_one_are_related_as_those_that_come_together(some: list[Predicate]) -> None:
    registry = ClauseRegistry()
    runs = [registry.run_of(predicate) for predicate in some]
    for number in range(len(registry.clauses)):
        for other in registry.weaker[number]:
            assert number in registry.stronger[other]
            assert clause_implies(registry.clause(number), registry.clause(other))
    again = ClauseRegistry()
    backwards = [again.run_of(predicate) for predicate in reversed(some)]
    for run, other in zip(runs, reversed(backwards), strict=True):
        assert {registry.clause(clause) for clause in run} == {again.clause(clause) for clause in other}


@given(generated.predicates(leaves=4))
@settings(max_examples=100, deadline=None)
def test_a_run_says_what_its_predicate_says(predicate: Predicate) -> None:
    registry = ClauseRegistry()
    run = registry.run_of(predicate)
    said = frozenset(registry.clause(clause) for clause in run)
    form = to_cnf(predicate)
    if is_never(form):
        assert is_never(said)
    else:
        assert cnf_implies(said, form)
        assert cnf_implies(form, said)
    assert registry.run_of(predicate) == run
    assert set(run) <= registry.closure_of(run)


def test_a_clause_that_comes_late_is_related_to_those_it_implies_and_those_that_imply_it() -> None:
    for order in ((3, 1, 2), (2, 3, 1), (1, 2, 3)):
        registry = ClauseRegistry()
        number = {n: registry.run_of(Compare("revision", ">", float(n)))[0] for n in order}
        assert registry.weaker[number[3]] >= {number[2], number[1]}
        assert registry.stronger[number[1]] >= {number[2], number[3]}
        phrase, opening = Contains(None, (Term("rockets"),), 1), Contains(None, (Term("rock", True),), 1)
        late = ClauseRegistry()
        runs = [late.run_of(one) for one in ((phrase, opening) if order[0] == 3 else (opening, phrase))]
        assert any(late.weaker[run[0]] - {run[0]} for run in runs)


def test_equivalent_predicates_have_one_run_and_impossible_ones_the_empty_clause() -> None:
    registry = ClauseRegistry()
    a, b = (Contains(None, (Term(text),), 1) for text in "ab")
    one = registry.run_of(Or((a, b)))
    assert registry.run_of(Not(Not(Or((b, a, a))))) == one
    (never,) = registry.run_of(Not(Or((a, Not(a)))))
    assert registry.clause(never) == frozenset()
    assert registry.run_of(Or((a, Not(a)))) == ()
