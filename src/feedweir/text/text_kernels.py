"""Compiled loops of the analyser: UTF-8 bytes in, token arrays out; `text.token_arrays` makes the arrays."""

from __future__ import annotations

import numpy as np
from numba import uint64, uintp

from feedweir.kernels import njit
from feedweir.text.memory_kernels import eight_bytes, lowest_bit

SEED = 0x9E3779B97F4A7C15
BLOCK_FACTOR = 0xD6E8FEB86659FD93
LAST_FACTOR = 0xE7037ED1A0B428DB
SHORT_MARK = 0xF8
"""Added to the length of a last block that is not full, in its highest byte: a byte that UTF-8 never has."""
EXACT_BYTES = 8
"""Of strings up to this length no two have the same hash."""
PADDING = 8
"""Bytes behind a text that may be read, whatever they are."""

_SEED = np.uint64(SEED)
_BLOCK_FACTOR = np.uint64(BLOCK_FACTOR)
_LAST_FACTOR = np.uint64(LAST_FACTOR)
_SHORT_MARK = np.uint64(SHORT_MARK)
_U1 = np.uint64(1)
_U3 = np.uint64(3)
_U8 = np.uint64(8)
_U29 = np.uint64(29)
_U32 = np.uint64(32)
_U56 = np.uint64(56)
_SEVENS = np.uint64(0x7070707070707070)
_EIGHTS = np.uint64(0x8080808080808080)

SEPARATOR, ODD, MARKUP = 0, 1, 2
"""What a folded text has for a byte that is in no ASCII word: nothing, part of another character, `<` or `&`."""
_NONE, _SPACED, _ALONE = 0, 1, 2
_ENTITIES = (b"amp;", b"lt;", b"gt;", b"nbsp;", b"quot;")
ENTITY_BYTES = np.frombuffer(b"".join(_ENTITIES), dtype=np.uint8)
ENTITY_OFFSETS = np.cumsum([0, *(len(entity) for entity in _ENTITIES)])
"""The entities that sanitised HTML contains; all of them stand for separators."""


@njit(inline="always")
def _mixed(state, block):  # type: ignore[no-untyped-def]
    state = (state ^ block) * _BLOCK_FACTOR
    return state ^ (state >> _U32)


@njit(inline="always")
def _finished(state):  # type: ignore[no-untyped-def]
    state *= _BLOCK_FACTOR
    state = (state ^ (state >> _U29)) * _LAST_FACTOR
    return state ^ (state >> _U32)


@njit(inline="always")
def _short_block(block, length):  # type: ignore[no-untyped-def]
    """The first `length` bytes of a block, which are fewer than eight, and how many they are."""
    kept = (_U1 << (uint64(length) << _U3)) - _U1
    return (block & kept) | ((_SHORT_MARK + uint64(length)) << _U56)


@njit(forceinline=True)
def _hash_in_padded(text, start, length):  # type: ignore[no-untyped-def]
    """As `hash_bytes`, where `PADDING` bytes behind the word may be read."""
    state, at, rest = _SEED, uintp(start), uint64(length)
    while rest > _U8:
        state = _mixed(state, eight_bytes(text, at))
        at += uintp(8)
        rest -= _U8
    block = eight_bytes(text, at)
    return _finished(state ^ (block if rest == _U8 else _short_block(block, rest)))


@njit(cache=True, nogil=True)
def hash_bytes(text, start, length):  # type: ignore[no-untyped-def]
    """The hash of one word's bytes: blocks of eight, the first byte the lowest; the last block tells its length.

    Of strings up to eight bytes in UTF-8 no two have the same: their one block tells them apart, and what is done to
    it can be undone.
    """
    if start + length + PADDING <= len(text):
        return _hash_in_padded(text, start, length)
    state, block, filled = _SEED, uint64(0), 0
    for i in range(length):
        if filled == 8:
            state, block, filled = _mixed(state, block), uint64(0), 0
        block |= uint64(text[start + i]) << uint64(8 * filled)
        filled += 1
    return _finished(state ^ (block if filled == 8 else _short_block(block, filled)))


