"""Well-formed XML → a tape: its elements, attributes and texts as flat arrays, in one pass over the bytes.

What is accepted is what parsers cannot differ about: no DOCTYPE, names in ASCII, the five entities of XML and numeric
ones. Everything else is declined, never repaired. Namespaces are not resolved: every distinct name is listed once for
each scope, a scope being an element that declares some.
"""

from __future__ import annotations

import numpy as np

from feedweir.acquire.xml_kernels import (
    BANG,
    EQUALS,
    GT,
    IS_SPACE,
    LT,
    PADDING,
    SLASH,
    STARTS_NAME,
    after_misc,
    after_name,
    are_equal,
    kernel,
    section,
    starts,
    text,
    value,
)

NAME, SIZE, FLAGS, START, NAME_END, END = range(6)
"""What there is to know of an element. `SIZE` is how many elements there are inside; `START`, `NAME_END` and `END` are
places in the source."""
ATTRIBUTE_NAME, ATTRIBUTE_ELEMENT, _ATTRIBUTE_STOP = range(3)
ELEMENT_ROWS, ATTRIBUTE_ROWS, NAME_COLUMNS, SCOPE_COLUMNS = 6, 3, 4, 2
IS_MIXED, HAS_DEEP = 1, 2
"""Text stands beside elements, here or further inside; some element inside has elements inside."""
NAME_START, NAME_STOP, NAME_SCOPE, NAME_IS_ATTRIBUTE = range(4)
SCOPE_ELEMENT, SCOPE_PARENT = range(2)
ELEMENTS, ATTRIBUTES, NAMES, SCOPES, BYTES, VALUE_BYTES, NEEDS_STRIP = range(7)
"""The counts that `scan` leaves behind."""
COUNTS = 7
TABLE_SIZE = 4096
STACK_COLUMNS = 4
MAX_NAMES = 2048
MAX_DEPTH = 128
_PADDING_SIZE = len(PADDING)

_OPEN, _FROM, _SCOPE, _IS_PARENT = range(4)  # of an element on the stack
_XMLNS = np.frombuffer(b"xmlns", np.uint8)


@kernel
def scan(source, i, out, values, elements, attributes, names, scopes, counts, table, stack):  # type: ignore[no-untyped-def]
    """Read the document that starts at `i`; whether it was accepted. The texts of the elements are written to `out` in
    the order of the elements, each followed by a zero, nothing for those that have elements inside; the values of the
    attributes to `values` in the same way."""
    table[:] = 0
    counts[:] = 0
    counts[SCOPES] = 1
    o = depth = np.int64(0)
    i = after_misc(source, i)
    if i >= 0 and not STARTS_NAME[source[i + 1]]:
        i = np.int64(-1)
    while i >= 0:
        if source[i] == LT and source[i + 1] == SLASH:
            i, o = _closed(source, i + 2, out, o, elements, counts, stack, depth)
            depth -= 1
        elif source[i] == LT and source[i + 1] == BANG:
            i, o = section(source, i, out, o, stack[depth - 1, _FROM])
        else:
            if depth:
                o = _became_parent(out, o, elements, stack, depth)
            i, is_empty = _opened(
                source, i, values, elements, attributes, names, scopes, counts, stack, depth, table
            )
            if is_empty:
                out[o] = 0
                o += 1
            stack[depth - is_empty if depth else 0, _FROM] = o
            depth += not is_empty
        if i < 0 or depth == 0 or depth == MAX_DEPTH - 1:
            break
        i, o = text(source, i, out, o, stack[depth - 1, _FROM])
    counts[BYTES] = o
    return i >= 0 and depth == 0 and _is_end(source, after_misc(source, i))


@kernel
def _became_parent(out, o, elements, stack, depth):  # type: ignore[no-untyped-def]
    """The end in `out` when an element begins inside another, whose own text is then nothing."""
    start = stack[depth - 1, _FROM]
    if o > start:
        elements[FLAGS, stack[depth - 1, _OPEN]] |= IS_MIXED
        o = start
    if not stack[depth - 1, _IS_PARENT]:
        stack[depth - 1, _IS_PARENT] = 1
        out[o] = 0
        o += 1
    return o


@kernel
def _is_end(source, i):  # type: ignore[no-untyped-def]
    return i == source.size - _PADDING_SIZE


@kernel
def _opened(source, i, values, elements, attributes, names, scopes, counts, stack, depth, table):  # type: ignore[no-untyped-def]
    """(next, whether it is empty) after a start tag; next is -1 when it is declined."""
    if source[i] != LT:
        return -1, True
    me = counts[ELEMENTS]
    counts[ELEMENTS] += 1
    scope = stack[depth - 1, _SCOPE] if depth else np.int64(0)
    name, stop = i + 1, after_name(source, i + 1)
    elements[START, me], elements[NAME_END, me] = i, stop
    elements[SIZE, me] = elements[FLAGS, me] = 0
    first = counts[ATTRIBUTES]
    i, is_scope = _attributes(source, stop, values, attributes, counts, me)
    if i < 0:
        return -1, True
    if is_scope:
        inner = counts[SCOPES]
        if inner >= scopes.shape[0]:
            return -1, True
        scopes[inner, SCOPE_ELEMENT], scopes[inner, SCOPE_PARENT] = me, scope
        counts[SCOPES] += 1
        scope = inner
    elements[NAME, me] = _name(source, name, stop, scope, 0, names, counts, table)
    if not _are_named(source, first, counts[ATTRIBUTES], scope, attributes, names, counts, table):
        return -1, True
    is_empty = source[i] == SLASH
    if is_empty:
        elements[END, me] = i + 2
    else:
        stack[depth, _OPEN], stack[depth, _SCOPE], stack[depth, _IS_PARENT] = me, scope, 0
    return i + 1 + is_empty, is_empty


