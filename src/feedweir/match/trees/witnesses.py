"""Witnesses: which nodes the variables of patterns bind, as the relations R_binW and R_docW of a batch.

A row of R_binW is a pair of nodes bound by a variable and by the nearest variable above it. A variable without any
other variable above or below it is paired with the document (node -1). R_docW has the string values of the nodes that
are bound by a variable with no variable below it: those are what joins compare.

What a linear pattern binds follows from label paths, for all documents at once; a branching pattern is first found,
as all patterns are, and then laid on the documents that have it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from feedweir.errors import DocumentError
from feedweir.match.trees.documents.document import TreeBounds
from feedweir.match.trees.documents.read_kernels import DocumentArrays
from feedweir.match.trees.embed_kernels import bind_batch, gathered
from feedweir.match.trees.patterns.alignments import alignments
from feedweir.match.trees.patterns.bound_patterns import Bound, binds, bound_of, rows_of
from feedweir.match.trees.patterns.pattern_steps import PatternNames
from feedweir.match.trees.patterns.postings import Layout
from feedweir.match.trees.tree_codes import PARENT
from feedweir.plan.predicates import TreePattern

if TYPE_CHECKING:
    from feedweir.match.trees.tree_set import ReadBatch, TreeSet

Ints = NDArray[np.int32]
_NO_ROWS = np.empty((0, 5), np.int32)


@dataclass(frozen=True, slots=True)
class Witnesses:
    """R_binW: `variable` is the place (in pre-order) of the lower variable's node in its pattern. R_docW: `value_*`.

    Rows are distinct and sorted by document, pattern, variable, node1, node2; values by document and node.
    """

    document: Ints
    pattern: Ints
    variable: Ints
    node1: Ints
    node2: Ints
    value_document: Ints
    value_node: Ints
    values: list[str]
    refused: dict[int, DocumentError]
    """Documents beyond a bound, which give no rows."""


@dataclass(frozen=True, slots=True)
class Aligned:
    """The rows that every node of one label path gives: columns over linear patterns and their pairs."""

    pattern: Ints
    variable: Ints
    depth1: Ints
    depth2: Ints


class Witnessing:
    """The patterns with variables of a set, and what is remembered of label paths."""

    def __init__(
        self, patterns: Sequence[TreePattern], vocabulary: PatternNames, layout: Layout, bounds: TreeBounds
    ) -> None:
        self._bounds = bounds
        self._labels = vocabulary.labels
        bound = [bound_of(index, pattern) for index, pattern in enumerate(patterns) if binds(pattern.root)]
        self._label_of = {node.name: vocabulary.label(node.name) for one in bound for node in one.nodes}
        self._linear: dict[int, list[Bound]] = {}
        for one in bound:
            if one.is_linear:
                atom = int(layout.groups.access[layout.group_of[one.pattern]])
                self._linear.setdefault(atom, []).append(one)
        branching = [one for one in bound if not one.is_linear]
        self._place = np.full(len(patterns), -1, np.int32)
        self._place[[one.pattern for one in branching]] = np.arange(len(branching))
        self._rows = rows_of(branching, vocabulary)
        self._above = np.array([above for one in branching for above in one.above], np.int32)
        self._has_branching = bool(branching)
        self._last = np.unique(
            np.array(
                [_key(one.pattern, node) for one in bound for node, last in enumerate(one.is_last) if last],
                np.int64,
            )
        )
        self._aligned: dict[int, Aligned | None] = {}

    def forget(self) -> None:
        self._aligned.clear()

    def of(self, trees: TreeSet, batches: Iterable[ReadBatch]) -> Witnesses:
        parts = [self._of_batch(trees, read) for read in batches]
        rows = np.concatenate([_NO_ROWS, *(rows for rows, _, _, _ in parts)])
        chosen = np.concatenate([_NO_ROWS[:, :2], *(chosen for _, chosen, _, _ in parts)])
        values = [value for _, _, values, _ in parts for value in values]
        refused = {number: error for _, _, _, errors in parts for number, error in errors.items()}
        document, pattern, variable, node1, node2 = np.ascontiguousarray(rows.T)
        return Witnesses(
            document, pattern, variable, node1, node2, chosen[:, 0], chosen[:, 1], values, refused
        )

    def _of_batch(
        self, trees: TreeSet, read: ReadBatch
    ) -> tuple[Ints, Ints, list[str], dict[int, DocumentError]]:
        """(rows, nodes with values, their values, refusals) of some documents."""
        batch, limit = read.batch, self._bounds.max_witnesses
        refused: dict[int, DocumentError] = {}
        parts = [self._linear_rows(trees, batch, refused)] if self._linear else []
        if self._has_branching:
            parts.append(self._branching_rows(trees, batch, refused))
        rows = _sorted_once(np.concatenate([_NO_ROWS, *parts]))
        counts = np.bincount(rows[:, 0], minlength=1)
        refused |= {number: too_many(limit) for number in np.flatnonzero(counts > limit).tolist()}
        keys = _key(rows[:, 1].astype(np.int64), rows[:, 2])
        chosen = _sorted_once(rows[np.isin(keys, self._last)][:, [0, 4]])
        spans = batch.spans[batch.ptr[chosen[:, 0]] + chosen[:, 1]]
        refused |= self._too_long(batch, chosen[:, 0], spans)
        if refused:
            kept = ~np.isin(chosen[:, 0], list(refused))
            chosen, spans = chosen[kept], spans[kept]
            rows = rows[~np.isin(rows[:, 0], list(refused))]
        shift = np.array([read.start], np.int32)
        rows[:, 0] += shift
        chosen[:, 0] += shift
        errors = read.refused | {read.start + number: error for number, error in refused.items()}
        return rows, chosen, _texts(batch, spans), errors

    def _too_long(
        self, batch: DocumentArrays, documents: Ints, spans: NDArray[np.int64]
    ) -> dict[int, DocumentError]:
        limit = self._bounds.max_value_chars
        refused: dict[int, DocumentError] = {}
        for place in np.flatnonzero(spans[:, 1] - spans[:, 0] > limit).tolist():
            length = len(_texts(batch, spans[place : place + 1])[0])
            if length > limit:
                refused[int(documents[place])] = DocumentError(
                    f"a node's string value has {length:,} characters, the bound is {limit:,}",
                    hint="bind a node further down",
                )
        return refused

    def _linear_rows(self, trees: TreeSet, batch: DocumentArrays, refused: dict[int, DocumentError]) -> Ints:
        """All documents at once, path by path; a document is refused before its rows are made."""
        limit = self._bounds.max_witnesses
        sizes = np.diff(batch.ptr)
        number = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
        base = np.repeat(batch.ptr[:-1], sizes)
        parent = batch.nodes[:, PARENT] + base
        found = [_NO_ROWS]
        rows_of_document = np.zeros(len(sizes), np.int64)
        for path, nodes in _by_path(batch.paths):
            aligned = self._align(trees, path)
            if aligned is None:
                continue
            rows_of_document += np.bincount(number[nodes], minlength=len(sizes)) * len(aligned.pattern)
            over = rows_of_document > limit
            if over.any():
                refused.update((one, too_many(limit)) for one in np.flatnonzero(over).tolist())
                nodes = nodes[~over[number[nodes]]]
            chain = _chain(nodes, parent, len(trees.path_labels(path)))
            lower = chain[:, aligned.depth2] - base[nodes][:, None]
            upper = np.where(aligned.depth1 < 0, -1, chain[:, aligned.depth1] - base[nodes][:, None])
            columns = (number[nodes][:, None], aligned.pattern, aligned.variable, upper, lower)
            found.append(
                np.stack([column.ravel() for column in np.broadcast_arrays(*columns)], axis=1).astype(
                    np.int32
                )
            )
        return np.concatenate(found)

    def _align(self, trees: TreeSet, path: int) -> Aligned | None:
        """What each node of a path binds in linear patterns, remembered."""
        if path not in self._aligned:
            labels = trees.path_labels(path)
            bound = [one for atom in trees.exists(path).tolist() for one in self._linear.get(atom, ())]
            rows = [
                (one.pattern, *pair)
                for one in bound
                for pair in alignments(self._steps(one), labels, one.pairs)
            ]
            self._aligned[path] = Aligned(*np.array(rows, np.int32).T) if rows else None
        return self._aligned[path]

    def _steps(self, one: Bound) -> list[tuple[int, int]]:
        return [(int(node.axis == "//"), self._label_of[node.name]) for node in one.nodes]

    def _branching_rows(
        self, trees: TreeSet, batch: DocumentArrays, refused: dict[int, DocumentError]
    ) -> Ints:
        ptr, patterns, numbers = trees.found_with_values(batch)
        documents = np.repeat(np.arange(len(ptr) - 1, dtype=np.int32), np.diff(ptr))
        is_wanted = self._place[patterns] >= 0
        documents, patterns = documents[is_wanted], patterns[is_wanted]
        limit = self._bounds.max_witnesses
        rows, is_complete = bind_batch(
            batch, numbers, documents, self._place[patterns], self._rows, self._above, self._labels, limit
        )
        refused.update((one, too_many(limit)) for one in np.flatnonzero(~is_complete).tolist())
        pair = rows[:, 0]
        return np.column_stack([documents[pair], patterns[pair], rows[:, 1:]]).astype(np.int32)


def too_many(limit: int) -> DocumentError:
    return DocumentError(
        f"the patterns' variables bind more than {limit:,} pairs of nodes in one document",
        hint="a step like //* binds every node; name the elements it should bind",
    )


def _key(pattern: NDArray[np.int64] | int, node: Ints | int) -> NDArray[np.int64] | int:
    return pattern << 8 | node


def _sorted_once(rows: Ints) -> Ints:
    return np.unique(rows, axis=0) if len(rows) else rows.copy()


def _by_path(paths: Ints) -> Iterable[tuple[int, NDArray[np.int64]]]:
    """The nodes of each label path, in document order."""
    order = np.argsort(paths, kind="stable")
    distinct, starts = np.unique(paths[order], return_index=True)
    return zip(distinct.tolist(), np.split(order, starts[1:]), strict=True) if len(order) else ()


def _chain(nodes: NDArray[np.int64], parent: NDArray[np.int64], depth: int) -> NDArray[np.int64]:
    """Of each node the nodes above it, from the root (column 0) down to itself."""
    chain = np.empty((len(nodes), depth), np.int64)
    here = nodes
    for column in range(depth - 1, -1, -1):
        chain[:, column] = here
        here = parent[here] if column else here
    return chain


def _texts(batch: DocumentArrays, spans: NDArray[np.int64]) -> list[str]:
    offsets, data = gathered(batch.chars, spans)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    texts: list[str] = pa.LargeStringArray.from_buffers(len(spans), *buffers[1:]).to_pylist()
    return texts
