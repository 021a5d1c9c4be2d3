"""Comparisons, lists and ranges, and conditions on links."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from feedweir.items.attributes import ATTRIBUTES, SYNONYMS, AttributeType
from feedweir.language.conditions import predicate
from feedweir.language.subjects import OPERATORS_OF, PARTS, begins_subject, subject
from feedweir.language.tokens import Cursor
from feedweir.plan.predicates import And, Compare, Extends, Not, Now, Or, References, SharesLink
from tests.language.refused import error_of, marked, whole

DAY = datetime(2020, 11, 3, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("title = 'a'", Compare("title", "=", "a")),
        ("title == 'a'", Compare("title", "=", "a")),
        ("title <> 'a'", Compare("title", "!=", "a")),
        ("title in ('a', 'b')", Or((Compare("title", "=", "a"), Compare("title", "=", "b")))),
        ("title in ('a')", Compare("title", "=", "a")),
        ("title not in ('a')", Not(Compare("title", "=", "a"))),
        ("revision between 1 and 3", And((Compare("revision", ">=", 1.0), Compare("revision", "<=", 3.0)))),
        ("revision in 1..3", And((Compare("revision", ">=", 1.0), Compare("revision", "<=", 3.0)))),
        ("revision = -1", Compare("revision", "=", -1.0)),
        ("media:rating = 4", Compare("media:rating", "=", 4.0)),
        ("media:rating = '4'", Compare("media:rating", "=", "4")),
        ("media:rating >= -4.5", Compare("media:rating", ">=", -4.5)),
        ("link = http://x.org/a", Compare("link", "=", "http://x.org/a")),
        ("published = 2020-11-03", Compare("published", "=", DAY, "date")),
        ("published != 2020-11-03", Compare("published", "!=", DAY, "date")),
        ("published < 2020-11-03", Compare("published", "<", DAY)),
        ("published.date = '2020-11-03 14:00'", Compare("published", "=", DAY, "date")),
        ("published.date < now - 1 day", Compare("published", "<", Now(-timedelta(days=1)), "date")),
        ("published.year = 2020", Compare("published", "=", 2020.0, "year")),
        ("date.weekday = tuesday", Compare("published", "=", 1.0, "weekday")),
        ("date.weekday = 'Sunday'", Compare("published", "=", 6.0, "weekday")),
        (
            "published.hour in 8..9",
            And((Compare("published", ">=", 8.0, "hour"), Compare("published", "<=", 9.0, "hour"))),
        ),
        ("author exists", Compare("author", ">=", "")),
        ("published exists", Compare("published", ">=", datetime.min.replace(tzinfo=UTC))),
        ("published not exists", Not(Compare("published", ">=", datetime.min.replace(tzinfo=UTC)))),
        ("references http://x.org", References(None, "http://x.org")),
        ("links references 'x.org'", References("links", "x.org")),
        ("link extends 'x.org'", Extends("link", "x.org")),
        ("shares-link http://x.org/a", SharesLink(None, ("http://x.org/a",))),
        ("shares-link ('x.org', http://y.org)", SharesLink(None, ("x.org", "http://y.org"))),
        ("enclosures shares-link ('x.org')", SharesLink("enclosure", ("x.org",))),
    ],
)
def test_a_comparison_is_the_atom_it_says(text: str, expected: object) -> None:
    assert whole(predicate, text) == expected


@pytest.mark.parametrize(
    ("text", "message", "left"),
    [
        ("title = 3", "`3` is not a quoted text to compare `title` with", "3"),
        ("revision = 'x'", "`'x'` is not a number", "'x'"),
        ("summary = 'x'", "`=` is not an operator for summary", "= 'x'"),
        ("item = 'x'", "`=` is not an operator for the whole item", "= 'x'"),
        ("revision exists", "`exists` is not an operator for revision", "exists"),
        ("published.year exists", "`exists` is not an operator for published", "exists"),
        ("title in 1..3", "only numbers and parts of dates have ranges", "1..3"),
        ("published in 2018..2019", "a date cannot be compared with numbers", "2018..2019"),
        ("published.month in 0..3", "a month must be between 1 and 12", "0..3"),
        ("published.hour in 8..24", "an hour must be between 0 and 23", "8..24"),
        ("published.weekday = mnoday", "`mnoday` is not a day of the week", "mnoday"),
        ("published.weekday = 7", "a weekday must be between 0 and 6", "7"),
        ("published.day = 0", "a day must be between 1 and 31", "0"),
        ("published in 'x'", "`'x'` is not a list or a range", "'x'"),
        ("title in ()", "`)` is not a quoted text to compare `title` with", ")"),
        ("title in ('a' 'b')", "`'b'` is not expected here", "'b')"),
        ("revision between 1 or 3", "`or` is not expected here", "or 3"),
        ("summary between 'a' and 'b'", "`between` is not an operator for summary", "between 'a' and 'b'"),
        ("title.year = 2020", "`title` is text and has no parts", "title.year = 2020"),
        ("published.yeer = 2020", "`yeer` is not a part of a date", "published.yeer = 2020"),
        ("publishd = 2020", "`publishd` is not an attribute", "publishd = 2020"),
        ("title references 'x.org'", "`references` is not an operator for title", "references 'x.org'"),
        ("references 'a b'", "this is not a URL", "'a b'"),
        ("references ''", "this is not a URL", "''"),
        ("link references x.org", "`x.org` is not a URL or a host", "x.org"),
        ("shares-link ()", "`)` is not a URL or a host", ")"),
    ],
)
def test_a_comparison_that_makes_no_sense_is_refused_at_its_place(text: str, message: str, left: str) -> None:
    assert error_of(predicate, text).message == message
    assert marked(predicate, text) == left


EXAMPLES = {
    "contains": "contains 'a'",
    "similar": "similar 'a'",
    "matches": "matches /a/",
    "in": "in ({value})",
    "between": "between {value} and {value}",
    "exists": "exists",
    "references": "references 'x.org'",
    "extends": "extends 'x.org'",
    "shares-link": "shares-link ('x.org')",
    **{op: f"{op} {{value}}" for op in ("=", "!=", "<", "<=", ">", ">=")},
}
VALUES = {AttributeType.TIME: "2020-11-03", AttributeType.NUMBER: "3"}


@pytest.mark.parametrize("attribute", ATTRIBUTES, ids=lambda attribute: attribute.name)
def test_an_attribute_has_the_operators_that_are_told_of_it(attribute) -> None:
    value = VALUES.get(attribute.type, "'a'")
    told = OPERATORS_OF[attribute.type].partition(", and ")[0].split(", ")
    for operator in told:
        whole(predicate, f"{attribute.name} {EXAMPLES[operator].format(value=value)}")
    for operator in EXAMPLES.keys() - set(told):
        text = f"{attribute.name} {EXAMPLES[operator].format(value=value)}"
        if _is_more_than_told(attribute.type, operator):
            whole(predicate, text)
        else:
            assert "is not an operator for" in error_of(predicate, text).message, text


def _is_more_than_told(kind: AttributeType, operator: str) -> bool:
    """What is read although no error proposes it: an order of links, a range of texts, how alike names are."""
    more = {
        AttributeType.TEXT: {"between"},
        AttributeType.STRING: {"between", "similar"},
        AttributeType.LINK: {"<", "<=", ">", ">=", "between"},
    }
    return operator in more.get(kind, set())


@pytest.mark.parametrize(("synonym", "attribute"), SYNONYMS.items(), ids=SYNONYMS)
def test_a_synonym_is_the_attribute(synonym: str, attribute: str) -> None:
    assert whole(subject, synonym.upper()) == whole(subject, attribute)


@pytest.mark.parametrize(("part", "bounds"), [item for item in PARTS.items() if item[0] != "date"])
def test_a_part_of_a_date_may_be_its_least_and_its_greatest_value(part: str, bounds: tuple[int, int]) -> None:
    for value in bounds:
        expected = Compare("published", "=", float(value), part)  # type: ignore[arg-type]
        assert whole(predicate, f"published.{part} = {value}") == expected


@pytest.mark.parametrize("part", PARTS)
def test_every_time_has_every_part(part: str) -> None:
    for name in ("published", "updated", "arrived", "date", "pubdate"):
        assert whole(subject, f"{name}.{part}").part == part


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ("title", True),
        ("published.year", True),
        ("dc:date", True),
        ("http://x.y", False),
        ("titel", False),
        (":a", False),
    ],
)
def test_what_may_begin_a_condition_is_seen_before_it_is_read(text: str, begins: bool) -> None:
    assert begins_subject(Cursor(text)) is begins