@njit(cache=True, nogil=True)
def fold_bytes(data, is_html, text):  # type: ignore[no-untyped-def]
    """Fold ASCII: letters and digits of words, and what other bytes are. Returns how many bytes are not ASCII.

    Written so that it can be done for many bytes at a time: no branches, no tables.
    """
    # in plain text nothing opens markup: a letter is asked for in its place, which is a letter before all
    less_than, ampersand = (np.uint8(0x3C), np.uint8(0x26)) if is_html else (np.uint8(0x41), np.uint8(0x41))
    n_odd = 0
    for i in range(len(data)):
        b = data[i]
        small = np.uint8(b | np.uint8(0x20))
        is_letter = np.uint8(small - np.uint8(0x61)) < np.uint8(26)
        is_digit = np.uint8(b - np.uint8(0x30)) < np.uint8(10)
        is_odd = b >= np.uint8(0x80)
        other = np.uint8(ODD) if is_odd else np.uint8(SEPARATOR)
        other = np.uint8(MARKUP) if (b == less_than) | (b == ampersand) else other
        text[i] = small if is_letter else b if is_digit else other
        n_odd += is_odd
    return n_odd


@njit(cache=True, nogil=True)
def count_starts(text, n):  # type: ignore[no-untyped-def]
    """How many ASCII words begin in a folded text of n bytes."""
    count = 0
    for i in range(1, n):
        count += (text[i] > np.uint8(MARKUP)) & (text[i - 1] <= np.uint8(MARKUP))
    return count + (1 if n > 0 and text[0] > MARKUP else 0)


@njit(inline="always")
def _decoded(data, i, end):  # type: ignore[no-untyped-def]
    """(code point, size) at a byte of 128 or more; (-1, 1) where the bytes are not UTF-8."""
    b = data[i]
    if b < 0xE0:
        if b >= 0xC2 and i + 1 < end and data[i + 1] & 0xC0 == 0x80:
            return (np.int32(b & 0x1F) << 6) | np.int32(data[i + 1] & 0x3F), 2
    elif b < 0xF0:
        if i + 2 < end and data[i + 1] & 0xC0 == 0x80 and data[i + 2] & 0xC0 == 0x80:
            point = (
                (np.int32(b & 0x0F) << 12)
                | (np.int32(data[i + 1] & 0x3F) << 6)
                | np.int32(data[i + 2] & 0x3F)
            )
            if point >= 0x800 and not 0xD800 <= point < 0xE000:
                return point, 3
    elif (
        b < 0xF5
        and i + 3 < end
        and data[i + 1] & 0xC0 == 0x80
        and data[i + 2] & 0xC0 == 0x80
        and data[i + 3] & 0xC0 == 0x80
    ):
        point = (
            (np.int32(b & 0x07) << 18)
            | (np.int32(data[i + 1] & 0x3F) << 12)
            | (np.int32(data[i + 2] & 0x3F) << 6)
            | np.int32(data[i + 3] & 0x3F)
        )
        if 0x10000 <= point < 0x110000:
            return point, 4
    return np.int32(-1), 1


@njit(inline="always")
def _encoded(point, text, w):  # type: ignore[no-untyped-def]
    """Write one code point as UTF-8 at `w`; its size."""
    if point < 0x80:
        text[w] = point
        return 1
    if point < 0x800:
        text[w] = 0xC0 | (point >> 6)
        text[w + 1] = 0x80 | (point & 0x3F)
        return 2
    if point < 0x10000:
        text[w] = 0xE0 | (point >> 12)
        text[w + 1] = 0x80 | ((point >> 6) & 0x3F)
        text[w + 2] = 0x80 | (point & 0x3F)
        return 3
    text[w] = 0xF0 | (point >> 18)
    text[w + 1] = 0x80 | ((point >> 12) & 0x3F)
    text[w + 2] = 0x80 | ((point >> 6) & 0x3F)
    text[w + 3] = 0x80 | (point & 0x3F)
    return 4


@njit(cache=True)
def _after_markup(data, i, end, entity_bytes, entity_offsets):  # type: ignore[no-untyped-def]
    """Where text goes on after the tag, comment or entity that starts at `i`; `i + 1` when none does."""
    if data[i] == 0x26:
        for e in range(len(entity_offsets) - 1):
            first, last = entity_offsets[e], entity_offsets[e + 1]
            if i + last - first < end:
                k = first
                while k < last and data[i + 1 + k - first] == entity_bytes[k]:
                    k += 1
                if k == last:
                    return i + 1 + last - first
        return i + 1
    if i + 1 >= end:
        return i + 1
    b = data[i + 1]
    is_letter = 0x41 <= b <= 0x5A or 0x61 <= b <= 0x7A
    if not (is_letter or b == 0x2F or b == 0x21 or b == 0x3F):
        return i + 1
    if b == 0x21 and i + 3 < end and data[i + 2] == 0x2D and data[i + 3] == 0x2D:
        j = i + 4
        while j + 2 < end:
            if data[j] == 0x2D and data[j + 1] == 0x2D and data[j + 2] == 0x3E:
                return j + 3
            j += 1
        return end
    is_quoted = False
    for j in range(i + 2, end):
        if data[j] == 0x22:
            is_quoted = not is_quoted
        elif data[j] == 0x3E and not is_quoted:
            return j + 1
    return end


