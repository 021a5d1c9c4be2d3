"""Document shapes: what the structure of a document decides is the same in every document of that structure.

Items of one feed are written by one program and mostly have the same structure, so what was found out of it is kept:
one result for each pattern shape, in a memory of bounded size that may forget.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from feedweir.kernels import njit
from feedweir.match.trees.tree_codes import AFTER, ATTRIBUTES, END, UNKNOWN

_kernel = njit(cache=True, _nrt=False)
SMALL_NODES = 63
"""Documents of at most so many nodes have a shape: a set of nodes is a number, a bit for each."""
_WAYS = 4
"""Places at which a shape can be kept."""


class DocumentShapes(NamedTuple):
    keys: NDArray[np.int32]
    """Rows of label paths."""
    lengths: NDArray[np.int32]
    results: NDArray[np.uint8]
    """Rows of results, one for each pattern shape; the last row is for documents without one."""
    work: NDArray[np.int32]
    """Rows for the key of the document at hand, where its open elements start there, and where they end."""
    replaced: NDArray[np.int64]
    """How many shapes were put in the place of another, or in a free one."""


def room_for_document_shapes(shapes: int, max_results: int) -> DocumentShapes:
    fitting = max(_WAYS, min(4096, max_results // max(shapes, 1)))
    count = 1 << (fitting.bit_length() - 1)
    return DocumentShapes(
        np.zeros((count, SMALL_NODES), np.int32),
        np.zeros(count, np.int32),
        np.zeros((count + 1, shapes), np.uint8),
        np.zeros((3, SMALL_NODES), np.int32),
        np.zeros(1, np.int64),
    )


@_kernel
def results_for(nodes, paths, elements, document_shapes):  # type: ignore[no-untyped-def]
    """The row of results for a document; a new one knows nothing yet."""
    row = len(document_shapes.lengths)
    if len(nodes) <= SMALL_NODES:
        length = _document_shape(nodes, paths, elements, document_shapes.work)
        row, is_kept = _row(length, document_shapes)
        if is_kept:
            return row
    for shape in range(document_shapes.results.shape[1]):
        document_shapes.results[row, shape] = UNKNOWN
    return row


@_kernel
def _row(length, document_shapes):  # type: ignore[no-untyped-def]
    """(where a shape is kept, whether it was there before)."""
    keys, key, lengths = document_shapes.keys, document_shapes.work[0], document_shapes.lengths
    first = _first_way(key, length, len(lengths))
    for row in range(first, first + _WAYS):
        if lengths[row] == length and _is_same(keys[row], 0, key, 0, length):
            return row, True
    row = first + document_shapes.replaced[0] % _WAYS
    document_shapes.replaced[0] += 1
    lengths[row] = length
    for place in range(length):
        keys[row, place] = key[place]
    return row, False


@_kernel
def _document_shape(nodes, paths, elements, work):  # type: ignore[no-untyped-def]
    """The length of the key: the label paths of a document in order, attributes after their element.

    Of equal siblings in a row two are kept: patterns can tell one node from several, but not how many there are.
    """
    used = depth = 0
    for node in range(elements + 1):
        while depth > 0 and work[2, depth - 1] <= node:
            depth -= 1
            used = _without_third(work[0], np.int64(work[1, depth]), used)
        if node < elements:
            work[1, depth] = used
            work[2, depth] = nodes[node, END]
            depth += 1
            work[0, used] = paths[node]
            used += 1
            for attribute in range(nodes[node, ATTRIBUTES], nodes[node, AFTER]):
                work[0, used] = paths[attribute]
                used += 1
    return used


@_kernel
def _without_third(key, start, stop):  # type: ignore[no-untyped-def]
    """Where the key ends when an element that is like the two before it is left out.

    A stretch that starts with the same path and is as long is a whole element: no path in it but the first is of an
    element that high up.
    """
    size = stop - start
    if start < 2 * size or not _is_same(key, start - size, key, start, size):
        return stop
    return start if _is_same(key, start - 2 * size, key, start, size) else stop


@_kernel
def _is_same(key, start, other, other_start, size):  # type: ignore[no-untyped-def]
    for place in range(size):
        if key[start + place] != other[other_start + place]:
            return False
    return True


@_kernel
def _first_way(key, length, count):  # type: ignore[no-untyped-def]
    mixed = np.uint64(length)
    for place in range(length):
        mixed = (mixed ^ (mixed >> np.uint64(29)) ^ np.uint64(key[place])) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64((mixed >> np.uint64(32)) & np.uint64(count - 1)) & -_WAYS
