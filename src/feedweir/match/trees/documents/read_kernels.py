"""Reads documents as lxml writes them into arrays: all documents of a batch in one pass over their bytes.

What lxml writes is well-formed and regular, so nothing is checked here; sections and references that a plain writer
never makes are reported, and `document` serialises those documents again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from feedweir.kernels import njit
from feedweir.match.trees.documents.name_table_kernels import find, hash_of
from feedweir.match.trees.tree_codes import (
    AFTER,
    ATTRIBUTES,
    END,
    LABEL,
    OTHER_ATTRIBUTE,
    OTHER_ELEMENT,
    PARENT,
    TEXT,
)

READ, TOO_LARGE, ODD = 0, 1, 2

_LT, _GT, _SLASH, _BANG, _QUESTION, _SPACE, _EQUALS, _AMP, _DASH, _HASH, _SEMICOLON = (
    ord(char) for char in "<>/!? =&-#;"
)
_kernel = njit(cache=True, _nrt=False)


class PathRoom(NamedTuple):
    """Label paths by number, and the slots they are found by: at most half of the slots are taken."""

    keys: NDArray[np.int64]
    places: NDArray[np.int32]
    parent: NDArray[np.int32]
    label: NDArray[np.int32]
    used: NDArray[np.int64]
    """How many there are."""


class DocumentArrays(NamedTuple):
    """Documents one after the other; in each the elements in document order, then the attributes.

    Numbers of nodes are those within the document. The string value of node n is chars[spans[n, 0] : spans[n, 1]].
    """

    ptr: NDArray[np.int64]
    elements: NDArray[np.int64]
    nodes: NDArray[np.int32]
    paths: NDArray[np.int32]
    spans: NDArray[np.int64]
    chars: NDArray[np.uint8]


@njit(cache=True)
def _room_for(xml, starts, max_nodes):  # type: ignore[no-untyped-def]
    """An upper bound for the number of nodes: what opens an element, or looks like an attribute's value."""
    total = 0
    for number in range(starts.size - 1):
        count = 0
        for at in range(starts[number], starts[number + 1] - 1):
            following = xml[at + 1]
            if xml[at] == _LT:
                count += following != _SLASH
            elif xml[at] == _EQUALS:
                count += following == 34 or following == 39
        total += min(count, max_nodes)
    return total


@njit(cache=True)
def read_batch(xml, starts, elements, attributes, paths, max_nodes, max_depth):  # type: ignore[no-untyped-def]
    """(batch, status of each document, whether the paths found room)."""
    room = _room_for(xml, starts, max_nodes)
    nodes = np.empty((room, 6), np.int32)
    path_of = np.empty(room, np.int32)
    spans = np.empty((room, 2), np.int64)
    chars = np.empty(xml.size, np.uint8)
    ptr = np.zeros(starts.size, np.int64)
    counts = np.zeros(starts.size - 1, np.int64)
    status = np.zeros(starts.size - 1, np.int8)
    held = (np.empty((room, 3), np.int32), np.empty((room, 2), np.int64))
    stack = np.empty(max_depth + 1, np.int32)
    edges = np.array([0, xml.size])
    has_room = True
    for number in range(starts.size - 1):
        first = ptr[number]
        before = edges[0], edges[1]
        out = (nodes[first:], path_of[first:], spans[first:], chars)
        code, n_elements, n_attributes = _document(
            xml,
            starts[number],
            starts[number + 1],
            elements,
            attributes,
            paths,
            max_nodes,
            stack,
            out,
            held,
            edges,
        )
        if code < 0:
            has_room = False
            break
        status[number] = code
        if code == READ:
            _add_attributes(out, held, n_elements, n_attributes)
            counts[number] = n_elements
            ptr[number + 1] = first + n_elements + n_attributes
        else:
            ptr[number + 1] = first
            edges[0], edges[1] = before
    used = ptr[-1]
    batch = DocumentArrays(ptr, counts, nodes[:used], path_of[:used], spans[:used], chars)
    return batch, status, has_room


