"""A set of tree patterns compiled into one matcher.

Patterns without comparisons are decided by the document's shape, and shapes repeat, so their answers are remembered by
shape. Patterns with comparisons are found by their most selective atom; what branches is then verified on the document.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from feedweir.errors import LanguageError
from feedweir.match.trees import embed_kernels as kernels
from feedweir.match.trees.automaton import Automaton, PathFacts, edges_of
from feedweir.match.trees.branch_kernels import held
from feedweir.match.trees.document import DocumentTree, PathTable, TreeBounds, parse_tree, tree_of
from feedweir.match.trees.parts import PartMemory, parts_of
from feedweir.match.trees.reading import Values, nodes_by_path, structure_of, values_at
from feedweir.match.trees.rows import PatternRows, Postings, offsets, postings_of, rows_of
from feedweir.match.trees.satisfied import NONE, atoms_of_numbers, atoms_of_texts
from feedweir.match.trees.shapes import ShapeTable, reduced, shape_of
from feedweir.match.trees.steps import FlatPattern, Tables, canonical, flatten, in_order
from feedweir.match.trees.witnesses import Aligned, Bound, Witnesses, align, bound_of, witnesses_of
from feedweir.plan.predicates import PatternNode, TreePattern

Ints = NDArray[np.int32]
MAX_PATTERN_NODES = 63
MAX_ROOM = 1 << 24
"""Places of nodes that parts of patterns may hold before they are forgotten."""


@dataclass(frozen=True, slots=True)
class PathSet:
    """What a set of label paths decides."""

    exists: Ints
    """Atoms that are true because nodes are there, each once."""
    only: Ints
    """Of each branching step the place, among the paths, of the only one that it reaches; -1 for none and several."""


@dataclass(slots=True)
class TreeMemory:
    """What a set remembers of documents seen: never changes an answer, is emptied when full."""

    max_paths: int = 100_000
    max_shapes: int = 1_000_000
    max_remembered: int = 20_000_000
    """Answers held by shape, counted in matched patterns."""
    paths: PathTable = field(default_factory=PathTable)
    shapes: ShapeTable = field(default_factory=ShapeTable)
    by_shape: dict[int, Ints] = field(default_factory=dict)
    aligned: dict[int, Aligned | None] = field(default_factory=dict)
    path_sets: dict[tuple[int, ...], PathSet] = field(default_factory=dict)
    remembered: int = 0
    remembered_paths: int = 0

    def remember_paths(self, paths: tuple[int, ...], known: PathSet) -> None:
        self.remembered_paths += len(known.exists) + len(known.only) + len(paths)
        if self.remembered_paths > self.max_remembered:
            self.path_sets.clear()
            self.remembered_paths = 0
        self.path_sets[paths] = known

    def remember(self, shape: int, matched: Ints) -> None:
        self.remembered += len(matched) + 16
        if self.remembered > self.max_remembered:
            self.by_shape.clear()
            self.remembered = len(matched) + 16
        self.by_shape[shape] = matched


class TreeSet:
    """An immutable set of patterns; `patterns[i]` is reported as i."""

    def __init__(self, patterns: Sequence[TreePattern], bounds: TreeBounds) -> None:
        self.bounds = bounds
        self.count = len(patterns)
        self._tables = Tables()
        numbers: dict[PatternNode, int] = {}
        members: list[list[int]] = []
        for index, pattern in enumerate(patterns):
            number = numbers.setdefault(canonical(pattern.root), len(members))
            if number == len(members):
                members.append([])
            members[number].append(index)
        flat = in_order([flatten(TreePattern(root), self._tables) for root in numbers], self._tables)
        self._members_ptr = np.concatenate([[0], np.cumsum([len(group) for group in members])]).astype(
            np.int64
        )
        self._members = np.array([index for group in members for index in group], np.int32)
        self._flat = flat
        self._rows: PatternRows = rows_of(flat, self._tables)
        compares = [pattern.compares for pattern in flat]
        branching = [pattern.branching for pattern in flat]
        self._branch_ptr = offsets([len(steps) for steps in branching])
        self._branch_steps = np.array([step for steps in branching for step in steps], np.int32)
        self._parts = parts_of(self._rows, [p for p, steps in enumerate(branching) if steps])
        self._part_memory = PartMemory(len(self._parts.label))
        everyone = range(len(flat))
        self._plain: Postings = postings_of([p for p in everyone if not compares[p]], flat, self._tables)
        self._comparing: Postings = postings_of([p for p in everyone if compares[p]], flat, self._tables)
        self._bound: tuple[Bound, ...] = tuple(
            bound_of(index, pattern, self._tables)
            for index, pattern in enumerate(patterns)
            if _binds(pattern.root)
        )
        self._bound_rows: PatternRows = rows_of([bound.flat for bound in self._bound], self._tables)
        unaligned = [number for number, bound in enumerate(self._bound) if not bound.is_linear]
        flat_bound = [bound.flat for bound in self._bound]
        self._bound_postings: Postings = postings_of(unaligned, flat_bound, self._tables)
        self.linear_by_atom: dict[int, list[int]] = {}
        for number, bound in enumerate(self._bound):
            if bound.is_linear:
                self.linear_by_atom.setdefault(bound.flat.atoms[0], []).append(number)
        self._is_true = np.zeros(len(self._tables.atoms), np.bool_)
        self._memory = TreeMemory()
        self._automaton = self._fresh_automaton()

    def matches(self, document: bytes | str | Any) -> Ints:
        """The numbers of the patterns that a document (XML text, or an lxml element) has, in order."""
        self._forget_when_full()
        tree = self.read(document)
        groups = self._matched(tree)
        if len(self._members) == len(self._members_ptr) - 1:  # each pattern is a group of its own
            return np.sort(self._members[groups])
        starts = self._members_ptr[groups]
        sizes = self._members_ptr[groups + 1] - starts
        again = np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)
        return np.sort(self._members[again + np.arange(len(again))])

    def witnesses(self, documents: Iterable[bytes | str | Any]) -> Witnesses:
        """How each document has the patterns with variables: documents are numbered in the given order."""
        self._forget_when_full()
        trees = [self.read(document) for document in documents]
        return self.witnesses_of_trees(trees)

    def witnesses_of_trees(self, trees: Sequence[DocumentTree]) -> Witnesses:
        return witnesses_of(self, trees)

    def read(self, document: bytes | str | Any) -> DocumentTree:
        """The document as arrays; paths are numbered by this set's memory."""
        root = parse_tree(document) if isinstance(document, bytes | str) else document
        return tree_of(root, self._memory.paths, self.bounds)

    # What follows is read by `witnesses`.

    @property
    def bound(self) -> tuple[Bound, ...]:
        return self._bound

    @property
    def bound_rows(self) -> PatternRows:
        return self._bound_rows

    @property
    def labels(self) -> dict[str, int]:
        return self._tables.labels

    @property
    def paths(self) -> PathTable:
        return self._memory.paths

    def facts(self, paths: Iterable[int]) -> dict[int, PathFacts]:
        return {path: self._automaton.path_facts(path, self._memory.paths) for path in paths}

    def aligned(self, path: int) -> Aligned | None:
        """What each node of a path binds in linear patterns, remembered."""
        memory = self._memory.aligned
        if path not in memory:
            exists = self._automaton.path_facts(path, self._memory.paths).exists
            memory[path] = align(self, path, exists.tolist())
        return memory[path]

    def bound_candidates(
        self, tree: DocumentTree, nodes: dict[int, Ints], facts: dict[int, PathFacts]
    ) -> tuple[Ints, Values]:
        """The branching patterns with variables that the document may have, and the values they compare."""
        values, _, atoms = self._true_atoms(tree, nodes, facts)
        return np.unique(self._candidates(self._bound_postings, atoms, atoms)), values

    def _fresh_automaton(self) -> Automaton:
        tables = self._tables
        edges = edges_of(tables.steps)
        spreads = np.zeros(len(tables.steps) + 1, np.bool_)
        for (axis, _), pairs in edges.items():
            if axis == "//":
                spreads[pairs.sources] = True
        atoms_of: dict[int, list[int]] = {}
        for atom, number in tables.atoms.items():
            atoms_of.setdefault(atom.step, []).append(number)
        frozen = {step: tuple(atoms) for step, atoms in atoms_of.items()}
        branches = np.zeros(len(spreads), np.bool_)
        branches[self._branch_steps] = True
        return Automaton(edges, spreads, branches, frozen, list(tables.atoms))

    def _forget_when_full(self) -> None:
        memory = self._memory
        if len(memory.paths.labels) > memory.max_paths or len(memory.shapes.numbers) > memory.max_shapes:
            self._memory = TreeMemory(memory.max_paths, memory.max_shapes, memory.max_remembered)
            self._automaton.facts.clear()

    def _matched(self, tree: DocumentTree) -> Ints:
        nodes = nodes_by_path(tree.paths)
        facts = self.facts(nodes)
        plain = self._by_shape(tree, facts) if len(self._plain.patterns) else NONE
        if not len(self._comparing.patterns):
            return plain
        return np.concatenate([plain, self._by_values(tree, nodes, facts)])

    def _by_shape(self, tree: DocumentTree, facts: dict[int, PathFacts]) -> Ints:
        shape, shapes = shape_of(tree, self._memory.shapes)
        known = self._memory.by_shape.get(shape)
        if known is None:
            atoms = self._path_set(facts).exists
            candidates = self._candidates(self._plain, atoms, atoms)
            values = Values(np.empty(0, np.int32), np.empty(0))
            known = self._verified(candidates, reduced(tree, shapes), values)
            self._memory.remember(shape, known)
        return known

    def _by_values(self, tree: DocumentTree, nodes: dict[int, Ints], facts: dict[int, PathFacts]) -> Ints:
        values, compared, atoms = self._true_atoms(tree, nodes, facts)
        return self._verified(self._candidates(self._comparing, compared, atoms), tree, values)

    def _true_atoms(
        self, tree: DocumentTree, nodes: dict[int, Ints], facts: dict[int, PathFacts]
    ) -> tuple[Values, Ints, Ints]:
        """The comparisons that hold somewhere, and all atoms that are true: each once."""
        values, by_path = values_at(tree, nodes, facts, self._tables.texts)
        found: list[Ints] = [NONE]
        for path, texts in by_path.items():
            found += atoms_of_texts(facts[path], texts)
            if facts[path].ranges:
                found += atoms_of_numbers(facts[path], values.numbers[nodes[path]].tolist())
        compared = self._each_once(found)
        return values, compared, np.concatenate([compared, self._path_set(facts).exists])

    def _each_once(self, parts: list[Ints]) -> Ints:
        """The atoms of the parts without repetitions."""
        atoms: Ints = kernels.each_once(np.concatenate(parts), self._is_true)
        self._is_true[atoms] = False
        return atoms

    def _path_set(self, facts: dict[int, PathFacts]) -> PathSet:
        """What the paths of a document decide together, remembered: documents of a kind have the same paths."""
        key = tuple(facts)
        known = self._memory.path_sets.get(key)
        if known is None:
            exists = self._each_once([NONE, *(fact.exists for fact in facts.values())])
            only = np.full(len(self._tables.steps) + 1, -1, np.int32)
            reached = np.zeros(len(only), np.int32)
            for place, fact in enumerate(facts.values()):
                only[fact.branching] = place
                reached[fact.branching] += 1
            only[reached > 1] = -1
            known = PathSet(exists, only)
            self._memory.remember_paths(key, known)
        return known

    def _candidates(self, postings: Postings, listed: Ints, atoms: Ints) -> Ints:
        """The patterns listed under some atoms, of which all atoms are true."""
        self._is_true[atoms] = True
        found: Ints = kernels.survivors(
            listed, postings.ptr, postings.patterns, postings.rest_ptr, postings.rest, self._is_true
        )
        self._is_true[atoms] = False
        return found

    def _verified(self, candidates: Ints, tree: DocumentTree, values: Values) -> Ints:
        """The candidates that the document has; atoms decide those that branch at single nodes, or nowhere."""
        doubted = self._doubted(candidates, tree)
        doubtful = candidates[doubted]
        if not len(doubtful):
            return candidates
        structure = structure_of(tree, self._memory.paths, self._tables.labels)
        had = held(
            doubtful,
            (self._parts.root, self._parts.root_axis),
            self._parts.columns,
            (structure.lists_ptr, structure.lists, structure.label, structure.parent, tree.elements),
            (values.texts, values.numbers),
            values.by_text(),
            values.by_number(),
            self._part_memory.columns,
            MAX_ROOM,
        )
        return np.concatenate([candidates[~doubted], doubtful[had]])

    def _doubted(self, candidates: Ints, tree: DocumentTree) -> NDArray[np.bool_]:
        used, counts = np.unique(tree.paths, return_counts=True)
        paths = self._path_set(self.facts(used.tolist()))
        found: NDArray[np.bool_] = kernels.doubtful(
            candidates, self._branch_ptr, self._branch_steps, paths.only, counts
        )
        return found


def compile_trees(patterns: Iterable[TreePattern], *, bounds: TreeBounds | None = None) -> TreeSet:
    """The matcher of these patterns; `LanguageError` for a pattern too large to be one."""
    chosen = tuple(patterns)
    for pattern in chosen:
        check_pattern(pattern)
    return TreeSet(chosen, bounds or TreeBounds())


def check_pattern(pattern: TreePattern) -> None:
    """Refuse what the kernels cannot hold; callers with many patterns refuse only the one."""
    if _size(pattern.root) > MAX_PATTERN_NODES:
        raise LanguageError(
            f"a tree pattern of {_size(pattern.root)} steps is too large",
            hint=f"at most {MAX_PATTERN_NODES} steps",
        )


def _size(node: PatternNode) -> int:
    return 1 + sum(_size(child) for child in node.children)


def _binds(node: PatternNode) -> bool:
    return bool(node.variable) or any(_binds(child) for child in node.children)


__all__ = ["FlatPattern", "TreeSet", "compile_trees"]
