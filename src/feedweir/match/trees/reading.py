"""A document while it is matched: its nodes by label path and by name, its values as the patterns compare them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from feedweir.match.trees.automaton import PathFacts
from feedweir.match.trees.document import DocumentTree, PathTable
from feedweir.match.trees.steps import number_of

Ints = NDArray[np.int32]
_UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class Structure:
    """Nodes listed by the names that patterns use; then all elements, then all attributes; in document order."""

    lists_ptr: NDArray[np.int64]
    lists: Ints
    keys: Ints
    """Document order that also places attributes: 2n for element n, 2n + 1 for its attributes."""
    ends: Ints
    parent: Ints
    label: Ints

    @property
    def columns(self) -> tuple[NDArray[np.generic], ...]:
        return self.lists_ptr, self.lists, self.keys, self.ends, self.parent


@dataclass(frozen=True, slots=True)
class Values:
    """Of each node the number of its text (`_UNKNOWN` when no pattern names that text) and its number."""

    texts: Ints
    numbers: NDArray[np.float64]

    def by_text(self) -> tuple[Ints, Ints]:
        """The numbers of the texts there are that patterns name, sorted, and their nodes."""
        known = np.flatnonzero(self.texts >= 0).astype(np.int32)
        order = known[np.argsort(self.texts[known], kind="stable")]
        return self.texts[order], order

    def by_number(self) -> tuple[NDArray[np.float64], Ints]:
        """The numbers there are, sorted, and their nodes."""
        known = np.flatnonzero(~np.isnan(self.numbers)).astype(np.int32)
        order = known[np.argsort(self.numbers[known], kind="stable")]
        return self.numbers[order], order


def structure_of(tree: DocumentTree, table: PathTable, labels: dict[str, int]) -> Structure:
    count = len(tree)
    used, inverse = np.unique(tree.paths, return_inverse=True)
    label_of_path = np.array([labels.get(table.labels[path], _UNKNOWN) for path in used.tolist()], np.int32)
    label = label_of_path[inverse]
    order = np.argsort(label, kind="stable").astype(np.int32)
    named = order[np.searchsorted(label[order], 0) :]
    counts = np.bincount(label[named], minlength=len(labels))
    everything = np.arange(count, dtype=np.int32)
    ptr = np.concatenate([[0], np.cumsum(counts), [len(named) + tree.elements, len(named) + count]])
    keys = 2 * everything
    keys[tree.elements :] = 2 * tree.parent[tree.elements :] + 1
    return Structure(ptr, np.concatenate([named, everything]), keys, tree.end, tree.parent, label)


def values_at(
    tree: DocumentTree, nodes_of: dict[int, Ints], facts: dict[int, PathFacts], texts: dict[str, int]
) -> tuple[Values, dict[int, list[str]]]:
    """The values of the nodes on paths where something is compared, and those values by path."""
    numbers = np.full(len(tree), np.nan)
    ids = np.full(len(tree), _UNKNOWN, np.int32)
    by_path: dict[int, list[str]] = {}
    for path, nodes in nodes_of.items():
        fact = facts[path]
        if not fact.needs_values:
            continue
        found = tree.values_of(nodes.tolist())
        by_path[path] = found
        if fact.compares_text:
            ids[nodes] = [texts.get(text, _UNKNOWN) for text in found]
        if fact.ranges:
            numbers[nodes] = [number_of(text) for text in found]
    return Values(ids, numbers), by_path


def nodes_by_path(paths: Ints) -> dict[int, Ints]:
    """The nodes of each label path, in document order."""
    order = np.argsort(paths, kind="stable").astype(np.int32)
    distinct, starts = np.unique(paths[order], return_index=True)
    return dict(zip(distinct.tolist(), np.split(order, starts[1:]), strict=True))
