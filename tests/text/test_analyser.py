"""The one analyser: what words are, and that the compiled path finds the same ones."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import feedweir
from feedweir.errors import SettingsError
from feedweir.text.analyser import FormCache, Tokens, analyse, distinct, fold, words, words_of_html
from feedweir.text.characters import (
    CLASS_UNSPACED,
    CLASS_WORD,
    UNSPACED,
    WORD,
    folded,
    kind_of,
    tables,
)
from feedweir.text.text_kernels import BLOCK_FACTOR, LAST_FACTOR, SEED, SHORT_MARK

SAMPLES = {
    "Hello, World!": ["hello", "world"],
    "Trump’s plan, don't": ["trump", "s", "plan", "don", "t"],
    "COVID-19 b2b snake_case 3.14": ["covid", "19", "b2b", "snake", "case", "3", "14"],
    "Straße STRASSE": ["strasse", "strasse"],
    "cafe\u0301 café CAFÉ": ["café", "café", "café"],
    "ﬁne Ｆｕｌｌ ｶﾞ": ["fine", "full", "ガ"],
    "東京タワー": ["東", "京", "タ", "ワ", "ー"],
    "iPhone手机12": ["iphone", "手", "机", "12"],
    "ที่นี่": ["ที่", "นี่"],
    "한국어 기사": ["한국어", "기사"],
    "Donau\u00addampf zero\u200bwidth": ["donaudampf", "zero", "width"],
    "Zoom™ 5㎏ x²": ["zoom", "tm", "5", "kg", "x2"],
    "❤️ love 👩‍👩‍👧": ["love"],
    "هَذَا نَصٌّ": ["هَذَا", "نَصٌّ"],
    "हिन्दी समाचार": ["हिन्दी", "समाचार"],
    "ΟΔΟΣ οδος": ["οδοσ", "οδοσ"],
    "\u0301\u0301": [],
    "": [],
}


_MASK = (1 << 64) - 1


def word_hash(word: str) -> int:
    """The 64-bit hash of a normalised word, as the kernels compute it."""
    data = word.encode()
    state = SEED
    n_whole = max(len(data) - 1, 0) // 8
    for i in range(0, 8 * n_whole, 8):
        state = (state ^ int.from_bytes(data[i : i + 8], "little")) * BLOCK_FACTOR & _MASK
        state ^= state >> 32
    last = data[8 * n_whole :]
    mark = (SHORT_MARK + len(last)) << 56 if len(last) < 8 else 0
    state = (state ^ (int.from_bytes(last, "little") | mark)) * BLOCK_FACTOR & _MASK
    state = (state ^ (state >> 29)) * LAST_FACTOR & _MASK
    return state ^ (state >> 32)


@pytest.mark.parametrize("text", SAMPLES)
def test_words_are_what_the_module_says(text: str) -> None:
    assert words(text) == SAMPLES[text]
    assert rows(analyse(pa.array([text]))) == [SAMPLES[text]]


@pytest.mark.parametrize("marks", ["\u0651\u064c", "\u0e48\u0e38", "\u05c1\u05b8", "\u0651\u0650\u064c"])
def test_marks_in_another_order_are_the_same_word(marks: str) -> None:
    texts = [f"\u0635{marks}\u0628", f"\u0635{marks[::-1]}\u0628"]
    first, second = rows(analyse(pa.array(texts), forms=FormCache()))
    assert first == second == words(texts[0])


def rows(tokens: Tokens) -> list[list[str]]:
    return [tokens.words(row) for row in range(len(tokens))]


DIFFICULT = (
    "\u0651\u064c\u0650\u0e48\u0e38\u05c1\u05b8"
    "aB9 _-'’.\n\u00a0éÉßİıſﬁǅΣςᾳᾼ\u0345\u0301\u0300\u0327\u0338\u093c\u094d\u0c4d\u0915\u093f\u0308"
    "\u3042\u30ab\uff76\uff9e\u3099\u30fc手机㈱㎏™½²①ªⅣⓐ\u0e33\u0e49\u0e17\u0e35\u0f40\u0f71\u0f72\u0f73"
    "\u1100\u1161\u11a8각\uffa1\uffc2\uffda\u200b\u200c\u200d\u200e\u00ad\ufeff\ufe0f\u034f👍🏽\U0001f1e9ﷺﷲ"
    "\u09c7\u09be\u09d7אבשׁ\u05bc\u05c1\u0660\u06f1\U0001d400\U00010400\ufb1d\u2126\u212b\u023a\u13a0\uab70\u1e9e"
    "\U00020000\U0002f800\U000e0100\ufffd\u0149\u01f0\u0390\u1fb7\u037a\u00b4\u1fc1\u3131\u3164\u115f"
)
texts = st.text(
    alphabet=st.one_of(
        st.sampled_from(DIFFICULT),
        st.characters(codec="utf-8"),
        st.characters(codec="utf-8", categories=["L", "M", "N"]),
        st.characters(codec="utf-8", categories=["Mn", "Mc"]),
        st.characters(codec="utf-8", max_codepoint=0x17F),
    ),
    max_size=40,
)
html_pieces = st.sampled_from(
    [
        '<p class="a>b">',
        "</p>",
        "<br>",
        "<!-- x -- y -->",
        "<!--",
        "-->",
        "<",
        ">",
        '"',
        "&amp;",
        "&nbsp;",
        "&lt;",
        "&",
        "&eacute;",
        "&gt;",
        "&quot;",
        "&am",
        "<3",
        '<a href="',
        "?>",
        "<?",
    ]
)
htmls = st.lists(
    st.one_of(html_pieces, st.text(max_size=5), st.sampled_from(list(SAMPLES))), max_size=12
).map("".join)


@settings(max_examples=1500, deadline=None)
@given(st.lists(texts, max_size=4))
def test_the_compiled_path_finds_the_words_of_the_reference(column: list[str]) -> None:
    tokens = analyse(pa.array(column, pa.string()), forms=FormCache())
    assert rows(tokens) == [words(text) for text in column]


@settings(max_examples=500, deadline=None)
@given(st.lists(htmls, max_size=4))
def test_the_compiled_path_reads_html_as_the_reference_does(column: list[str]) -> None:
    tokens = analyse(pa.array(column, pa.string()), is_html=True)
    assert rows(tokens) == [words_of_html(html) for html in column]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(st.none(), st.lists(st.one_of(st.none(), texts), max_size=3)), max_size=4))
def test_a_list_column_has_the_words_of_its_values_apart(column: list[list[str | None] | None]) -> None:
    tokens = analyse(pa.array([None, ["cut off"], *column], pa.list_(pa.string())).slice(2))
    expected = [[words(value or "") for value in row or []] for row in column]
    assert rows(tokens) == [[word for value in row for word in value] for row in expected]
    for row, values in enumerate(expected):
        positions = tokens.positions[tokens.offsets[row] : tokens.offsets[row + 1]].tolist()
        assert positions == _positions(values)


def _positions(values: list[list[str]]) -> list[int]:
    result, position = [], 0
    for value in values:
        result += range(position, position + len(value))
        position += len(value) + 100
    return result


@settings(max_examples=300, deadline=None)
@given(st.lists(st.binary(max_size=30), max_size=4))
def test_bytes_that_are_not_utf8_separate(column: list[bytes]) -> None:
    offsets = np.concatenate([[0], np.cumsum([len(value) for value in column])]).astype(np.int32)
    array = pa.Array.from_buffers(
        pa.string(), len(column), [None, pa.py_buffer(offsets.tobytes()), pa.py_buffer(b"".join(column))]
    )
    assert rows(analyse(array)) == [words(value.decode("utf-8", "replace")) for value in column]


@settings(max_examples=300, deadline=None)
@given(texts)
def test_every_code_has_the_hash_of_its_word(text: str) -> None:
    tokens = analyse(pa.array([text]))
    assert tokens.hashes.tolist() == [word_hash(word) for word in words(text)]


@settings(max_examples=200, deadline=None)
@given(texts, texts)
def test_words_do_not_depend_on_what_was_seen_before(text: str, other: str) -> None:
    tiny = FormCache(max_forms=1)
    analyse(pa.array([other]), forms=tiny)
    assert rows(analyse(pa.array([text, other, text]), forms=tiny)) == [
        words(text),
        words(other),
        words(text),
    ]
    assert len(tiny.known) <= 1


@settings(max_examples=300, deadline=None)
@given(texts)
def test_the_words_of_words_are_themselves(text: str) -> None:
    for word in words(text):
        assert words(word) == [word]
        assert fold(word) == word


def test_every_single_character_is_classified_as_the_reference_says() -> None:
    characters = [chr(point) for point in range(0x33000) if not 0xD800 <= point < 0xE000]
    alone = analyse(pa.array(characters))
    between = analyse(pa.array([f"x{character}y" for character in characters]))
    for row in range(len(characters)):
        assert alone.words(row) == words(characters[row]), hex(ord(characters[row]))
        assert between.words(row) == words(f"x{characters[row]}y"), hex(ord(characters[row]))


def test_large_plain_ranges_are_plain() -> None:
    classes = tables().classes
    for character in map(chr, (0x3400, 0x4DBF, 0x4E00, 0x9FFC, 0xAC00, 0xD7A3, 0x20000, 0x2A6DD, 0x2B734)):
        assert folded(character) == character
        assert {CLASS_WORD: WORD, CLASS_UNSPACED: UNSPACED}[classes[ord(character)]] == kind_of(character)


def test_equal_words_are_numbered_by_first_sight() -> None:
    tokens = analyse(pa.array(["b a b", "a c"]))
    ids, firsts = distinct(tokens)
    assert ids.tolist() == [0, 1, 0, 1, 2]
    assert [tokens.word(first) for first in firsts] == ["b", "a", "c"]


@settings(max_examples=50, deadline=None)
@given(st.lists(texts, max_size=4))
def test_stems_are_those_of_the_reference(column: list[str]) -> None:
    column = [*column, "Running runners ran; the markets' movements"]
    assert rows(analyse(pa.array(column), language="en")) == [words(text, language="en") for text in column]


def test_a_stem_is_found_by_any_form() -> None:
    assert words("Märkte", language="de-AT") == words("Markt", language="german") == ["markt"]


def test_an_unknown_language_is_refused_with_the_known_ones() -> None:
    with pytest.raises(SettingsError, match=r"klingon.*english"):
        words("x", language="klingon")


def test_null_large_chunked_and_binary_columns_are_read() -> None:
    assert rows(analyse(pa.array(["a", None, "b"]))) == [["a"], [], ["b"]]
    assert rows(analyse(pa.array(["a b", None], pa.large_string()))) == [["a", "b"], []]
    assert rows(analyse(pa.chunked_array([["a"], ["b c"]]))) == [["a"], ["b", "c"]]
    assert rows(analyse(pa.array([b"a\xff", None], pa.binary()))) == [["a"], []]
    assert rows(analyse(pa.array(["x y", "x y", "z"]).dictionary_encode())) == [["x", "y"], ["x", "y"], ["z"]]
    assert rows(analyse(pa.array([], pa.string()))) == []


def test_no_other_module_cuts_text_into_words() -> None:
    root = Path(feedweir.__file__).parent
    pattern = re.compile(r"""["']\[?\\w[^"']{0,6}[+*]["']|["']NFKC["']|Stemmer""")
    allowed = {"text/placed_words.py", "text/characters.py"}
    guilty = [
        str(path.relative_to(root))
        for path in sorted(root.rglob("*.py"))
        if str(path.relative_to(root)) not in allowed and pattern.search(path.read_text())
    ]
    assert guilty == []


def test_values_that_touch_are_read_one_by_one() -> None:
    """A million values without a space between them: looking for the end of a word must not pass the value's."""
    column = pa.array(["word"] * 1_000_000)
    tokens = analyse(column)
    assert len(tokens.hashes) == len(column)
    assert (tokens.lengths == 4).all()
