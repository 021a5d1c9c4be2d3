"""The small parts of XML, read from bytes: texts, references, values, names, comments.

Every document ends with `PADDING`, so that no test for the end of the bytes is needed: a zero is accepted nowhere.
"""

from __future__ import annotations

import numpy as np

from feedweir.kernels import njit

kernel = njit(cache=True, _nrt=False)
"""Kernels that make no arrays need not count references to those they are given, which costs more than the work."""
PADDING = bytes(16)
_ONE = np.uint64(1)
LT, GT, _AMP, SLASH, BANG, _QUERY, EQUALS, _QUOTE, _APOSTROPHE, _DASH, _COLON, _HASH = (
    ord(character) for character in "<>&/!?=\"'-:#"
)
_CLOSING = ord("]")


def _bytes_of(characters: bytes) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.array([byte in characters for byte in range(256)])


_LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
STARTS_NAME = _bytes_of(_LETTERS)
_IN_NAME = _bytes_of(_LETTERS + b"0123456789.-")
IS_SPACE = _bytes_of(b" \t\n\r")
_PLAIN = np.array([byte >= 32 and byte != 0xEF and byte not in b"<&]" for byte in range(256)])
_PLAIN |= _bytes_of(b"\t\n")
_CDATA = np.frombuffer(b"<![CDATA[", np.uint8)
_COMMENT = np.frombuffer(b"<!--", np.uint8)
_PI = np.frombuffer(b"<?", np.uint8)


@kernel
def after_misc(source, i):  # type: ignore[no-untyped-def]
    """What follows the space, comments and instructions outside the root element; -1 when one is declined."""
    while i >= 0:
        while IS_SPACE[source[i]]:
            i += 1
        if starts(source, i, _COMMENT):
            i = _after_comment(source, i + 4)
        elif starts(source, i, _PI):
            i = _after_instruction(source, i + 2)
        else:
            break
    return i


@kernel
def _after_instruction(source, i):  # type: ignore[no-untyped-def]
    if not STARTS_NAME[source[i]] or (source[i] | 32 == 120 and source[i + 3] != _DASH):
        return -1  # an XML declaration stands only at the start, where the caller skips it
    while _IN_NAME[source[i]]:
        i += 1
    if not IS_SPACE[source[i]] and not (source[i] == _QUERY and source[i + 1] == GT):
        return -1
    while source[i] >= 32 or IS_SPACE[source[i]]:
        if source[i] == _QUERY and source[i + 1] == GT:
            return i + 2
        if source[i] >= 0x80:
            return -1
        i += 1
    return -1


@kernel
def _after_comment(source, i):  # type: ignore[no-untyped-def]
    while source[i] >= 32 or IS_SPACE[source[i]]:
        if source[i] == _DASH and source[i + 1] == _DASH:
            return i + 3 if source[i + 2] == GT else -1
        if source[i] == 0xEF and _is_no_character(source, i):
            return -1
        i += 1
    return -1


@kernel
def starts(source, i, expected):  # type: ignore[no-untyped-def]
    for k in range(expected.size):
        if source[i + k] != expected[k]:
            return False
    return True


@kernel
def _is_no_character(source, i):  # type: ignore[no-untyped-def]
    """Whether U+FFFE or U+FFFF stands here, which XML does not allow."""
    return source[i + 1] == 0xBF and source[i + 2] >= 0xBE


@kernel
def text(source, i, out, o, start):  # type: ignore[no-untyped-def]
    """(next `<`, end in `out`) after text whose first byte is written to `start`: space before it is left out."""
    while True:
        if o == start:
            while IS_SPACE[source[i]]:
                i += 1
        i, o = _copied(source, i, out, o)
        byte = source[i]
        if byte == LT:
            return i, o
        if byte == _AMP:
            i, o = _reference(source, i + 1, out, o)
            if i < 0:
                return i, o
        elif byte == 13:
            i, o = _line_break(source, i, out, o)
        elif byte == _CLOSING or byte == 0xEF:
            is_end = byte == _CLOSING and source[i + 1] == _CLOSING and source[i + 2] == GT
            if is_end or (byte == 0xEF and _is_no_character(source, i)):
                return -1, o
            out[o] = byte
            i += 1
            o += 1
        else:
            return -1, o


@kernel
def _copied(source, i, out, o):  # type: ignore[no-untyped-def]
    """(next, end in `out`) after bytes that stand for themselves. Unsigned places need no test for being negative."""
    at, to = np.uint64(i), np.uint64(o)
    byte = source[at]
    while _PLAIN[byte]:
        out[to] = byte
        at += _ONE
        to += _ONE
        byte = source[at]
    return np.int64(at), np.int64(to)


