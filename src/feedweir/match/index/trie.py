"""Conjunctions as a trie: grouped by their rarest atom; those that begin alike share the tests of their first atoms."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from feedweir.match.arrays import frozen
from feedweir.match.index.trie_kernels import (
    grouped_by_first,
    lay_blocks,
    order_for_sharing,
    put_in_order,
    put_rarest_first,
)
from feedweir.match.matching.match_kernels import Trie

MAX_DEPTH = 9
"""Atoms of one conjunction that the trie tests; a longer one has the others verified by its check."""

Numbers = npt.NDArray[Any]


def trie_of(offsets: Numbers, atoms: Numbers, entries: Numbers, probabilities: Numbers) -> Trie:
    """The trie of conjunctions `atoms[offsets[c] : offsets[c + 1]]`, at whose ends `entries[c]` is found.

    `probabilities` are those of all atoms. `atoms` is put in order in place.
    """
    put_rarest_first(offsets, atoms, probabilities)
    order = grouped_by_first(offsets, atoms, len(probabilities))
    order_for_sharing(order, offsets, atoms, probabilities)
    put_in_order(order, offsets, atoms)
    roots = np.full(len(probabilities), -1, np.int32)
    found = entries.astype(np.int32)
    # a header and a place among its parent's children for every atom, at most; what is not written is never touched
    blocks = np.empty(4 * len(atoms) + len(found) + 1, np.int32)
    blocks[0] = 0
    size = lay_blocks(order, offsets, atoms, found, roots, blocks)
    return Trie(frozen(roots), frozen(blocks[: max(size, 1)].copy()))
