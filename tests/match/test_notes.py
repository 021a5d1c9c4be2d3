"""What the operator is told about queries: those that cost much, match nothing or cannot be read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from feedweir.items.model import Item
from feedweir.items.schema import batch_of
from feedweir.match.sets.compiled_set import compiled_in_memory
from feedweir.match.sets.query_store import table_of
from feedweir.plan.predicates import (
    And,
    AtLeast,
    Compare,
    Contains,
    FromFeeds,
    Matches,
    Not,
    Now,
    Or,
    PatternNode,
    Predicate,
    References,
    Similar,
    Term,
    TreePattern,
)
from feedweir.plan.query import Query

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PATH = TreePattern(PatternNode("//", "title"))


def words(text: str, attribute: str | None = None) -> Contains:
    return Contains(attribute, (Term(text),), 1)


def kinds(predicate: Predicate, *sources: str) -> list[str]:
    return [note.kind for note in compiled_in_memory(table_of([Query(7, sources, predicate)])).notes]


@pytest.mark.parametrize(
    "predicate",
    [
        words("storm"),
        words("storm", "title"),
        words("storm tide"),
        FromFeeds(("s",)),
        References(None, "x.org"),
        Compare("published", ">", NOW),
        Compare("published", ">", Now(timedelta(days=-1))),
        Compare("title", "<", "m"),
        Compare("m:x", ">", 4),
        Compare("published", "=", 2026, "year"),
        Matches("title", "sto.m"),
        PATH,
        And((words("storm"), Not(words("tide")))),
        AtLeast(2, (words("a"), words("b"), PATH)),
        Similar(None, "storm tide", 0.5),
    ],
)
def test_nothing_is_said_of_what_is_found_by_an_atom_or_a_bound(predicate: Predicate) -> None:
    assert kinds(predicate) == []


@pytest.mark.parametrize(
    "predicate",
    [
        Not(words("storm")),
        Or((words("storm"), Not(words("tide")))),
        Compare("language", "!=", "en"),
        Similar(None, "storm", 0.0),
        Not(PATH),
        Not(Compare("published", ">", NOW)),
        AtLeast(2, (words("a"), Not(words("b")), Not(words("c")))),
    ],
)
def test_what_must_be_tried_on_every_item_is_called_costly(predicate: Predicate) -> None:
    assert kinds(predicate) == ["costly"]


def test_a_source_makes_a_costly_query_cheap() -> None:
    assert kinds(Not(words("storm")), "wire") == []


@pytest.mark.parametrize(
    "predicate",
    [
        words("!"),
        Or(()),
        FromFeeds(()),
        words("storm", "published"),
        Compare("nothing", "=", "x"),
        Compare("revision", "=", 1.5),
        And((Compare("revision", ">", 3), Compare("revision", "<", 3))),
        AtLeast(3, (words("a"), words("b"))),
    ],
)
def test_what_no_item_can_satisfy_is_told(predicate: Predicate) -> None:
    assert kinds(predicate) == ["never"]


def test_a_formula_that_would_be_wide_is_told_with_its_size() -> None:
    many = And(tuple(Or((words(f"a{n}"), words(f"b{n}"))) for n in range(9)))
    (note,) = compiled_in_memory(table_of([Query(7, (), many)])).notes
    assert (note.key, note.kind) == (7, "wide")
    assert note.text == "it would expand to 512 conjunctions; it is found by 2 and then verified as a whole"


def test_a_query_that_cannot_be_read_is_told_and_matches_nothing() -> None:
    table = table_of([Query(1, (), words("storm")), Query(2, (), Not(words("calm")))])
    column = table.column("predicate").to_pylist()
    column[1] = '{"not": {"wishes": 3}}'
    place = table.schema.get_field_index("predicate")
    broken = table.set_column(place, "predicate", pa.array(column, pa.string()))
    found = compiled_in_memory(broken)
    (note,) = found.notes
    assert (note.key, note.kind) == (2, "broken")
    item = Item(source="s", identity="1", title="storm", arrived=NOW)
    assert found.match(batch_of([item])).keys.tolist() == [1]
