"""How often words and sources are met: counted on items that were seen, so that queries are found by what is rare."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from feedweir.items.attributes import attribute_named
from feedweir.items.text import Tokens, distinct
from feedweir.match.arrays import Array
from feedweir.match.facts import texts_of
from feedweir.match.scopes import EXTENSIONS, WHOLE
from feedweir.match.selectivity import Frequencies


def columns_observed() -> list[str]:
    """The columns of items that are looked at."""
    attributes = [attribute_named(field) for field in WHOLE if field != EXTENSIONS]
    return sorted({"seq", "source", "extensions", *(one.column for one in attributes if one is not None)})


def frequencies_of(items: pa.RecordBatch) -> Frequencies:
    """In how many of these items each word stands anywhere, and of how many each source is the source."""
    numbers: dict[str, int] = {}
    pairs = [
        _pairs(tokens, numbers) for tokens in texts_of(items, WHOLE).tokens.values() if len(tokens.hashes)
    ]
    met = np.unique(np.concatenate([np.empty(0, np.int64), *pairs]))
    counts = np.bincount(met & 0xFFFFFFFF, minlength=len(numbers))
    sources = {one["values"]: one["counts"] for one in items.column("source").value_counts().to_pylist()}
    return Frequencies(items.num_rows, dict(zip(numbers, counts.tolist(), strict=True)), sources)


def _pairs(tokens: Tokens, numbers: dict[str, int]) -> Array:
    """(row, number of the word) of every token as one number; words that are new get the next ones."""
    ids, firsts = distinct(tokens)
    data = tokens.text.tobytes()
    words = [data[tokens.starts[i] : tokens.starts[i] + tokens.lengths[i]].decode() for i in firsts.tolist()]
    known = np.array([numbers.setdefault(word, len(numbers)) for word in words], np.int64)
    rows = np.repeat(np.arange(len(tokens.offsets) - 1), np.diff(tokens.offsets))
    pairs: Array = (rows << 32) | known[ids]
    return pairs