@_kernel
def _document(xml, at, stop, elements, attributes, paths, max_nodes, stack, out, held, edges):  # type: ignore[no-untyped-def]
    """(status, how many elements, how many attributes); the status is -1 when there is no room for a path.

      xml  <a k="1">te<b/>xt</a>
    nodes  a, b               rows of elements in document order; attributes are held apart until all elements are read
    stack  a                  the open elements
    chars  text…          …1  texts from the front (the value of an element is one stretch), attributes from the back
    edges  front, back        where the next of each goes
    """
    nodes, path_of, spans, chars = out
    owners, held_spans = held
    n_elements = n_attributes = depth = 0
    while at < stop:
        if xml[at] != _LT:
            at = _text(xml, at, _LT, chars, edges)
            if at < 0:
                return ODD, 0, 0
            continue
        # the end of an element
        following = xml[at + 1]
        if following == _SLASH:
            depth -= 1
            nodes[stack[depth], END] = n_elements
            spans[stack[depth], 1] = edges[0]
            at = _past(xml, at, _GT)
            continue
        # comments and instructions are passed over; what a plain writer never makes is left to Python
        if following == _BANG and xml[at + 2] != _DASH:
            return ODD, 0, 0
        if following == _BANG or following == _QUESTION:
            at = _past_comment(xml, at + 4) if following == _BANG else _past_instruction(xml, at + 2)
            continue
        # the beginning of an element
        if depth >= stack.size - 1 or n_elements + n_attributes >= max_nodes:
            return TOO_LARGE, 0, 0
        end = _name_end(xml, at + 1)
        found = find(elements, hash_of(xml, at + 1, end), xml, at + 1, end)
        above = stack[depth - 1] if depth else -1
        node = n_elements
        n_elements += 1
        nodes[node, LABEL] = 2 * found if found >= 0 else OTHER_ELEMENT
        nodes[node, PARENT] = above
        nodes[node, TEXT] = -1
        nodes[node, ATTRIBUTES] = n_attributes
        path = _path(path_of[above] if depth else 0, nodes[node, LABEL], paths)
        if path < 0:
            return -1, 0, 0
        path_of[node] = path
        at = end
        # its attributes
        while xml[at] == _SPACE:
            end = _past(xml, at, _EQUALS) - 1
            quote = xml[end + 1]
            if _declares(xml, at + 1, end):
                at = _past(xml, end + 2, quote)
                continue
            if n_elements + n_attributes >= max_nodes:
                return TOO_LARGE, 0, 0
            found = find(attributes, hash_of(xml, at + 1, end), xml, at + 1, end)
            label = 2 * found + 1 if found >= 0 else OTHER_ATTRIBUTE
            path = _path(path_of[node], label, paths)
            if path < 0:
                return -1, 0, 0
            at = _value(xml, end + 2, quote, chars, held_spans, n_attributes, edges)
            if at < 0:
                return ODD, 0, 0
            owners[n_attributes, 0] = node
            owners[n_attributes, 1] = label
            owners[n_attributes, 2] = path
            n_attributes += 1
        # open, or ended at once
        nodes[node, AFTER] = n_attributes
        nodes[node, END] = node + 1
        spans[node, 0] = spans[node, 1] = edges[0]
        if xml[at] == _SLASH:
            at += 2
        else:
            stack[depth] = node
            depth += 1
            at += 1
    return READ, n_elements, n_attributes


@_kernel
def _add_attributes(out, held, n_elements, n_attributes):  # type: ignore[no-untyped-def]
    """Number the attributes after the elements."""
    nodes, path_of, spans, _ = out
    owners, held_spans = held
    for node in range(n_elements):
        nodes[node, ATTRIBUTES] += n_elements
        nodes[node, AFTER] += n_elements
    for place in range(n_attributes):
        node = n_elements + place
        nodes[node, LABEL] = owners[place, 1]
        nodes[node, PARENT] = owners[place, 0]
        nodes[node, END] = nodes[node, ATTRIBUTES] = nodes[node, AFTER] = 0
        nodes[node, TEXT] = -1
        path_of[node] = owners[place, 2]
        spans[node, 0] = held_spans[place, 0]
        spans[node, 1] = held_spans[place, 1]


@_kernel
def _path(above, label, paths):  # type: ignore[no-untyped-def]
    """The number of a path, made when it is new; -1 when there is no room."""
    keys, places, parent, labels, used = paths
    key = (np.int64(above) << 32) | (label + 8)
    mask = keys.size - 1
    hashed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    slot = np.int64((hashed >> np.uint64(24)) & np.uint64(mask))
    while keys[slot] >= 0:
        if keys[slot] == key:
            return np.int64(places[slot])
        slot = (slot + 1) & mask
    if 2 * (used[0] + 1) >= keys.size:
        return np.int64(-1)
    made = used[0]
    keys[slot] = key
    places[slot] = made
    parent[made] = above
    labels[made] = label
    used[0] += 1
    return made


@_kernel
def _name_end(xml, at):  # type: ignore[no-untyped-def]
    while xml[at] != _SPACE and xml[at] != _SLASH and xml[at] != _GT:
        at += 1
    return at


