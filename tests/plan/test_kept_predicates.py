"""Predicates as they are kept on disk."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings

from feedweir.errors import CompiledSetError
from feedweir.plan.predicate_wire import predicate_from_json, predicate_to_json
from feedweir.plan.predicates import (
    TRUE,
    And,
    Compare,
    Contains,
    Not,
    Now,
    PatternNode,
    Predicate,
    Term,
    TreePattern,
)
from tests.language.generated import predicates


@given(predicates)
@settings(max_examples=200, deadline=None)
def test_a_predicate_reads_back_from_its_json(predicate: Predicate) -> None:
    assert predicate_from_json(predicate_to_json(predicate)) == predicate


@pytest.mark.parametrize(
    "predicate",
    [
        TRUE,
        Not(TRUE),
        Compare("published", ">", datetime(2020, 11, 3, 14, 30, tzinfo=timezone(timedelta(hours=2)))),
        Compare("published", ">", datetime(2020, 11, 3, 14, 30, 0, 1, tzinfo=UTC), "date"),
        Compare("published", ">", Now(timedelta(days=-3, microseconds=1))),
        Compare("revision", "=", 3.0),
        Contains(None, (Term("a", True),), 1),
        TreePattern(PatternNode("//", "a", (PatternNode("/", "@b", (), "x", "=", 3.5),))),
    ],
)
def test_values_of_every_kind_keep_their_kind(predicate: Predicate) -> None:
    again = predicate_from_json(predicate_to_json(predicate))
    assert again == predicate
    assert repr(again) == repr(predicate)


@given(predicates)
@settings(max_examples=60, deadline=None)
def test_equal_predicates_have_equal_texts_and_a_text_is_one_line(predicate: Predicate) -> None:
    text = predicate_to_json(predicate)
    assert text == predicate_to_json(predicate_from_json(text))
    assert "\n" not in text
    assert json.loads(text)[0] == type(predicate).__name__


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '["Nobody"]',
        '["And"]',
        '["And",["@many"],3]',
        '["Compare","a"]',
        '["@time","yesterday"]',
        '["@span","x"]',
        "[]",
        "[[]]",
    ],
)
def test_what_was_damaged_on_disk_is_an_error_of_the_set(text: str) -> None:
    with pytest.raises(CompiledSetError, match="cannot be read"):
        predicate_from_json(text)


def test_and_or_in_a_plan_are_kept_with_all_their_parts_in_order() -> None:
    parts = tuple(Compare("title", "=", letter) for letter in "cab")
    assert json.loads(predicate_to_json(And(parts)))[1][0] == "@many"
    again = predicate_from_json(predicate_to_json(And(parts)))
    assert isinstance(again, And)
    assert again.parts == parts
