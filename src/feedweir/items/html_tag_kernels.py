"""The tags of HTML: names, attributes, and how nh3 writes them."""

from __future__ import annotations

from feedweir.items.html_link_kernels import RELATIVE, UNSAFE, write_link
from feedweir.items.html_tables import (
    ADDRESS,
    ATTRIBUTE_CODES,
    ATTRIBUTE_RULES,
    CODES,
    DROPPED,
    MAX_NAME,
    RULE,
    TAG_CODES,
    TAG_KINDS,
    name_code,
)
from feedweir.items.html_text_kernels import (
    APOSTROPHE,
    EQUALS,
    GT,
    IN_ATTRIBUTE,
    LT,
    QUOTE,
    SLASH,
    kernel,
    place_of,
    write_run,
)

_CITE = name_code("cite")


@kernel
def write_start_tag(source, i, end, out, o, links, n, tag):  # type: ignore[no-untyped-def]
    """(next, end in `out`, end in `links`) after a tag whose name was read; next is -1 when it is declined."""
    out[o] = LT
    o = _spelled(TAG_CODES[tag], out, o + 1)
    seen = value = before = 0
    while i < end:
        start = i
        i = after_space(source, i, end)
        if i < end and source[i] == GT:
            out[o] = GT
            return i + 1, o + 1, n
        if i + 1 < end and source[i] == SLASH and source[i + 1] == GT and TAG_KINDS[tag] <= RULE:
            out[o] = GT
            return i + 2, o + 1, n
        code, name_end = name_at(source, i, end)
        if i == start or code == 0 or name_end + 1 >= end:
            return -1, o, n
        attribute = place_of(ATTRIBUTE_CODES, code) if code > 0 else -1
        rule = ATTRIBUTE_RULES[tag, attribute] if attribute >= 0 else DROPPED
        if source[name_end] != EQUALS:
            if rule != DROPPED or not (source[name_end] == GT or is_space(source[name_end])):
                return -1, o, n
            i = name_end
            continue
        first, last = name_end + 2, _closing_quote(source, name_end + 1, end)
        if last < 0 or (rule != DROPPED and seen >> attribute & 1):
            return -1, o, n
        if rule != DROPPED:
            seen |= 1 << attribute
            before = o
            value, o = _attribute(source, first, last, out, o, ATTRIBUTE_CODES[attribute])
            if o < 0:
                return -1, 0, n
        if rule == ADDRESS:
            if value < o - 1 and (out[value] == SLASH or out[value] == 46):
                o = _marked(out, value, o)
            link_end = write_link(out, value, o - 1, links, n, code != _CITE)
            if link_end == UNSAFE:
                o = before
            elif link_end < 0:
                return -1, o, n
            else:
                n = link_end
        i = last + 1
    return -1, o, n


@kernel
def _attribute(source, i, end, out, o, code):  # type: ignore[no-untyped-def]
    """(start of the value, end) in `out` of ` name="value"`; the end is -1 when the value is declined."""
    out[o] = 32
    o = _spelled(code, out, o + 1)
    out[o] = EQUALS
    out[o + 1] = QUOTE
    value = o = o + 2
    while i < end:
        i, o = write_run(source, i, end, out, o, IN_ATTRIBUTE)
        if i < 0:
            return value, -1
    out[o] = QUOTE
    return value, o + 1


@kernel
def _marked(out, i, end):  # type: ignore[no-untyped-def]
    """The end after a relative address with `RELATIVE` put before it."""
    for k in range(end, i, -1):
        out[k] = out[k - 1]
    out[i] = RELATIVE
    return end + 1


@kernel
def _closing_quote(source, i, end):  # type: ignore[no-untyped-def]
    quote = source[i]
    if quote != QUOTE and quote != APOSTROPHE:
        return -1
    i += 1
    while i < end:
        if source[i] == quote:
            return i
        i += 1
    return -1


@kernel
def write_end_tag(out, o, tag):  # type: ignore[no-untyped-def]
    out[o] = LT
    out[o + 1] = SLASH
    o = _spelled(TAG_CODES[tag], out, o + 2)
    out[o] = GT
    return o + 1


@kernel
def _spelled(code, out, o):  # type: ignore[no-untyped-def]
    """A name from its number; names of tags and attributes are lower case letters and digits."""
    size = 0
    while code >> 6 * size:
        size += 1
    for k in range(size):
        letter = (code >> 6 * (size - 1 - k)) & 63
        out[o + k] = letter + 96 if letter < 27 else letter - 5
    return o + size


@kernel
def name_at(source, i, end):  # type: ignore[no-untyped-def]
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


@kernel
def after_space(source, i, end):  # type: ignore[no-untyped-def]
    while i < end and is_space(source[i]):
        i += 1
    return i


@kernel
def is_space(byte):  # type: ignore[no-untyped-def]
    return byte == 32 or byte == 10 or byte == 9