@kernel
def _line_break(source, i, out, o):  # type: ignore[no-untyped-def]
    """A carriage return is a line break, alone and before one."""
    out[o] = 10
    return i + 1 + (source[i + 1] == 10), o + 1


@kernel
def section(source, i, out, o, start):  # type: ignore[no-untyped-def]
    """(next, end in `out`) after a comment, which is left out, or a CDATA section, which is text."""
    if starts(source, i, _COMMENT):
        return _after_comment(source, i + 4), o
    if not starts(source, i, _CDATA):
        return -1, o
    i += _CDATA.size
    if o == start:
        while IS_SPACE[source[i]]:
            i += 1
    while True:
        i, o = _copied(source, i, out, o)
        byte = source[i]
        if byte == _CLOSING and source[i + 1] == _CLOSING and source[i + 2] == GT:
            return i + 3, o
        if byte == 13:
            i, o = _line_break(source, i, out, o)
            continue
        if byte < 32 or (byte == 0xEF and _is_no_character(source, i)):
            return -1, o
        out[o] = byte
        i += 1
        o += 1


@kernel
def _reference(source, i, out, o):  # type: ignore[no-untyped-def]
    """(next, end in `out`) after a reference whose ampersand was read; next is -1 when it is declined."""
    if source[i] == _HASH:
        return _numeric_reference(source, i + 1, out, o)
    for size, character in ((3, _AMP), (2, LT), (2, GT), (4, _QUOTE), (4, _APOSTROPHE)):
        if source[i + size] == 59 and _is_named(source, i, character):
            out[o] = character
            return i + size + 1, o + 1
    return -1, o


@kernel
def _is_named(source, i, character):  # type: ignore[no-untyped-def]
    one, two, three, four = source[i], source[i + 1], source[i + 2], source[i + 3]
    if character == _AMP:
        return one == 97 and two == 109 and three == 112
    if character == LT or character == GT:
        return one == (108 if character == LT else 103) and two == 116
    if character == _QUOTE:
        return one == 113 and two == 117 and three == 111 and four == 116
    return one == 97 and two == 112 and three == 111 and four == 115


@kernel
def _numeric_reference(source, i, out, o):  # type: ignore[no-untyped-def]
    base = np.int64(10)
    if source[i] == 120:
        base, i = np.int64(16), i + 1
    first, point = i, np.int64(0)
    while source[i] != 59:
        byte = np.int64(source[i])
        digit = byte - 48 if 48 <= byte <= 57 else (byte | 32) - 87 if 97 <= (byte | 32) <= 102 else 99
        if digit >= base or i - first > 7:
            return -1, o
        point = point * base + digit
        i += 1
    is_character = (
        point == 9 or point == 10 or point == 13 or 32 <= point < 0xD800 or 0xE000 <= point < 0xFFFE
    )
    if i == first or not (is_character or 0x10000 <= point < 0x110000):
        return -1, o
    return i + 1, _encoded(point, out, o)


@kernel
def _encoded(point, out, o):  # type: ignore[no-untyped-def]
    """A character in UTF-8."""
    if point < 0x80:
        out[o] = point
        return o + 1
    size = 2 if point < 0x800 else 3 if point < 0x10000 else 4
    out[o] = (0xF00 >> size) & 0xFF | point >> 6 * (size - 1)
    for k in range(1, size):
        out[o + k] = 0x80 | (point >> 6 * (size - 1 - k)) & 0x3F
    return o + size


@kernel
def after_name(source, i):  # type: ignore[no-untyped-def]
    """What follows a name with at most one prefix; -1 when there is none."""
    for _part in range(2):
        if not STARTS_NAME[source[i]]:
            return -1
        while _IN_NAME[source[i]]:
            i += 1
        if source[i] != _COLON:
            return i
        i += 1
    return -1


@kernel
def value(source, i, out, o):  # type: ignore[no-untyped-def]
    """(next, end in `out`) after the value of an attribute; white space in it becomes blanks."""
    quote = source[i]
    if quote != _QUOTE and quote != _APOSTROPHE:
        return -1, o
    i += 1
    while source[i] != quote:
        byte = source[i]
        if byte == _AMP:
            i, o = _reference(source, i + 1, out, o)
            if i < 0:
                return -1, o
            continue
        if byte == LT or (byte < 32 and not IS_SPACE[byte]) or (byte == 0xEF and _is_no_character(source, i)):
            return -1, o
        i += 1 + (byte == 13 and source[i + 1] == 10)
        out[o] = 32 if byte < 32 else byte
        o += 1
    out[o] = 0
    return i + 1, o + 1


@kernel
def are_equal(source, start, stop, other_start, other_stop):  # type: ignore[no-untyped-def]
    if stop - start != other_stop - other_start:
        return False
    for k in range(stop - start):
        if source[start + k] != source[other_start + k]:
            return False
    return True
