"""The fast way of making HTML safe: one pass over the bytes of HTML that is as most HTML is.

Well-nested elements of known kinds, quoted attributes, links to the web: for these, what nh3 writes is known
without building a tree. Everything else is declined, never repaired: the caller asks nh3. What is accepted is
listed here, what is not listed is declined, so that no trick in a document can pass by being unknown.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from feedweir.items.html_tables import (
    ADDRESS,
    ANCHOR,
    ANYWHERE,
    ATTRIBUTE_CODES,
    ATTRIBUTE_RULES,
    BLOCK,
    CELL,
    CODES,
    DROPPED,
    ENTITY_CODES,
    ENTITY_POINTS,
    ENTRY,
    TERM,
    HEADING,
    HIDDEN,
    INLINE,
    MAX_NAME,
    PARAGRAPH,
    PREFORMATTED,
    RULE,
    TAG_CODES,
    TAG_KINDS,
    PARENT_KINDS,
    TABLE,
    VOID,
    name_code,
)

END, DECLINED = 0, 1
"""Bytes that HTML cannot hold: after every text, and in place of one that was declined. `DECLINED` also ends links."""
MAX_GROWTH = 6
"""Bytes that one byte can become: as `&` does, or a no-break space of two bytes."""
_MAX_DEPTH = 64
_LT, _GT, _AMP, _QUOTE, _SLASH, _SEMICOLON, _EQUALS, _HASH, _APOSTROPHE = 60, 62, 38, 34, 47, 59, 61, 35, 39
_NO_BREAK_SPACE = 0xA0
_CITE, _IMG, _IFRAME = name_code("cite"), name_code("img"), name_code("iframe")
_EMPTY_PARAGRAPH = np.frombuffer(b"<p></p>", np.uint8)
_MAIL = np.frombuffer(b"mailto:", np.uint8)
_HTTP = np.frombuffer(b"http", np.uint8)
_AUTHORITY = np.frombuffer(b"://", np.uint8)
_PLAIN = np.array([byte >= 32 and byte != 127 and byte not in b'<>&"\xc2\xef' for byte in range(256)])
"""Bytes that are copied as they are, wherever they stand."""
_ESCAPED_LT = np.frombuffer(b"&lt;", np.uint8)
_ESCAPED_GT = np.frombuffer(b"&gt;", np.uint8)
_ESCAPED_AMP = np.frombuffer(b"&amp;", np.uint8)
_ESCAPED_QUOTE = np.frombuffer(b"&quot;", np.uint8)
_ESCAPED_SPACE = np.frombuffer(b"&nbsp;", np.uint8)


@njit(cache=True)
def clean_texts(source, out, links):  # type: ignore[no-untyped-def]
    """Each text of `source` (every one followed by `END`) made safe, and its web links; returns (bytes written to
    `out`, bytes written to `links`)."""
    stack = np.empty(_MAX_DEPTH, np.int64)
    o = n = first = 0
    for last in range(source.size):
        if source[last] == END:
            o_end, n_end = _text(source, first, last, out, o, links, n, stack)
            if o_end < 0:
                out[o] = DECLINED
                o_end, n_end = o + 1, n
            out[o_end] = END
            links[n_end] = END
            o, n, first = o_end + 1, n_end + 1, last + 1
    return o, n


@njit(cache=True)
def _text(source, i, end, out, o, links, n, stack):  # type: ignore[no-untyped-def]
    """(end in `out`, end in `links`) of one text; (-1, 0) when it is declined."""
    depth = 0
    while i < end:
        if source[i] == _LT:
            i, o, n, depth = _markup(source, i + 1, end, out, o, links, n, stack, depth)
        elif _holds_text(stack, depth):
            i, o = _run(source, i, end, out, o, False)
        elif _is_space(source[i]):
            out[o] = source[i]
            i, o = i + 1, o + 1
        else:
            return -1, 0
        if i < 0:
            return -1, 0
    while depth > 0:
        depth -= 1
        o = _end_tag(out, o, stack[depth])
    return o, n


@njit(cache=True)
def _run(source, i, end, out, o, is_attribute):  # type: ignore[no-untyped-def]
    """As `_character`, with the plain bytes before it."""
    while i < end and _PLAIN[source[i]]:
        out[o] = source[i]
        i += 1
        o += 1
    if i == end or (source[i] == _LT and not is_attribute):
        return i, o
    return _character(source, i, end, out, o, is_attribute)


@njit(cache=True)
def _character(source, i, end, out, o, is_attribute):  # type: ignore[no-untyped-def]
    """(next, end in `out`) after one byte or entity of text; next is -1 when it is declined."""
    byte = source[i]
    if byte == _AMP:
        return _entity(source, i + 1, end, out, o, is_attribute)
    if (byte < 32 and byte != 9 and byte != 10) or byte == 127:
        return -1, o
    if byte == 0xEF and i + 2 < end and source[i + 1] == 0xBB and source[i + 2] == 0xBF:
        return -1, o  # a byte order mark
    if byte == 0xC2 and i + 1 < end:
        if source[i + 1] == _NO_BREAK_SPACE:
            return i + 2, _copied(_ESCAPED_SPACE, out, o)
        if source[i + 1] < _NO_BREAK_SPACE:
            return -1, o  # control characters beyond ASCII
    return i + 1, _escaped(byte, out, o, is_attribute)


@njit(cache=True)
def _entity(source, i, end, out, o, is_attribute):  # type: ignore[no-untyped-def]
    """As `_character`, after an ampersand."""
    if i < end and source[i] == _HASH:
        point, i = _number(source, i + 1, end)
    else:
        first, code = i, 0
        while i < end and CODES[source[i]] and i - first < 40:
            code = (code << 6 | CODES[source[i]]) if i - first < MAX_NAME else -1
            i += 1
        place = _place(ENTITY_CODES, code)
        is_ended = i < end and source[i] == _SEMICOLON
        if i == first or (
            is_attribute and not is_ended and (place < 0 or (i < end and source[i] == _EQUALS))
        ):
            return first, _copied(_ESCAPED_AMP, out, o)  # it is an ampersand
        if not is_ended or place < 0:
            return -1, o
        point, i = ENTITY_POINTS[place], i + 1
    return (i, _point(point, out, o, is_attribute)) if point >= 0 else (-1, o)


@njit(cache=True)
def _number(source, i, end):  # type: ignore[no-untyped-def]
    """(code point, next) of a numeric entity after its `#`; (-1, next) unless it is a plain character."""
    base = 10
    if i < end and source[i] | 32 == 120:
        base, i = 16, i + 1
    first, point = i, 0
    while i < end and i - first < 7 and source[i] != _SEMICOLON:
        byte = np.int64(source[i] | 32 if source[i] > 57 else source[i])
        digit = byte - 48 if 48 <= byte <= 57 else byte - 87 if 97 <= byte <= 102 else 99
        if digit >= base:
            return -1, i
        point = point * base + digit
        i += 1
    if i == first or i == end or source[i] != _SEMICOLON:
        return -1, i
    is_plain = (
        32 <= point < 127 or 160 <= point < 0xD800 or 0xE000 <= point < 0xFDD0 or 0x10000 <= point < 0x1FFFE
    )
    return (point if is_plain else -1), i + 1


@njit(cache=True)
def _point(point, out, o, is_attribute):  # type: ignore[no-untyped-def]
    """A character in UTF-8, escaped where it must be."""
    if point < 0x80:
        return _escaped(point, out, o, is_attribute)
    if point == _NO_BREAK_SPACE:
        return _copied(_ESCAPED_SPACE, out, o)
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


@njit(cache=True)
def _escaped(byte, out, o, is_attribute):  # type: ignore[no-untyped-def]
    if byte == _GT:
        return _copied(_ESCAPED_GT, out, o)
    if byte == _LT:
        return _copied(_ESCAPED_LT, out, o)
    if byte == _AMP:
        return _copied(_ESCAPED_AMP, out, o)
    if is_attribute and byte == _QUOTE:
        return _copied(_ESCAPED_QUOTE, out, o)
    out[o] = byte
    return o + 1


@njit(cache=True)
def _copied(text, out, o):  # type: ignore[no-untyped-def]
    for byte in text:
        out[o] = byte
        o += 1
    return o


@njit(cache=True)
def _place(codes, code):  # type: ignore[no-untyped-def]
    """Where a code stands among sorted ones; -1 when it does not."""
    first, last = 0, codes.size
    while first < last:
        middle = (first + last) >> 1
        if codes[middle] < code:
            first = middle + 1
        else:
            last = middle
    return first if first < codes.size and codes[first] == code else -1


@njit(cache=True)
def _name(source, i, end):  # type: ignore[no-untyped-def]
    """(code, next) of a name, its case ignored; the code is -1 when no table can hold it."""
    first, code = i, 0
    while i < end:
        byte = source[i] | 32 if 65 <= source[i] <= 90 else source[i]
        if CODES[byte]:
            code = (code << 6 | CODES[byte]) if code >= 0 and i - first < MAX_NAME else -1
        elif byte == 45 or byte == 95 or byte == 58:
            code = -1
        else:
            break
        i += 1
    return (code if i > first else 0), i


@njit(cache=True)
def _is_space(byte):  # type: ignore[no-untyped-def]
    return byte == 32 or byte == 10 or byte == 9


@njit(cache=True)
def _after_space(source, i, end):  # type: ignore[no-untyped-def]
    while i < end and _is_space(source[i]):
        i += 1
    return i


@njit(cache=True)
def _markup(source, i, end, out, o, links, n, stack, depth):  # type: ignore[no-untyped-def]
    """(next, end in `out`, end in `links`, depth) after what a `<` starts; next is -1 when it is declined."""
    if i == end:
        return -1, o, n, depth
    byte = source[i]
    if byte == 32 or 48 <= byte <= 57:
        return (i if _holds_text(stack, depth) else -1), _copied(_ESCAPED_LT, out, o), n, depth
    if byte == 33:
        return _after_comment(source, i + 1, end), o, n, depth
    is_end = byte == _SLASH
    code, i = _name(source, i + is_end, end)
    tag = _place(TAG_CODES, code) if code > 0 else -1
    if tag < 0:
        return -1, o, n, depth
    if TAG_KINDS[tag] == HIDDEN:
        i = -1 if is_end else _start_tag(source, i, end, out, o, links, n, tag)[0]
        return _after_hidden(source, i, end, code), o, n, depth
    if is_end:
        i = _after_space(source, i, end)
        if i == end or source[i] != _GT:
            return -1, o, n, depth
        o, depth = _closed(tag, out, o, stack, depth)
        return (i + 1 if o >= 0 else -1), o, n, depth
    o, depth = _closed_before(tag, out, o, stack, depth)
    if depth == _MAX_DEPTH or not _may_open(tag, stack, depth):
        return -1, o, n, depth
    i, o, n = _start_tag(source, i, end, out, o, links, n, tag)
    if TAG_KINDS[tag] == PREFORMATTED and i >= 0:
        i = _after_first_break(source, i, end)
    if TAG_KINDS[tag] > RULE:
        stack[depth] = tag
        depth += 1
    return i, o, n, depth


@njit(cache=True)
def _after_first_break(source, i, end):  # type: ignore[no-untyped-def]
    """A line break at the start of preformatted text is no part of it; -1 where it is not the only one."""
    i += i < end and source[i] == 10
    is_another = i + 1 < end and (source[i] == 10 or (source[i] == _AMP and source[i + 1] == _HASH))
    return -1 if is_another else i


@njit(cache=True)
def _holds_text(stack, depth):  # type: ignore[no-untyped-def]
    """Whether text may stand here: between the parts of a table there is only white space."""
    kind = TAG_KINDS[stack[depth - 1]] if depth else BLOCK
    return kind < TABLE or kind == CELL


@njit(cache=True)
def _closed_before(tag, out, o, stack, depth):  # type: ignore[no-untyped-def]
    """(end in `out`, depth) after the end tags that may be left out before a start tag. Only the innermost element is
    ever closed, anything deeper is left to be declined."""
    kind = TAG_KINDS[tag]
    if (kind <= ANCHOR and kind != RULE) or kind == TABLE:
        return o, depth
    while depth:
        top = TAG_KINDS[stack[depth - 1]]
        if top != PARAGRAPH and not (top == kind and (kind == ENTRY or kind == TERM)):
            break
        depth -= 1
        o = _end_tag(out, o, stack[depth])
    return o, depth


@njit(cache=True)
def _closed(tag, out, o, stack, depth):  # type: ignore[no-untyped-def]
    """(end in `out`, depth) after an end tag, with those before it that were left out; -1 when it is declined."""
    kind = TAG_KINDS[tag]
    if TAG_CODES[tag] == _IMG:
        return o, depth  # it ends nothing
    if kind == PARAGRAPH and not _is_inside(PARAGRAPH, stack, depth) and _holds_text(stack, depth):
        return _copied(_EMPTY_PARAGRAPH, out, o), depth
    while depth and kind > ANCHOR and kind != PARAGRAPH and stack[depth - 1] != tag:
        top = TAG_KINDS[stack[depth - 1]]
        if top != PARAGRAPH and top != ENTRY and top != TERM:
            break
        depth -= 1
        o = _end_tag(out, o, stack[depth])
    if depth == 0 or stack[depth - 1] != tag:
        return -1, depth
    return _end_tag(out, o, tag), depth - 1


@njit(cache=True)
def _is_inside(kind, stack, depth):  # type: ignore[no-untyped-def]
    for k in range(depth):
        if TAG_KINDS[stack[k]] == kind:
            return True
    return False


@njit(cache=True)
def _after_hidden(source, i, end, code):  # type: ignore[no-untyped-def]
    """What follows a script or a style, which readers do not see; -1 where parsers could differ about its end."""
    while 0 <= i < end - 1:
        if source[i] == _LT and source[i + 1] == 33:
            return -1
        if code == _IFRAME and (source[i] != _LT or source[i + 1] != _SLASH):
            return -1  # what stands inside a frame is text elsewhere
        if source[i] == _LT and source[i + 1] == _SLASH:
            name, after = _name(source, i + 2, end)
            if name == code:
                return after + 1 if after < end and source[after] == _GT else -1
        i += 1
    return -1


@njit(cache=True)
def _after_comment(source, i, end):  # type: ignore[no-untyped-def]
    """What follows a comment that no parser could see another end of; -1 when it is none."""
    if i + 2 >= end or source[i] != 45 or source[i + 1] != 45 or source[i + 2] == _GT or source[i + 2] == 45:
        return -1
    i += 2
    while i + 2 < end:
        if source[i] == 45 and source[i + 1] == 45:
            return i + 3 if source[i + 2] == _GT else -1
        if source[i] == _LT and source[i + 1] == 33:
            return -1
        i += 1
    return -1


@njit(cache=True)
def _may_open(tag, stack, depth):  # type: ignore[no-untyped-def]
    """Whether an element may stand here without closing or moving another."""
    kind = TAG_KINDS[tag]
    if PARENT_KINDS[kind] == ANYWHERE and not _holds_text(stack, depth):
        return False
    if kind == VOID or kind == INLINE:
        return True
    parent = TAG_KINDS[stack[depth - 1]] if depth else BLOCK
    if PARENT_KINDS[kind] != ANYWHERE and PARENT_KINDS[kind] != parent:
        return False
    if kind == HEADING and parent == HEADING:
        return False
    return not _is_inside(ANCHOR if kind == ANCHOR else PARAGRAPH, stack, depth)


@njit(cache=True)
def _end_tag(out, o, tag):  # type: ignore[no-untyped-def]
    out[o] = _LT
    out[o + 1] = _SLASH
    o = _spelled(TAG_CODES[tag], out, o + 2)
    out[o] = _GT
    return o + 1


@njit(cache=True)
def _spelled(code, out, o):  # type: ignore[no-untyped-def]
    """A name from its number; names of tags and attributes are lower case letters and digits."""
    size = 0
    while code >> 6 * size:
        size += 1
    for k in range(size):
        letter = (code >> 6 * (size - 1 - k)) & 63
        out[o + k] = letter + 96 if letter < 27 else letter - 5
    return o + size


@njit(cache=True)
def _start_tag(source, i, end, out, o, links, n, tag):  # type: ignore[no-untyped-def]
    """(next, end in `out`, end in `links`) after a tag whose name was read; next is -1 when it is declined."""
    out[o] = _LT
    o = _spelled(TAG_CODES[tag], out, o + 1)
    seen = 0
    while i < end:
        start = i
        i = _after_space(source, i, end)
        if i < end and source[i] == _GT:
            out[o] = _GT
            return i + 1, o + 1, n
        if i + 1 < end and source[i] == _SLASH and source[i + 1] == _GT and TAG_KINDS[tag] <= RULE:
            out[o] = _GT
            return i + 2, o + 1, n
        code, name_end = _name(source, i, end)
        if i == start or code == 0 or name_end + 1 >= end:
            return -1, o, n
        attribute = _place(ATTRIBUTE_CODES, code) if code > 0 else -1
        rule = ATTRIBUTE_RULES[tag, attribute] if attribute >= 0 else DROPPED
        if source[name_end] != _EQUALS:
            if rule != DROPPED or not (source[name_end] == _GT or _is_space(source[name_end])):
                return -1, o, n
            i = name_end
            continue
        first, last = name_end + 2, _closing_quote(source, name_end + 1, end)
        if last < 0 or (rule != DROPPED and seen >> attribute & 1):
            return -1, o, n
        if rule != DROPPED:
            seen |= 1 << attribute
            o = _attribute(source, first, last, out, o, ATTRIBUTE_CODES[attribute])
            if o < 0:
                return -1, 0, n
        if rule == ADDRESS:
            link = o - 1
            while out[link - 1] != _QUOTE:
                link -= 1
            n = _link(out, link, o - 1, links, n, code != _CITE)
            if n < 0:
                return -1, o, 0
        i = last + 1
    return -1, o, n


@njit(cache=True)
def _closing_quote(source, i, end):  # type: ignore[no-untyped-def]
    quote = source[i]
    if quote != _QUOTE and quote != _APOSTROPHE:
        return -1
    i += 1
    while i < end:
        if source[i] == quote:
            return i
        i += 1
    return -1


@njit(cache=True)
def _attribute(source, i, end, out, o, code):  # type: ignore[no-untyped-def]
    """The end in `out` after ` name="value"`; -1 when the value is declined."""
    out[o] = 32
    o = _spelled(code, out, o + 1)
    out[o] = _EQUALS
    out[o + 1] = _QUOTE
    o += 2
    while i < end:
        i, o = _run(source, i, end, out, o, True)
        if i < 0:
            return -1
    out[o] = _QUOTE
    return o + 1


@njit(cache=True)
def _link(out, i, end, links, n, is_kept):  # type: ignore[no-untyped-def]
    """The end in `links` after a written address, which is a place in the text or a link to a plain host of the web;
    -1 for any other."""
    if i == end or out[i] == _HASH:
        return n
    first = i
    if _starts(out, i, end, _MAIL):
        return n
    if not _starts(out, i, end, _HTTP):
        return -1
    i += _HTTP.size
    i += i < end and out[i] == 115
    if not _starts(out, i, end, _AUTHORITY):
        return -1
    i = _after_host(out, i + _AUTHORITY.size, end)
    if i < 0:
        return -1
    for k in range(i, end):
        if out[k] <= 32 or out[k] >= 127 or (out[k] == _AMP and out[k + 1] != 97):
            return -1
    if not is_kept:
        return n
    k = first
    while k < end:
        links[n] = out[k]
        n += 1
        k += 5 if out[k] == _AMP else 1  # `&amp;`
    links[n] = DECLINED
    return n + 1


@njit(cache=True)
def _starts(out, i, end, expected):  # type: ignore[no-untyped-def]
    if end - i < expected.size:
        return False
    for k in range(expected.size):
        if out[i + k] != expected[k]:
            return False
    return True


@njit(cache=True)
def _after_host(out, i, end):  # type: ignore[no-untyped-def]
    """What follows labels of letters, digits and inner hyphens, the last of letters; -1 for any other host."""
    first = label = i
    has_digits = False
    while i < end and (CODES[out[i]] or out[i] == 45 or out[i] == 46):
        if out[i] == 46 or out[i] == 45:
            if i == label:
                return -1
            if out[i] == 46:
                label, has_digits = i + 1, False
            elif out[i - 1] == 45:
                return -1
        else:
            has_digits |= out[i] < 65
        i += 1
    is_whole = i == end or out[i] == _SLASH or out[i] == 63 or out[i] == 35
    return i if is_whole and i > label and not has_digits and i - first < 200 else -1
