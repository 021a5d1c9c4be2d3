"""The short way for plain queries: those that want a few words anywhere, compiled column by column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from feedweir.items.text import Tokens, analyse, distinct
from feedweir.match.arrays import Array, frozen
from feedweir.match.dictionary_kernels import gathered
from feedweir.match.trie import MAX_DEPTH
from feedweir.match.trie_kernels import drop_repeats


@dataclass(frozen=True, slots=True)
class Keywords:
    """Query `rows[q]` wants the words `ids[offsets[q] : offsets[q + 1]]`, each once."""

    rows: Array
    offsets: Array
    ids: Array
    words: pa.Array
    """Of strings, in the order in which queries name them."""


def keywords_of(table: pa.Table) -> Keywords:
    """The plain queries of a table; the others are for the long way."""
    rows = np.flatnonzero(_may_be_plain(table))
    lists = table.column("terms").combine_chunks()
    if len(rows) < len(lists):
        lists = pc.take(lists, pa.array(rows))
    lengths = pc.list_value_length(lists).to_numpy(zero_copy_only=False).astype(np.int64)
    tokens = analyse(lists.flatten())
    n_terms = np.concatenate([[0], np.cumsum(lengths)])
    is_odd = np.concatenate([[0], np.cumsum(np.diff(tokens.offsets) != 1)])
    is_plain = is_odd[n_terms[1:]] == is_odd[n_terms[:-1]]
    every_id, firsts = distinct(tokens)
    # a term of no or several words shifts the tokens behind it, so plain terms are picked by their own offsets
    keep = np.repeat(is_plain, lengths)
    ids = every_id[tokens.offsets[:-1][keep]]
    is_used = np.bincount(ids, minlength=len(firsts)) > 0
    ids = (np.cumsum(is_used) - 1)[ids]
    words = _words_of(tokens, firsts[is_used])
    offsets = np.concatenate([[0], np.cumsum(lengths[is_plain])])
    offsets, ids = drop_repeats(offsets, ids.astype(np.int32))
    return Keywords(rows[is_plain], offsets, ids, words)


def _words_of(tokens: Tokens, numbers: Array) -> pa.Array:
    starts, lengths = tokens.starts[numbers].astype(np.int64), tokens.lengths[numbers].astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    text = gathered(frozen(tokens.text), frozen(starts), frozen(offsets))
    return pa.StringArray.from_buffers(
        len(starts), pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(text)
    )


def _may_be_plain(table: pa.Table) -> Array:
    terms, sources = table.column("terms"), table.column("sources")
    n_terms = np.asarray(pc.fill_null(pc.list_value_length(terms), 0))
    n_sources = np.asarray(pc.fill_null(pc.list_value_length(sources), 0))
    has_terms = np.asarray(pc.is_valid(terms))
    is_plain: Array = has_terms & (n_terms > 0) & (n_terms <= MAX_DEPTH) & (n_sources == 0)
    return is_plain
