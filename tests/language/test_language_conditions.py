"""How conditions are combined: precedence as in Python, lists, and what variables they speak of."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.items.model import Item
from feedweir.language import format_predicate, parse
from feedweir.language.conditions import predicate, where
from feedweir.language.statements import Ask
from feedweir.plan.predicates import FALSE, TRUE, And, AtLeast, FromFeeds, Not, Or
from tests.language.reading import parse_predicate
from tests.language.refused import error_of, marked, whole
from tests.naive import holds

LETTERS = "abcd"


def item_with(letters: str) -> Item:
    return Item(source="S", identity="1", title=" ".join(letters), arrived=datetime(2020, 11, 1, tzinfo=UTC))


@st.composite
def formulas(draw: st.DrawFn, depth: int = 3) -> tuple[str, str]:
    """A boolean expression as we write it, and as Python does, with needless brackets and spellings."""
    kind = draw(st.sampled_from(["atom", "atom", "and", "or", "not", "bracket"])) if depth else "atom"
    if kind == "atom":
        letter = draw(st.sampled_from(LETTERS))
        return f"title contains '{letter}'", f"('{letter}' in here)"
    ours, theirs = draw(formulas(depth - 1))
    if kind == "bracket":
        return f"({ours})", f"({theirs})"
    if kind == "not":
        return f"{draw(st.sampled_from(['not ', '! ', 'NOT ']))}({ours})", f"(not ({theirs}))"
    other, others = draw(formulas(depth - 1))
    sign = draw(st.sampled_from({"and": ["and", "&&", "AND"], "or": ["or", "||", "Or"]}[kind]))
    return f"{ours} {sign} {other}", f"{theirs} {kind} {others}"


@given(formulas(), st.lists(st.sampled_from(LETTERS), unique=True))
@settings(max_examples=200, deadline=None)
def test_and_or_and_not_bind_as_they_do_in_python(formula: tuple[str, str], here: list[str]) -> None:
    ours, theirs = formula
    found = parse_predicate(ours)
    assert holds(found, item_with("".join(here))) == eval(theirs, {"here": here})


@given(formulas())
def test_what_is_printed_of_a_formula_means_the_same(formula: tuple[str, str]) -> None:
    found = parse_predicate(formula[0])
    assert parse_predicate(format_predicate(found)) == found


A, B, C = (parse_predicate(f"title = '{letter}'") for letter in "abc")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("true", TRUE),
        ("false", FALSE),
        ("not true", Not(TRUE)),
        ("title = 'a' or title = 'b' and title = 'c'", Or((A, And((B, C))))),
        ("(title = 'a' or title = 'b') and title = 'c'", And((Or((A, B)), C))),
        ("not title = 'a' and title = 'b'", And((Not(A), B))),
        ("all of (title = 'a', title = 'b')", And((A, B))),
        ("any of (title = 'a', title = 'b')", Or((A, B))),
        ("all of (title = 'a')", And((A,))),
        ("at least 2 of (title = 'a', title = 'b', title = 'c')", AtLeast(2, (A, B, C))),
        ("at least 2 of (title = 'a', title = 'a', title = 'b')", AtLeast(2, (A, B))),
        ("at least 0 of (title = 'a')", AtLeast(0, (A,))),
        ("at least 2 of (title = 'a' or title = 'b', title = 'c')", AtLeast(2, (Or((A, B)), C))),
        ("from A", FromFeeds(("A",))),
        ("from (A | 'b c', D)", FromFeeds(("A", "b c", "D"))),
        ("title = 'a' && title = 'b'", And((A, B))),
        ("title = 'a' || title = 'b'", Or((A, B))),
        ("! title = 'a'", Not(A)),
    ],
)
def test_a_combination_is_the_tree_it_says(text: str, expected: object) -> None:
    assert whole(predicate, text) == expected


@pytest.mark.parametrize(
    ("text", "message", "left"),
    [
        ("(title = 'a'", "the text ends too early", ""),
        ("title = 'a' and", "the text ends where an attribute is expected", ""),
        ("and title = 'a'", "`and` is not an attribute", "and title = 'a'"),
        ("not", "the text ends where an attribute is expected", ""),
        ("any (title = 'a')", "`(` is not expected here", "(title = 'a')"),
        ("any of title = 'a'", "`title` is not expected here", "title = 'a'"),
        ("any of ()", "`)` is not an attribute", ")"),
        ("at least two of (title = 'a')", "`two` is not a whole number", "two of (title = 'a')"),
        ("at most 2 of (title = 'a')", "`most` is not expected here", "most 2 of (title = 'a')"),
        ("from ()", "`)` is not the name of a feed", ")"),
        ("search 3", "`3` is not what to search for", "3"),
        ("graph (a)", "`(` is not expected here", "(a)"),
        ("path title", "`title` is not a path", "title"),
    ],
)
def test_a_combination_with_a_mistake_is_refused_at_its_place(text: str, message: str, left: str) -> None:
    assert error_of(predicate, text).message == message
    assert marked(predicate, text) == left


def test_a_mistake_inside_a_search_is_marked_inside_its_quotes() -> None:
    assert marked(predicate, "search 'rock (jazz'") == "(jazz'"
    assert error_of(predicate, "search 'rock (jazz'").message.startswith("in this search: ")
    assert marked(predicate, 'search "autor:x"') == 'autor:x"'


def conditions_of(text: str) -> dict[str, str]:
    """The conditions of a `where` clause, printed, by the variable they are about."""
    found = whole(where, text)
    assert len({one.variable for one in found}) == len(found), "one condition for each variable"
    return {one.variable: format_predicate(one.predicate) for one in found}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("title = 'a'", {"": "title = 'a'"}),
        ("$x[title = 'a']", {"x": "title = 'a'"}),
        ("$x[title = 'a'] and $y[title = 'b']", {"x": "title = 'a'", "y": "title = 'b'"}),
        ("$x[title = 'a'] and title = 'b'", {"x": "title = 'a'", "": "title = 'b'"}),
        ("title = 'b' and $x[title = 'a']", {"x": "title = 'a'", "": "title = 'b'"}),
        ("$x[title = 'a'] or $x[title = 'b']", {"x": "title = 'a' or title = 'b'"}),
        ("not $x[title = 'a' or title = 'b']", {"x": "not (title = 'a' or title = 'b')"}),
        (
            "at least 1 of ($x[title = 'a'], $x[title = 'b'])",
            {"x": "at least 1 of (title = 'a', title = 'b')"},
        ),
        (
            "($x[title = 'a'] and $y[title = 'b']) and (title = 'c' or title = 'd')",
            {"x": "title = 'a'", "y": "title = 'b'", "": "title = 'c' or title = 'd'"},
        ),
        ("title = 'a' and title = 'b' and $x[true]", {"x": "true", "": "title = 'a' and title = 'b'"}),
    ],
)
def test_conditions_are_sorted_by_the_variable_they_are_about(text: str, expected: dict[str, str]) -> None:
    assert conditions_of(text) == expected


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("$x[title = 'a'] or $y[title = 'b']", ("x", "y")),
        ("$x[title = 'a'] or title = 'b'", ("x",)),
        ("not ($x[title = 'a'] and $y[title = 'b'])", ("x", "y")),
        (
            "$y[title = 'a' or title = 'b'] and not $x[true] or at least 1 of (title = 'c', title = 'd')",
            ("x", "y"),
        ),
    ],
)
def test_a_condition_may_speak_of_several_variables(text: str, parts: tuple[str, ...]) -> None:
    (only,) = whole(where, text)
    assert (only.variable, only.parts) == ("", parts)
    assert format_predicate(only.predicate) == text


def test_a_condition_on_several_variables_stands_beside_others() -> None:
    several, all_of_it = whole(where, "title = 'c' and ($x[title = 'a'] or $y[title = 'b'])")
    assert (several.parts, all_of_it.parts) == (("x", "y"), ())
    assert format_predicate(all_of_it.predicate) == "title = 'c'"


@pytest.mark.parametrize(
    "text",
    [
        "at least 1 of ($x[title = 'a'], $y[title = 'b'])",
        "not at least 1 of ($x[title = 'a'], title = 'b')",
        "$x[title = 'a'] or at least 2 of ($y[title = 'a'], $y[title = 'b'], $y[title = 'c'])",
    ],
)
def test_at_least_counts_conditions_on_one_variable(text: str) -> None:
    error = error_of(where, text)
    assert error.message == "`at least` counts conditions on one variable"
    assert "`or`" in error.hint


def test_a_variable_cannot_be_spoken_of_inside_another() -> None:
    assert marked(where, "$x[$y[title = 'a']]") == "$y[title = 'a']]"
    assert marked(where, "$x title = 'a'") == "title = 'a'"


def test_conditions_of_two_variables_hold_of_their_parts_only() -> None:
    (asked,) = parse("from A as $x | B where $x[title = 'a'] and language = 'en'")
    assert isinstance(asked, Ask)
    assert [one.variable for one in asked.query.where] == ["x", ""]
