"""Queries and documents like those of the published experiments: a search engine's log of 2001 and web pages.

What the generator aims at, from the publication's tables: 1,077,958 distinct queries over 271,167 terms with 3.37 terms
a query, documents with 144.37 known terms, for which 199,262 postings are traversed, 6,630 of them of a rarest term,
and a quarter of the queries contained in another.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from feedweir.published.prospective import TermSets, term_sets

QUERIES, TERMS, MEAN_TERMS, KNOWN_TERMS = 1_077_958, 271_167, 3.37, 144.37
COMBINED_QUERIES, COMBINED_TERMS, COMBINED_POSTINGS = 3_069_916, 922_699, 9_239_690
_MAX_TERMS = 32
_QUERY_EXPONENT, _QUERY_SHIFT = 1.0, 40.0
_DOCUMENT_EXPONENT, _DOCUMENT_SHIFT = 2.0, 500.0
_REPEATS = 1.055
"""Terms drawn for a document per distinct one."""
_REFINED = 0.45
"""How many queries are another one with a term more or less."""


_SPARE = 1.25
"""Queries drawn per distinct one."""


@dataclass(frozen=True, slots=True)
class Workload:
    """Terms are numbered by how many queries have them, the rarest first."""

    queries: TermSets
    documents: TermSets
    n_terms: int


def workload(n_queries: int = QUERIES, n_documents: int = 1000, seed: int = 1) -> Workload:
    n_terms = max(1000, round(TERMS * (n_queries / QUERIES) ** 0.7))
    return _workload(n_queries, n_documents, n_terms, MEAN_TERMS, seed)


def combined(n_queries: int = COMBINED_QUERIES, n_documents: int = 1000, seed: int = 2) -> Workload:
    """Like the published set of two search engines' queries: more terms, fewer of them in a query."""
    n_terms = max(1000, round(COMBINED_TERMS * (n_queries / COMBINED_QUERIES) ** 0.7))
    return _workload(n_queries, n_documents, n_terms, COMBINED_POSTINGS / COMBINED_QUERIES, seed)


def _workload(n_queries: int, n_documents: int, n_terms: int, mean_terms: float, seed: int) -> Workload:
    random = np.random.default_rng(seed)
    n_drawn = round(n_queries * _SPARE)
    rows, terms = _queries(random, n_drawn, n_terms, mean_terms)
    counts = np.bincount(terms, minlength=n_terms)
    rank = np.empty(n_terms, np.int32)
    rank[np.argsort(counts, kind="stable")] = np.arange(n_terms)
    queries = _distinct(random, term_sets(rows, rank[terms], n_drawn)).head(n_queries)
    return Workload(queries, _documents(random, n_documents, n_terms, rank), n_terms)


def word(term: int) -> str:
    """An invented word for a term: no two alike."""
    consonants, vowels = "bcdfghklmnprstvz", "aeiou"
    text = ""
    number = term + 1000
    while number:
        number, syllable = divmod(number, 80)
        text += consonants[syllable // 5] + vowels[syllable % 5]
    return text


def keyword_columns(queries: TermSets, n_terms: int) -> tuple[pa.Array, pa.Array]:
    """(keys, lists of terms) as `KeywordQueries` takes them."""
    words = pa.array([word(term) for term in range(n_terms)])
    values = words.take(pa.array(queries.terms))
    return pa.array(np.arange(len(queries))), pa.ListArray.from_arrays(
        queries.offsets.astype(np.int32), values
    )


def texts(documents: TermSets, seed: int = 1) -> list[str]:
    """Documents as text: their terms in some order, each perhaps several times, between unknown words."""
    random = np.random.default_rng(seed)
    found = []
    for row in range(len(documents)):
        terms = documents.terms[documents.offsets[row] : documents.offsets[row + 1]]
        repeated = np.repeat(terms, random.geometric(0.6, len(terms)))
        found.append(" ".join(word(int(term)) for term in random.permutation(repeated)))
    return found


def _zipf(
    random: np.random.Generator, size: int, n: int, exponent: float, shift: float
) -> npt.NDArray[np.int64]:
    """Ranks drawn with probability ~ 1 / (rank + shift) ** exponent."""
    cumulated = np.cumsum(1.0 / (np.arange(n) + shift) ** exponent)
    return np.searchsorted(cumulated, random.random(size) * cumulated[-1]).astype(np.int64)


def _queries(
    random: np.random.Generator, n_queries: int, n_terms: int, mean_terms: float
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    lengths = np.minimum(1 + random.poisson(mean_terms - 1.3, n_queries), _MAX_TERMS)
    n_fresh = round(n_queries * (1 - _REFINED))
    rows = np.repeat(np.arange(n_fresh), lengths[:n_fresh])
    terms = _zipf(random, len(rows), n_terms, _QUERY_EXPONENT, _QUERY_SHIFT)
    seldom = random.permutation(len(terms))[:n_terms]
    terms[seldom] = np.where(random.random(len(seldom)) < 0.75, np.arange(len(seldom)), terms[seldom])
    bases = random.integers(0, n_fresh, n_queries - n_fresh)
    fresh = term_sets(rows, terms, n_fresh)
    copied = fresh.only(bases)
    copied_rows = np.repeat(np.arange(len(bases)), copied.sizes) + n_fresh
    more = random.random(len(bases)) < 0.6
    kept = more[copied_rows - n_fresh] | (random.random(len(copied_rows)) < 0.7)
    extra_rows = np.flatnonzero(more) + n_fresh
    extra = _zipf(random, len(extra_rows), n_terms, _QUERY_EXPONENT, _QUERY_SHIFT)
    return (
        np.concatenate([rows, copied_rows[kept], extra_rows]),
        np.concatenate([terms, copied.terms[kept], extra]),
    )


def _distinct(random: np.random.Generator, queries: TermSets) -> TermSets:
    """Non-empty queries that differ, in random order: their numbers are what hash tables are addressed by."""
    factors = random.integers(1, 2**62, int(queries.terms.max()) + 1)
    sums = np.concatenate([[0], np.cumsum(factors[queries.terms])])
    marks = sums[queries.offsets[1:]] - sums[queries.offsets[:-1]]
    _, firsts = np.unique(marks, return_index=True)
    firsts = firsts[queries.sizes[firsts] > 0]
    return queries.only(random.permutation(firsts))


def _documents(
    random: np.random.Generator, n_documents: int, n_terms: int, rank: npt.NDArray[np.int32]
) -> TermSets:
    wanted = np.maximum(random.lognormal(np.log(KNOWN_TERMS * _REPEATS) - 0.18, 0.6, n_documents), 5).astype(
        np.int64
    )
    rows = np.repeat(np.arange(n_documents), wanted)
    drawn = _zipf(random, len(rows), n_terms, _DOCUMENT_EXPONENT, _DOCUMENT_SHIFT)
    return term_sets(rows, rank[drawn], n_documents)
