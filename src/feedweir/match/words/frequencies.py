"""How often words and sources occur in recent items, so that queries are found by what is rare."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from feedweir.items.attributes import attribute_named
from feedweir.match.arrays import Array
from feedweir.match.atom_shares import Frequencies
from feedweir.match.matching.batch_facts import texts_of
from feedweir.match.words.scopes import EXTENSIONS, WHOLE
from feedweir.text.analyser import Tokens, distinct


def columns_observed() -> list[str]:
    """The columns of items that are counted."""
    attributes = [attribute_named(field) for field in WHOLE if field != EXTENSIONS]
    return sorted({"seq", "source", "extensions", *(one.column for one in attributes if one is not None)})


def frequencies_of(items: pa.RecordBatch) -> Frequencies:
    """In how many of these items each word occurs, and how many come from each source."""
    numbers: dict[str, int] = {}
    pairs = [_pairs(tokens, items.num_rows, numbers) for tokens in texts_of(items, WHOLE).parts]
    met = np.unique(np.concatenate(pairs))
    counts = np.bincount(met & 0xFFFFFFFF, minlength=len(numbers))
    sources = {one["values"]: one["counts"] for one in items.column("source").value_counts().to_pylist()}
    return Frequencies(items.num_rows, dict(zip(numbers, counts.tolist(), strict=True)), sources)


def _pairs(tokens: Tokens, n_rows: int, numbers: dict[str, int]) -> Array:
    """(row, number of the word) of every token as one number; words that are new get the next ones."""
    ids, firsts = distinct(tokens)
    data = tokens.text.tobytes()
    words = [data[tokens.starts[i] : tokens.starts[i] + tokens.lengths[i]].decode() for i in firsts.tolist()]
    known = np.array([numbers.setdefault(word, len(numbers)) for word in words], np.int64)
    rows = np.repeat(np.arange(len(tokens)) % max(n_rows, 1), np.diff(tokens.offsets))
    pairs: Array = (rows << 32) | known[ids]
    return pairs
