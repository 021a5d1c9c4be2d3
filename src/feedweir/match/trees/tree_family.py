"""Tree patterns as atoms: the items of a batch are read as XML once, and all patterns are found in them together.

 text   p0 ⏎ p1 ⏎ p2 …     the patterns as JSON, each on a line
atoms   a0    a1    a2 …     an item that has pattern i satisfies atoms[i]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from threading import Lock
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from feedweir.items.columns import Batch, is_from
from feedweir.items.tree import roots_in
from feedweir.match.arrays import Array, frozen
from feedweir.match.atoms import Ask, Atom
from feedweir.match.family import SeenShares
from feedweir.match.formula import Formula
from feedweir.match.trees import TreeSet, compile_trees, fits, xpath_of
from feedweir.plan.predicate_wire import predicate_from_json, predicate_to_json
from feedweir.plan.predicates import TreePattern

_SHARE = 0.0005
"""Below that of sources: many patterns are asked of one source, and each is found by itself."""


@dataclass(frozen=True, slots=True)
class Tree(Atom):
    """The item's XML has this pattern."""

    pattern: TreePattern


class TreeFamily:
    name = "trees"
    predicates = (TreePattern,)
    atoms = (Tree,)

    def formula_of(self, predicate: TreePattern) -> Formula:
        return Tree(predicate) if fits(predicate) else Ask(predicate)

    def share_of(self, atom: Tree, seen: SeenShares) -> float:
        return _SHARE

    def compiled(self, numbers: Mapping[Tree, int], sources: Sequence[str] | None) -> TreeAtoms:
        """In the order of their texts, so that the same patterns are the same text whatever their numbers are."""
        texts = sorted((predicate_to_json(tree.pattern), number) for tree, number in numbers.items())
        return TreeAtoms(
            frozen(np.fromiter((number for _, number in texts), np.int32, len(texts))),
            frozen(np.frombuffer("\n".join(text for text, _ in texts).encode(), np.uint8)),
            sources,
        )

    def loaded(self, arrays: Mapping[str, Array], details: Any) -> TreeAtoms:
        return TreeAtoms(arrays["atoms"], arrays["text"], details)


@dataclass(frozen=True)
class TreeAtoms:
    atoms: Array
    text: Array
    sources: Sequence[str] | None = None
    """Only items of these sources are read as XML; None for all."""

    def stored(self) -> tuple[dict[str, Array], Any]:
        return {"atoms": self.atoms, "text": self.text}, self.sources

    def facts(self, items: Batch) -> Iterator[tuple[Array, Array]]:
        rows = self._read_rows(items)
        if len(rows):
            trees = self._trees
            found = trees.matches_of(trees.read(root) for root in roots_in(items, rows.tolist()))
            yield np.repeat(rows, np.diff(found.ptr)), self.atoms[found.patterns]

    def describe(self, atom: int) -> str | None:
        places = np.flatnonzero(self.atoms == atom)
        return f"path {xpath_of(self._patterns[int(places[0])])}" if len(places) else None

    def _read_rows(self, items: Batch) -> Array:
        if self.sources is None:
            return np.arange(items.num_rows)
        return np.flatnonzero(is_from(items, self._sources))

    @cached_property
    def _sources(self) -> frozenset[str]:
        return frozenset(self.sources or ())

    @cached_property
    def _patterns(self) -> tuple[TreePattern, ...]:
        lines = self.text.tobytes().decode().split("\n")
        return tuple(predicate_from_json(line) for line in lines)  # type: ignore[misc]

    @cached_property
    def _trees(self) -> TreeSet:
        return _compiled.of(self.text.tobytes(), lambda: compile_trees(self._patterns))


class _Compiled:
    """The tree sets of this process that are in use, and the last one, by their patterns: another version of a set
    mostly asks for the same ones, and compiling a hundred thousand takes seconds."""

    def __init__(self) -> None:
        self._turn = Lock()
        self._by_patterns: WeakValueDictionary[bytes, TreeSet] = WeakValueDictionary()
        self._last: TreeSet | None = None

    def of(self, patterns: bytes, compile: Callable[[], TreeSet]) -> TreeSet:
        key = blake2b(patterns, digest_size=32).digest()
        with self._turn:
            found = self._by_patterns.get(key)
        if found is None:
            found = compile()
        with self._turn:
            self._last = self._by_patterns.setdefault(key, found)
            return self._last


_compiled = _Compiled()
