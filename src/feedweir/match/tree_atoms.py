"""Tree patterns as atoms: the items of a batch are read as XML once, and all patterns are found in them together.

 text   p0 ⏎ p1 ⏎ p2 …     the patterns as JSON, each on a line
atoms   a0    a1    a2 …     an item that has pattern i satisfies atoms[i]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from feedweir.items.tree import roots_in
from feedweir.match.arrays import Array, frozen
from feedweir.match.atoms import Tree
from feedweir.match.trees import TreeSet, compile_trees, xpath_of
from feedweir.plan.predicates import TreePattern
from feedweir.plan.wire import predicate_from_json, predicate_to_json


@dataclass(frozen=True)
class TreeAtoms:
    atoms: Array
    text: Array
    sources: Sequence[str] | None = None
    """Only items of these sources are read as XML; None for all."""

    def __len__(self) -> int:
        return len(self.atoms)

    def found_in(self, items: pa.RecordBatch) -> tuple[Array, Array]:
        """(rows, atoms) of the patterns that the items of a batch have."""
        rows = self._read_rows(items)
        if not len(rows):
            return np.empty(0, np.int64), np.empty(0, np.int32)
        trees = self._trees
        found = trees.matches_of(trees.read(root) for root in roots_in(items.take(pa.array(rows))))
        return np.repeat(rows, np.diff(found.ptr)), self.atoms[found.patterns]

    def name_of(self, atom: int) -> str:
        return f"path {xpath_of(self._patterns[int(np.flatnonzero(self.atoms == atom)[0])])}"

    def _read_rows(self, items: pa.RecordBatch) -> Array:
        if not len(self):
            return np.empty(0, np.int64)
        if self.sources is None:
            return np.arange(items.num_rows)
        is_read = pc.is_in(items.column("source"), pa.array(self.sources, pa.string()))
        return np.flatnonzero(is_read.to_numpy(zero_copy_only=False))

    @cached_property
    def _patterns(self) -> tuple[TreePattern, ...]:
        lines = self.text.tobytes().decode().split("\n")
        return tuple(predicate_from_json(line) for line in lines)  # type: ignore[misc]

    @cached_property
    def _trees(self) -> TreeSet:
        return compile_trees(self._patterns)


def tree_atoms_of(numbers: Mapping[Tree, int], sources: Sequence[str] | None) -> TreeAtoms:
    text = "\n".join(predicate_to_json(tree.pattern) for tree in numbers).encode()
    return TreeAtoms(
        frozen(np.fromiter(numbers.values(), np.int32, len(numbers))),
        frozen(np.frombuffer(text, np.uint8)),
        sources,
    )
