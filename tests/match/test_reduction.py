"""Predicates over atoms: what each becomes, that formulas stay flat, and that they mean what the predicate means."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from math import inf, nan

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from feedweir.items.model import Item
from feedweir.match.atoms import LONG_MAX, LONG_MIN, Ask, Axis, Leaf, Ordered, Phrase, Prefix, Within, Word
from feedweir.match.families import reduced
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
    placed,
)
from feedweir.match.graphs.graph_forms import Graph, Undecided, parts_of
from feedweir.match.ranges.comparisons import microseconds
from feedweir.match.ranges.value_order import places_of_numbers
from feedweir.match.regexes.regex_family import Regex
from feedweir.match.trees.tree_family import Tree
from feedweir.match.values.link_family import Link
from feedweir.match.values.value_family import Equal, EqualNumber, Origin
from feedweir.match.words.word_clauses import scope_of
from feedweir.plan.predicates import (
    And,
    AtLeast,
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
from tests import naive
from tests.match.generated import items, predicates

A, B, C, D = (Word(None, letter) for letter in "abcd")
NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
AT_NEW_YEAR = microseconds(NEW_YEAR)


def contains(*texts: str, attribute: str | None = None, at_least: int | None = None) -> Contains:
    return Contains(attribute, tuple(map(Term, texts)), len(texts) if at_least is None else at_least)


def place(number: float) -> int:
    return int(places_of_numbers([number])[0])


# Words


@pytest.mark.parametrize(
    ("predicate", "formula"),
    [
        (contains("Storm"), Word(None, "storm")),
        (contains("storm", attribute="title"), Word("title", "storm")),
        (contains("storm", attribute="description"), Word("summary", "storm")),
        (contains("storm", attribute="tags"), Word("category", "storm")),
        (contains("storm", attribute="m:x"), Word("m:x", "storm")),
        (contains("storm", attribute="link"), Word("link", "storm")),
        (contains("COVID-19"), Phrase(None, ("covid", "19"))),
        (Contains(None, (Term("sto", True),), 1), Prefix(None, "sto")),
        (Contains("title", (Term("high ti", True),), 1), Phrase("title", ("high", "ti"), True)),
        (contains("a", "b"), All((A, B))),
        (contains("a", "b", at_least=1), AnyOf((A, B))),
        (contains("a", "b", "c", at_least=2), Count(2, (A, B, C))),
        (contains("a", "b", at_least=0), YES),
        (contains("a", "b", at_least=3), NO),
        (contains("!"), NO),
        (contains("!", "b", at_least=1), Word(None, "b")),
        (contains("storm", attribute="published"), NO),
        (contains("storm", attribute="revision"), NO),
        (contains("storm", attribute="nothing"), NO),
        (Contains(None, (), 0), YES),
        (Contains(None, (), 1), NO),
    ],
)
def test_terms_become_words_prefixes_and_phrases(predicate: Predicate, formula: Formula) -> None:
    assert reduced(predicate) == formula


def test_a_phrase_needs_its_words_and_the_opening_of_the_last() -> None:
    assert Phrase("title", ("high", "tide")).parts() == (Word("title", "high"), Word("title", "tide"))
    assert Phrase(None, ("high", "ti"), True).parts() == (Word(None, "high"), Prefix(None, "ti"))


def test_attributes_go_by_their_own_name_and_the_whole_text_by_none() -> None:
    assert [scope_of(name) for name in ("tag", "title", "m:x", None)] == ["category", "title", "m:x", None]


@pytest.mark.parametrize(
    ("threshold", "wanted"),
    [
        (0.0, Ask),
        (0.3, AnyOf),
        (0.5, Count),
        (1.0, All),
    ],
)
def test_how_alike_texts_must_be_says_how_many_words_they_share(threshold: float, wanted: type) -> None:
    similar = Similar(None, "a b c", threshold)
    formula = reduced(similar)
    words, asked = (formula.parts[:-1], formula.parts[-1]) if isinstance(formula, All) else ((), formula)
    assert asked == Ask(similar)
    if threshold == 0.0:
        assert not words
    elif wanted is All:
        assert words == (A, B, C)
    else:
        assert [type(word) for word in words] == [wanted]


def test_nothing_is_alike_where_there_are_no_words() -> None:
    assert reduced(Similar("published", "a b", 0.5)) == NO
    assert reduced(Similar("published", "a b", 0.0)) == Ask(Similar("published", "a b", 0.0))


# Sources, links, patterns


@pytest.mark.parametrize(
    ("predicate", "formula"),
    [
        (FromFeeds(("b", "a", "b")), Origin(("a", "b"))),
        (FromFeeds(()), NO),
        (References(None, "http://www.x.org/a/"), Link("links", "url", "x.org/a")),
        (References("link", "x.org"), Link("link", "host", "x.org")),
        (Extends("link", "X.org"), Link("link", "domain", "x.org")),
        (Extends(None, "http://x.org/a"), Link("links", "opening", "x.org/a")),
        (SharesLink("enclosure", ("http://x.org/a",)), Link("enclosure", "url", "x.org/a")),
        (SharesLink("nothing", ("http://x.org/a",)), NO),
        (SharesLink(None, ()), NO),
        (Matches("title", "a+", "i"), Regex("title", "a+", "i")),
        (Matches("description", "a+", ""), Regex("summary", "a+", "")),
        (Matches(None, "a+", ""), Regex(None, "a+", "")),
        (Matches("published", "a+", ""), NO),
    ],
)
def test_sources_links_and_expressions_are_atoms_of_their_own(predicate: Predicate, formula: Formula) -> None:
    assert reduced(predicate) == formula


def test_two_spellings_of_a_link_are_one_atom() -> None:
    shared = SharesLink(None, ("http://x.org/a", "https://www.x.org/a/", "y.org/b"))
    assert reduced(shared) == AnyOf((Link("links", "url", "x.org/a"), Link("links", "url", "y.org/b")))


def test_links_of_a_time_or_a_number_are_asked_about() -> None:
    odd = (References("published", "x.org"), Extends("revision", "http://x.org/a"))
    assert [reduced(one) for one in odd] == [Ask(one) for one in odd]


def test_a_tree_pattern_is_an_atom_unless_it_is_too_large() -> None:
    small = TreePattern(PatternNode("//", "title"))
    leaf = PatternNode("/", "x")
    large = TreePattern(PatternNode("//", "title", (leaf,) * 63))
    assert reduced(small) == Tree(small)
    assert reduced(large) == Ask(large)


def test_the_parts_of_a_graph_pattern_are_atoms_and_only_the_rest_is_asked_about() -> None:
    x, y, z = map(Variable, "xyz")
    one, two = Triple(x, Constant("title"), y), Triple(y, Constant("knows"), x)
    part = Graph(GraphPattern((Triple(Variable("0"), Constant("title"), Variable("1")),)))
    assert reduced(GraphPattern((one,))) == part
    ground = Triple(Constant("b"), Constant("title"), Constant("a"))
    (with_ground,) = parts_of(GraphPattern((one, ground)))
    assert len(with_ground.triples) == 2
    apart = GraphPattern((one, Triple(z, Constant("title"), Constant("a"))))
    assert reduced(apart) == All(
        (part, Graph(GraphPattern((Triple(Variable("0"), Constant("title"), Constant("a")),))))
    )
    circle = GraphPattern((one, two, Triple(y, Constant("title"), z), Triple(z, Constant("title"), x)))
    (whole,) = parts_of(circle)
    assert reduced(circle) == Count(2, (Graph(whole), Graph(whole), Undecided(whole), Ask(whole)))
    different = GraphPattern((one,), (Constraint("x", "!=", y),))
    assert reduced(different) == All((part, Ask(different)))
    lacking = GraphPattern((one,), absent=(GraphPattern((Triple(z, Constant("title"), z),)),))
    loop = Graph(GraphPattern((Triple(Variable("0"), Constant("title"), Variable("0")),)))
    assert reduced(lacking) == All((part, Without(loop)))
    lost = GraphPattern((one,), (Constraint("w", "=", 1.0),))
    assert reduced(lost) == Ask(lost)


# Comparisons


@pytest.mark.parametrize(
    ("op", "low", "high"),
    [
        ("=", AT_NEW_YEAR, AT_NEW_YEAR),
        ("<", LONG_MIN, AT_NEW_YEAR - 1),
        ("<=", LONG_MIN, AT_NEW_YEAR),
        (">", AT_NEW_YEAR + 1, LONG_MAX),
        (">=", AT_NEW_YEAR, LONG_MAX),
    ],
)
def test_a_time_is_a_number_of_microseconds(op: str, low: int, high: int) -> None:
    assert reduced(Compare("date", op, NEW_YEAR)) == Within(Axis("published"), low, high)  # type: ignore[arg-type]


def test_what_is_not_equal_is_the_negation_of_what_is() -> None:
    unequal = Compare("published", "!=", NEW_YEAR)
    assert reduced(unequal) == Without(Within(Axis("published"), AT_NEW_YEAR, AT_NEW_YEAR))
    assert reduced(Compare("language", "!=", "en")) == Without(Equal("language", "en"))


def test_ages_and_parts_of_times_have_axes_of_their_own() -> None:
    day = timedelta(days=1) // timedelta(microseconds=1)
    since = Compare("published", ">=", Now(timedelta(days=-1)))
    assert reduced(since) == Within(Axis("published", is_relative=True), -day, LONG_MAX)
    assert reduced(Compare("published", "=", 2026, "year")) == Within(Axis("published", "year"), 2026, 2026)
    midnight = datetime(2026, 1, 1, 13, tzinfo=UTC)
    assert reduced(Compare("published", "=", midnight, "date")) == Within(
        Axis("published", "date"), AT_NEW_YEAR, AT_NEW_YEAR
    )
    assert reduced(Compare("published", "=", midnight, "hour")) == Within(Axis("published", "hour"), 13, 13)
    hour_of_now = Compare("published", "=", Now(), "hour")
    assert reduced(hour_of_now) == Ask(hour_of_now)


@pytest.mark.parametrize(
    ("op", "value", "formula"),
    [
        ("=", 1.5, NO),
        ("<", 1.5, Within(Axis("revision"), LONG_MIN, 1)),
        ("<=", 1.5, Within(Axis("revision"), LONG_MIN, 1)),
        (">", 1.5, Within(Axis("revision"), 2, LONG_MAX)),
        (">=", 1.5, Within(Axis("revision"), 2, LONG_MAX)),
        ("<", inf, Within(Axis("revision"))),
        (">", inf, NO),
        (">=", -inf, Within(Axis("revision"))),
        ("<=", -inf, NO),
        ("=", inf, NO),
        ("<", nan, NO),
        (">", 2**70, NO),
        ("<", 2**70, Within(Axis("revision"))),
        ("=", "1", NO),
    ],
)
def test_a_whole_number_lies_between_whole_bounds(op: str, value: float | str, formula: Formula) -> None:
    assert reduced(Compare("revision", op, value)) == formula  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("predicate", "formula"),
    [
        (Compare("title", "=", " Über "), Equal("title", "über")),
        (Compare("title", "<", "M"), Ordered(Axis("title", reading="text", end="greatest"), "<", "m")),
        (Compare("tag", "<", "m"), Ordered(Axis("category", reading="text", end="least"), "<", "m")),
        (Compare("tag", ">", "m"), Ordered(Axis("category", reading="text", end="greatest"), ">", "m")),
        (Compare("m:x", "=", 4.0), EqualNumber("m:x", 4.0)),
        (Compare("m:x", "=", nan), NO),
        (Compare("m:x", "=", inf), NO),
        (
            Compare("m:x", ">", 4.0),
            Within(Axis("m:x", reading="number", end="greatest"), place(4.0) + 1, LONG_MAX),
        ),
        (Compare("m:x", "<=", 4.0), Within(Axis("m:x", reading="number", end="least"), LONG_MIN, place(4.0))),
        (Compare("title", "=", NEW_YEAR), NO),
        (Compare("nothing", "=", "x"), NO),
        (Compare("nothing", "!=", "x"), YES),
        (Compare("published", "=", "x"), NO),
        (Compare("published", ">", 4), NO),
    ],
)
def test_texts_compare_as_texts_and_as_numbers(predicate: Predicate, formula: Formula) -> None:
    assert reduced(predicate) == formula


# Building


def test_conjunctions_and_disjunctions_stay_flat_and_say_nothing_twice() -> None:
    assert all_of((A, All((B, A)), B)) == All((A, B))
    assert any_of((A, AnyOf((B, A)), B)) == AnyOf((A, B))
    assert all_of((A,)) == any_of((A, A)) == A


def test_what_is_never_true_leaves_nothing_and_what_always_is_leaves_the_rest() -> None:
    assert all_of((A, NO)) == NO
    assert any_of((A, YES)) == YES
    assert all_of((A, YES)) == any_of((A, NO)) == A
    assert (all_of(()), any_of(())) == (YES, NO)


def test_bounds_of_one_axis_become_one_interval() -> None:
    axis, other = Axis("published"), Axis("updated")
    both = all_of((Within(axis, 1, 9), A, Within(other, 0, 5), Within(axis, 3, 20)))
    assert both == All((A, Within(axis, 3, 9), Within(other, 0, 5)))
    assert all_of((Within(axis, 1, 2), Within(axis, 3, 4))) == NO
    assert any_of((Within(axis, 1, 2), Within(axis, 3, 4))) == AnyOf((Within(axis, 1, 2), Within(axis, 3, 4)))


def test_negation_goes_down_to_the_atoms() -> None:
    assert negated(negated(A)) == A
    assert negated(All((A, AnyOf((B, Without(C)))))) == AnyOf((Without(A), All((Without(B), C))))
    assert negated(Count(2, (A, B, C))) == Without(Count(2, (A, B, C)))
    assert (negated(YES), negated(NO)) == (NO, YES)


@pytest.mark.parametrize(
    ("least", "parts", "formula"),
    [
        (0, (A, B), YES),
        (-1, (), YES),
        (1, (A, B), AnyOf((A, B))),
        (2, (A, B), All((A, B))),
        (3, (A, B), NO),
        (2, (A, B, C), Count(2, (A, B, C))),
        (2, (A, A, B), Count(2, (A, A, B))),
        (2, (YES, A, B), AnyOf((A, B))),
        (2, (NO, A, B), All((A, B))),
        (2, (YES, YES, A), YES),
        (2, (NO, NO, A), NO),
    ],
)
def test_a_count_is_a_count_only_where_it_must_be(
    least: int, parts: tuple[Formula, ...], formula: Formula
) -> None:
    assert count_of(least, parts) == formula


def test_the_leaves_of_a_formula_come_in_order_and_as_often_as_they_stand_there() -> None:
    formula = All((A, AnyOf((B, Without(A))), Count(2, (C, D, A))))
    assert list(leaves_of(formula)) == [A, B, A, C, D, A]
    assert list(leaves_of(YES)) == []


def test_comparisons_of_texts_are_replaced_wherever_they_stand() -> None:
    text = Ordered(Axis("title", reading="text", end="greatest"), "<", "m")
    formula = AnyOf((All((A, text)), Without(text), Count(2, (text, B, C))))
    assert placed(formula, lambda _: D) == AnyOf((All((A, D)), Without(D), Count(2, (D, B, C))))
    assert placed(All((A, text)), lambda _: NO) == NO


# Meaning


def atom_holds(leaf: Leaf, item: Item) -> bool:
    """What an atom means, by the plainest predicate that says the same."""
    match leaf:
        case Word(scope, word):
            return naive.holds(Contains(scope, (Term(word),), 1), item)
        case Prefix(scope, prefix):
            return naive.holds(Contains(scope, (Term(prefix, True),), 1), item)
        case Phrase(scope, words, is_prefix):
            return naive.holds(Contains(scope, (Term(" ".join(words), is_prefix),), 1), item)
        case Origin(names):
            return item.source in names
        case Equal(attribute, value):
            return naive.holds(Compare(attribute, "=", value), item)
        case EqualNumber(attribute, number):
            return naive.holds(Compare(attribute, "=", number), item)
        case Link(attribute, "url" | "host", value):
            return naive.holds(References(attribute, value), item)
        case Link(attribute, _, value):
            return naive.holds(Extends(attribute, value), item)
        case Tree(pattern):
            return naive.holds(pattern, item)
        case Undecided():
            return False
        case Graph(part):
            return naive.holds(part, item)
        case Regex(scope, pattern, flags):
            return naive.holds(Matches(scope, pattern, flags), item)
        case Ask(predicate):
            return naive.holds(predicate, item)
        case Ordered(axis, op, text):
            return naive.holds(Compare(axis.attribute, op, text), item)  # type: ignore[arg-type]
        case Within():
            return is_within(leaf, item)
        case _:
            raise AssertionError(leaf)


def is_within(leaf: Within, item: Item) -> bool:
    axis = leaf.axis
    if axis.reading is None:
        found = naive.values_of(item, axis.attribute)
        numbers = [number_on(axis, value, item) for value in found]
        return any(leaf.low <= number <= leaf.high for number in numbers)
    read = [naive.number_in(str(value)) for value in naive.values_of(item, axis.attribute)]
    places = [place(number) for number in read if number is not None]
    if not places:
        return False
    return leaf.low <= (min(places) if axis.end == "least" else max(places)) <= leaf.high


def number_on(axis: Axis, value: object, item: Item) -> int:
    if not isinstance(value, datetime):
        return int(value)  # type: ignore[call-overload, no-any-return]
    if axis.is_relative:
        return microseconds(value) - microseconds(item.arrived)
    part = naive.part_of(value, axis.part) if axis.part else value
    return microseconds(part) if isinstance(part, datetime) else int(part)


def formula_holds(formula: Formula, item: Item) -> bool:
    match formula:
        case All(parts):
            return all(formula_holds(part, item) for part in parts)
        case AnyOf(parts):
            return any(formula_holds(part, item) for part in parts)
        case Without(part):
            return not formula_holds(part, item)
        case Count(least, parts):
            return sum(formula_holds(part, item) for part in parts) >= least
        case _:
            return atom_holds(formula, item)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(predicates, items())
def test_a_formula_means_what_its_predicate_means(predicate: Predicate, item: Item) -> None:
    assert formula_holds(reduced(predicate), item) == naive.holds(predicate, item)


def is_well_formed(formula: Formula) -> bool:
    """Nothing constant within, nothing nested that could be flat, counts that are counts, negated leaves only."""
    match formula:
        case All(parts) | AnyOf(parts):
            is_flat = not any(type(part) is type(formula) for part in parts)
            return is_flat and len(set(parts)) == len(parts) != 1 and all(map(is_inner, parts))
        case Count(least, parts):
            return 1 < least < len(parts) and all(map(is_inner, parts))
        case Without(part):
            return not isinstance(part, (All, AnyOf, Without)) and is_inner(part)
        case _:
            return True


def is_inner(formula: Formula) -> bool:
    return formula not in (YES, NO) and is_well_formed(formula)


@settings(max_examples=300, deadline=None)
@given(predicates)
def test_a_formula_is_flat_and_without_constants_inside(predicate: Predicate) -> None:
    assert is_well_formed(reduced(predicate))


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(predicates, max_size=4), st.integers(-1, 5), items())
def test_the_four_connectives_mean_the_same_of_formulas(
    parts: list[Predicate], least: int, item: Item
) -> None:
    formulas = list(map(reduced, parts))
    truths = [naive.holds(part, item) for part in parts]
    assert formula_holds(all_of(formulas), item) == all(truths) == naive.holds(And(tuple(parts)), item)
    assert formula_holds(any_of(formulas), item) == any(truths) == naive.holds(Or(tuple(parts)), item)
    assert formula_holds(count_of(least, formulas), item) == (sum(truths) >= least)
    assert naive.holds(AtLeast(least, tuple(parts)), item) == (sum(truths) >= least)
    for part, formula in zip(parts, formulas, strict=True):
        assert formula_holds(negated(formula), item) == naive.holds(Not(part), item)
