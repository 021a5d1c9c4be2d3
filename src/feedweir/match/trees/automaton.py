"""The shared automaton: which steps reach a label path, worked out once for each distinct path.

All steps of all patterns are one automaton with a state for each step. A label path is read once: the states it
reaches follow from those of the path above it, so the deterministic automaton is built lazily, path by path, and what
a document costs depends on its distinct paths, not on its nodes or on the number of patterns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from feedweir.match.trees.document import PathTable
from feedweir.match.trees.steps import EQ, EXISTS, GE, GT, LE, LT, NE, ROOT_STEP, TEXT_EQ, TEXT_NE, Atom

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PathFacts:
    """What a label path decides: the steps that reach it, and the atoms a node there can make true."""

    reached: Ints
    spreading: Ints
    """States above or at this path from which a `//` step can start."""
    branching: Ints
    """The reached steps at which patterns branch."""
    exists: Ints
    """Atoms that a node on this path makes true by being there."""
    text_equal: Mapping[str, Ints]
    text_unequal: tuple[tuple[str, int], ...]
    ranges: tuple[tuple[int, Floats, Ints], ...]
    """(operation, sorted numbers, atoms in that order)."""

    @property
    def compares_text(self) -> bool:
        return bool(self.text_equal or self.text_unequal)

    @property
    def needs_values(self) -> bool:
        return self.compares_text or bool(self.ranges)


@dataclass(frozen=True, slots=True)
class Edges:
    """The transitions of one axis and one name."""

    sources: Ints
    targets: Ints


@dataclass(slots=True)
class Automaton:
    """States are steps; `facts` is the lazily built deterministic part."""

    edges: Mapping[tuple[str, str], Edges]
    spreads: NDArray[np.bool_]
    """Of each state: whether a `//` step starts there."""
    branches: NDArray[np.bool_]
    """Of each state: whether a pattern branches there."""
    atoms_of: Mapping[int, tuple[int, ...]]
    atoms: Sequence[Atom]
    facts: dict[int, PathFacts] = field(default_factory=dict)

    def path_facts(self, path: int, table: PathTable) -> PathFacts:
        known = self.facts.get(path)
        if known is None:
            known = self._start() if path == 0 else self._after(path, table)
            self.facts[path] = known
        return known

    def _start(self) -> PathFacts:
        root = np.array([ROOT_STEP], np.int32)
        return self._facts(root, root[self.spreads[root]])

    def _after(self, path: int, table: PathTable) -> PathFacts:
        above = self.path_facts(table.parents[path], table)
        label = table.labels[path]
        names = (label, "@*" if label.startswith("@") else "*")
        found = [self._targets("/", name, above.reached) for name in names]
        found += [self._targets("//", name, above.spreading) for name in names]
        reached = np.unique(np.concatenate(found))
        spreading = np.union1d(above.spreading, reached[self.spreads[reached]])
        return self._facts(reached, spreading.astype(np.int32))

    def _targets(self, axis: str, name: str, sources: Ints) -> Ints:
        edges = self.edges.get((axis, name))
        if edges is None or not len(sources):
            return np.empty(0, np.int32)
        marked = np.zeros(len(self.spreads), np.bool_)
        marked[sources] = True
        return edges.targets[marked[edges.sources]]

    def _facts(self, reached: Ints, spreading: Ints) -> PathFacts:
        atoms = [atom for step in reached.tolist() for atom in self.atoms_of.get(step, ())]
        by_kind: dict[int, list[int]] = {}
        for atom in atoms:
            by_kind.setdefault(self.atoms[atom].op, []).append(atom)
        equal: dict[str, list[int]] = {}
        for atom in by_kind.get(TEXT_EQ, ()):
            equal.setdefault(self.atoms[atom].text, []).append(atom)
        return PathFacts(
            reached,
            spreading,
            reached[self.branches[reached]],
            np.array(by_kind.get(EXISTS, []), np.int32),
            {text: np.array(atoms, np.int32) for text, atoms in equal.items()},
            tuple((self.atoms[atom].text, atom) for atom in by_kind.get(TEXT_NE, ())),
            tuple(self._range(op, by_kind[op]) for op in (EQ, NE, LT, LE, GT, GE) if op in by_kind),
        )

    def _range(self, op: int, atoms: list[int]) -> tuple[int, Floats, Ints]:
        numbers = np.array([self.atoms[atom].number for atom in atoms])
        order = np.argsort(numbers, kind="stable")
        return op, numbers[order], np.array(atoms, np.int32)[order]


def edges_of(steps: Mapping[tuple[int, str, str], int]) -> dict[tuple[str, str], Edges]:
    """The transitions of all steps, by axis and name."""
    grouped: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for (parent, axis, name), step in steps.items():
        grouped.setdefault((axis, name), []).append((parent, step))
    return {
        key: Edges(*(np.array(column, np.int32) for column in zip(*pairs, strict=True)))
        for key, pairs in grouped.items()
    }
