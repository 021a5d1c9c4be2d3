"""Tree patterns as XPath: lxml finds with the text what the matcher finds with the pattern."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from feedweir.match.trees import compile_trees, xpath_of
from feedweir.match.trees.patterns.xpath import quoted
from feedweir.match.trees.tree_codes import (
    EQ,
    EXISTS,
    GE,
    GT,
    LE,
    LT,
    NE,
    TEXT_EQ,
    TEXT_NE,
    comparison,
    number_of,
)
from feedweir.plan.predicates import PatternNode, TreePattern
from tests.match_trees.strategies import elements, patterns


def step(
    name: str, *below: PatternNode, axis: str = "/", op: str | None = None, value: str | float | None = None
) -> PatternNode:
    return PatternNode(axis, name, below, "", op, value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("root", "text"),
    [
        (step("a"), "/*[name()='a']"),
        (step("a", axis="//"), "//*[name()='a']"),
        (step("*", axis="//"), "//*"),
        (step("dc:creator", axis="//"), "//*[name()='dc:creator']"),
        (step("a", step("@k")), "/*[name()='a'][./@k]"),
        (step("a", step("@x:k")), "/*[name()='a'][./@*[name()='x:k']]"),
        (step("a", step("@*", axis="//")), "/*[name()='a'][.//@*]"),
        (step("a", op="=", value="x"), "/*[name()='a'][. = 'x']"),
        (step("a", op="<", value=7.5), "/*[name()='a'][. < 7.5]"),
        (step("a", op="!=", value=-1e21), "/*[name()='a'][. != -1000000000000000000000.]"),
        (
            step("a", step("b", step("c")), step("d")),
            "/*[name()='a'][./*[name()='b'][./*[name()='c']]][./*[name()='d']]",
        ),
    ],
)
def test_each_step_is_written_with_its_test_its_comparison_and_what_is_below(
    root: PatternNode, text: str
) -> None:
    assert xpath_of(TreePattern(root)) == text


@pytest.mark.parametrize("text", ["", "x", "it's", 'say "x"', 'it\'s "x"', "''\"\"", "a'b\"c'd"])
def test_any_text_can_be_quoted(text: str) -> None:
    assert etree.XPath(f"string({quoted(text)})")(etree.Element("x")) == text


@settings(max_examples=200, deadline=None)
@given(patterns(), elements())
def test_the_text_finds_something_exactly_where_the_pattern_is(pattern: TreePattern, root: Any) -> None:
    found = root.getroottree().xpath(xpath_of(pattern))
    assert bool(found) == bool(len(compile_trees([pattern]).matches(root)))


# What patterns compare with


@pytest.mark.parametrize(
    ("op", "value", "meant"),
    [
        (None, None, (EXISTS, "", 0.0)),
        ("=", None, (EXISTS, "", 0.0)),
        (None, "x", (EXISTS, "", 0.0)),
        ("=", "x", (TEXT_EQ, "x", 0.0)),
        ("!=", "", (TEXT_NE, "", 0.0)),
        ("=", "7", (TEXT_EQ, "7", 0.0)),
        ("=", 7, (EQ, "", 7.0)),
        ("!=", 7.5, (NE, "", 7.5)),
        ("<", "7", (LT, "", 7.0)),
        ("<=", " 7 ", (LE, "", 7.0)),
        (">", 7, (GT, "", 7.0)),
        (">=", "-.5", (GE, "", -0.5)),
        ("<", "x", (LT, "", -math.inf)),
        (">=", "x", (LT, "", -math.inf)),
        ("=", math.nan, (LT, "", -math.inf)),
    ],
)
def test_texts_are_equal_as_texts_and_ordered_as_numbers(
    op: str | None, value: str | float | None, meant: tuple[int, str, float]
) -> None:
    assert comparison(op, value) == meant


def test_everything_is_unequal_to_what_is_no_number() -> None:
    op, text, number = comparison("!=", math.nan)
    assert (op, text, math.isnan(number)) == (NE, "", True)


@pytest.mark.parametrize(
    ("text", "number"),
    [("7", 7.0), ("-7.", -7.0), (".5", 0.5), ("\t7\n", 7.0), ("1e3", 1000.0), ("1e", 1.0), ("1E-2", 0.01)],
)
def test_a_text_reads_as_a_number(text: str, number: float) -> None:
    assert number_of(text) == number


@pytest.mark.parametrize("text", ["", " ", "x", "7x", "+7", "--7", "1 2", ".", "-", "0x10", "1.2.3", "\xa07"])
def test_all_else_is_no_number(text: str) -> None:
    assert math.isnan(number_of(text))


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e15, max_value=1e15))
def test_numbers_are_read_back_as_they_were_written(number: float) -> None:
    assert number_of(format(number, "f")) == float(format(number, "f"))
