"""What every code point is to the analyser: the tables behind `items.text`.

The reference analyser asks `kind_of`; the kernel reads `tables()`, the same answers refined by what it may do
with a code point alone. Both follow the Unicode data of the running Python.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cache
from unicodedata import category, combining, decomposition, normalize

import numpy as np
from numpy.typing import NDArray

SEPARATOR, WORD, UNSPACED, MARK, IGNORED, SYMBOL = range(6)
"""Kinds of characters: what ends a word, what makes one, what is one alone, what belongs to the character
before it, what is as if it were not there, and symbols such as ™ and ㎏ whose compatibility form is a word
by itself."""

CLASS_SEPARATOR, CLASS_WORD, CLASS_UNSPACED, CLASS_MARK = range(4)
CLASS_MOVABLE_MARK, CLASS_SYMBOL, CLASS_CONTEXT = range(4, 7)
"""What the kernel does: as above for characters that fold to one character whatever stands beside them; a
movable mark may change places with a neighbour; a character of CONTEXT sends the whole word to the
reference."""

_UNSPACED_RANGES = (
    (0x0E00, 0x0FFF),  # Thai, Lao, Tibetan
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x1950, 0x19FF),  # Tai Le, New Tai Lue, Khmer symbols
    (0x1A20, 0x1AAF),  # Tai Tham
    (0x2E80, 0x2FDF),  # radicals
    (0x3005, 0x303C),  # ideographic marks and numbers
    (0x3041, 0x312F),  # Hiragana, Katakana, Bopomofo
    (0x31A0, 0x31FF),  # Bopomofo and Katakana extensions
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0xA4CF),  # Han, Yi
    (0xA9E0, 0xA9FF),  # Myanmar
    (0xAA60, 0xAADF),  # Myanmar, Tai Viet
    (0xF900, 0xFAFF),  # Han
    (0x16FE0, 0x18DFF),  # Tangut, Khitan
    (0x1AFF0, 0x1B2FF),  # Kana, Nushu
    (0x20000, 0x3FFFF),  # Han
)
_IGNORED_RANGES = (
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFFA0, 0xFFA0),
    (0xE0100, 0xE01EF),
)
_FORMATS_THAT_SEPARATE = frozenset(
    [0x200B, *range(0x0600, 0x0606), 0x06DD, 0x070F, 0x0890, 0x0891, 0x08E2, 0x110BD]
)
_CODE_POINTS = 0x110000
_MAX_MARKS = 30
_TABLE_END = 0x20000
"""Below it code points are looked at one by one; above are Han characters, unassigned ones and a few
others."""


def fold_once(text: str) -> str:
    return normalize("NFKC", normalize("NFKC", text).casefold())


def folded(text: str) -> str:
    """NFKC and full case folding, repeated until nothing changes: for a few Greek forms once is not
    enough."""
    if text.isascii():
        return text.lower()
    if len(text) > _MAX_MARKS:
        text = _with_few_marks(text)
    once = fold_once(text)
    again = fold_once(once)
    while once != again:
        once, again = again, fold_once(again)
    return once


def _with_few_marks(text: str) -> str:
    """The text without the marks that stand after thirty others, the bound of Unicode's stream-safe text.

    To put n marks in order takes time in proportion to n squared, and no script needs so many.
    """
    kept: list[str] = []
    marks = 0
    for character in text:
        marks = marks + 1 if combining(character) else 0
        if marks <= _MAX_MARKS:
            kept.append(character)
    return "".join(kept)


def kind_of(character: str) -> int:
    """The kind of one character; letters of scripts without spaces are UNSPACED, their digits are not."""
    point = ord(character)
    if _is_within(point, _IGNORED_RANGES):
        return IGNORED
    name = category(character)
    match name[0]:
        case "L" | "N":
            return UNSPACED if name != "Nd" and _is_within(point, _UNSPACED_RANGES) else WORD
        case "M":
            return MARK
        case _ if name == "Cf":
            return SEPARATOR if point in _FORMATS_THAT_SEPARATE else IGNORED
        case "C" | "Z":
            return SEPARATOR
        case _:
            return SYMBOL if decomposition(character) and _has_words(folded(character)) else SEPARATOR


def _is_within(point: int, ranges: tuple[tuple[int, int], ...]) -> bool:
    place = bisect_right(ranges, (point, _CODE_POINTS)) - 1
    return place >= 0 and point <= ranges[place][1]


def _has_words(text: str) -> bool:
    return any(category(character)[0] in "LN" for character in text)


@dataclass(frozen=True, slots=True)
class CharacterTables:
    """`classes[point]` for every code point; `folds[point]` is what a character of a plain class folds to."""

    classes: NDArray[np.uint8]
    folds: NDArray[np.int32]


@cache
def tables() -> CharacterTables:
    """The kernel's tables, built once a process in some tens of milliseconds."""
    classes = np.zeros(_CODE_POINTS, np.uint8)
    folds = np.arange(_TABLE_END, dtype=np.int32)
    seconds = _composing_seconds()
    for point in _points_to_look_at():
        classes[point], target = _class_of(chr(point), seconds)
        if point < _TABLE_END:
            folds[point] = target
    for first, last in _PLAIN_RANGES:
        classes[first : last + 1] = CLASS_UNSPACED if _is_within(first, _UNSPACED_RANGES) else CLASS_WORD
    return CharacterTables(classes, folds)


