"""Compiled loops of the analyser: UTF-8 bytes in, token arrays out; `items.text` makes the arrays."""

from __future__ import annotations

import numpy as np
from numba import njit, uint64, uintp

SEED = 0x9E3779B97F4A7C15
BLOCK_FACTOR = 0xD6E8FEB86659FD93
LENGTH_FACTOR = 0xA0761D6478BD642F
LAST_FACTOR = 0xE7037ED1A0B428DB

_SEED = np.uint64(SEED)
_BLOCK_FACTOR = np.uint64(BLOCK_FACTOR)
_LENGTH_FACTOR = np.uint64(LENGTH_FACTOR)
_LAST_FACTOR = np.uint64(LAST_FACTOR)
_U8 = np.uint64(8)
_U29 = np.uint64(29)
_U32 = np.uint64(32)

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
def _finished(state, block, length):  # type: ignore[no-untyped-def]
    state = (state ^ block ^ (uint64(length) * _LENGTH_FACTOR)) * _BLOCK_FACTOR
    state = (state ^ (state >> _U29)) * _LAST_FACTOR
    return state ^ (state >> _U32)


@njit(cache=True)
def hash_bytes(text, start, length):  # type: ignore[no-untyped-def]
    """The hash of one word's bytes: blocks of eight bytes, the first byte the highest."""
    state, block = _SEED, uint64(0)
    for i in range(length):
        block = (block << _U8) | uint64(text[start + i])
        if i & 7 == 7:
            state, block = _mixed(state, block), uint64(0)
    return _finished(state, block, length)


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


@njit(inline="always")
def _appended(state, block, value, length):  # type: ignore[no-untyped-def]
    """One more byte in a word that then has `length` bytes."""
    block = (block << _U8) | uint64(value)
    if length & 7 == 0:
        return _mixed(state, block), uint64(0)
    return state, block


@njit(cache=True)
def scan(  # type: ignore[no-untyped-def]
    data, offsets, folds_of_bytes, classes, folds, entity_bytes, entity_offsets,
    text, value_offsets, hashes, starts, lengths, units, unit_starts, unit_lengths,
):  # fmt: skip
    """Tokens of every value. A word that needs its context becomes a placeholder token (of length −1), listed
    in `units` with its raw bytes. Gives (tokens, bytes of `text`, placeholders, values done): the last is
    less than all when the next value might not fit into the arrays.

    `folds_of_bytes` has 0 for a separator, 1 for a byte that needs a look, else the byte of a word.
    """
    w = 0  # where the next byte of text goes
    n_tokens = 0
    n_units = 0
    n_values = len(offsets) - 1
    n_folds = len(folds)
    for row in range(n_values):
        value_offsets[row] = n_tokens
        i, end = offsets[row], offsets[row + 1]
        if n_tokens + end - i > len(hashes) or n_units + (end - i) // 2 > len(units):
            return n_tokens, w, n_units, row
        opened = _NONE
        is_context = False
        was_movable = False
        unit_start, word_start = i, w
        state, block = _SEED, uint64(0)
        while True:
            kind = 0
            size = 1
            point = np.int32(0)
            ends_word = True
            if i < end:
                fold = folds_of_bytes[data[uintp(i)]]
                if fold > 1:
                    kind = 1
                    ends_word = opened == _ALONE and not is_context
                elif fold == 1 and data[i] >= 128:
                    point, size = _decoded(data, i, end)
                    if point >= 0:
                        kind = classes[point]
                        if kind == 1 or kind == 2:
                            if point < n_folds:
                                point = folds[point]
                            ends_word = kind == 2 or (opened == _ALONE and not is_context)
                        else:
                            ends_word = kind == 0 or kind == 5
            if ends_word and opened != _NONE:
                if is_context:
                    units[n_units] = n_tokens
                    unit_starts[n_units] = unit_start
                    unit_lengths[n_units] = i - unit_start
                    n_units += 1
                    w = word_start
                    lengths[n_tokens] = -1
                else:
                    length = w - word_start
                    hashes[n_tokens] = _finished(state, block, length)
                    starts[n_tokens] = word_start
                    lengths[n_tokens] = length
                n_tokens += 1
                opened = _NONE
                is_context = False
            if i >= end:
                break
            if kind == 0:
                if fold == 1 and data[i] < 128:
                    i = _after_markup(data, i, end, entity_bytes, entity_offsets)
                else:
                    i += size
                continue
            if kind == 5:
                units[n_units] = n_tokens
                unit_starts[n_units] = i
                unit_lengths[n_units] = size
                n_units += 1
                lengths[n_tokens] = -1
                n_tokens += 1
                i += size
                continue
            if opened == _NONE:
                unit_start, word_start = i, w
                state, block = _SEED, uint64(0)
                opened = _ALONE if kind == 2 else _SPACED
                was_movable = False
                is_context = kind == 3 or kind == 4
            if fold > 1:  # the common case: the rest of an ASCII word
                while fold > 1:
                    text[uintp(w)] = fold
                    w += 1
                    state, block = _appended(state, block, fold, w - word_start)
                    i += 1
                    if i >= end:
                        break
                    fold = folds_of_bytes[data[uintp(i)]]
                was_movable = False
                continue
            if kind == 6 or (kind == 4 and was_movable):
                is_context = True
            was_movable = kind == 4
            if kind != 6:
                for _ in range(_encoded(point, text, w)):
                    w += 1
                    state, block = _appended(state, block, text[w - 1], w - word_start)
            i += size
    value_offsets[n_values] = n_tokens
    return n_tokens, w, n_units, n_values


@njit(cache=True)
def distinct(text, starts, lengths, hashes, ids, firsts):  # type: ignore[no-untyped-def]
    """Number equal byte strings by first sight: `ids[i]`, and `firsts[id]` the first index; gives how
    many."""
    size = 16
    while size < 2 * len(starts):
        size *= 2
    slots = np.full(size, -1, np.int32)
    mask = uint64(size - 1)
    count = 0
    for i in range(len(starts)):
        slot = hashes[i] & mask
        while True:
            known = slots[slot]
            if known < 0:
                slots[slot] = count
                firsts[count] = i
                ids[i] = count
                count += 1
                break
            j = firsts[known]
            if hashes[i] == hashes[j] and lengths[i] == lengths[j]:
                k = 0
                while k < lengths[i] and text[starts[i] + k] == text[starts[j] + k]:
                    k += 1
                if k == lengths[i]:
                    ids[i] = known
                    break
            slot = (slot + uint64(1)) & mask
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
    """Put the words of each placeholder's form in its place."""
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
def place(row_offsets, value_offsets, gap, offsets, positions):  # type: ignore[no-untyped-def]
    """Token offsets of rows, and positions that count tokens and jump by `gap` more from value to value."""
    for row in range(len(row_offsets) - 1):
        first, last = row_offsets[row], row_offsets[row + 1]
        offsets[row] = value_offsets[first]
        position = 0
        for value in range(first, last):
            for i in range(value_offsets[value], value_offsets[value + 1]):
                positions[i] = position
                position += 1
            position += gap
    offsets[len(row_offsets) - 1] = value_offsets[row_offsets[-1]]