@njit(cache=True, nogil=True)
def _odd_word(data, i, end, classes, folds, text):  # type: ignore[no-untyped-def]
    """The word that begins at `i` and may have any characters, folded into the place where it stood.

    Returns where it ends, where its folded text ends, and whether it needs its context. Folding never makes a
    character longer.
    """
    opened = _NONE
    is_context = False
    was_movable = False
    w = i
    while i < end:
        fold = text[i]
        size = 1
        point = np.int32(fold)
        kind = 1
        if fold == ODD:
            point, size = _decoded(data, i, end)
            kind = classes[point] if point >= 0 else 0
            if (kind == 1 or kind == 2) and point < len(folds):
                point = folds[point]
        elif fold <= MARKUP:
            break
        if kind == 0 or kind == 5:
            break
        if opened != _NONE and (kind == 2 or (kind == 1 and opened == _ALONE and not is_context)):
            break
        if opened == _NONE:
            opened = _ALONE if kind == 2 else _SPACED
            is_context = kind == 3 or kind == 4
        if kind == 6 or (kind == 4 and was_movable):
            is_context = True
        was_movable = kind == 4
        if kind != 6:
            w += _encoded(point, text, w)
        i += size
    return i, w, is_context


@njit(inline="always")
def _end_of_word(text, i, end):  # type: ignore[no-untyped-def]
    """Where the ASCII word that goes on at `i` ends: in eight bytes at once, those that are in no word.

    Values may touch, so what looks like one word may reach over thousands of them: not further than `end`.
    """
    while i < end:
        gaps = (((eight_bytes(text, i) & _SEVENS) + _SEVENS) & _EIGHTS) ^ _EIGHTS
        if gaps:
            return min(i + uintp(lowest_bit(gaps) >> _U3), end)
        i += uintp(8)
    return end


@njit(cache=True, nogil=True)
def scan(  # type: ignore[no-untyped-def]
    data, offsets, classes, folds, entity_bytes, entity_offsets,
    text, value_offsets, hashes, starts, lengths, units, unit_starts, unit_lengths,
):  # fmt: skip
    """Tokens of every value; `text` is the data as `fold_bytes` left it, and tokens lie where they stood.

    A word that needs its context becomes a placeholder token (of length −1), listed in `units` with its raw bytes.
    Returns the numbers of tokens and of placeholders.

        data           C a f é _ o k < b > ﬁ n    all values one after the other; value v is
        offsets        0                            data[offsets[v] : offsets[v + 1]]
        text           c a f é . o k M b . O n    the same bytes, folded in place (O odd, M markup, . separator)
        starts         0       5         10        token n is text[starts[n] : starts[n] + lengths[n]]
        lengths        5       2         -1
        value_offsets  0                    3      the tokens of value v begin at value_offsets[v]
        units                            2         token 2 is a placeholder for
        unit_starts                      10        data[unit_starts[k] : unit_starts[k] + unit_lengths[k]]
    """
    n = uintp(0)
    n_units = 0
    for row in range(len(offsets) - 1):
        value_offsets[row] = n
        i, end = uintp(offsets[row]), uintp(offsets[row + 1])
        while i < end:
            fold = text[i]
            if fold == SEPARATOR:
                i += uintp(1)
                continue
            # most words: ASCII from end to end, and folded already
            if fold > MARKUP:
                stop = _end_of_word(text, i, end)
                if stop == end or text[stop] != ODD:
                    hashes[n] = _hash_in_padded(text, i, stop - i)
                    starts[n] = i
                    lengths[n] = stop - i
                    n += uintp(1)
                    i = stop
                    continue
            # a tag, a comment or an entity: passed over
            elif fold == MARKUP:
                i = uintp(_after_markup(data, np.int64(i), np.int64(end), entity_bytes, entity_offsets))
                continue
            # a character beyond ASCII: a separator, a symbol that is a word by itself, or the start of a word
            else:
                point, size = _decoded(data, np.int64(i), np.int64(end))
                kind = classes[point] if point >= 0 else 0
                if kind == 0:
                    i += uintp(size)
                    continue
                if kind == 5:
                    units[n_units], unit_starts[n_units], unit_lengths[n_units] = n, i, size
                    n_units += 1
                    lengths[n] = -1
                    n += uintp(1)
                    i += uintp(size)
                    continue
            # a word with characters beyond ASCII: folded here, or left to the reference
            first = np.int64(i)
            after, last, is_context = _odd_word(data, first, np.int64(end), classes, folds, text)
            if is_context:
                units[n_units], unit_starts[n_units], unit_lengths[n_units] = n, first, after - first
                n_units += 1
                lengths[n] = -1
            else:
                hashes[n] = _hash_in_padded(text, first, last - first)
                starts[n] = first
                lengths[n] = last - first
            n += uintp(1)
            i = uintp(after)
    value_offsets[len(offsets) - 1] = n
    return n, n_units


