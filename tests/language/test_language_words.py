"""Conditions on words and regular expressions: what they ask for and what they refuse."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedweir.language.conditions import predicate
from feedweir.language.word_conditions import each_once, has_word, quantity, term_of, terms_of, threshold
from feedweir.plan.predicates import Contains, Matches, Not, Similar, Term
from feedweir.text.analyser import words
from tests.language.generated import texts
from tests.language.refused import error_of, marked, whole

ROCK, ROCKETS = Term("rock"), Term("rocket", is_prefix=True)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("rock", [Term("rock")]),
        ("rock  music", [Term("rock"), Term("music")]),
        ('"rock music" live', [Term("rock music"), Term("live")]),
        ("rock*", [Term("rock", True)]),
        ('"rock mus"*', [Term("rock mus", True)]),
        ("rock**", [Term("rock", True)]),
        ("* rock", [Term("", True), Term("rock")]),
        ('"" rock', [Term(""), Term("rock")]),
        ("", []),
        ('"open', [Term("open")]),
    ],
)
def test_the_terms_of_a_text_are_its_words_and_phrases(text: str, terms: list[Term]) -> None:
    assert terms_of(text) == terms


@given(texts)
def test_no_word_of_a_text_is_lost_among_its_terms(text: str) -> None:
    assert words(" ".join(term.text for term in terms_of(text))) == words(
        text.replace('"', " ").replace("*", " ")
    )


def test_one_term_is_a_phrase_and_a_star_makes_it_a_prefix() -> None:
    assert term_of(" rock music ") == Term("rock music")
    assert term_of("rock mus *") == Term("rock mus", True)


@pytest.mark.parametrize(
    ("text", "has"), [("a", True), ("...", False), ("", False), ("-3-", True), ("年", True)]
)
def test_letters_and_digits_make_words(text: str, has: bool) -> None:
    assert has_word(text) is has


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("title contains 'rock'", Contains("title", (ROCK,), 1)),
        ("title contains 'rock rocket*'", Contains("title", (ROCK, ROCKETS), 2)),
        ("contains 'rock'", Contains(None, (ROCK,), 1)),
        ("item contains 'rock'", Contains(None, (ROCK,), 1)),
        ("tags contains 'rock'", Contains("category", (ROCK,), 1)),
        ("title contains any of ('rock', 'rocket*')", Contains("title", (ROCK, ROCKETS), 1)),
        ("title contains all of ('rock', 'rock', 'ROCK')", Contains("title", (ROCK,), 1)),
        (
            "title contains at least 2 of ('rock', 'rocket*', 'b c')",
            Contains("title", (ROCK, ROCKETS, Term("b c")), 2),
        ),
        ("title not contains 'rock'", Not(Contains("title", (ROCK,), 1))),
        ("media:title contains 'rock'", Contains("media:title", (ROCK,), 1)),
        ("link contains 'rock'", Contains("link", (ROCK,), 1)),
        ("summary similar 'a b' at least 40%", Similar("summary", "a b", 0.4)),
        ("similar 'a b'", Similar(None, "a b", 0.5)),
        ("title matches /ro(ck)?/", Matches("title", "ro(ck)?")),
        ("title matches /a\\/b/si", Matches("title", "a/b", "is")),
        ("title matches 'a/b'", Matches("title", "a/b")),
        ("matches /a/ii", Matches(None, "a", "i")),
        ("title not matches /a/", Not(Matches("title", "a"))),
    ],
)
def test_a_condition_on_words_is_the_atom_it_says(text: str, expected: object) -> None:
    assert whole(predicate, text) == expected


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("title contains ''", "''"),
        ("title contains 'a ...'", "'a ...'"),
        ("title contains rock", "rock"),
        ("title contains any of ('a', '-')", "'-')"),
        ("title contains any of 'a'", "'a'"),
        ("title contains any of ('a' 'b')", "'b')"),
        ("title contains at least one of ('a')", "one of ('a')"),
        ("published contains 'a'", "contains 'a'"),
        ("revision similar 'a'", "similar 'a'"),
        ("link similar 'a'", "similar 'a'"),
        ("title similar '.'", "'.'"),
        ("title similar window.title", "window.title"),
        ("title similar 'a' at least 0", "0"),
        ("title similar 'a' at least 1.01", "1.01"),
        ("title similar 'a' at least 101 %", "101 %"),
        ("revision matches /a/", "matches /a/"),
        ("title matches", ""),
        ("title matches /a/xi", "xi"),
        ("title matches /a{2,1}/", "{2,1}/"),
        ("title matches /(/", "(/"),
        ("title contains not 'a'", "not 'a'"),
    ],
)
def test_a_mistake_about_words_is_marked_where_it_is(text: str, left: str) -> None:
    assert marked(predicate, text) == left


def test_who_quotes_a_window_outside_of_a_join_is_told_where_it_is_known() -> None:
    assert (
        "only be used in the `with` clause of a join"
        in error_of(predicate, "title similar window.title").message
    )


def test_what_an_attribute_can_be_asked_is_told() -> None:
    hint = error_of(predicate, "revision contains '3'").hint
    assert hint.startswith("`revision` is a number and supports =")
    assert "contains" not in hint
    assert error_of(predicate, "title contian 'x'").hint == "did you mean `contains`?"


atoms = st.sampled_from([Contains("title", (Term(text),), 1) for text in ("rock", "Rock", "ROCK!", "jazz")])


@given(st.lists(atoms))
def test_of_conditions_that_ask_for_the_same_words_the_first_stays(parts: list[Contains]) -> None:
    kept = each_once(parts)
    meanings = [tuple(words(part.terms[0].text)) for part in kept]
    assert len(set(meanings)) == len(meanings)
    assert {tuple(words(part.terms[0].text)) for part in parts} == set(meanings)
    assert list(kept) == sorted(kept, key=parts.index)


@pytest.mark.parametrize(
    ("text", "wanted"), [("all of", None), ("any of", 1), ("at least 3 of", 3), ("at least 0 of", 0)]
)
def test_a_quantity_says_how_many(text: str, wanted: int | None) -> None:
    assert whole(quantity, text) == wanted


@pytest.mark.parametrize(("text", "expected"), [("", 0.5), ("at least 1", 1.0), ("at least 30 %", 0.3)])
def test_a_threshold_is_a_share(text: str, expected: float) -> None:
    assert whole(threshold, text) == pytest.approx(expected)
