"""Scratch arrays for matching, lent to one caller at a time and kept for the next; threads may share one set."""

from __future__ import annotations

import numpy as np

from feedweir.match.index.index_arrays import Index
from feedweir.match.matching.program_kernels import scratch_for_checks
from feedweir.match.matching.satisfied_kernels import Scratch, scratch_for_atoms
from feedweir.match.sets.overlay import UNCHECKED, Overlay


class ScratchPool:
    """The scratch of one index and its overlay. A caller that fails does not give back what it was lent."""

    def __init__(self, index: Index, overlay: Overlay | None) -> None:
        self._index, self._overlay = index, overlay
        self._free: list[Scratch] = []

    def lend(self) -> Scratch:
        try:
            return self._free.pop()
        except IndexError:
            return self._new()

    def take_back(self, scratch: Scratch) -> None:
        self._free.append(scratch)

    def _new(self) -> Scratch:
        index, overlay = self._index, self._overlay
        n_scoped = index.n_entries if len(index.vocabulary.scoped_starts) > 1 else 0
        return Scratch(
            scratch_for_atoms(index.n_atoms if overlay is None else len(overlay.trie.roots), n_scoped),
            scratch_for_checks(index.checks),
            scratch_for_checks(UNCHECKED if overlay is None else overlay.checks),
            np.zeros(1, np.int64),
        )