_PLAIN_RANGES = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFC),
    (0xAC00, 0xD7A3),
    (0x17000, 0x187F7),
    (0x20000, 0x2A6DD),
    (0x2A700, 0x2B734),
)
"""Large ranges of characters that fold to themselves; a test compares each with `kind_of`."""


def _points_to_look_at() -> list[int]:
    is_open = np.ones(0x32400, bool)
    for first, last in _PLAIN_RANGES:
        is_open[first : last + 1] = False
    points = [*np.flatnonzero(is_open).tolist(), *range(0xE0000, 0xE01F0)]
    return [point for point in points if category(chr(point)) != "Cn"]


def _composing_seconds() -> frozenset[str]:
    """Characters that may join with the one before them when text is composed."""
    pairs = (decomposition(chr(point)).split() for point in range(_TABLE_END))
    seconds = {chr(int(pair[1], 16)) for pair in pairs if len(pair) == 2 and not pair[0].startswith("<")}
    jamo = {
        chr(point) for first, last in ((0x1161, 0x1176), (0x11A8, 0x11C3)) for point in range(first, last)
    }
    return frozenset(seconds | jamo)


def _class_of(character: str, seconds: frozenset[str]) -> tuple[int, int]:
    """The kernel's class, and the code point that a plain character folds to."""
    point = ord(character)
    kind = kind_of(character)
    if kind in (SEPARATOR, SYMBOL):
        return (CLASS_SEPARATOR if kind == SEPARATOR else CLASS_SYMBOL), point
    if kind in _CLASS_OF_KIND and not decomposition(character) and character.casefold() == character:
        return (CLASS_CONTEXT if character in seconds else _CLASS_OF_KIND[kind]), point
    composed, result = normalize("NFKC", character), folded(character)
    is_single = len(result) == len(composed) == 1 and len(result.encode()) <= len(character.encode())
    if kind == IGNORED or not is_single or not seconds.isdisjoint((character, composed, result)):
        return CLASS_CONTEXT, point
    result_kind = kind_of(result)
    if result_kind == MARK:
        is_plain = kind == MARK and character == composed == result
        return (_mark_class(result) if is_plain else CLASS_CONTEXT), point
    if (
        result_kind not in (WORD, UNSPACED)
        or combining(character)
        or combining(result)
        or ord(result) >= _TABLE_END > point
    ):
        return CLASS_CONTEXT, point
    if point >= _TABLE_END and result != character:
        return CLASS_CONTEXT, point
    return (CLASS_WORD if result_kind == WORD else CLASS_UNSPACED), ord(result)


_CLASS_OF_KIND = {WORD: CLASS_WORD, UNSPACED: CLASS_UNSPACED}


def _mark_class(mark: str) -> int:
    return CLASS_MOVABLE_MARK if combining(mark) else CLASS_MARK
