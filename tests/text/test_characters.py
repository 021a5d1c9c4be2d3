"""What single characters are to the analyser."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.text.characters import (
    CLASS_CONTEXT,
    CLASS_MARK,
    CLASS_MOVABLE_MARK,
    CLASS_SEPARATOR,
    CLASS_SYMBOL,
    CLASS_UNSPACED,
    CLASS_WORD,
    IGNORED,
    MARK,
    SEPARATOR,
    SYMBOL,
    UNSPACED,
    WORD,
    fold_once,
    folded,
    kind_of,
    tables,
)

KINDS = {
    WORD: "aZ9éßΣжא한٣①ª",
    SEPARATOR: " \t\n.,-_'’\u00a0\u200b\u2028\u0600€❤\ue000",
    UNSPACED: "日本カあー手𠀀ཀไทย",
    MARK: "\u0301\u093f\u0e35\u05c1",
    IGNORED: "\u00ad\u200c\u200d\ufeff\ufe0f\u034f\u3164",
    SYMBOL: "™㎏㈱℃",
}


@pytest.mark.parametrize(
    ("character", "kind"),
    [(character, kind) for kind, some in KINDS.items() for character in some],
)
def test_a_character_is_of_this_kind(character: str, kind: int) -> None:
    assert kind_of(character) == kind


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("ABC", "abc"),
        ("Straße", "strasse"),
        ("ΟΔΟΣ", "οδοσ"),
        ("ﬁne", "fine"),
        ("Ｆｕｌｌ", "full"),
        ("e\u0301", "é"),
        ("\u212b", "å"),
        ("①", "1"),
        ("", ""),
    ],
)
def test_a_text_is_folded_to_this(text: str, result: str) -> None:
    assert folded(text) == result


@settings(max_examples=500, deadline=None)
@given(st.text(max_size=30))
def test_folding_twice_is_folding_once(text: str) -> None:
    assert folded(folded(text)) == folded(text)


@settings(max_examples=500, deadline=None)
@given(st.text(max_size=20))
def test_equivalent_texts_are_folded_alike(text: str) -> None:
    for form in ("NFC", "NFD"):
        assert folded(unicodedata.normalize(form, text)) == folded(text)


def test_nothing_is_left_to_fold_in_what_was_folded() -> None:
    assert all(fold_once(folded(chr(point))) == folded(chr(point)) for point in range(0x370, 0x2000))


def test_more_marks_than_any_script_needs_are_left_out() -> None:
    assert folded("a" + "\u0316" * 100) == "a" + "\u0316" * 30
    assert folded("a" + "\u0316" * 100 + "b" + "\u0316" * 5) == "a" + "\u0316" * 30 + "b" + "\u0316" * 5
    shuffled = "a" + "\u0316\u0301" * 50_000
    assert len(folded(shuffled)) <= 31


CLASSES = {
    CLASS_SEPARATOR: " .-\u200b€",
    CLASS_WORD: "aZé9жΩ",
    CLASS_UNSPACED: "手日𠀀",
    CLASS_SYMBOL: "™㎏",
    CLASS_CONTEXT: "ßﬁ\u00ad\u1161",
}


@pytest.mark.parametrize(
    ("character", "kernel_class"),
    [(character, which) for which, some in CLASSES.items() for character in some],
)
def test_the_kernel_may_do_this_with_a_character(character: str, kernel_class: int) -> None:
    assert tables().classes[ord(character)] == kernel_class


def test_a_mark_may_move_when_it_has_a_place_of_its_own() -> None:
    classes = tables().classes
    assert classes[ord("\u093f")] == CLASS_MARK
    assert classes[0x05B0] == CLASS_MOVABLE_MARK
    for point in range(0x300, 0x1000):
        if classes[point] in (CLASS_MARK, CLASS_MOVABLE_MARK):
            is_movable = unicodedata.combining(chr(point)) > 0
            assert (classes[point] == CLASS_MOVABLE_MARK) == is_movable, hex(point)


def test_every_plain_letter_folds_in_the_table_as_by_itself() -> None:
    classes, folds = tables().classes, tables().folds
    for point in range(0x20000):
        if classes[point] in (CLASS_WORD, CLASS_UNSPACED):
            assert chr(folds[point]) == folded(chr(point)), hex(point)


def test_the_tables_are_made_once() -> None:
    assert tables() is tables()