@_kernel
def _past(xml, at, char):  # type: ignore[no-untyped-def]
    while xml[at] != char:
        at += 1
    return at + 1


@_kernel
def _past_comment(xml, at):  # type: ignore[no-untyped-def]
    while xml[at] != _DASH or xml[at + 1] != _DASH:
        at += 1
    return at + 3


@_kernel
def _past_instruction(xml, at):  # type: ignore[no-untyped-def]
    while xml[at] != _QUESTION or xml[at + 1] != _GT:
        at += 1
    return at + 2


@_kernel
def _declares(xml, start, stop):  # type: ignore[no-untyped-def]
    """Whether an attribute declares a namespace: `xmlns`, `xmlns:…`."""
    if stop - start < 5 or xml[start] != 120 or xml[start + 1] != 109 or xml[start + 2] != 108:
        return False
    return xml[start + 3] == 110 and xml[start + 4] == 115 and (stop - start == 5 or xml[start + 5] == 58)


@_kernel
def _value(xml, at, quote, chars, held_spans, place, edges):  # type: ignore[no-untyped-def]
    """An attribute's value is kept at the far end of `chars`, so that it stands in no element's text."""
    length = 0
    while xml[at + length] != quote:
        length += 1
    edges[1] -= length
    front = edges[0]
    edges[0] = edges[1]
    held_spans[place, 0] = edges[1]
    after = _text(xml, at, quote, chars, edges)
    held_spans[place, 1] = edges[0]
    edges[0] = front
    return after if after < 0 else after + 1


@_kernel
def _text(xml, at, stop, chars, edges):  # type: ignore[no-untyped-def]
    """Add text to `chars` up to a character, references resolved; -1 for a reference to an entity."""
    front = edges[0]
    while xml[at] != stop:
        if xml[at] == _AMP:
            end = _past(xml, at, _SEMICOLON)
            code = _referred(xml, at + 1, end - 1)
            if code < 0:
                return np.int64(-1)
            front = _put(code, chars, front)
            at = end
        else:
            chars[front] = xml[at]
            front += 1
            at += 1
    edges[0] = front
    return np.int64(at)


@_kernel
def _referred(xml, start, stop):  # type: ignore[no-untyped-def]
    """The character that a reference means; -1 for an entity that is not one of XML's own."""
    if xml[start] == _HASH:
        base = 16 if xml[start + 1] == 120 else 10
        code = np.int64(0)
        for place in range(start + (2 if base == 16 else 1), stop):
            digit = np.int64(xml[place]) | 32
            code = code * base + (digit - 87 if digit >= 97 else digit - 48)
        return code
    first, second, length = xml[start], xml[start + 1], stop - start
    if length == 2 and second == 116:
        return 60 if first == 108 else (62 if first == 103 else -1)
    if length == 3 and first == 97 and second == 109 and xml[start + 2] == 112:
        return 38
    if length == 4 and xml[start + 2] == 111:
        if first == 113 and second == 117 and xml[start + 3] == 116:
            return 34
        if first == 97 and second == 112 and xml[start + 3] == 115:
            return 39
    return -1


@_kernel
def _put(code, chars, at):  # type: ignore[no-untyped-def]
    """A character in UTF-8."""
    if code < 0x80:
        chars[at] = code
        return at + 1
    if code < 0x800:
        chars[at] = 0xC0 | (code >> 6)
        chars[at + 1] = 0x80 | (code & 63)
        return at + 2
    if code < 0x10000:
        chars[at] = 0xE0 | (code >> 12)
        chars[at + 1] = 0x80 | ((code >> 6) & 63)
        chars[at + 2] = 0x80 | (code & 63)
        return at + 3
    chars[at] = 0xF0 | (code >> 18)
    chars[at + 1] = 0x80 | ((code >> 12) & 63)
    chars[at + 2] = 0x80 | ((code >> 6) & 63)
    chars[at + 3] = 0x80 | (code & 63)
    return at + 4


@njit(cache=True)
def placed_again(paths, keys, places):  # type: ignore[no-untyped-def]
    """Fill larger slots with the paths there are."""
    mask = keys.size - 1
    for path in range(1, paths.used[0]):
        key = (np.int64(paths.parent[path]) << 32) | (paths.label[path] + 8)
        slot = np.int64((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(24)) & np.uint64(mask))
        while keys[slot] >= 0:
            slot = (slot + 1) & mask
        keys[slot] = key
        places[slot] = path