@njit(cache=True)
def distinct(text, starts, lengths, hashes, ids, firsts):  # type: ignore[no-untyped-def]
    """Number equal byte strings by first sight: `ids[i]`, and `firsts[id]` the first index; returns how
    many."""
    # The table grows with what is found: mostly far fewer strings than there are, so that it stays in the cache.
    size = 1024
    slots = np.full(size, -1, np.int32)
    known_hashes = np.empty(size, np.uint64)
    known_lengths = np.empty(size, np.int32)
    count = 0
    for i in range(len(starts)):
        if 2 * count >= size:
            size *= 4
            slots = np.full(size, -1, np.int32)
            known_hashes = np.empty(size, np.uint64)
            known_lengths = np.empty(size, np.int32)
            for known in range(count):
                slot = hashes[firsts[known]] & uint64(size - 1)
                while slots[slot] >= 0:
                    slot = (slot + _U1) & uint64(size - 1)
                slots[slot] = known
                known_hashes[slot] = hashes[firsts[known]]
                known_lengths[slot] = lengths[firsts[known]]
        slot = hashes[i] & uint64(size - 1)
        while True:
            known = slots[slot]
            if known < 0:
                slots[slot] = count
                known_hashes[slot] = hashes[i]
                known_lengths[slot] = lengths[i]
                firsts[count] = i
                ids[i] = count
                count += 1
                break
            if known_hashes[slot] == hashes[i] and known_lengths[slot] == lengths[i]:
                j = firsts[known]
                k = lengths[i] if lengths[i] <= EXACT_BYTES else 0
                while k < lengths[i] and text[starts[i] + k] == text[starts[j] + k]:
                    k += 1
                if k == lengths[i]:
                    ids[i] = known
                    break
            slot = (slot + _U1) & uint64(size - 1)
    return count


@njit(cache=True)
def hash_all(text, starts, lengths, hashes):  # type: ignore[no-untyped-def]
    """The hash of every byte string."""
    for i in range(len(starts)):
        hashes[i] = hash_bytes(text, starts[i], lengths[i])


@njit(cache=True)
def splice(  # type: ignore[no-untyped-def]
    value_offsets, hashes, starts, lengths, forms, form_offsets, form_hashes, form_starts, form_lengths,
    new_offsets, new_hashes, new_starts, new_lengths,
):  # fmt: skip
    """Put the words of each placeholder's form in its place.

    tokens   a  b  -1  c  -1        value_offsets, hashes, starts, lengths; −1 is a placeholder
    forms           1      0        the k-th placeholder has form forms[k]
    form 0   x                      its words are form_offsets[form] to form_offsets[form + 1]
    form 1   y  z
    new      a  b  y  z  c  x       new_offsets, new_hashes, new_starts, new_lengths
    """
    n = 0
    unit = 0
    for row in range(len(value_offsets) - 1):
        new_offsets[row] = n
        for i in range(value_offsets[row], value_offsets[row + 1]):
            if lengths[i] >= 0:
                new_hashes[n], new_starts[n], new_lengths[n] = hashes[i], starts[i], lengths[i]
                n += 1
                continue
            form = forms[unit]
            unit += 1
            for k in range(form_offsets[form], form_offsets[form + 1]):
                new_hashes[n], new_starts[n], new_lengths[n] = form_hashes[k], form_starts[k], form_lengths[k]
                n += 1
    new_offsets[len(value_offsets) - 1] = n


@njit(cache=True)
def place(row_offsets, value_offsets, gap, positions):  # type: ignore[no-untyped-def]
    """Positions of tokens, which count the tokens of a row and jump by `gap` more from value to value."""
    for row in range(len(row_offsets) - 1):
        position = 0
        for value in range(row_offsets[row], row_offsets[row + 1]):
            for i in range(value_offsets[value], value_offsets[value + 1]):
                positions[i] = position
                position += 1
            position += gap
