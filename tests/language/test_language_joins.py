"""Conditions of joins: the two sides, either of them alone, and what cannot be compared."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.items.model import Item
from feedweir.language.join_conditions import format_join_predicate, join_predicate
from feedweir.plan.predicates import (
    Compare,
    JoinAnd,
    JoinNot,
    JoinOr,
    JoinPredicate,
    OfItem,
    OfWindow,
    Relates,
)
from tests.language.generated import join_predicates
from tests.language.refused import error_of, marked, whole
from tests.naive import relates
from tests.plan.made import histories

SAME = Relates("author", "=", "author")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("author = window.author", SAME),
        ("window.author = author", SAME),
        ("published < window.published", Relates("published", "<", "published")),
        ("window.published < published", Relates("published", ">", "published")),
        ("window.published >= published", Relates("published", "<=", "published")),
        ("window.author != author", Relates("author", "!=", "author")),
        ("similar window", Relates(None, "similar", None, 0.5)),
        ("title similar window at least 0.2", Relates("title", "similar", None, 0.2)),
        ("window.title similar title at least 20 %", Relates("title", "similar", "title", 0.2)),
        ("shares-link window", Relates(None, "shares-link", None)),
        ("links shares-link window.link", Relates("links", "shares-link", "link")),
        ("references window", Relates(None, "shares-link", "link")),
        ("references window.links", Relates(None, "shares-link", "links")),
        ("extends window", Relates(None, "extends", "link")),
        ("window.links extends link", Relates("link", "extended by", "links")),
        ("title contains window.category", Relates("title", "contains", "category")),
        ("contains window.title", Relates(None, "contains", "title")),
        ("window.title contains category", Relates("category", "contained in", "title")),
        ("window contains title", Relates("title", "contained in", None)),
        ("not author = window.author", JoinNot(SAME)),
        ("title not similar window.title", JoinNot(Relates("title", "similar", "title", 0.5))),
        ("window.title not contains category", JoinNot(Relates("category", "contained in", "title"))),
        ("language = 'en'", OfItem(Compare("language", "=", "en"))),
        ("window.language = 'en'", OfWindow(Compare("language", "=", "en"))),
        ("window[language = 'en']", OfWindow(Compare("language", "=", "en"))),
        ("window.published.year = 2020", OfWindow(Compare("published", "=", 2020.0, "year"))),
        (
            "author = window.author and language = 'en' or not window[language = 'fr']",
            JoinOr(
                (
                    JoinAnd((SAME, OfItem(Compare("language", "=", "en")))),
                    JoinNot(OfWindow(Compare("language", "=", "fr"))),
                )
            ),
        ),
        ("all of (author = window.author)", JoinAnd((SAME,))),
        (
            "any of (author = window.author, similar window)",
            JoinOr((SAME, Relates(None, "similar", None, 0.5))),
        ),
        ("(author = window.author)", SAME),
    ],
)
def test_a_join_condition_is_the_tree_it_says(text: str, expected: JoinPredicate) -> None:
    assert whole(join_predicate, text) == expected
    assert whole(join_predicate, format_join_predicate(expected)) == expected


@given(join_predicates)
@settings(max_examples=100, deadline=None)
def test_a_join_condition_reads_back_as_itself(found: JoinPredicate) -> None:
    assert whole(join_predicate, format_join_predicate(found)) == found


TURNED = [
    ("author = window.author", "window.author = author"),
    ("published < window.published", "window.published > published"),
    ("published >= window.published", "window.published <= published"),
    ("title similar window.summary at least 0.2", "window.summary similar title at least 0.2"),
    ("links shares-link window.link", "window.link shares-link links"),
    ("title != window.category", "window.category != title"),
]


@pytest.mark.parametrize(("one", "other"), TURNED)
def test_either_side_may_come_first(one: str, other: str) -> None:
    assert whole(join_predicate, one) == whole(join_predicate, other)


@given(st.sampled_from(["title", "author", "category"]), histories())
@settings(max_examples=60, deadline=None)
def test_what_the_window_contains_is_contained_in_it(attribute: str, items: list[Item]) -> None:
    ours = whole(join_predicate, f"title contains window.{attribute}")
    theirs = whole(join_predicate, f"window.title contains {attribute}")
    for one in items:
        for other in items:
            assert relates(ours, one, other) == relates(theirs, other, one)


@given(st.sampled_from(["link", "links"]), histories())
@settings(max_examples=40, deadline=None)
def test_a_link_that_extends_the_windows_is_extended_by_it_the_other_way(
    name: str, items: list[Item]
) -> None:
    ours = whole(join_predicate, f"links extends window.{name}")
    theirs = whole(join_predicate, f"window.links extends {name}")
    for one in items:
        for other in items:
            assert relates(ours, one, other) == relates(theirs, other, one)


@pytest.mark.parametrize(
    ("text", "message", "left"),
    [
        ("title = window.published", "`title` and `published` cannot be compared", "= window.published"),
        ("revision = window.title", "`revision` and `title` cannot be compared", "= window.title"),
        ("item = window.title", "the whole item and `title` cannot be compared", "= window.title"),
        ("title = window", "`title` and the whole item cannot be compared", "= window"),
        ("title shares-link window", "`shares-link` compares links", "shares-link window"),
        ("shares-link window.title", "`shares-link` compares links", "shares-link window.title"),
        ("published similar window.title", "`similar` compares words of texts", "similar window.title"),
        ("window.revision contains title", "`contains` compares words of texts", "contains title"),
        ("title contains window", "`contains` needs an attribute of the window", "contains window"),
        (
            "title resembles window.title",
            "`resembles` is not an operator between the two sides of a join",
            "resembles window.title",
        ),
        ("published.year = window.published", "a join compares whole attributes", "= window.published"),
        ("published = window.published.year", "a join compares whole attributes", "window.published.year"),
        ("window.titel = title", "`titel` is not an attribute", "window.titel = title"),
        ("window", "the text ends where an operator for the whole item is expected", ""),
        ("window[language = 'en'", "the text ends too early", ""),
        ("(author = window.author", "the text ends too early", ""),
        ("any (author = window.author)", "`(` is not expected here", "(author = window.author)"),
        ("title similar window.title at least 2", "a threshold must be greater than 0 and at most 1", "2"),
        ("", "the text ends where an attribute is expected", ""),
    ],
)
def test_a_join_condition_that_makes_no_sense_is_refused(text: str, message: str, left: str) -> None:
    assert error_of(join_predicate, text).message == message
    assert marked(join_predicate, text) == left


def test_what_cannot_be_compared_is_told_with_what_it_is() -> None:
    assert (
        error_of(join_predicate, "title = window.published").hint
        == "`title` is a text; `published` is a time"
    )


def test_the_window_is_read_whatever_its_case_and_left_as_it_was() -> None:
    assert whole(join_predicate, "AUTHOR = WINDOW.AUTHOR") == SAME


def test_brackets_of_a_join_nest_only_so_deep() -> None:
    with pytest.raises(Exception, match="too deep"):
        whole(join_predicate, "(" * 200 + "author = window.author" + ")" * 200)
    with pytest.raises(Exception, match="too deep"):
        whole(join_predicate, "not " * 200 + "author = window.author")
