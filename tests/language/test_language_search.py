"""Search boxes: what people type, against a reading of it that is a page long."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.errors import LanguageError
from feedweir.items.model import Item
from feedweir.language import format_predicate, parse_search
from feedweir.language.search_fields import FIELDS, TEXT_FIELDS
from tests.naive import holds

WORDS = "abcd"


def item_with(letters: str, title: str = "") -> Item:
    return Item(
        source="S",
        identity="1",
        title=title,
        summary=" ".join(letters),
        arrived=datetime(2020, 11, 1, tzinfo=UTC),
    )


@st.composite
def searches(draw: st.DrawFn, depth: int = 3) -> tuple[str, str]:
    """(what is typed, the same in Python): neighbours are all wanted, and OR binds tighter than the space."""
    groups = [draw(alternatives(depth)) for _ in range(draw(st.integers(1, 3)))]
    return (
        draw(st.sampled_from([" ", "  ", ", ", " AND ", " && "])).join(typed for typed, _ in groups),
        " and ".join(f"({meant})" for _, meant in groups),
    )


@st.composite
def alternatives(draw: st.DrawFn, depth: int) -> tuple[str, str]:
    parts = [draw(wanted(depth)) for _ in range(draw(st.sampled_from([1, 1, 2, 3])))]
    return (
        draw(st.sampled_from([" OR ", " | ", "|", " || "])).join(typed for typed, _ in parts),
        " or ".join(meant for _, meant in parts),
    )


@st.composite
def wanted(draw: st.DrawFn, depth: int) -> tuple[str, str]:
    kind = draw(st.sampled_from(["word", "word", "not", "bracket", "some"])) if depth else "word"
    if kind == "word":
        word = draw(st.sampled_from(WORDS))
        return draw(st.sampled_from([word, f'"{word}"', f"{word}*", f"+{word}"])), f"('{word}' in here)"
    if kind == "not":
        typed, meant = draw(wanted(0))
        return f"{draw(st.sampled_from(['-', 'NOT ']))}{typed.lstrip('+')}", f"(not {meant})"
    if kind == "bracket":
        typed, meant = draw(searches(depth - 1))
        return f"({typed})", f"({meant})"
    letters = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4, unique=True))
    least = draw(st.integers(1, 4))
    return f"{least}of({', '.join(letters)})", f"(sum(x in here for x in {letters}) >= {least})"


@given(searches(), st.lists(st.sampled_from(WORDS), unique=True))
@settings(max_examples=300, deadline=None)
def test_a_search_finds_what_its_words_say(search: tuple[str, str], here: list[str]) -> None:
    typed, meant = search
    found = holds(parse_search(typed), item_with("".join(here)))
    assert found == eval(meant, {"here": here}), format_predicate(parse_search(typed))


@pytest.mark.parametrize(
    ("typed", "printed"),
    [
        ("rock", "contains 'rock'"),
        ("rock, jazz", "contains 'rock jazz'"),
        ("rock & jazz", "contains 'rock jazz'"),
        ('"rock music"*', "contains '\"rock music\"*'"),
        ("“rock music”", "contains '\"rock music\"'"),
        ("rock- jazz", "contains 'rock- jazz'"),
        ("c++", "contains 'c++'"),
        ("-a -b", "not contains 'a' and not contains 'b'"),
        ("!a b", "not contains 'a' and contains 'b'"),
        ("NOT (a b)", "not contains 'a b'"),
        ("- a", "contains 'a'"),
        ("rock - jazz", "contains 'rock jazz'"),
        ("a || b", "contains any of ('a', 'b')"),
        ("a | b | c", "contains any of ('a', 'b', 'c')"),
        ("a OR b OR intitle:c", "contains 'a' or contains 'b' or title contains 'c'"),
        ("2of(a, b)", "contains 'a b'"),
        ("2OF (a, b, c)", "contains at least 2 of ('a', 'b', 'c')"),
        ("4f (a)", "contains '4f a'"),
        ("9of(a)", "contains at least 9 of ('a')"),
        ("b OR 2of(a)", "contains 'b' or contains at least 2 of ('a')"),
        ("0of(a)", "at least 0 of (contains 'a')"),
        ("intitle:(a b)", "title contains 'a b'"),
        ("intitle:-a", "not title contains 'a'"),
        ("author=Ann", "author = 'Ann'"),
        ('author="Ann Broder"', "author = 'Ann Broder'"),
        ("broder in author", "author contains 'broder'"),
        ("a in b", "contains 'a in b'"),
        ("site:example.org", "link extends 'example.org'"),
        ("site:example.org/news", "link extends 'example.org/news'"),
        ("link:example.org", "references 'example.org'"),
        ("links:http://x.org/a", "extends 'http://x.org/a'"),
        ('feed:"My feed"', "from ('My feed')"),
        ("lang:EN-gb", "language = 'EN-gb'"),
        ("month:5", "published.month = 5"),
        ("day:1..7", "published.day >= 1 and published.day <= 7"),
        ("year:..2000", "published.year <= 2000"),
        ("date:2020-11-03..2020-11-05", "published.date >= 2020-11-03 and published.date <= 2020-11-05"),
        ("year inrange 1988 to 2000", "published.year >= 1988 and published.year <= 2000"),
        ("year", "contains 'year'"),
        ("since:2020-11-03", "published >= '2020-11-03T00:00:00Z'"),
        ("before:2020-11-03", "published < '2020-11-03T00:00:00Z'"),
        ("https://x.org/a", "contains 'https://x.org/a'"),
        ("venue: this", "contains '\"venue: this\"'"),
        ("10:30", "contains '10:30'"),
        ("... rock", "contains 'rock'"),
        ("rock ()", "contains 'rock'"),
    ],
)
def test_what_is_typed_becomes_a_condition(typed: str, printed: str) -> None:
    assert format_predicate(parse_search(typed)) == printed


@pytest.mark.parametrize(
    ("typed", "message", "left"),
    [
        ("", "there is nothing to search for", ""),
        ("...", "there is nothing to search for", ""),
        ("()", "there is nothing to search for", ""),
        ("a)", "`)` has no opening bracket", ")"),
        ("(a", "this bracket is never closed", "(a"),
        ("a ((b)", "this bracket is never closed", "((b)"),
        ("OR a", "`OR` must stand between two words", "OR a"),
        ("a OR", "`OR` must stand between two words", "OR"),
        ("a | | b", "`OR` must stand between two words", "| | b"),
        ("(a |)", "`OR` must stand between two words", "|)"),
        ("2of(a", "a list of words in brackets is needed", "(a"),
        ("2of(...)", "a list of words in brackets is needed", "(...)"),
        ("autor:x", "`autor:` is not a field", "autor:x"),
        ("lnag:en", "`lnag:` is not a field", "lnag:en"),
        ("year:x", "`x` is not a year", "x"),
        ("month:13", "`13` is not a month", "13"),
        ("day:1..32", "`32` is not a day", "1..32"),
        ("year:..", "`year:` needs a value", ""),
        ("date:tomorrow", "`tomorrow` is not a date", "tomorrow"),
        ("after:2020-02-30", "`2020-02-30` is not a date", "2020-02-30"),
        ('site:"a b"', "`a b` is not a URL or host", '"a b"'),
        ('lang:""', "`lang:` needs a value", '""'),
        ('feed:" "', "`feed:` needs the name of a source", '" "'),
        ("year inrange 1988", "this range is incomplete", "inrange 1988"),
        ("year inrange 1988 until 2000", "this range is incomplete", "inrange 1988 until 2000"),
    ],
)
def test_a_search_with_a_mistake_is_refused_at_its_place(typed: str, message: str, left: str) -> None:
    with pytest.raises(LanguageError) as caught:
        parse_search(typed)
    assert (caught.value.message, typed[caught.value.offset :]) == (message, left)


@pytest.mark.parametrize("field", sorted({*FIELDS, *TEXT_FIELDS}))
def test_a_field_is_proposed_to_who_writes_it_nearly_so(field: str) -> None:
    with pytest.raises(LanguageError) as caught:
        parse_search(f"{field}x:y")
    assert caught.value.hint.startswith("did you mean `")


@pytest.mark.parametrize(("field", "attribute"), TEXT_FIELDS.items(), ids=TEXT_FIELDS)
def test_a_field_of_words_looks_in_its_attribute(field: str, attribute: str) -> None:
    assert format_predicate(parse_search(f"{field}:rock")) == f"{attribute} contains 'rock'"
    assert format_predicate(parse_search(f"{field.upper()}=rock")) == f"{attribute} = 'rock'"


@pytest.mark.parametrize("colon", ["re:", "fw:", "fwd:", "RE:"])
def test_what_mail_puts_before_a_subject_is_text(colon: str) -> None:
    assert format_predicate(parse_search(f"{colon}invent")) == f"contains '\"{colon} invent\"'"


def test_a_language_is_found_in_its_regions_and_in_no_other_language() -> None:
    wants = parse_search("lang:en")

    def in_language(language: str) -> Item:
        return Item(source="S", identity="1", language=language, arrived=datetime(2020, 1, 1, tzinfo=UTC))

    assert [
        each for each in ("en", "EN", "en-GB", "eng", "e", "fr", "") if holds(wants, in_language(each))
    ] == [
        "en",
        "EN",
        "en-GB",
    ]


def test_brackets_of_a_search_nest_only_so_deep() -> None:
    parse_search("(" * 90 + "a" + ")" * 90)
    with pytest.raises(LanguageError, match="too deep"):
        parse_search("(" * 200 + "a" + ")" * 200)
    with pytest.raises(LanguageError, match="too deep"):
        parse_search("-(" * 101 + "a")