@kernel
def _are_named(source, first, last, scope, attributes, names, counts, table):  # type: ignore[no-untyped-def]
    """Whether the attributes of an element could be named, each once."""
    for k in range(first, last):
        start, stop = attributes[ATTRIBUTE_NAME, k], attributes[_ATTRIBUTE_STOP, k]
        attributes[ATTRIBUTE_NAME, k] = _name(source, start, stop, scope, 1, names, counts, table)
        for other in range(first, k):
            if attributes[ATTRIBUTE_NAME, other] == attributes[ATTRIBUTE_NAME, k]:
                return False
    return counts[NAMES] < MAX_NAMES


@kernel
def _attributes(source, i, values, attributes, counts, element):  # type: ignore[no-untyped-def]
    """(place of the `>` or `/>`, whether namespaces are declared) after the attributes of a tag. In place of its name
    each has the start and the end of it for now."""
    is_scope = False
    o = counts[VALUE_BYTES]
    while i >= 0:
        start = i
        while IS_SPACE[source[i]]:
            i += 1
        if source[i] == GT or (source[i] == SLASH and source[i + 1] == GT):
            counts[VALUE_BYTES] = o
            return i, is_scope
        stop = after_name(source, i)
        k = counts[ATTRIBUTES]
        if stop < 0 or i == start or k >= attributes.shape[1]:
            break
        counts[ATTRIBUTES] += 1
        attributes[ATTRIBUTE_NAME, k], attributes[_ATTRIBUTE_STOP, k] = i, stop
        attributes[ATTRIBUTE_ELEMENT, k] = element
        is_scope |= starts(source, i, _XMLNS)
        i = stop
        while IS_SPACE[source[i]]:
            i += 1
        if source[i] != EQUALS:
            break
        i += 1
        while IS_SPACE[source[i]]:
            i += 1
        i, o = value(source, i, values, o)
    return np.int64(-1), is_scope


@kernel
def _name(source, start, stop, scope, is_attribute, names, counts, table):  # type: ignore[no-untyped-def]
    """The place of a name among those of its scope, listed when it is new."""
    code = np.uint64(scope * 2 + is_attribute)
    for k in range(start, stop):
        code = (code ^ np.uint64(source[k])) * np.uint64(0x100000001B3)
    slot = np.int64((code ^ code >> np.uint64(29)) & np.uint64(TABLE_SIZE - 1))
    while table[slot]:
        k = table[slot] - 1
        if (
            names[k, NAME_SCOPE] == scope
            and names[k, NAME_IS_ATTRIBUTE] == is_attribute
            and are_equal(source, start, stop, names[k, NAME_START], names[k, NAME_STOP])
        ):
            return k
        slot = (slot + 1) & (TABLE_SIZE - 1)
    k = counts[NAMES]
    if k < MAX_NAMES:
        table[slot] = k + 1
        names[k, NAME_START], names[k, NAME_STOP] = start, stop
        names[k, NAME_SCOPE], names[k, NAME_IS_ATTRIBUTE] = scope, is_attribute
        counts[NAMES] += 1
    return k


@kernel
def _closed(source, i, out, o, elements, counts, stack, depth):  # type: ignore[no-untyped-def]
    """(next, end in `out`) after an end tag whose `</` was read; next is -1 when it is declined."""
    me = stack[depth - 1, _OPEN]
    stop = after_name(source, i)
    if stop < 0 or not are_equal(source, i, stop, elements[START, me] + 1, elements[NAME_END, me]):
        return -1, o
    i = stop
    while IS_SPACE[source[i]]:
        i += 1
    if source[i] != GT:
        return -1, o
    elements[END, me] = i + 1
    elements[SIZE, me] = counts[ELEMENTS] - 1 - me
    start = stack[depth - 1, _FROM]
    while o > start and IS_SPACE[out[o - 1]]:
        o -= 1
    if elements[SIZE, me]:
        if o > start:
            elements[FLAGS, me] |= IS_MIXED
            o = start
        if depth > 1:
            elements[FLAGS, stack[depth - 2, _OPEN]] |= elements[FLAGS, me] & IS_MIXED | HAS_DEEP
    else:
        if o > start and (out[start] >= 0x80 or out[o - 1] >= 0x80 or IS_SPACE[out[start]]):
            counts[NEEDS_STRIP] = 1
        out[o] = 0
        o += 1
    if depth > 1:
        stack[depth - 2, _FROM] = o
    return i + 1, o
