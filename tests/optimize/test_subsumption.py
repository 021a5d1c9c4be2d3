"""What is said to follow, follows for every item; and what people expect to follow is said."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.optimize.atom_relations import atom_implies, atoms_exclude
from feedweir.optimize.boolean_forms import from_cnf, simplify, to_cnf
from feedweir.optimize.containment import EVERY, Advice, relations
from feedweir.optimize.subsumption import cnf_implies, is_never, reduced
from feedweir.plan.predicates import (
    FALSE,
    TRUE,
    And,
    AtLeast,
    Atom,
    Compare,
    Contains,
    Extends,
    FromFeeds,
    Not,
    Or,
    Predicate,
    References,
    SharesLink,
    Similar,
    Term,
)
from tests.naive import holds
from tests.optimize import generated


def has(text: str, attribute: str | None = None, *, prefix: bool = False) -> Contains:
    return Contains(attribute, (Term(text, prefix),), 1)


def check_atoms(one: Atom, other: Atom) -> None:
    if atom_implies(one, other):
        assert all(holds(other, item) for item in generated.ITEMS if holds(one, item))
    if atoms_exclude(one, other):
        assert not any(holds(one, item) and holds(other, item) for item in generated.ITEMS)


@settings(max_examples=300, deadline=None)
@given(generated.contains(), generated.contains())
def test_an_implication_between_words_is_never_wrong(one: Contains, other: Contains) -> None:
    check_atoms(one, other)


@settings(max_examples=400, deadline=None)
@given(generated.comparisons, generated.comparisons)
def test_an_implication_between_comparisons_is_never_wrong(one: Compare, other: Compare) -> None:
    check_atoms(one, other)


LINKS = [
    make(attribute, url)
    for attribute in (None, "links", "link")
    for url in generated.URLS + generated.HOSTS
    for make in (References, Extends, lambda attribute, url: SharesLink(attribute, (url,)))
]
TERMS = [
    Contains(attribute, (Term(" ".join(text), is_prefix),), 1)
    for attribute in (None, "title")
    for size in (1, 2)
    for text in product(("a", "ab", "abc", "b"), repeat=size)
    for is_prefix in (False, True)
]
VALUES = [
    Compare(attribute, op, value)
    for attribute, values in (
        ("revision", (0.0, 1.0, 2.0, 3.0)),
        ("category", (1.0, 2.0, "a", "b")),
        ("language", ("en", "fr")),
    )
    for value in values
    for op in ("=", "<", "<=", ">", ">=")
]


@pytest.mark.parametrize("atoms", [LINKS, TERMS, VALUES], ids=["links", "terms", "values"])
def test_of_all_pairs_of_atoms_no_relation_is_wrong(atoms: list[Atom]) -> None:
    items = generated.stream(11, 300)
    answers = [frozenset(item.seq for item in items if holds(atom, item)) for atom in atoms]
    for one, here in zip(atoms, answers, strict=True):
        for other, there in zip(atoms, answers, strict=True):
            assert not atom_implies(one, other) or here <= there, (one, other)
            assert not atoms_exclude(one, other) or here.isdisjoint(there), (one, other)


@settings(max_examples=300, deadline=None)
@given(generated.predicates(), generated.predicates())
def test_an_implication_between_predicates_is_never_wrong(one: Predicate, other: Predicate) -> None:
    if cnf_implies(to_cnf(one), to_cnf(other)):
        assert all(holds(other, item) for item in generated.ITEMS if holds(one, item))
    if is_never(to_cnf(one)):
        assert not any(holds(one, item) for item in generated.ITEMS)


@settings(max_examples=200, deadline=None)
@given(generated.predicates(leaves=10), st.integers(0, 140))
def test_simplifying_and_cnf_keep_the_meaning(predicate: Predicate, start: int) -> None:
    simple = simplify(predicate)
    assert simplify(simple) is simple
    some = generated.ITEMS[start : start + 10]
    for form in (
        simple,
        from_cnf(to_cnf(predicate)),
        from_cnf(to_cnf(predicate, max_clauses=2)),
        from_cnf(reduced(to_cnf(predicate))),
    ):
        assert [holds(form, item) for item in some] == [holds(predicate, item) for item in some]


def test_every_predicate_implies_itself_and_a_wider_one() -> None:
    @settings(max_examples=100, deadline=None)
    @given(generated.predicates(generated.words_only), generated.words_only)
    def check(predicate: Predicate, extra: Predicate) -> None:
        assert cnf_implies(to_cnf(predicate), to_cnf(predicate))
        assert cnf_implies(to_cnf(And((predicate, extra))), to_cnf(predicate))
        assert cnf_implies(to_cnf(predicate), to_cnf(Or((predicate, extra))))

    check()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Compare("revision", ">", 5.0), Compare("revision", ">", 3.0)),
        (Compare("revision", ">", 5.0), Compare("revision", ">=", 5.0)),
        (Compare("revision", "=", 4.0), Compare("revision", "<", 5.0)),
        (Compare("language", "=", "en"), Not(Compare("language", "=", "fr"))),
        (Compare("language", "=", "en"), Compare("language", "!=", "fr")),
        (has("white house"), has("house")),
        (has("the white house"), has("white house")),
        (has("weather"), has("wea", prefix=True)),
        (has("weather", prefix=True), has("wea", prefix=True)),
        (has("weather", "title"), has("weather")),
        (References(None, "http://x.org/a/b"), Extends(None, "x.org/a")),
        (Extends(None, "x.org/a/b"), Extends(None, "x.org/a")),
        (Extends(None, "news.x.org/a"), Extends(None, "x.org")),
        (Extends(None, "news.x.org"), Extends("links", "x.org")),
        (References(None, "news.x.org"), Extends(None, "x.org")),
        (SharesLink(None, ("x.org/a", "x.org/b")), Extends(None, "x.org")),
        (FromFeeds(("s1",)), FromFeeds(("s2", "s1"))),
        (Similar("title", "a b", 0.8), Similar("title", "b a", 0.5)),
        (And((has("a"), Or((Not(has("a")), has("b"))))), has("b")),
        (AtLeast(2, (has("a"), has("b"), has("c"))), Or((has("a"), has("b")))),
        (Contains(None, (Term("a"), Term("b"), Term("c")), 2), Contains(None, (Term("b"), Term("a")), 1)),
        (And((has("a", "title"), has("b"))), has("a")),
    ],
)
def test_a_stronger_condition_implies_a_weaker_one_and_not_the_other_way(one, other) -> None:
    assert cnf_implies(to_cnf(one), to_cnf(other))
    assert not cnf_implies(to_cnf(other), to_cnf(one))


@pytest.mark.parametrize(
    "predicate",
    [
        And((has("a"), Not(has("a")))),
        And((has("white house"), Not(has("white")))),
        And((Compare("revision", ">", 5.0), Compare("revision", "<", 3.0))),
        And((FromFeeds(("s1",)), FromFeeds(("s2",)))),
        And((Compare("language", "=", "en"), Compare("language", "=", "fr"))),
        FALSE,
    ],
)
def test_contradictions_can_never_match(predicate: Predicate) -> None:
    assert advise(predicate, {"x": TRUE}) == (Advice("never"),)


def test_several_values_of_an_attribute_can_satisfy_contrary_comparisons() -> None:
    both = And((Compare("category", "=", "a"), Compare("category", "=", "b")))
    assert not is_never(to_cnf(both))


def advise(new: Predicate, existing: dict[str, Predicate]) -> tuple[Advice, ...]:
    return relations({EVERY: new}, {name: {EVERY: predicate} for name, predicate in existing.items()})


def test_advice_names_equal_wider_and_narrower_feeds() -> None:
    existing = {
        "same": And((has("b"), has("a"))),
        "wide": has("a"),
        "narrow": And((has("a"), has("b"), has("c"))),
        "other": has("z"),
        "empty": And((has("a"), Not(has("a")))),
    }
    found = advise(And((has("a"), has("b"))), existing)
    assert [str(advice) for advice in found] == ["contains narrow", "equal to same", "contained in wide"]


def test_growth_is_bounded_and_the_rest_stays_inside_a_clause() -> None:
    wide = Or(tuple(And((has(f"a{n}"), has(f"b{n}"))) for n in range(12)))
    clauses = to_cnf(wide, max_clauses=8)
    assert len(clauses) <= 8
    assert any(isinstance(literal, And) for clause in clauses for literal in clause)


def test_synonyms_of_an_attribute_are_the_same_attribute() -> None:
    assert advise(has("weather", "description"), {"x": has("Weather", "summary")}) == (Advice("equal", "x"),)


def test_numbers_that_no_float_holds_are_compared_as_they_are() -> None:
    least, more, huge = (Compare("revision", ">", number, None) for number in (2**53, 2**53 + 1, 10**400))
    assert [atom_implies(one, other) for one, other in ((huge, more), (more, least), (least, more))] == [
        True,
        True,
        False,
    ]
