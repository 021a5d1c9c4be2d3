"""Conjunctions as a trie: grouped by their rarest atom, sharing the verification of what they begin with."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from feedweir.match.arrays import frozen
from feedweir.match.match_kernels import Trie
from feedweir.match.trie_kernels import lay_blocks, order_for_sharing, put_rarest_first

MAX_DEPTH = 9
"""Atoms of one conjunction that the trie tests; a longer one has the others verified by its check."""

Numbers = npt.NDArray[Any]


def trie_of(offsets: Numbers, atoms: Numbers, entries: Numbers, probabilities: Numbers) -> Trie:
    """The trie of conjunctions `atoms[offsets[c] : offsets[c + 1]]`, at whose ends `entries[c]` is found.

    `probabilities` are those of all atoms. `atoms` is put in order in place.
    """
    put_rarest_first(offsets, atoms, probabilities)
    order_for_sharing(np.argsort(atoms[offsets[:-1]], kind="stable"), offsets, atoms, probabilities)
    paths = _padded(offsets, atoms)
    order = np.lexsort(paths.T[::-1])
    paths, lengths = paths[order], np.diff(offsets)[order]
    node_atoms, parents, ends = _nodes(paths, lengths)
    n_nodes = len(node_atoms)
    child_counts = np.bincount(parents[parents >= 0], minlength=n_nodes)
    n_roots = int((parents < 0).sum())
    child_starts = np.concatenate([[0], np.cumsum(child_counts)]) + n_roots
    entry_starts = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=n_nodes))])
    by_end = entries[order][np.argsort(ends, kind="stable")]
    return _laid_out(n_roots, node_atoms, child_starts, entry_starts, by_end, len(probabilities))


def _laid_out(
    n_roots: int, atoms: Numbers, child_starts: Numbers, entry_starts: Numbers, entries: Numbers, n_atoms: int
) -> Trie:
    places = np.zeros(len(atoms), np.int32)
    arrays = [array.astype(np.int32) for array in (atoms, child_starts, entry_starts, entries)]
    size = lay_blocks(n_roots, *arrays, places, np.empty(0, np.int32))
    blocks = np.zeros(max(size, 1), np.int32)
    lay_blocks(n_roots, *arrays, places, blocks)
    roots = np.full(n_atoms, -1, np.int32)
    roots[atoms[:n_roots]] = places[:n_roots]
    return Trie(frozen(roots), frozen(blocks))


def _padded(offsets: Numbers, atoms: Numbers) -> Numbers:
    """Conjunctions as rows of a table, filled up with -1."""
    lengths = np.diff(offsets)
    table = np.full((len(lengths), max(int(lengths.max(initial=1)), 1)), -1, np.int32)
    table[np.arange(table.shape[1]) < lengths[:, None]] = atoms
    return table


def _nodes(paths: Numbers, lengths: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """(atom of each node, parent of each node, end node of each path), level by level; paths are sorted."""
    ends = np.zeros(len(paths), np.int64)
    atoms: list[Numbers] = []
    parents: list[Numbers] = []
    above = np.full(len(paths), -1, np.int64)
    differs = np.zeros(len(paths), bool)
    first_node = 0
    for level in range(paths.shape[1]):
        differs[1:] |= paths[1:, level] != paths[:-1, level]
        differs[:1] = True
        begins = differs & (lengths > level)
        node = first_node + np.cumsum(begins) - 1
        atoms.append(paths[begins, level])
        parents.append(above[begins])
        ends[lengths == level + 1] = node[lengths == level + 1]
        above = node
        first_node += int(begins.sum())
    return np.concatenate(atoms), np.concatenate(parents), ends
