"""The words that queries name, in columns: a million Python strings would take most of the time to compile a set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from feedweir.match.arrays import Array
from feedweir.match.atom_shares import Frequencies, probabilities_of
from feedweir.match.index.keywords import Keywords
from feedweir.match.words.dictionary import hashes_of, packed_dictionary
from feedweir.match.words.dictionary_kernels import Dictionary


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Distinct words, the most frequent first; word w is entry and whole-text atom w."""

    texts: pa.Array
    probabilities: Array
    of_keywords: Array
    """The number of every word of the plain queries."""
    named: Mapping[str, int]
    """The numbers of the words that the other queries name."""

    def __len__(self) -> int:
        return len(self.texts)

    def dictionary(self) -> Dictionary:
        text, starts = bytes_of(self.texts)
        return packed_dictionary(text, starts, hashes_of(text, starts[:-1], np.diff(starts)))


def lexicon_of(
    keywords: Keywords, others: Iterable[str], n_queries: int, observed: Frequencies | None
) -> Lexicon:
    """The words of plain queries and of `others`, which has a word as often as queries name it."""
    counted = Counter(others)
    named = pa.array(sorted(counted), pa.string())
    known = pc.index_in(named, keywords.words)
    texts = pa.concat_arrays([keywords.words, named.filter(pc.is_null(known))])
    places = np.asarray(pc.index_in(named, texts)) if len(named) else np.empty(0, np.int64)
    counts = np.bincount(keywords.ids, minlength=len(texts))
    counts[places] += np.array([counted[word] for word in named.to_pylist()], np.int64)
    probabilities = probabilities_of(texts, counts, n_queries, observed)
    # equally likely ones in the order in which queries name them, which are sorted
    order = np.argsort(-probabilities, kind="stable")
    numbers = np.empty(len(order), np.int32)
    numbers[order] = np.arange(len(order), dtype=np.int32)
    return Lexicon(
        texts.take(pa.array(order)),
        probabilities[order],
        numbers[: len(keywords.words)],
        dict(zip(named.to_pylist(), numbers[places].tolist(), strict=True)),
    )


def bytes_of(texts: pa.Array) -> tuple[Array, Array]:
    """(bytes, starts and the last end) of strings that lie one after the other."""
    _, offsets, data = texts.buffers()
    if not len(texts):
        return np.empty(0, np.uint8), np.zeros(1, np.int64)
    starts = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    text = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    return text[starts[0] : starts[-1]], starts - starts[0]
