"""What each kind of condition means of one item, at its edges."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from feedweir.errors import WorkError
from feedweir.items.model import Enclosure, Item
from feedweir.match.meaning.effort import MAX_STEPS, Effort
from feedweir.match.meaning.item_meaning import (
    Reading,
    compares,
    extends,
    has_term,
    holds,
    number_in,
    part_of,
    references,
    similarity,
    stands_at,
    term_words,
)
from feedweir.plan.predicates import (
    And,
    AtLeast,
    Compare,
    Contains,
    Extends,
    FromFeeds,
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
)
from tests import naive
from tests.match.generated import items, predicates

ARRIVED = datetime(2026, 3, 1, 12, tzinfo=UTC)
ITEM = Item(
    source="wire",
    identity="tag:1",
    revision=2,
    title="Storm surge: COVID-19 in Zürich",
    summary="<p>the <b>may</b>or &amp; friends</p>",
    link="https://www.x.org/a/b?q=1",
    links=("https://www.x.org/a/b?q=1", "http://n.y.org/"),
    authors=("Ann Lee", "Bob"),
    categories=("12", " Tides ", "north"),
    published=ARRIVED - timedelta(days=2),
    arrived=ARRIVED,
    language="en",
    enclosures=(Enclosure(url="http://files.org/1.mp3"),),
    extensions=(("m:price", "9.50"), ("m:price", "n/a"), ("m:note", "")),
    raw="<item><title>Storm</title><n k='1'>12</n></item>",
)
YES, NO = And(()), Or(())


def words(text: str, attribute: str | None = None, *, is_prefix: bool = False) -> Contains:
    return Contains(attribute, (Term(text, is_prefix),), 1)


@pytest.mark.parametrize(
    ("predicate", "is_true"),
    [
        (words("storm"), True),
        (words("STORM Surge"), True),
        (words("surge storm"), False),
        (words("zürich", "title"), True),
        (words("zurich", "title"), False),
        (words("may"), True),
        (words("mayor"), False),
        (words("p"), False),
        (words("ann lee", "author"), True),
        (words("lee bob", "author"), False),
        (words("zürich the"), False),
        (words("zür", is_prefix=True), True),
        (words("storm su", is_prefix=True), True),
        (words("sto surge", is_prefix=True), False),
        (words("9", "m:price"), True),
        (words("12"), True),
        (words("storm", "published"), False),
        (words("2", "revision"), False),
        (words("storm", "nothing"), False),
        (words(""), False),
        (words("!"), False),
        (Contains(None, (), 0), True),
        (Contains(None, (), 1), False),
        (Contains(None, (Term("storm"), Term("calm")), 1), True),
        (Contains(None, (Term("storm"), Term("calm")), 2), False),
        (Contains(None, (Term("storm"), Term("storm")), 2), True),
    ],
)
def test_words_stand_next_to_each_other_within_one_value(predicate: Predicate, is_true: bool) -> None:
    assert holds(predicate, ITEM) == naive.holds(predicate, ITEM) == is_true


@pytest.mark.parametrize(
    ("predicate", "is_true"),
    [
        (Compare("language", "=", "EN"), True),
        (Compare("language", "!=", "en"), False),
        (Compare("category", "=", "tides"), True),
        (Compare("category", "!=", "tides"), False),
        (Compare("category", "=", 12), True),
        (Compare("category", "<", 12), False),
        (Compare("category", ">=", "north"), True),
        (Compare("category", ">", "tides"), False),
        (Compare("m:price", "<", 10), True),
        (Compare("m:price", ">", 10), False),
        (Compare("m:price", "=", "N/A"), True),
        (Compare("m:note", "=", ""), True),
        (Compare("m:other", "=", ""), False),
        (Compare("m:other", "!=", ""), True),
        (Compare("revision", "=", 2.0), True),
        (Compare("revision", "=", "2"), False),
        (Compare("revision", "<", 2), False),
        (Compare("nothing", "=", "x"), False),
        (Compare("nothing", "!=", "x"), True),
        (Compare("published", "<", ARRIVED), True),
        (Compare("published", ">", "2020-01-01"), False),
        (Compare("published", ">", Now(timedelta(days=-3))), True),
        (Compare("published", ">", Now(timedelta(days=-1))), False),
        (Compare("updated", "<", Now()), False),
        (Compare("published", "=", 27, "day"), True),
        (Compare("published", "=", 4, "weekday"), True),
        (Compare("published", "=", ARRIVED, "hour"), True),
        (Compare("published", "=", ARRIVED, "date"), False),
        (Compare("published", "=", ARRIVED - timedelta(days=2, hours=9), "date"), True),
        (Compare("published", "=", "12", "hour"), False),
    ],
)
def test_values_compare_with_values_of_their_kind(predicate: Predicate, is_true: bool) -> None:
    assert holds(predicate, ITEM) == naive.holds(predicate, ITEM) == is_true


@pytest.mark.parametrize(
    ("predicate", "is_true"),
    [
        (References(None, "x.org"), True),
        (References(None, "org"), False),
        (References(None, "http://x.org/a/b?q=1"), True),
        (References(None, "http://x.org/a/b"), False),
        (References("enclosure", "files.org"), True),
        (References("link", "n.y.org"), False),
        (Extends(None, "y.org"), True),
        (Extends(None, "http://x.org/a"), True),
        (Extends(None, "http://x.org/a/b/c"), False),
        (Extends("link", "y.org"), False),
        (SharesLink(None, ("http://z.org/", "http://n.y.org")), True),
        (SharesLink(None, ("http://z.org/",)), False),
        (SharesLink(None, ()), False),
        (Matches("title", "surge: [A-Z]+", ""), True),
        (Matches("title", "STORM", ""), False),
        (Matches("title", "STORM", "i"), True),
        (Matches("summary", "mayor & friends", ""), True),
        (Matches("summary", "<b>", ""), False),
        (Matches(None, r"^9\.50$", ""), True),
        (Matches("published", "2026", ""), False),
        (FromFeeds(("wire",)), True),
        (FromFeeds(("Wire", "other")), False),
        (FromFeeds(()), False),
        (Similar("title", "storm surge covid 19", 0.6), True),
        (Similar("title", "storm surge covid 19", 0.7), False),
        (Similar("title", "", 0.0), True),
        (TreePattern(PatternNode("//", "n", (PatternNode("/", "@k", (), "", "=", "1"),))), True),
        (TreePattern(PatternNode("/", "n")), False),
    ],
)
def test_links_sources_expressions_and_paths(predicate: Predicate, is_true: bool) -> None:
    assert holds(predicate, ITEM) == naive.holds(predicate, ITEM) == is_true


@pytest.mark.parametrize(
    ("predicate", "is_true"),
    [
        (And(()), True),
        (Or(()), False),
        (Not(YES), False),
        (AtLeast(0, ()), True),
        (AtLeast(-1, (NO,)), True),
        (AtLeast(1, ()), False),
        (AtLeast(2, (YES, NO, YES)), True),
        (AtLeast(3, (YES, NO, YES)), False),
        (And((YES, Not(Or((NO, And((YES, NO))))))), True),
    ],
)
def test_connectives_without_parts_are_constants(predicate: Predicate, is_true: bool) -> None:
    assert holds(predicate, ITEM) is is_true


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(predicates, min_size=1, max_size=4), items())
def test_one_reading_answers_several_questions_as_several_readings_do(
    asked: list[Predicate], item: Item
) -> None:
    reading = Reading(item)
    assert [holds(one, reading.for_next_query()) for one in asked] == [
        naive.holds(one, item) for one in asked
    ]


# Values


@pytest.mark.parametrize(
    ("found", "op", "wanted", "is_true"),
    [
        ("Abc ", "=", "aBC", True),
        ("abc", "<", "abd", True),
        ("abc", "=", 1, False),
        ("1.0", "=", 1, True),
        ("1e400", "=", 1, False),
        ("nan", "<=", 1, False),
        (2, "=", "2", False),
        (2, ">", 1.5, True),
        (ARRIVED, "=", ARRIVED.astimezone(timezone(timedelta(hours=5))), True),
        (ARRIVED, "<", 5, False),
        ("2026", "=", ARRIVED, False),
        (5, "<", ARRIVED, False),
    ],
)
def test_values_of_different_kinds_never_compare(found: Any, op: str, wanted: Any, is_true: bool) -> None:
    assert compares(found, op, wanted, None) is is_true


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("year", 2025),
        ("month", 12),
        ("day", 31),
        ("hour", 23),
        ("minute", 30),
        ("weekday", 2),
        ("date", datetime(2025, 12, 31, tzinfo=UTC)),
    ],
)
def test_parts_of_a_time_are_those_in_utc(part: Any, value: object) -> None:
    local = datetime(2026, 1, 1, 1, 30, tzinfo=timezone(timedelta(hours=2)))
    assert part_of(local, part) == value


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12", 12.0),
        (" 12.5 ", 12.5),
        ("-1e3", -1000.0),
        ("1_000", 1000.0),
        ("", None),
        ("twelve", None),
        ("inf", None),
        ("nan", None),
        ("1e999", None),
        ("12 km", None),
    ],
)
def test_a_text_is_a_number_when_all_of_it_is_a_finite_one(text: str, number: float | None) -> None:
    assert number_in(text) == number


def test_nothing_overlaps_with_nothing_by_nothing() -> None:
    assert similarity(frozenset(), frozenset()) == 0.0
    assert similarity(frozenset("ab"), frozenset()) == 0.0
    assert similarity(frozenset("ab"), frozenset("bc")) == pytest.approx(1 / 3)
    assert similarity(frozenset("ab"), frozenset("ab")) == 1.0


@pytest.mark.parametrize(
    ("wanted", "is_prefix", "text", "place"),
    [
        (["b"], False, "a b c", 1),
        (["a", "b"], False, "a b c", 0),
        (["b", "c"], False, "a b c", 1),
        (["b", "c"], False, "a b cc", -1),
        (["b", "c"], True, "a b cc", 1),
        (["a"], True, "ba ab", 1),
        (["c", "d"], False, "a b c", -1),
        (["a", "a", "b"], False, "a a a b", 1),
        (["a"], False, "", -1),
    ],
)
def test_wanted_words_are_found_at_their_first_place(
    wanted: list[str], is_prefix: bool, text: str, place: int
) -> None:
    assert stands_at(wanted, is_prefix, text.split()) == place


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=3), st.lists(st.sampled_from("abc"), max_size=8))
def test_wanted_words_stand_where_trying_every_place_finds_them(wanted: list[str], text: list[str]) -> None:
    places = [at for at in range(len(text)) if text[at : at + len(wanted)] == wanted]
    assert stands_at(wanted, False, text) == (places[0] if places else -1)


def test_a_term_without_words_stands_nowhere() -> None:
    assert term_words(Term("?!")) == ()
    assert not has_term(Term("?!"), [["a"], []])
    assert has_term(Term("a b"), [["b", "a"], ["a", "b"]])


@pytest.mark.parametrize(
    ("link", "url", "leads_there", "goes_on"),
    [
        ("http://www.x.org/", "x.org", True, True),
        ("http://n.x.org/", "x.org", False, True),
        ("http://x.org/", "n.x.org", False, False),
        ("http://x.org/a/", "https://x.org/a", True, True),
        ("http://x.org/a/b", "https://x.org/a", False, True),
        ("http://x.org/ab", "https://x.org/a", False, False),
        ("http://x.org/a?b=1", "https://x.org/a", False, True),
        ("mailto:me@x.org", "x.org", False, False),
        ("", "x.org", False, False),
    ],
)
def test_a_link_leads_to_a_url_or_goes_on_below_it(
    link: str, url: str, leads_there: bool, goes_on: bool
) -> None:
    assert (references(link, url), extends(link, url)) == (leads_there, goes_on)


# Effort


def test_steps_run_out_with_an_error_that_says_what_to_do() -> None:
    effort = Effort(10)
    effort.take(4)
    effort.take(6)
    assert effort.spent == 10
    with pytest.raises(WorkError, match="more than 10 steps") as raised:
        effort.take(1)
    assert "cut the query into several feeds" in str(raised.value.hint)


def test_each_query_begins_with_all_its_steps() -> None:
    reading = Reading(ITEM)
    reading.effort.take(MAX_STEPS)
    assert holds(words("storm surge"), reading.for_next_query())
    reading.effort.take(MAX_STEPS - reading.effort.spent)
    with pytest.raises(WorkError):
        holds(words("storm surge"), reading)


def test_words_are_analysed_once_and_remembered_by_attribute() -> None:
    reading = Reading(ITEM)
    assert reading.texts("title") is reading.texts("title")
    assert reading.bag("author") == {"ann", "lee", "bob"}
    assert reading.texts("author") == (("ann", "lee"), ("bob",))
    assert reading.texts(None)[-3:] == (("9", "50"), ("n", "a"), ())
    assert reading.plain("summary") == ("the mayor & friends",)
    assert reading.links(None) == ITEM.links
