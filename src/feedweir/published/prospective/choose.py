"""One matcher by name, or the one that will touch least."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import get_args

import numpy as np
import pyarrow as pa

from feedweir.errors import SettingsError
from feedweir.match.arrays import Array, frozen
from feedweir.match.index.keywords import keywords_of
from feedweir.match.index.trie import MAX_DEPTH
from feedweir.match.matches import NOTHING, Matches
from feedweir.match.matching.batch_facts import texts_of
from feedweir.match.matching.pair_kernels import in_order
from feedweir.match.sets.query_store import KeywordQueries, table_of
from feedweir.match.words.dictionary import dictionary_of, find_tokens
from feedweir.match.words.dictionary_kernels import Dictionary
from feedweir.match.words.scopes import WHOLE
from feedweir.published.prospective.methods import (
    Clustered,
    Clustering,
    Found,
    Matcher,
    Ordered,
    Primitive,
    Shared,
)
from feedweir.published.prospective.terms import TermSets, term_queries, term_sets

CACHE_BYTES = 1 << 20
_ACCUMULATOR_BYTES = 16
_OPENED_SHARE = 0.01
"""How many of a partition's queries a document opens accumulators for, as the published figures have it."""

_JUDGED = 50_000
"""Queries that methods are compared on."""

METHODS: dict[str, Callable[[TermSets, int], Matcher]] = {
    "primitive": Primitive,
    "ordered": Ordered,
    "bloom": lambda queries, n_terms: Ordered(queries, n_terms, has_filter=True),
    "partitioned": lambda queries, n_terms: Ordered(
        queries, n_terms, has_filter=True, partitions=partitions_for(len(queries))
    ),
    **{
        f"{clustering}-{limit}": partial(Clustered, clustering=clustering, limit=limit)
        for clustering in get_args(Clustering)
        for limit in (32, 64, 96, 128)
    },
    "shared": Shared,
}
PUBLISHED = tuple(name for name in METHODS if name != "shared")


def partitions_for(n_queries: int) -> int:
    """As many partitions as keep the accumulators of each in a cache of the second level."""
    return max(1, round(n_queries * _OPENED_SHARE * _ACCUMULATOR_BYTES / (CACHE_BYTES / 4)))


def matcher(name: str, queries: TermSets, n_terms: int, sample: TermSets | None = None) -> Matcher:
    """The matcher of a name; `auto` compares what each would touch on a sample of documents."""
    if name == "auto":
        name = best_of(queries, n_terms, sample) if sample is not None else "shared"
    if name not in METHODS:
        raise SettingsError(f"no matcher is called {name}", hint=f"known: auto, {', '.join(METHODS)}")
    return METHODS[name](queries, n_terms)


def best_of(queries: TermSets, n_terms: int, sample: TermSets) -> str:
    """The method that touches least for these documents, judged on some of the queries when they are many."""
    judged = queries.only(np.arange(0, len(queries), -(-len(queries) // _JUDGED) or 1))
    return min(METHODS, key=lambda name: touched(METHODS[name](judged, n_terms).match(sample)))


def touched(found: Found) -> float:
    """Weighted by what each costs: a hash table's cell more than a bitmap's, an accumulator more than a test."""
    return found.postings + 4.0 * found.accumulators + found.tests


@dataclass(frozen=True, slots=True)
class KeywordSet:
    """Plain keyword queries behind one of the matchers, from items to pairs like every compiled set."""

    keys: Array
    words: Dictionary
    core: Matcher

    def match(self, items: pa.RecordBatch) -> Matches:
        found = self.core.match(documents_of(self.words, items))
        queries = found.queries.copy()
        keys = frozen(self.keys)
        return Matches(*in_order(found.rows, queries, keys, len(keys), NOTHING.rows, NOTHING.keys))


def keyword_set(queries: KeywordQueries, method: str = "auto") -> KeywordSet:
    """Compile plain queries for one of the methods; each term must be one word, and there may be a few."""
    table = table_of(queries)
    keywords = keywords_of(table)
    if len(keywords.rows) != len(table):
        raise SettingsError(
            f"the published methods take queries of one to {MAX_DEPTH} single words", hint="use compile_set"
        )
    sets, words = term_queries(keywords)
    core = matcher(method, sets, len(words))
    return KeywordSet(table.column("key").to_numpy(), dictionary_of([word.encode() for word in words]), core)


def documents_of(words: Dictionary, items: pa.RecordBatch) -> TermSets:
    """The known terms of every item."""
    rows, terms = [], []
    for tokens in texts_of(items, WHOLE).parts:
        entries = np.empty(len(tokens.hashes), np.int32)
        find_tokens(words, tokens, entries)
        row_of = np.arange(len(tokens)) % max(items.num_rows, 1)
        rows.append(np.repeat(row_of, np.diff(tokens.offsets))[entries >= 0])
        terms.append(entries[entries >= 0])
    return term_sets(np.concatenate(rows), np.concatenate(terms), items.num_rows)
