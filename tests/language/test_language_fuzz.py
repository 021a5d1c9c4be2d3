"""Whatever is typed ends in a tree or in a language error, and soon."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.errors import LanguageError
from feedweir.language import check, format_predicate, format_statement, parse, parse_search
from feedweir.language.plan_builder import build
from feedweir.language.plan_text import explain
from feedweir.language.statements import Ask, CreateFeed
from tests.language.fuzzing import Mutator, try_statement
from tests.language.reading import parse_predicate
from tests.plan.made import World

anything = st.text(max_size=80)
PIECES = Mutator.PIECES
pieces = st.lists(st.sampled_from(PIECES), max_size=25).map(" ".join)
glued = st.lists(st.sampled_from(PIECES), max_size=15).map("".join)


@given(st.one_of(anything, pieces, glued))
@settings(max_examples=500, deadline=None)
def test_any_text_is_statements_or_a_language_error(text: str) -> None:
    try_statement(text)


@given(st.one_of(anything, pieces, glued))
@settings(max_examples=300, deadline=None)
def test_any_text_is_a_predicate_or_a_language_error(text: str) -> None:
    try:
        predicate = parse_predicate(text)
    except LanguageError:
        return
    assert parse_predicate(format_predicate(predicate)) == predicate


@given(st.one_of(anything, glued, pieces))
@settings(max_examples=300, deadline=None)
def test_any_search_is_a_predicate_that_prints_or_a_language_error(text: str) -> None:
    try:
        predicate = parse_search(text)
    except LanguageError:
        return
    assert parse_predicate(format_predicate(predicate)) == predicate


def test_mutated_statements_end_in_trees_or_language_errors() -> None:
    mutator = Mutator(random.Random(11))
    for _ in range(3000):
        try_statement(mutator.text())


@pytest.mark.nightly
def test_a_million_mutated_statements_end_in_trees_or_language_errors() -> None:
    mutator = Mutator(random.Random(12))
    for _ in range(1_000_000):
        try_statement(mutator.text())


HOSTILE = {
    "open brackets": "from A where " + "(" * 20_000,
    "nots": "from A where " + "not " * 20_000 + "true",
    "open groups": "from " + "(" * 20_000,
    "quotes": "'" * 20_001,
    "double quotes": '"' * 20_001,
    "open comments": "/* " * 20_000,
    "dashes": "--" * 20_000,
    "spaces": " " * 100_000 + "x",
    "trailing spaces": "x" + " " * 100_000,
    "a long word": "from A where " + "x" * 100_000,
    "an almost URL": "register feed " + "a" * 50_000 + ":/",
    "an empty URL": "register feed " + "a" * 50_000 + "://",
    "a URL of brackets": "register feed http://" + "(" * 50_000 + ")" * 50_000,
    "a URL of commas": "register feed http://" + "," * 50_000,
    "select without from": "select <" + "<>" * 20_000,
    "many selects": "select < " * 5_000,
    "iris": "<a:" * 20_000,
    "dots": "a." * 20_000,
    "paths": "S" + "//a" * 20_000,
    "path brackets": "S" + "//a[" * 20_000,
    "braces": "S JOIN{" * 10_000,
    "primes": "x" + "'" * 20_000,
    "many terms": "from A where " + " or ".join(["title contains 'x'"] * 5_000),
    "many feeds": "from " + " | ".join(f"F{number}" for number in range(5_000)),
    "searches": "from A where search '" + "-" * 20_000 + "'",
    "search brackets": "from A where search '" + "(" * 20_000 + "'",
    "graphs": "from A where graph {" + "((" * 20_000,
    "fields": "from A where search '" + "title:" * 20_000 + "x'",
    "explanations": "explain " * 20_000,
    "joins": "S" + " JOIN{3 days} S" * 5_000,
    "nested quantities": "from A where " + "all of (" * 20_000,
    "variables": "from A where " + "$r[" * 5_000,
    "semicolons": ";" * 50_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_ends_soon(text: str) -> None:
    started = time.process_time()
    try_statement(text)
    assert time.process_time() - started < 5


def test_long_unions_and_conjunctions_are_planned() -> None:
    where = " and ".join(f"title contains 'w{number}'" for number in range(3000))
    world = World(sources=tuple(f"F{number}" for number in range(3000)))
    (statement,) = parse(f"from {' | '.join(world.sources)} where {where}")
    assert isinstance(statement, (Ask, CreateFeed))
    check(statement, world)
    assert len(explain(build(statement.query, world)).splitlines()) == 3002
    assert parse(format_statement(statement)) == (statement,)
