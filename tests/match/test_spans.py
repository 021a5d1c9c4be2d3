"""Where words and expressions stand in an item's text, for people to see."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from feedweir.items.attributes import texts_in
from feedweir.items.model import Item
from feedweir.match.matches import Span
from feedweir.match.meaning.item_meaning import term_words
from feedweir.match.meaning.spans import spans_of
from feedweir.plan.predicates import And, Compare, Contains, FromFeeds, Matches, Predicate, Term
from feedweir.text.analyser import words, words_of_html
from tests import naive
from tests.match.generated import WORDS, items, terms

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ITEM = Item(
    source="s",
    identity="1",
    title="The storm, the STORM surge; e-mail",
    summary="<p>a <b>storm</b> surge &amp; tide</p><!-- storm -->",
    authors=("Ann Storm", "Bob"),
    extensions=(("m:a", "storm"), ("m:b", "x"), ("m:a", "a storm")),
    arrived=NOW,
)


def contains(*texts: str, attribute: str | None = None, is_prefix: bool = False) -> Contains:
    return Contains(attribute, tuple(Term(text, is_prefix) for text in texts), 1)


def text_at(span: Span, item: Item = ITEM) -> str:
    texts = {(name, number): text for name, number, text, _ in texts_in(item, span.attribute)}
    return texts[span.attribute, span.value][span.start : span.end]


def shown(predicate: Predicate) -> list[str]:
    return [text_at(span) for span in spans_of(predicate, ITEM)]


@pytest.mark.parametrize(
    ("predicate", "texts"),
    [
        (contains("storm", attribute="title"), ["storm", "STORM"]),
        (contains("storm surge", attribute="title"), ["STORM surge"]),
        (contains("e mail", attribute="title"), ["e-mail"]),
        (contains("su", attribute="title", is_prefix=True), ["surge"]),
        (contains("storm su", attribute="title", is_prefix=True), ["STORM surge"]),
        (contains("storm", attribute="summary"), ["storm"]),
        (contains("storm surge", attribute="summary"), ["storm</b> surge"]),
        (contains("tide", attribute="summary"), ["tide"]),
        (contains("amp", attribute="summary"), []),
        (contains("storm", attribute="author"), ["Storm"]),
        (contains("storm", attribute="m:a"), ["storm", "storm"]),
        (contains("storm", attribute="published"), []),
        (contains("!", attribute="title"), []),
        (contains("calm"), []),
        (Matches("title", "[A-Z]{2,}"), ["STORM"]),
        (Matches("title", "storm", "i"), ["storm", "STORM"]),
        (Matches("summary", "storm surge"), []),
        (Matches("summary", "sto.m"), ["storm"]),
        (FromFeeds(("s",)), []),
        (Compare("title", "=", "x"), []),
    ],
)
def test_every_place_is_shown_as_it_is_written(predicate: Predicate, texts: list[str]) -> None:
    assert shown(predicate) == texts


def test_places_are_told_by_attribute_and_number_of_the_value() -> None:
    found = list(spans_of(contains("storm", attribute="m:a"), ITEM))
    assert found == [Span("m:a", 0, 0, 5), Span("m:a", 1, 2, 7)]
    assert list(spans_of(contains("storm", attribute="author"), ITEM)) == [Span("author", 0, 4, 9)]


def test_a_place_that_two_terms_want_is_told_once() -> None:
    assert len(list(spans_of(contains("storm", "STORM", attribute="author"), ITEM))) == 1


def test_of_connectives_nothing_is_told_here() -> None:
    assert list(spans_of(And((contains("storm"),)), ITEM)) == []  # type: ignore[arg-type]


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(terms, st.none() | st.sampled_from(("title", "summary", "author", "e:x")), items())
def test_what_is_shown_has_the_words_of_the_term(term: Term, attribute: str | None, item: Item) -> None:
    asked = Contains(attribute, (term,), 1)
    found = list(spans_of(asked, item))
    for span in found:
        is_html = any(is_html for name, _, _, is_html in texts_in(item, span.attribute) if name)
        read = (words_of_html if is_html else words)(text_at(span, item))
        wanted = list(term_words(term))
        assert read[:-1] == wanted[:-1]
        assert read[-1].startswith(wanted[-1]) if term.is_prefix else read == wanted
    if found:
        assert naive.holds(asked, item)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from((*WORDS, "x-y", "Ä", ",")), max_size=6), st.sampled_from(WORDS))
def test_in_plain_text_every_occurrence_is_shown(parts: list[str], word: str) -> None:
    item = Item(source="s", identity="1", title=" ".join(parts), arrived=NOW)
    wanted = words(word)
    every = words(item.title)
    count = sum(every[at : at + len(wanted)] == wanted for at in range(len(every)))
    assert len(list(spans_of(contains(word, attribute="title"), item))) == count
