"""Regular expressions by RE2: what they find, what they refuse and where."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.errors import LanguageError
from feedweir.text.regular_expressions import FLAGS, MAX_PROGRAM, as_compiled, compiled, has_match, places


@pytest.mark.parametrize(
    ("pattern", "flags", "text", "is_found"),
    [
        ("rain", "", "no rain today", True),
        ("rain", "", "no RAIN today", False),
        ("rain", "i", "no RAIN today", True),
        ("^today", "", "no rain\ntoday", False),
        ("^today", "m", "no rain\ntoday", True),
        ("rain.today", "", "rain\ntoday", False),
        ("rain.today", "s", "rain\ntoday", True),
        ("^TODAY.x", "ims", "rain\ntoday\nx", True),
        ("é+", "", "caféé", True),
        ("", "", "", True),
    ],
)
def test_an_expression_finds_what_its_flags_let_it(
    pattern: str, flags: str, text: str, is_found: bool
) -> None:
    assert has_match(pattern, flags, text) == is_found


def test_every_flag_but_case_is_put_inside_the_expression() -> None:
    assert as_compiled("x", "") == as_compiled("x", "i") == "x"
    assert as_compiled("x", "ims") == "(?ms)x"
    assert set(FLAGS) == set("ims")


def test_places_are_in_characters_and_never_empty() -> None:
    assert list(places("é|x", "", "aéxé")) == [(1, 2), (2, 3), (3, 4)]
    assert list(places("a*", "", "baab")) == [(1, 3)]
    assert list(places("z", "", "abc")) == []


ATOMS = st.sampled_from(["a", "b", ".", "[ab]", "[^a]", "(ab)", "(?:b|a)", "\\w"])
EXPRESSIONS = st.lists(st.tuples(ATOMS, st.sampled_from(["", "*", "+", "?"])), min_size=1, max_size=4).map(
    lambda parts: "".join(atom + times for atom, times in parts)
)


@settings(max_examples=300, deadline=None)
@given(EXPRESSIONS, st.text(st.sampled_from("abc"), max_size=8))
def test_simple_expressions_find_what_pythons_own_find(pattern: str, text: str) -> None:
    assert has_match(pattern, "", text) == (re.search(pattern, text) is not None)
    expected = [match.span() for match in re.finditer(pattern, text) if match.end() > match.start()]
    assert list(places(pattern, "", text)) == expected


@pytest.mark.parametrize(
    ("pattern", "offset", "message"),
    [
        ("a(b", 0, "missing )"),
        ("ab)c", 0, "unexpected )"),
        ("a[b", 1, "missing ]"),
        ("ab**c", 2, "bad repetition operator"),
        ("ab\\", 0, "trailing"),
        ("x{2000}", 1, "invalid repetition size"),
    ],
)
def test_an_expression_that_cannot_be_read_is_refused_at_its_place(
    pattern: str, offset: int, message: str
) -> None:
    with pytest.raises(LanguageError, match=re.escape(message)) as caught:
        compiled(pattern)
    assert (caught.value.text, caught.value.offset) == (pattern, offset)


def test_a_look_around_is_refused_with_the_reason() -> None:
    with pytest.raises(LanguageError) as caught:
        compiled("a(?=b)")
    assert "look-around" in caught.value.hint
    assert caught.value.offset == 1


def test_an_expression_that_would_be_too_large_is_refused() -> None:
    with pytest.raises(LanguageError, match="too large") as caught:
        compiled(f"({'abcdefghij' * 60}){{10}}")
    assert "parts" in caught.value.hint
    assert compiled("abcdefghij" * 60).programsize < MAX_PROGRAM


def test_what_makes_other_engines_try_for_ever_takes_no_time() -> None:
    started = time.process_time()
    assert not has_match("(a*)*(a*)*(a|a)*b", "", "a" * 100_000)
    assert time.process_time() - started < 5
