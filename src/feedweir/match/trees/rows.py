"""The distinct patterns of a set as flat arrays, for the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from feedweir.match.trees.steps import TEXT_EQ, TEXT_NE, FlatPattern, Tables, by_access, comparison_of

Ints = NDArray[np.int32]
NO_TEXT = -1


@dataclass(frozen=True, slots=True)
class PatternRows:
    """Pattern p has the nodes ptr[p] to ptr[p + 1], in pre-order; `up` is local to the pattern."""

    ptr: NDArray[np.int64]
    label: Ints
    axis: NDArray[np.int8]
    up: NDArray[np.int8]
    op: NDArray[np.int8]
    text: Ints
    """The number of the text compared with."""
    number: NDArray[np.float64]

    @property
    def columns(self) -> tuple[NDArray[np.generic], ...]:
        return self.label, self.axis, self.up, self.op, self.text, self.number


@dataclass(frozen=True, slots=True)
class Postings:
    """Under each atom the patterns that are found by it, and of each of these, where it is listed, its other atoms."""

    ptr: NDArray[np.int64]
    patterns: Ints
    rest_ptr: NDArray[np.int64]
    rest: Ints


def rows_of(patterns: Sequence[FlatPattern], tables: Tables) -> PatternRows:
    nodes = [node for pattern in patterns for node in pattern.nodes]
    compared = [comparison_of(node) for node in nodes]
    texts = [
        tables.texts.setdefault(text, len(tables.texts)) if op in (TEXT_EQ, TEXT_NE) else NO_TEXT
        for op, text, _ in compared
    ]
    return PatternRows(
        offsets([len(pattern.nodes) for pattern in patterns]),
        np.array([tables.label(node.name) for node in nodes], np.int32),
        np.array([node.axis == "//" for node in nodes], np.int8),
        np.array([parent for pattern in patterns for parent in pattern.parents], np.int8),
        np.array([op for op, _, _ in compared], np.int8),
        np.array(texts, np.int32),
        np.array([number for _, _, number in compared], np.float64),
    )


def postings_of(chosen: Sequence[int], patterns: Sequence[FlatPattern], tables: Tables) -> Postings:
    """The chosen patterns, each listed under the atom it is best found by."""
    kinds = list(tables.atoms)
    popularity = np.zeros(len(kinds), np.int64)
    for pattern in chosen:
        popularity[list(patterns[pattern].atoms)] += 1
    asked = popularity.tolist()
    ranked = {pattern: by_access(patterns[pattern].atoms, kinds, asked) for pattern in chosen}
    listed = sorted((ranked[pattern][0], pattern) for pattern in chosen)
    counts = np.bincount(np.array([atom for atom, _ in listed], np.int64), minlength=len(kinds))
    rest = [ranked[pattern][1:] for _, pattern in listed]
    return Postings(
        offsets(counts.tolist()),
        np.array([pattern for _, pattern in listed], np.int32),
        offsets([len(atoms) for atoms in rest]),
        np.array([atom for atoms in rest for atom in atoms], np.int32),
    )


def offsets(lengths: Sequence[int]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(np.array(lengths, np.int64))])
