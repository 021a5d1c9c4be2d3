"""Witnesses: which nodes the variables of patterns bind, as the relations R_binW and R_docW of a batch.

A row of R_binW is a pair of nodes bound by a variable and by the nearest variable above it. A variable without any
other variable above or below it is paired with the document (node -1). R_docW has the string values of the nodes that
are bound by a variable with no variable below it: those are what joins compare.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from feedweir.errors import DocumentError
from feedweir.match.trees import embed_kernels as kernels
from feedweir.match.trees.alignments import alignments
from feedweir.match.trees.document import DocumentTree
from feedweir.match.trees.reading import nodes_by_path, structure_of
from feedweir.match.trees.steps import FlatPattern, Tables, flatten
from feedweir.plan.predicates import TreePattern

if TYPE_CHECKING:
    from feedweir.match.trees.compiled import TreeSet

Ints = NDArray[np.int32]
NOT_BOUND = -2
DOCUMENT = -1


@dataclass(frozen=True, slots=True)
class Bound:
    """A pattern with variables: its nodes as written, and of each node the nearest variable above."""

    pattern: int
    flat: FlatPattern
    above: tuple[int, ...]
    """By node: the node of the nearest variable above, DOCUMENT when it binds alone, NOT_BOUND when it gives no row."""
    is_last: tuple[bool, ...]
    """By node: bound, with no variable below it."""
    is_linear: bool

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        return tuple((above, node) for node, above in enumerate(self.above) if above != NOT_BOUND)


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


def bound_of(index: int, pattern: TreePattern, tables: Tables) -> Bound:
    flat = flatten(pattern, tables)
    nearest: list[int] = []
    has_below = [False] * len(flat.nodes)
    for node, parent in enumerate(flat.parents):
        up = parent
        while up >= 0 and not flat.nodes[up].variable:
            up = flat.parents[up]
        nearest.append(up)
        if flat.nodes[node].variable and up >= 0:
            has_below[up] = True
    above = tuple(_above(flat, node, nearest[node], has_below[node]) for node in range(len(flat.nodes)))
    last = tuple(bool(one.variable) and not has_below[node] for node, one in enumerate(flat.nodes))
    is_chain = all(parent == node - 1 for node, parent in enumerate(flat.parents))
    return Bound(index, flat, above, last, is_chain and not flat.compares)


def _above(flat: FlatPattern, node: int, nearest: int, has_below: bool) -> int:
    if not flat.nodes[node].variable or (nearest < 0 and has_below):
        return NOT_BOUND
    return nearest if nearest >= 0 else DOCUMENT


@dataclass(frozen=True, slots=True)
class Aligned:
    """The rows that every node of one label path gives: columns over linear patterns and their pairs."""

    bound: Ints
    variable: Ints
    depth1: Ints
    depth2: Ints


def witnesses_of(trees: TreeSet, documents: Sequence[DocumentTree]) -> Witnesses:
    refused: dict[int, DocumentError] = {}
    parts = [_linear_rows(trees, documents, refused)] if documents else []
    if any(not bound.is_linear for bound in trees.bound):
        for number, tree in enumerate(documents):
            try:
                parts.append(_branching_rows(trees, number, tree))
            except DocumentError as error:
                refused[number] = error
    rows = np.concatenate(parts) if parts else np.empty((0, 5), np.int32)
    rows = np.unique(rows, axis=0) if len(rows) else rows
    rows = _within_bounds(rows, trees.bounds.max_witnesses, refused)
    return _with_values(trees, documents, rows, refused)


def _within_bounds(rows: Ints, limit: int, refused: dict[int, DocumentError]) -> Ints:
    counts = np.bincount(rows[:, 0]) if len(rows) else np.empty(0, np.int64)
    for number in np.flatnonzero(counts > limit).tolist():
        refused[number] = too_many(limit)
    return rows[~np.isin(rows[:, 0], list(refused))] if refused else rows


def too_many(limit: int) -> DocumentError:
    return DocumentError(
        f"the patterns' variables bind more than {limit:,} pairs of nodes in one document",
        hint="a step like //* binds every node; name the elements it should bind",
    )


def _linear_rows(
    trees: TreeSet, documents: Sequence[DocumentTree], refused: dict[int, DocumentError]
) -> Ints:
    """All documents at once, path by path; a document is refused before its rows are made."""
    paths = np.concatenate([tree.paths for tree in documents])
    sizes = np.array([len(tree) for tree in documents])
    number = np.repeat(np.arange(len(documents), dtype=np.int32), sizes)
    base = np.repeat(np.cumsum(sizes) - sizes, sizes).astype(np.int32)
    parent = np.concatenate([tree.parent for tree in documents]) + base
    found = [np.empty((0, 5), np.int32)]
    rows_of = np.zeros(len(documents), np.int64)
    for path, nodes in nodes_by_path(paths).items():
        aligned = trees.aligned(path)
        if aligned is None:
            continue
        rows_of += np.bincount(number[nodes], minlength=len(documents)) * len(aligned.bound)
        over = rows_of > trees.bounds.max_witnesses
        if over.any():
            refused.update(
                (one, too_many(trees.bounds.max_witnesses)) for one in np.flatnonzero(over).tolist()
            )
            nodes = nodes[~over[number[nodes]]]
        chain = _chain(nodes, parent, trees.paths.depth(path))
        pattern = np.array([trees.bound[bound].pattern for bound in aligned.bound.tolist()], np.int32)
        lower = chain[:, aligned.depth2] - base[nodes][:, None]
        upper = np.where(aligned.depth1 < 0, -1, chain[:, aligned.depth1] - base[nodes][:, None])
        columns = (number[nodes][:, None], pattern, aligned.variable, upper, lower)
        found.append(np.stack([column.ravel() for column in np.broadcast_arrays(*columns)], axis=1))
    return np.concatenate(found).astype(np.int32)


def _chain(nodes: Ints, parent: Ints, depth: int) -> Ints:
    """Of each node the nodes above it, from the root (column 0) down to itself."""
    chain = np.empty((len(nodes), depth), np.int32)
    here = nodes
    for column in range(depth - 1, -1, -1):
        chain[:, column] = here
        here = parent[here] if column else here
    return chain


def align(trees: TreeSet, path: int, atoms: Sequence[int]) -> Aligned | None:
    """The rows of a path, from the linear patterns that one of these atoms decides."""
    names = trees.paths.names(path)
    rows = [
        (number, *pair)
        for number in sorted({number for atom in atoms for number in trees.linear_by_atom.get(atom, ())})
        for pair in alignments(trees.bound[number].flat.nodes, names, trees.bound[number].pairs)
    ]
    if not rows:
        return None
    return Aligned(*np.array(rows, np.int32).T)


def _branching_rows(trees: TreeSet, number: int, tree: DocumentTree) -> Ints:
    nodes = nodes_by_path(tree.paths)
    facts = trees.facts(nodes)
    candidates, values = trees.bound_candidates(tree, nodes, facts)
    found = [np.empty((0, 5), np.int32)]
    if len(candidates):
        structure = structure_of(tree, trees.paths, trees.labels)
    total = 0
    for candidate in candidates.tolist():
        bound = trees.bound[candidate]
        first, last = trees.bound_rows.ptr[candidate], trees.bound_rows.ptr[candidate + 1]
        rows, is_complete = kernels.bindings(
            first,
            last,
            *trees.bound_rows.columns,
            *structure.columns,
            values.texts,
            values.numbers,
            np.array(bound.above, np.int32),
            trees.bounds.max_witnesses - total,
        )
        if not is_complete:
            raise too_many(trees.bounds.max_witnesses)
        total += len(rows)
        head = np.broadcast_to(np.array([number, bound.pattern], np.int32), (len(rows), 2))
        found.append(np.hstack([head, rows]))
    return np.concatenate(found)


def _with_values(
    trees: TreeSet, documents: Sequence[DocumentTree], rows: Ints, refused: dict[int, DocumentError]
) -> Witnesses:
    last = {
        (bound.pattern, node)
        for bound in trees.bound
        for node, is_last in enumerate(bound.is_last)
        if is_last
    }
    pairs = np.unique(rows[:, 1:3], axis=0) if len(rows) else np.empty((0, 2), np.int32)
    wanted = np.array([pair for pair in map(tuple, pairs.tolist()) if pair in last], np.int32).reshape(-1, 2)
    keys = rows[:, 1].astype(np.int64) << 8 | rows[:, 2]
    chosen = rows[np.isin(keys, wanted[:, 0].astype(np.int64) << 8 | wanted[:, 1])][:, [0, 4]]
    chosen = np.unique(chosen, axis=0) if len(chosen) else chosen
    values: list[str] = []
    for document, node in chosen.tolist():
        try:
            values.append(documents[document].value(node))
        except DocumentError as error:
            refused[document] = error
            values.append("")
    if refused:
        kept = ~np.isin(chosen[:, 0], list(refused))
        values = [value for value, is_kept in zip(values, kept.tolist(), strict=True) if is_kept]
        chosen = chosen[kept]
        rows = rows[~np.isin(rows[:, 0], list(refused))]
    document, pattern, variable, node1, node2 = np.ascontiguousarray(rows.T)
    return Witnesses(document, pattern, variable, node1, node2, chosen[:, 0], chosen[:, 1], values, refused)
