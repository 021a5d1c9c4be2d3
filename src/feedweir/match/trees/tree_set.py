"""A set of tree patterns compiled into one matcher.

A batch of documents goes through three kernels: bytes to nodes on label paths (`read_kernels`), nodes to the values
that patterns compare (`value_kernels`), atoms to patterns (`find_kernels`). Between them Python only works out the
states of label paths that were never met.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from feedweir.errors import DocumentError
from feedweir.match.trees.automaton import Automaton, Facts
from feedweir.match.trees.documents.document import DocumentTree, TreeBounds, tree_of, written_plainly
from feedweir.match.trees.documents.document_shape_kernels import (
    SMALL_NODES,
    DocumentShapes,
    room_for_document_shapes,
)
from feedweir.match.trees.documents.label_paths import PathTable
from feedweir.match.trees.documents.name_table import names_of
from feedweir.match.trees.documents.read_kernels import ODD, TOO_LARGE, DocumentArrays, read_batch
from feedweir.match.trees.documents.value_kernels import LENGTHS, evaluate
from feedweir.match.trees.find_kernels import TreeScratch, find_batch
from feedweir.match.trees.patterns.pattern_steps import MAX_PATTERN_NODES, PatternNames, grow
from feedweir.match.trees.patterns.postings import Layout, layout_of
from feedweir.match.trees.shape_result_kernels import PART_COLUMNS
from feedweir.match.trees.tree_codes import EXISTS, number_of
from feedweir.match.trees.witnesses import Witnesses, Witnessing
from feedweir.plan.predicates import TreePattern

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
_CHUNK_BYTES = 8_000_000
_MEMORY_SLOTS = 1 << 15
_ROOM = 1 << 22
"""Patterns found that are written in one go, unless one document can have more."""


@dataclass(frozen=True, slots=True)
class TreeMatches:
    """What documents have: patterns[ptr[d] : ptr[d + 1]] are those of document d, ascending."""

    ptr: Longs
    patterns: Ints
    refused: dict[int, DocumentError]
    """Documents beyond a bound, which have none."""

    def of(self, document: int) -> Ints:
        return self.patterns[self.ptr[document] : self.ptr[document + 1]]


class ReadBatch(NamedTuple):
    """Some documents as arrays; `start` is the number of the first of them."""

    start: int
    batch: DocumentArrays
    refused: dict[int, DocumentError]


@dataclass(slots=True)
class TreeMemory:
    """What a set remembers of the documents it has seen; it never changes an answer and is emptied when full."""

    max_paths: int = 100_000
    max_facts: int = 50_000_000
    """Numbers held in states of the automaton."""
    max_results: int = 32_000_000
    """What document shapes say of pattern shapes, a byte each."""


class TreeSet:
    """An immutable set of patterns; `patterns[i]` is reported as i."""

    def __init__(self, patterns: Sequence[TreePattern], bounds: TreeBounds) -> None:
        self.bounds = bounds
        self.count = len(patterns)
        self.memory = TreeMemory()
        # What is remembered of label paths, and the room for work, serve one caller at a time.
        self._lock = Lock()
        grown = grow(patterns)
        self._steps = grown.steps
        self._comparisons = grown.comparisons
        self.vocabulary: PatternNames = grown.vocabulary
        self.layout: Layout = layout_of(grown)
        self._elements = names_of(list(grown.vocabulary.elements))
        self._attributes = names_of(list(grown.vocabulary.attributes))
        self._texts = names_of(list(grown.vocabulary.texts))
        self._has_length = np.zeros(LENGTHS + 1, np.bool_)
        self._has_length[np.minimum(np.diff(self._texts.ptr), LENGTHS)] = True
        self._scratch = _scratch(self.layout, self.count)
        self._witnessing = Witnessing(patterns, self.vocabulary, self.layout, bounds)
        self._paths: PathTable
        self._automaton: Automaton
        self._state_of: Ints
        self.document_shapes: DocumentShapes
        self.forget()

    def matches(self, document: bytes | str | Any) -> Ints:
        """The numbers of the patterns that a document (XML text, or an lxml element) has, in order."""
        found = self.matches_of([self.read(document)])
        if found.refused:
            raise found.refused[0]
        return found.patterns

    def matches_of(self, documents: Iterable[DocumentTree]) -> TreeMatches:
        """The patterns of each document."""
        ptr, patterns = [np.zeros(1, np.int64)], [np.empty(0, np.int32)]
        refused: dict[int, DocumentError] = {}
        with self._lock:
            for read in self._read(tuple(documents)):
                part_ptr, found, _ = self.found_with_values(read.batch)
                ptr.append(part_ptr[1:] + ptr[-1][-1])
                patterns.append(found)
                refused |= read.refused
        return TreeMatches(np.concatenate(ptr), np.concatenate(patterns), refused)

    def witnesses(self, documents: Iterable[bytes | str | Any]) -> Witnesses:
        """How each document has the patterns with variables: documents are numbered in the given order."""
        return self.witnesses_of_trees([self.read(document) for document in documents])

    def witnesses_of_trees(self, trees: Sequence[DocumentTree]) -> Witnesses:
        with self._lock:
            return self._witnessing.of(self, self._read(tuple(trees)))

    def read(self, document: bytes | str | Any) -> DocumentTree:
        """A document to be matched; what cannot be parsed is refused here, what is too large when it is matched."""
        return tree_of(document)

    # What follows is also read by `witnesses`.

    def found_with_values(self, batch: DocumentArrays) -> tuple[Longs, Ints, Floats]:
        """(ptr, patterns, numbers of nodes) of a batch; the texts of its nodes are filled in."""
        facts = self._automaton.facts()
        numbers, odd = evaluate(
            batch, self._state_of, facts.needs_text, facts.needs_number, self._texts, self._has_length
        )
        for node in odd.tolist():
            start, stop = batch.spans[node].tolist()
            numbers[node] = number_of(batch.chars[start:stop].tobytes().decode())
        ptr, patterns = self._found(batch, numbers, facts)
        return ptr, patterns, numbers

    def _found(self, batch: DocumentArrays, numbers: Floats, facts: Facts) -> tuple[Longs, Ints]:
        """The kernel writes to arrays that NumPy allocates, since NumPy asks for huge pages."""
        count, layout = len(batch.ptr) - 1, self.layout
        most = 64 * len(self._scratch.marks)
        room = min(count * most, max(_ROOM, most))
        ptr, parts, begin = np.zeros(count + 1, np.int64), [np.empty(0, np.int32)], 0
        while begin < count:
            found = np.empty(room, np.int32)
            end = find_batch(
                begin, found, ptr, batch, numbers, self._state_of, facts, self._comparisons, layout.postings,
                layout.groups, layout.checks, layout.shapes, self.document_shapes, self._steps, self._scratch,
                self.vocabulary.labels,
            )  # fmt: skip
            parts.append(found[: ptr[end]])
            ptr[begin + 1 : end + 1] += sum(map(len, parts[:-1]))
            begin = end
        return ptr, np.concatenate(parts)

    def exists(self, path: int) -> Ints:
        """The atoms that a node on a path makes true by being there."""
        state = self._automaton.states[int(self._state_of[path])]
        return state.atoms[state.ops[EXISTS] : state.ops[EXISTS + 1]]

    def path_labels(self, path: int) -> tuple[int, ...]:
        return self._paths.labels(path)

    def _read(self, trees: Sequence[DocumentTree]) -> Iterator[ReadBatch]:
        """The documents as arrays, some at a time."""
        start = 0
        for stop in _chunks([len(tree.xml) for tree in trees]):
            if len(self._paths) > self.memory.max_paths or self._automaton.size > self.memory.max_facts:
                self.forget()
            yield self._read_chunk(trees[start:stop], start)
            start = stop

    def _read_chunk(self, trees: Sequence[DocumentTree], start: int) -> ReadBatch:
        batch, status = self._arrays([tree.xml for tree in trees])
        if (status == ODD).any():
            plain = [
                written_plainly(tree.root) if is_odd else tree.xml
                for tree, is_odd in zip(trees, (status == ODD).tolist(), strict=True)
            ]
            batch, status = self._arrays(plain)
        refused = {
            start + place: _too_large(self.bounds) for place in np.flatnonzero(status == TOO_LARGE).tolist()
        }
        return ReadBatch(start, batch, refused)

    def _arrays(self, written: Sequence[bytes]) -> tuple[DocumentArrays, NDArray[np.int8]]:
        xml = np.frombuffer(bytearray().join(written), np.uint8)
        starts = np.concatenate([[0], np.cumsum([len(one) for one in written])])
        has_room = False
        while not has_room:
            batch, status, has_room = read_batch(
                xml,
                starts,
                self._elements,
                self._attributes,
                self._paths.room,
                self.bounds.max_nodes,
                self.bounds.max_depth,
            )
            if not has_room:
                self._paths.grow()
        self._learn_paths()
        return batch, status

    def _learn_paths(self) -> None:
        """Work out the states of new paths."""
        known = len(self._state_of)
        if known == len(self._paths):
            return
        states = self._state_of.tolist()
        room = self._paths.room
        for path in range(known, len(self._paths)):
            states.append(self._automaton.after(states[room.parent[path]], int(room.label[path])))
        self._state_of = np.array(states, np.int32)

    def forget(self) -> None:
        """Empty the memory of documents; never changes an answer."""
        self._paths = PathTable()
        self._automaton = Automaton(self.layout, self._comparisons)
        self._state_of = np.zeros(1, np.int32)
        self.document_shapes = room_for_document_shapes(len(self.layout.shapes.step), self.memory.max_results)
        self._witnessing.forget()


def _scratch(layout: Layout, count: int) -> TreeScratch:
    routes, atoms, checks = len(layout.routes), len(layout.atoms.route), len(layout.checks.step)
    return TreeScratch(
        np.zeros(2, np.int64),
        np.zeros(atoms, np.bool_),
        np.zeros(routes, np.int64),
        np.zeros(routes, np.int64),
        np.zeros(routes, np.int64),
        np.zeros(checks, np.int64),
        np.zeros(checks, np.bool_),
        np.zeros((count + 63) // 64, np.uint64),
        np.zeros(atoms, np.int32),
        np.zeros(len(layout.postings.heads), np.int32),
        np.full(_MEMORY_SLOTS, -1, np.int64),
        np.zeros(2 * MAX_PATTERN_NODES, np.int64),
        np.zeros((SMALL_NODES, 2), np.int64),
        np.zeros((MAX_PATTERN_NODES, PART_COLUMNS), np.int64),
    )


def _chunks(sizes: Sequence[int]) -> Iterator[int]:
    """Where to cut, so that the bytes read at once are bounded; a large document is read alone."""
    held = 0
    for place, size in enumerate(sizes):
        if place and held + size > _CHUNK_BYTES:
            yield place
            held = 0
        held += size
    if sizes:
        yield len(sizes)


def _too_large(bounds: TreeBounds) -> DocumentError:
    return DocumentError(
        f"the document has more than {bounds.max_nodes:,} nodes or is deeper than {bounds.max_depth}",
        hint="split it into its items, or raise the bound",
    )


def compile_trees(patterns: Iterable[TreePattern], *, bounds: TreeBounds | None = None) -> TreeSet:
    """The matcher of these patterns; `LanguageError` for a pattern too large to be one."""
    return TreeSet(tuple(patterns), bounds or TreeBounds())
