"""Plain queries: those that want all or any of a few words, anywhere or in attributes, from all or from some sources,
or everything from some. They are compiled column by column, without an object for any of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from feedweir.match.arrays import Array, frozen
from feedweir.match.index.trie import MAX_DEPTH
from feedweir.match.index.trie_kernels import drop_repeats
from feedweir.match.words.dictionary_kernels import gathered
from feedweir.match.words.word_clauses import has_text, scope_of
from feedweir.text.analyser import Tokens, analyse, distinct

_MOST_ANY = 64
"""Words of which any will do; each is a conjunction of its own."""
_MOST_SOURCES = 32
_BETWEEN = "\x1f"
"""Joins the names of sources to compare lists of them; queries with it in a name are not plain."""
_NOT_TEXT = -1


@dataclass(frozen=True, slots=True)
class Keywords:
    """Conjunction c finds query `rows[c]`: it wants `leaves[offsets[c] : offsets[c + 1]]`, each once, and one of the
    sources `source_names[origins[c]]` if that is not -1."""

    rows: Array
    offsets: Array
    leaves: Array
    leaf_words: Array
    """The word of every leaf."""
    leaf_scopes: Array
    """Where a leaf is wanted: 0 is the whole text, others are places in `scope_names` from 1 on; ascending."""
    words: pa.Array
    """Of strings, in the order in which queries name them."""
    scope_names: tuple[str, ...]
    origins: Array
    source_names: tuple[tuple[str, ...], ...]

    @property
    def ids(self) -> Array:
        """The words of all conjunctions, one after the other."""
        found: Array = self.leaf_words[self.leaves]
        return found

    @property
    def n_whole(self) -> int:
        """Leaves of the whole text, which come before all others."""
        return int(np.searchsorted(self.leaf_scopes, 1))


def keywords_of(table: pa.Table, excepted: Iterable[int] = (), *, with_attributes: bool = True) -> Keywords:
    """The plain queries of a table, except those of some rows."""
    may_be_plain = _may_be_plain(table, excepted, with_attributes)
    lists = table.column("terms").combine_chunks()
    lengths = _lengths(lists)
    scopes, scope_names = _scopes_of_terms(table, lengths, may_be_plain)
    terms = lists.flatten()
    tokens, places = analyse(terms.dictionary), terms.indices.to_numpy()
    origins, source_names, is_clear = _origins(table.column("sources").combine_chunks(), may_be_plain)
    is_odd = _sums((np.diff(tokens.offsets) != 1)[places] | (scopes == _NOT_TEXT))
    ends = np.cumsum(lengths)
    is_plain = may_be_plain & (is_odd[ends] == is_odd[ends - lengths]) & is_clear
    # a term of no or several words shifts the tokens behind it, so plain terms are picked by their own offsets
    keep = np.repeat(is_plain, lengths)
    ids, words = _words_in(tokens, tokens.offsets[:-1][places[keep]])
    leaves, leaf_words, leaf_scopes = _leaves(ids, scopes[keep], len(words))
    is_any = np.asarray(table.column("is_any"))[is_plain]
    counts = np.where(is_any, lengths[is_plain], 1)
    offsets = _sums(np.repeat(np.where(is_any, 1, lengths[is_plain]), counts))
    offsets, leaves = drop_repeats(offsets, leaves)
    return Keywords(
        np.repeat(np.flatnonzero(is_plain), counts),
        offsets,
        leaves,
        leaf_words,
        leaf_scopes,
        words,
        scope_names,
        np.repeat(origins[is_plain], counts),
        source_names,
    )


def _may_be_plain(table: pa.Table, excepted: Iterable[int], with_attributes: bool) -> Array:
    n_terms, n_sources = (_lengths(table.column(name)) for name in ("terms", "sources"))
    is_any = np.asarray(table.column("is_any"))
    n_atoms = np.where(is_any, 1, n_terms) + (n_sources > 0)
    is_plain: Array = np.asarray(pc.is_valid(table.column("terms"))) & (n_sources <= _MOST_SOURCES)
    is_plain &= (n_terms <= _MOST_ANY) & (n_atoms > 0) & (n_atoms <= MAX_DEPTH)
    if not with_attributes:
        is_plain &= np.asarray(pc.is_null(table.column("attributes")))
    is_plain[np.fromiter(excepted, np.int64)] = False
    return is_plain


def _lengths(lists: pa.Array | pa.ChunkedArray) -> Array:
    """Of lists; 0 where there is none."""
    return np.asarray(pc.fill_null(pc.list_value_length(lists), 0)).astype(np.int64)


def _sums(counts: Array) -> Array:
    """The sum of all counts before each, and of all."""
    found: Array = np.concatenate([[0], np.cumsum(counts)])
    return found


def _words_in(tokens: Tokens, wanted: Array) -> tuple[Array, pa.Array]:
    """(the word of every wanted token, the words)."""
    every_id, firsts = distinct(tokens)
    ids = every_id[wanted]
    is_used = np.bincount(ids, minlength=len(firsts)) > 0
    return (np.cumsum(is_used) - 1)[ids], _texts_of(tokens, firsts[is_used])


def _texts_of(tokens: Tokens, numbers: Array) -> pa.Array:
    starts, lengths = tokens.starts[numbers].astype(np.int64), tokens.lengths[numbers].astype(np.int64)
    offsets = _sums(lengths)
    text = gathered(frozen(tokens.text), frozen(starts), frozen(offsets))
    return pa.StringArray.from_buffers(
        len(starts), pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(text)
    )


def _leaves(ids: Array, scopes: Array, n_words: int) -> tuple[Array, Array, Array]:
    """(the leaf of every term, the word of every leaf, the scope of every leaf)."""
    if not scopes.any():
        return ids.astype(np.int32), np.arange(n_words), np.zeros(n_words, np.int64)
    pairs, leaves = np.unique(scopes * n_words + ids, return_inverse=True)
    return leaves.astype(np.int32), pairs % n_words, pairs // n_words


def _scopes_of_terms(table: pa.Table, lengths: Array, is_asked: Array) -> tuple[Array, tuple[str, ...]]:
    """(for every term of some rows where it is looked for, as in `leaf_scopes`; the names of scopes)."""
    found = np.zeros(int(lengths.sum()), np.int64)
    attributes = table.column("attributes").combine_chunks()
    is_about_some = is_asked & np.asarray(pc.is_valid(attributes))
    if not is_about_some.any():
        return found, ()
    codes, names = _scopes_of_clauses(attributes.filter(pa.array(is_about_some)).flatten())
    sizes = table.column("sizes").combine_chunks()
    is_one_clause = is_about_some & np.asarray(pc.is_null(sizes))
    of_rows = sizes.filter(pa.array(is_about_some)).flatten().to_numpy()
    of_clauses = np.empty(len(codes), np.int64)
    is_alone = np.repeat(is_one_clause[is_about_some], _lengths(attributes)[is_about_some])
    of_clauses[is_alone] = lengths[is_one_clause]
    of_clauses[~is_alone] = of_rows
    found[np.repeat(is_about_some, lengths)] = np.repeat(codes, of_clauses)
    return found, names


def _scopes_of_clauses(attributes: pa.Array) -> tuple[Array, tuple[str, ...]]:
    encoded = attributes.dictionary_encode()
    scopes = [scope_of(name) for name in encoded.dictionary.to_pylist()]
    names = tuple(sorted({scope for scope in scopes if scope is not None and has_text(scope)}))
    codes = [names.index(scope) + 1 if scope in names else _NOT_TEXT for scope in scopes]
    # a clause about the whole item has no attribute, and comes last here
    places = np.asarray(pc.fill_null(encoded.indices, len(codes)))
    return np.array([*codes, 0], np.int64)[places], names


def _origins(sources: pa.Array, is_asked: Array) -> tuple[Array, tuple[tuple[str, ...], ...], Array]:
    """(of some rows the place of their sources or -1, distinct sources, whether their names are free of `_BETWEEN`)."""
    origins = np.full(len(sources), -1, np.int64)
    is_clear = np.ones(len(sources), bool)
    is_some = is_asked & (_lengths(sources) > 0)
    if not is_some.any():
        return origins, (), is_clear
    has_mark = np.asarray(pc.match_substring(sources.flatten(), _BETWEEN))
    is_clear[np.asarray(pc.list_parent_indices(sources))[has_mark]] = False
    named = sources.filter(pa.array(is_some))
    codes = np.asarray(pc.binary_join(named, _BETWEEN).dictionary_encode().indices)
    _, firsts = np.unique(codes, return_index=True)
    origins[is_some] = codes
    return (
        origins,
        tuple(tuple(sorted(set(one))) for one in named.take(pa.array(firsts)).to_pylist()),
        is_clear,
    )
