"""Reading an index backwards: the atoms by which a query is found, by name. For explanations, not for matching."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from feedweir.match.arrays import Array
from feedweir.match.atoms import SEVERAL, Axis
from feedweir.match.dictionary_kernels import Dictionary
from feedweir.match.explain import Finder
from feedweir.match.factored import trees_finding
from feedweir.match.facts import streams_of, texts_of, values_of_batch
from feedweir.match.index import Index
from feedweir.match.trie_kernels import atoms_finding
from feedweir.match.values import EQUAL, NUMBER, ORIGIN

_WHOLE = (EQUAL, NUMBER, ORIGIN)
"""What is compared as a whole; links are by their hosts, domains and openings."""


def finders_of(index: Index, query: int, items: pa.RecordBatch) -> list[Finder]:
    """The atoms at the roots of a query's conjunctions, told of the first item of a batch."""
    satisfied = satisfied_atoms(index, items)
    by_atoms = [Finder(name_of(index, atom), atom in satisfied) for atom in root_atoms(index, query)]
    source = items.column("source")[0].as_py()
    trees = trees_finding(index.forest, query)
    return by_atoms + [
        Finder(f"the filters of {index.trees[tree][0]}", source == index.trees[tree][0]) for tree in trees
    ]


def root_atoms(index: Index, query: int) -> list[int]:
    """The atoms by which a query is found, each once."""
    is_query = np.zeros(len(index.keys), bool)
    is_query[query] = True
    found: list[int] = atoms_finding(
        index.trie.roots, index.trie.blocks, is_query, index.checks.queries == query
    ).tolist()
    return found


def satisfied_atoms(index: Index, items: pa.RecordBatch) -> set[int]:
    """The atoms that the first item of a batch satisfies."""
    streams = streams_of(index, texts_of(items, index.scopes.fields))
    values = values_of_batch(index, items)
    scopes: dict[int, int] = {}
    for stream, scope in enumerate(streams.scopes.tolist()):
        for entry in streams.entries[streams.offsets[stream, 0] : streams.offsets[stream, 1]].tolist():
            scopes[entry] = scopes.get(entry, 0) | scope
    vocabulary = index.vocabulary
    whole = {
        entry for entry, scope in scopes.items() if entry >= 0 and scope & int(vocabulary.whole_scope[0])
    }
    entries = _scoped_entries(index)
    scoped = {
        int(atom)
        for entry, scope, atom in zip(entries, vocabulary.scoped_scopes, vocabulary.scoped_atoms, strict=True)
        if scopes.get(int(entry), 0) & int(scope)
    }
    listed = set(values.atoms[values.offsets[0] : values.offsets[1]].tolist())
    return whole | scoped | listed | set(vocabulary.every_atom.tolist())


def name_of(index: Index, atom: int) -> str:
    """An atom in words."""
    if atom < index.n_entries:
        return _entry_name(index, atom)
    if atom in index.vocabulary.every_atom:
        return "every item"
    place = np.flatnonzero(index.vocabulary.scoped_atoms == atom)
    if len(place):
        bit = int(index.vocabulary.scoped_scopes[place[0]]).bit_length() - 1
        return f"{index.scopes.fields[bit]}: {_entry_name(index, int(_scoped_entries(index)[place[0]]))}"
    if atom in index.tree_atoms.atoms:
        return index.tree_atoms.name_of(atom)
    value = np.flatnonzero(index.value_atoms == atom)
    if len(value):
        number = int(np.searchsorted(index.value_starts, value[0], side="right")) - 1
        kind, attribute, text = _string(index.values, number).split("\0", 2)
        return f"{attribute} {'=' if kind in _WHOLE else kind} {text}"
    tree = next(tree for tree in index.segment_trees if atom in tree.node_atoms)
    return _axis_name(tree.axis, int(np.flatnonzero(tree.node_atoms == atom)[0]))


def _axis_name(axis: Axis, node: int) -> str:
    if axis.end == "each" and node == SEVERAL:
        return f"several values of {axis.attribute}"
    reading = f"as {axis.reading}" if axis.reading else ""
    return " ".join(filter(None, (axis.part, axis.attribute, reading, "within bounds")))


def _scoped_entries(index: Index) -> Array:
    counts = np.diff(index.vocabulary.scoped_starts)
    return np.repeat(np.arange(len(counts)), counts)


def _entry_name(index: Index, entry: int) -> str:
    is_word = entry < index.n_words
    return _string(index.words, entry) if is_word else f"{_string(index.prefixes, entry - index.n_words)}*"


def _string(dictionary: Dictionary, number: int) -> str:
    first, last = dictionary.starts[number], dictionary.starts[number + 1]
    return bytes(dictionary.text[first:last]).decode("utf-8", "surrogatepass")
