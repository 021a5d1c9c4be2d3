"""How a text is cut into tokens, and where they stand."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.errors import LanguageError
from feedweir.language.literals import name
from feedweir.language.tokens import (
    MAX_CHARACTERS,
    MAX_DEPTH,
    Cursor,
    check_readable,
    is_plain_name,
    offset_of,
    quoted,
    unquoted,
)
from tests.language.fuzzing import Mutator
from tests.language.refused import whole

CUTS = {
    # names
    "bbc-news x.y it_s a:b rdf#type": ["bbc-news", "x.y", "it_s", "a:b", "rdf#type"],
    "a- b": ["a", "-", "b"],
    "-a": ["-", "a"],
    "été 漢字": ["été", "漢字"],
    "x1'=x2''": ["x1'", "=", "x2''"],
    # numbers and dates
    "3.5 1e9 1e-9 -4": ["3.5", "1e9", "1e-9", "-", "4"],
    "1988..2000 1988..": ["1988..2000", "1988", ".", "."],
    "2020-11-03 now-2": ["2020-11-03", "now-2"],
    "40% 40 %": ["40", "%", "40", "%"],
    # signs
    "a=b a==b a!=b a<>b": ["a", "=", "b", "a", "==", "b", "a", "!=", "b", "a", "<>", "b"],
    "a<=3>=b<c": ["a", "<=", "3", ">=", "b", "<", "c"],
    "a|b||c&&d": ["a", "|", "b", "||", "c", "&&", "d"],
    "(a,b);[c]": ["(", "a", ",", "b", ")", ";", "[", "c", "]"],
    # variables
    "$r[x] $a-b ?x,?y": ["$r", "[", "x", "]", "$a-b", "?x", ",", "?y"],
    "$ ?": ["$", "?"],
    # texts
    "'a b' \"c d\"": ["'a b'", '"c d"'],
    '\'it\'\'s\' "say ""no"""': ["'it''s'", '"say ""no"""'],
    "“curly” ‘too’": ["“curly”", "‘too’"],
    "''": ["''"],
    # paths
    "S//a/b->x[@c]": ["S", "//", "a", "/", "b", "->", "x", "[", "@", "c", "]"],
    "S/*": ["S", "/", "*"],
    # addresses
    "http://x.org/a?b=c,d e": ["http://x.org/a?b=c,d", "e"],
    "(http://x.org/a)": ["(", "http://x.org/a", ")"],
    "http://x.org/wiki/A_(b), c": ["http://x.org/wiki/A_(b)", ",", "c"],
    "from http://x.org;": ["from", "http://x.org", ";"],
    "push://orders": ["push://orders"],
    "<http://x.org/a#b>": ["<http://x.org/a#b>"],
    "<urn:a:b>": ["<urn:a:b>"],
    # comments
    "a -- b\nc": ["a", "c"],
    "a /* b */ c": ["a", "c"],
    "a /* ; ' */ /**/ c": ["a", "c"],
    "S/* b": ["S", "/", "*", "b"],
    "a --": ["a"],
}


@pytest.mark.parametrize(("text", "tokens"), CUTS.items(), ids=CUTS)
def test_a_text_is_cut_into_tokens(text: str, tokens: list[str]) -> None:
    c = Cursor(text)
    assert list(filter(None, c.tokens)) == tokens
    assert c.tokens[len(tokens) :] == [""] * (len(c.tokens) - len(tokens)), "the end is empty tokens only"


@pytest.mark.parametrize("text", CUTS)
def test_a_token_stands_where_it_is_said_to_stand(text: str) -> None:
    for place, token in enumerate(filter(None, Cursor(text).tokens)):
        assert text[offset_of(text, place) :].startswith(token)


@given(st.one_of(st.text(max_size=60), st.sampled_from(Mutator.SEEDS)))
@settings(max_examples=200, deadline=None)
def test_tokens_cover_all_of_a_text_but_spaces_and_comments(text: str) -> None:
    try:
        tokens = list(filter(None, Cursor(text).tokens))
    except LanguageError:
        return
    rest = text
    for token in tokens:
        skipped, _, rest = rest.partition(token)
        left = re.sub(r"--[^\n]*|/\*.*?\*/", "", skipped, flags=re.DOTALL)
        assert not left.strip(), f"{left!r} is in no token"
    assert not re.sub(r"--[^\n]*|/\*.*?\*/|/\*.*", "", rest, flags=re.DOTALL).strip()


