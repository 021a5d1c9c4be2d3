"""The text of HTML, between tags and in attributes: characters and entities, written as nh3 writes them."""

from __future__ import annotations

import numpy as np

from feedweir.items.html_tables import (
    CODES,
    ENTITY_CODES,
    ENTITY_POINTS,
    MAX_NAME,
)
from feedweir.kernels import njit

kernel = njit(cache=True, _nrt=False)
"""Kernels that make no arrays need not count references to those they are given, which costs more than most of the
work here."""
LT, GT, AMP, QUOTE, APOSTROPHE, SLASH, SEMICOLON, EQUALS, HASH, COLON = (
    ord(character) for character in "<>&\"'/;=#:"
)
IN_TEXT, IN_ATTRIBUTE = np.False_, np.True_
"""Where a character stands. Not plain constants, for each of which all would be compiled."""
ESCAPED_LT = np.frombuffer(b"&lt;", np.uint8)
_ESCAPED_GT = np.frombuffer(b"&gt;", np.uint8)
_ESCAPED_AMP = np.frombuffer(b"&amp;", np.uint8)
_ESCAPED_QUOTE = np.frombuffer(b"&quot;", np.uint8)
_ESCAPED_SPACE = np.frombuffer(b"&nbsp;", np.uint8)
_NO_BREAK_SPACE = 0xA0
_ONE = np.uint64(1)
_PLAIN = np.array([byte >= 32 and byte != 127 and byte not in b'<>&"\xc2\xef' for byte in range(256)])
"""Bytes that are copied as they are, wherever they stand."""


@kernel
def write_run(source, i, end, out, o, is_attribute):  # type: ignore[no-untyped-def]
    """As `_character`, with the plain bytes before it."""
    at, stop, to = (
        np.uint64(i),
        np.uint64(end),
        np.uint64(o),
    )  # unsigned places are not tested for being negative
    while at < stop and _PLAIN[source[at]]:
        out[to] = source[at]
        at += _ONE
        to += _ONE
    i, o = np.int64(at), np.int64(to)
    if i == end or (source[i] == LT and not is_attribute):
        return i, o
    return _character(source, i, end, out, o, is_attribute)


@kernel
def _character(source, i, end, out, o, is_attribute):  # type: ignore[no-untyped-def]
    """(next, end in `out`) after one byte or entity of text; next is -1 when it is declined."""
    byte = np.int64(source[i])
    if byte == AMP:
        return _entity(source, i + 1, end, out, o, is_attribute)
    if (byte < 32 and byte != 9 and byte != 10) or byte == 127:
        return -1, o
    if byte == 0xEF and i + 2 < end and source[i + 1] == 0xBB and source[i + 2] == 0xBF:
        return -1, o  # a byte order mark
    if byte == 0xC2 and i + 1 < end:
        if source[i + 1] == _NO_BREAK_SPACE:
            return i + 2, copied(_ESCAPED_SPACE, out, o)
        if source[i + 1] < _NO_BREAK_SPACE:
            return -1, o  # control characters beyond ASCII
    return i + 1, _escaped(byte, out, o, is_attribute)


@kernel
def _entity(source, i, end, out, o, is_attribute):  # type: ignore[no-untyped-def]
    """As `_character`, after an ampersand."""
    if i < end and source[i] == HASH:
        point, i = _number(source, i + 1, end)
    else:
        first, code = i, 0
        while i < end and CODES[source[i]] and i - first < 40:
            code = (code << 6 | CODES[source[i]]) if i - first < MAX_NAME else -1
            i += 1
        place = place_of(ENTITY_CODES, code)
        is_ended = i < end and source[i] == SEMICOLON
        if i == first or (is_attribute and not is_ended and (place < 0 or (i < end and source[i] == EQUALS))):
            return first, copied(_ESCAPED_AMP, out, o)  # it is an ampersand
        if not is_ended or place < 0:
            return -1, o
        point, i = ENTITY_POINTS[place], i + 1
    return (i, _point(point, out, o, is_attribute)) if point >= 0 else (-1, o)


@kernel
def _number(source, i, end):  # type: ignore[no-untyped-def]
    """(code point, next) of a numeric entity after its `#`; (-1, next) unless it is a plain character."""
    base = 10
    if i < end and source[i] | 32 == 120:
        base, i = 16, i + 1
    first, point = i, 0
    while i < end and i - first < 7 and source[i] != SEMICOLON:
        byte = int(source[i] | 32 if source[i] > 57 else source[i])
        digit = byte - 48 if 48 <= byte <= 57 else byte - 87 if 97 <= byte <= 102 else 99
        if digit >= base:
            return -1, i
        point = point * base + digit
        i += 1
    if i == first or i == end or source[i] != SEMICOLON:
        return -1, i
    is_plain = (
        32 <= point < 127 or 160 <= point < 0xD800 or 0xE000 <= point < 0xFDD0 or 0x10000 <= point < 0x1FFFE
    )
    return (point if is_plain else -1), i + 1


@kernel
def _point(point, out, o, is_attribute):  # type: ignore[no-untyped-def]
    """A character in UTF-8, escaped where it must be."""
    if point < 0x80:
        return _escaped(point, out, o, is_attribute)
    if point == _NO_BREAK_SPACE:
        return copied(_ESCAPED_SPACE, out, o)
    if point < 0x800:
        out[o] = 0xC0 | point >> 6
        size = 2
    elif point < 0x10000:
        out[o] = 0xE0 | point >> 12
        size = 3
    else:
        out[o] = 0xF0 | point >> 18
        size = 4
    for k in range(1, size):
        out[o + k] = 0x80 | (point >> 6 * (size - 1 - k)) & 0x3F
    return o + size


@kernel
def _escaped(byte, out, o, is_attribute):  # type: ignore[no-untyped-def]
    if byte == GT:
        return copied(_ESCAPED_GT, out, o)
    if byte == LT:
        return copied(ESCAPED_LT, out, o)
    if byte == AMP:
        return copied(_ESCAPED_AMP, out, o)
    if is_attribute and byte == QUOTE:
        return copied(_ESCAPED_QUOTE, out, o)
    out[o] = byte
    return o + 1


@kernel
def copied(text, out, o):  # type: ignore[no-untyped-def]
    for byte in text:
        out[o] = byte
        o += 1
    return o


@kernel
def place_of(codes, code):  # type: ignore[no-untyped-def]
    """Where a code stands among sorted ones; -1 when it does not."""
    first, last = 0, codes.size
    while first < last:
        middle = (first + last) >> 1
        if codes[middle] < code:
            first = middle + 1
        else:
            last = middle
    return first if first < codes.size and codes[first] == code else -1
