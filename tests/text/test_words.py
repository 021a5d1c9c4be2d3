"""Words of plain texts against the simplest reader there is, where no character has a special place."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.text.analyser import (
    VALUE_GAP,
    FormCache,
    analyse,
    fold,
    placed_words,
    stems,
    without_markup,
    words,
    words_of_html,
)

latin = st.text(st.sampled_from("abzAZ019 .,;-_'\"!?/()€\n\t"), max_size=30)


@settings(max_examples=500, deadline=None)
@given(latin)
def test_latin_words_are_runs_of_letters_and_digits(text: str) -> None:
    assert words(text) == re.findall(r"[a-z0-9]+", text.lower())


@settings(max_examples=300, deadline=None)
@given(latin, latin)
def test_a_space_between_texts_parts_their_words(one: str, other: str) -> None:
    assert words(f"{one} {other}") == words(one) + words(other)


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("aé日本ｶﾞ한1 .\u0301\u00ad"), max_size=12), st.text(max_size=12))
def test_a_separator_parts_words_of_every_script(one: str, other: str) -> None:
    assert words(f"{one}\n{other}") == words(one) + words(other)


@settings(max_examples=300, deadline=None)
@given(latin)
def test_html_without_tags_and_references_has_the_words_of_its_text(text: str) -> None:
    assert words_of_html(text) == words(text)


odd = st.text(st.sampled_from("aZ1é漢字かがｶﾞ한학ไิ̣́ﬁﷺ™㎏½ΐ­​‍ -_'.<>\""), max_size=14)


@settings(max_examples=500, deadline=None)
@given(odd | st.text(max_size=14))
def test_every_word_has_its_place(text: str) -> None:
    placed = list(placed_words(text))
    assert [word for word, _, _ in placed] == words(text)
    assert all(word in words(text[start:end]) for word, start, end in placed)
    assert [start for _, start, _ in placed] == sorted(start for _, start, _ in placed)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Rain, fall", ["Rain", "fall"]),
        ("don't", ["don", "t"]),
        ("漢字がな", ["漢", "字", "が", "な"]),
        ("cafés", ["cafés"]),
        ("so­ft‍", ["so­ft"]),
        ("5㎏x", ["5", "㎏", "x"]),
        ("x½y", ["x½", "½y"]),
        ("ﷺ", ["ﷺ"] * 4),
        ("한글", ["한글"]),
    ],
)
def test_words_are_shown_as_they_are_written(text: str, shown: list[str]) -> None:
    assert [text[start:end] for _, start, end in placed_words(text)] == shown


@given(st.text(st.sampled_from('ab <>/!-"&;p'), max_size=20))
def test_html_without_its_markup_has_its_words_at_their_places(html: str) -> None:
    plain = without_markup(html)
    assert len(plain) == len(html)
    assert words(plain) == words_of_html(html)


@pytest.mark.parametrize(
    ("html", "found"),
    [
        ("<p>Rain<br>fall</p>", ["rain", "fall"]),
        ("rain<b>fall</b>", ["rain", "fall"]),
        ('<a href="https://hidden.org/word">seen</a>', ["seen"]),
        ('<a title="a>b">seen</a>', ["seen"]),
        ("one<!-- two -->three", ["one", "three"]),
        ("one<!-- two", ["one"]),
        ("AT&amp;T", ["at", "t"]),
        ("a&nbsp;b", ["a", "b"]),
        ("3 < 4", ["3", "4"]),
        ("a <3 b", ["a", "3", "b"]),
        ("a <b", ["a"]),
    ],
)
def test_html_has_these_words(html: str, found: list[str]) -> None:
    assert words_of_html(html) == found
    tokens = analyse(pa.array([html]), is_html=True)
    assert tokens.words(0) == found


@pytest.mark.parametrize(
    ("text", "folded"),
    [(" A b ", "a b"), ("Straße", "strasse"), ("\u00a0x\u00a0", "x"), ("A\u0301", "á"), ("", "")],
)
def test_strings_are_compared_whole_without_case_and_space_around_them(text: str, folded: str) -> None:
    assert fold(text) == folded


@pytest.mark.parametrize(
    ("language", "some", "found"),
    [
        ("en", ["running", "markets", "happily"], ["run", "market", "happili"]),
        ("english", ["running"], ["run"]),
        ("EN_us", ["running"], ["run"]),
        ("de", ["märkte", "häuser"], ["markt", "haus"]),
        ("fr-CA", ["continuellement"], ["continuel"]),
        ("en", [], []),
    ],
)
def test_words_are_cut_to_the_stems_of_their_language(
    language: str, some: list[str], found: list[str]
) -> None:
    assert stems(some, language) == found


def test_positions_jump_between_the_values_of_a_row() -> None:
    tokens = analyse(pa.array([["a b", "c"], ["d"], []], pa.list_(pa.string())))
    assert tokens.positions.tolist() == [0, 1, 2 + VALUE_GAP, 0]
    assert len(tokens) == 3
    assert [tokens.words(row) for row in range(3)] == [["a", "b", "c"], ["d"], []]


def test_a_form_is_worked_out_once_and_forgotten_when_there_are_too_many() -> None:
    cache = FormCache(max_forms=2)
    assert cache.words("ﬁne".encode()) == (b"fine",)
    assert cache.words("ß".encode()) == (b"ss",)
    assert set(cache.known) == {"ﬁne".encode(), "ß".encode()}
    assert cache.words("ﬂ".encode()) == (b"fl",)
    assert set(cache.known) == {"ﬂ".encode()}
