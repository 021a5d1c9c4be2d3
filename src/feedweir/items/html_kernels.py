"""The fast way of making HTML safe: one pass over the bytes of HTML that is as most HTML is.

Well-nested elements of known kinds, quoted attributes, links to the web: for these, what nh3 writes is known
without building a tree. Everything else is declined, never repaired: the caller asks nh3. What is accepted is
listed here, what is not listed is declined, so that no trick in a document can pass by being unknown.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from feedweir.items.html_link_kernels import (
    DECLINED,
)
from feedweir.items.html_tables import (
    ANCHOR,
    ANYWHERE,
    BLOCK,
    CELL,
    ENTRY,
    HEADING,
    HIDDEN,
    INLINE,
    PARAGRAPH,
    PARENT_KINDS,
    PREFORMATTED,
    RULE,
    TABLE,
    TAG_CODES,
    TAG_KINDS,
    TERM,
    VOID,
    name_code,
)
from feedweir.items.html_tag_kernels import (
    after_space,
    is_space,
    name_at,
    write_end_tag,
    write_start_tag,
)
from feedweir.items.html_text_kernels import (
    AMP,
    ESCAPED_LT,
    GT,
    HASH,
    IN_TEXT,
    LT,
    SLASH,
    copied,
    kernel,
    place_of,
    write_run,
)
from feedweir.kernels import njit

END = 0
"""A byte that no HTML holds: after every text."""
MAX_GROWTH = 6
"""Bytes that one byte can become: as `&` does, or a no-break space of two bytes."""
_MAX_DEPTH = 64
_IMG, _IFRAME = name_code("img"), name_code("iframe")
_EMPTY_PARAGRAPH = np.frombuffer(b"<p></p>", np.uint8)


@njit(cache=True)
def clean_texts(source, out, links):  # type: ignore[no-untyped-def]
    """Each text of `source` (every one followed by `END`) made safe, and its web links; returns (bytes written to
    `out`, bytes written to `links`)."""
    stack = np.empty(_MAX_DEPTH, np.int64)
    zero: Any = np.int64(0)  # a plain 0 would be a type of its own, for which all is compiled once more
    o = n = first = zero
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


@kernel
def _text(source, i, end, out, o, links, n, stack):  # type: ignore[no-untyped-def]
    """(end in `out`, end in `links`) of one text; (-1, 0) when it is declined."""
    depth = np.int64(0)
    while i < end:
        if source[i] == LT:
            i, o, n, depth = _markup(source, i + 1, end, out, o, links, n, stack, depth)
        elif _holds_text(stack, depth):
            i, o = write_run(source, i, end, out, o, IN_TEXT)
        elif is_space(source[i]):
            out[o] = source[i]
            i, o = i + 1, o + 1
        else:
            return -1, 0
        if i < 0:
            return -1, 0
    while depth > 0:
        depth -= 1
        o = write_end_tag(out, o, stack[depth])
    return o, n


@kernel
def _markup(source, i, end, out, o, links, n, stack, depth):  # type: ignore[no-untyped-def]
    """(next, end in `out`, end in `links`, depth) after what a `<` starts; next is -1 when it is declined."""
    if i == end:
        return -1, o, n, depth
    byte = source[i]
    if byte == 32 or 48 <= byte <= 57:
        return (i if _holds_text(stack, depth) else -1), copied(ESCAPED_LT, out, o), n, depth
    if byte == 33:
        return _after_comment(source, i + 1, end), o, n, depth
    is_end = byte == SLASH
    code, i = name_at(source, i + is_end, end)
    tag = place_of(TAG_CODES, code) if code > 0 else -1
    if tag < 0:
        return -1, o, n, depth
    if TAG_KINDS[tag] == HIDDEN:
        i = -1 if is_end else write_start_tag(source, i, end, out, o, links, n, tag)[0]
        return _after_hidden(source, i, end, code), o, n, depth
    if is_end:
        i = after_space(source, i, end)
        if i == end or source[i] != GT:
            return -1, o, n, depth
        o, depth = _closed(tag, out, o, stack, depth)
        return (i + 1 if o >= 0 else -1), o, n, depth
    o, depth = _closed_before(tag, out, o, stack, depth)
    if depth == _MAX_DEPTH or not _may_open(tag, stack, depth):
        return -1, o, n, depth
    i, o, n = write_start_tag(source, i, end, out, o, links, n, tag)
    if TAG_KINDS[tag] == PREFORMATTED and i >= 0:
        i = _after_first_break(source, i, end)
    if TAG_KINDS[tag] > RULE:
        stack[depth] = tag
        depth += 1
    return i, o, n, depth


@kernel
def _after_first_break(source, i, end):  # type: ignore[no-untyped-def]
    """A line break at the start of preformatted text is no part of it; -1 where it is not the only one."""
    i += i < end and source[i] == 10
    is_another = i + 1 < end and (source[i] == 10 or (source[i] == AMP and source[i + 1] == HASH))
    return -1 if is_another else i


@kernel
def _holds_text(stack, depth):  # type: ignore[no-untyped-def]
    """Whether text may stand here: between the parts of a table there is only white space."""
    kind = TAG_KINDS[stack[depth - 1]] if depth else BLOCK
    return kind < TABLE or kind == CELL


@kernel
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
        o = write_end_tag(out, o, stack[depth])
    return o, depth


@kernel
def _closed(tag, out, o, stack, depth):  # type: ignore[no-untyped-def]
    """(end in `out`, depth) after an end tag, with those before it that were left out; -1 when it is declined."""
    kind = TAG_KINDS[tag]
    if TAG_CODES[tag] == _IMG:
        return o, depth  # it ends nothing
    if kind == PARAGRAPH and not _is_inside(np.int64(PARAGRAPH), stack, depth) and _holds_text(stack, depth):
        return copied(_EMPTY_PARAGRAPH, out, o), depth
    while depth and kind > ANCHOR and kind != PARAGRAPH and stack[depth - 1] != tag:
        top = TAG_KINDS[stack[depth - 1]]
        if top != PARAGRAPH and top != ENTRY and top != TERM:
            break
        depth -= 1
        o = write_end_tag(out, o, stack[depth])
    if depth == 0 or stack[depth - 1] != tag:
        return -1, depth
    return write_end_tag(out, o, tag), depth - 1


@kernel
def _is_inside(kind, stack, depth):  # type: ignore[no-untyped-def]
    for k in range(depth):
        if TAG_KINDS[stack[k]] == kind:
            return True
    return False


@kernel
def _after_hidden(source, i, end, code):  # type: ignore[no-untyped-def]
    """What follows a script or a style, which readers do not see; -1 where parsers could differ about its end."""
    while 0 <= i < end - 1:
        if source[i] == LT and source[i + 1] == 33:
            return -1
        if code == _IFRAME and (source[i] != LT or source[i + 1] != SLASH):
            return -1  # what stands inside a frame is text elsewhere
        if source[i] == LT and source[i + 1] == SLASH:
            name, after = name_at(source, i + 2, end)
            if name == code:
                return after + 1 if after < end and source[after] == GT else -1
        i += 1
    return -1


@kernel
def _after_comment(source, i, end):  # type: ignore[no-untyped-def]
    """What follows a comment that no parser could see another end of; -1 when it is none."""
    if i + 2 >= end or source[i] != 45 or source[i + 1] != 45 or source[i + 2] == GT or source[i + 2] == 45:
        return -1
    i += 2
    while i + 2 < end:
        if source[i] == 45 and source[i + 1] == 45:
            return i + 3 if source[i + 2] == GT else -1
        if source[i] == LT and source[i + 1] == 33:
            return -1
        i += 1
    return -1


@kernel
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