def test_keywords_are_known_in_any_case_and_names_keep_theirs() -> None:
    c = Cursor("FROM News")
    assert c.accept("from")
    assert name(c) == "News"


def test_a_select_and_its_template_are_one_token() -> None:
    assert Cursor("SELECT <a>{$x}</a> FROM S").tokens[:3] == ["SELECT <a>{$x}</a>", "FROM", "S"]
    assert Cursor("select <a>x from</a> from S").tokens[0] == "select <a>x from</a>"


def test_what_matches_looks_for_is_one_token_with_it() -> None:
    assert Cursor("title matches /a b\\/c/i and x").tokens[:3] == ["title", "matches /a b\\/c/i", "and"]
    assert Cursor("matches //a").tokens[:3] == ["matches", "//", "a"]


@given(st.text(st.characters(codec="utf-8"), max_size=20))
def test_a_quoted_text_says_what_was_quoted(text: str) -> None:
    assert unquoted(quoted(text)) == text


@pytest.mark.parametrize(
    ("token", "text"),
    [("'it''s'", "it's"), ('"say ""no"""', 'say "no"'), ('“a "b"”', 'a "b"'), ("‘it''s’", "it''s")],
)
def test_a_quote_inside_is_written_twice_unless_the_quotes_are_curly(token: str, text: str) -> None:
    assert unquoted(token) == text


@given(st.one_of(st.text(max_size=8), st.sampled_from(["a-b", "9gag", "a'b", "x'", "-a", "a--b", "now"])))
def test_a_name_that_needs_no_quotes_is_one_token(text: str) -> None:
    if is_plain_name(text):
        assert Cursor(text).tokens[:2] == [text, ""]


def test_a_name_with_a_prime_needs_quotes_wherever_it_stands() -> None:
    assert not is_plain_name("x1'")
    assert not is_plain_name("a b")
    assert is_plain_name("bbc-news.uk")


def _tell_every_token(c: Cursor) -> None:
    while c.tokens[c.at]:
        c.seen()
        c.at += 1


@pytest.mark.parametrize(
    ("text", "message", "left"),
    [
        ("from A where title = 'x", "this quote is never closed", "'x"),
        ('from A where title = "x', "this quote is never closed", '"x'),
        ("from A /* where", "this comment is never closed", "/* where"),
        ("from “A", "this quote is never closed", "“A"),
    ],
)
def test_what_is_never_closed_is_marked_where_it_opens(text: str, message: str, left: str) -> None:
    with pytest.raises(LanguageError) as caught:
        _tell_every_token(Cursor(text))
    assert caught.value.message == message
    assert text[caught.value.offset :] == left


def test_long_tokens_are_shortened_in_errors() -> None:
    assert len(Cursor("x" * 500).seen()) < 70
    assert Cursor("").seen() == "the end of the text"


def test_a_word_in_the_wrong_place_is_told_with_the_one_that_was_meant() -> None:
    c = Cursor("A joyn B")
    c.at = 1
    with pytest.raises(LanguageError) as caught:
        c.expect("join", hint="join last 3 days on B")
    assert caught.value.expected == ("`join`",)
    assert caught.value.hint == "did you mean `join`? join last 3 days on B"
    assert caught.value.column == 3


def test_of_many_known_words_a_dozen_are_listed() -> None:
    known = tuple(f"w{number:02}" for number in range(40))
    error = Cursor("w1x").unknown("a word", known)
    assert error.expected == known[:12]
    assert "`w1" in error.hint


def test_brackets_nest_as_deep_as_said_and_no_deeper() -> None:
    c = Cursor("x")
    for _ in range(MAX_DEPTH):
        c.enter()
    with pytest.raises(LanguageError, match="too deep"):
        c.enter()
    c.leave()
    c.leave()
    c.enter()


def test_an_error_inside_a_token_points_into_it() -> None:
    error = Cursor("a 'bcd'").error("no", at=1, within=2)
    assert (error.line, error.column) == (1, 5)


@pytest.mark.parametrize("text", ["a\0b", "a\ud800b"])
def test_what_cannot_be_stored_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(LanguageError) as caught:
        check_readable(text)
    assert caught.value.offset == 1


def test_an_endless_text_is_refused_before_it_is_read() -> None:
    with pytest.raises(LanguageError, match="too long"):
        check_readable("a" * (MAX_CHARACTERS + 1))


@pytest.mark.parametrize("quote", ["''", '""', "“”", "‘’"])
def test_a_name_may_stand_in_any_quotes(quote: str) -> None:
    assert whole(name, f"{quote[0]}My feed{quote[1]}") == "My feed"
