"""Reads an index backwards: the names of the atoms that find a query. For explanations, not for matching."""

from __future__ import annotations

import numpy as np

from feedweir.items.columns import Batch, item_at
from feedweir.match.arrays import Array
from feedweir.match.index.filter_forest import trees_finding
from feedweir.match.index.index_arrays import Index
from feedweir.match.index.trie_kernels import atoms_finding
from feedweir.match.matching.batch_facts import streams_of, texts_of, values_of_batch
from feedweir.match.meaning.explanations import Finder
from feedweir.match.words.dictionary import string_at


def finders_of(index: Index, query: int, items: Batch) -> list[Finder]:
    """The atoms at the roots of a query's conjunctions, and whether the first item of a batch satisfies them."""
    satisfied = satisfied_atoms(index, items)
    by_atoms = [Finder(name_of(index, atom), atom in satisfied) for atom in root_atoms(index, query)]
    source = item_at(items, 0).source
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


def satisfied_atoms(index: Index, items: Batch) -> set[int]:
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
    described = (atoms.describe(atom) for atoms in index.families.values())
    return next(filter(None, described), None) or index.ranges.describe(atom)


def _scoped_entries(index: Index) -> Array:
    counts = np.diff(index.vocabulary.scoped_starts)
    return np.repeat(np.arange(len(counts)), counts)


def _entry_name(index: Index, entry: int) -> str:
    is_word = entry < index.n_words
    return (
        string_at(index.words, entry) if is_word else f"{string_at(index.prefixes, entry - index.n_words)}*"
    )
