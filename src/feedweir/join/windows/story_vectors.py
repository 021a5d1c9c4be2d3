"""Story vectors: the weighted words of items, by which `distinct` recognises reports of one story.

A vector has the words that readers see: of the title and of the first lines of the summary, or of the content where
there is no summary. A word weighs as much as it says (`text.rarity`), half as much again in the title. Two items are as
similar as the cosine of their vectors, and the less, the further apart they were published: half as much after two
days, and never less than that.

Weights are whole numbers, so that every computation gives the same similarity to the last bit. A vector is a row of
numbers: when the item was published, in microseconds; the sum of its squared weights; then its words by hash, with the
weight of each in the lowest 8 bits.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from feedweir.join.ragged import Growing, Ragged, ranges
from feedweir.join.windows import story_kernels as kernels
from feedweir.join.windows.similarity import Pairs
from feedweir.text.analyser import Tokens, analyse, distinct
from feedweir.text.rarity import weight

Longs = NDArray[np.int64]

COLUMNS = ("title", "summary", "content", "published", "arrived")
"""What is read of items."""
MOST_WORDS = 60
"""Of the title, and of the summary: readers do not see at a glance what is further down."""
SCALE, TITLE_SCALE = 24, 36
MOST_WEIGHT = 255


def whole_weight(word: str, scale: int) -> int:
    """The weight of a word in a title or a summary, as a whole number."""
    return min(round(weight(word) * scale), MOST_WEIGHT)


def story_vectors(items: pa.RecordBatch) -> Ragged:
    """The vectors of the items of a batch (`ITEM_SCHEMA`)."""
    title, summary = items.column("title"), items.column("summary")
    has_summary = pc.greater(pc.fill_null(pc.binary_length(summary), 0), 0)
    shown = pc.if_else(has_summary, summary, items.column("content"))
    parts = [
        _weighed(analyse(title), TITLE_SCALE),
        _weighed(analyse(shown, is_html=True), SCALE),
    ]
    row, key = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    order = np.lexsort((-(key & 0xFF), key >> 8, row))
    row, key = row[order], key[order]
    # Of a word that is in both the heavier one comes first.
    fresh = np.append(True, (row[1:] != row[:-1]) | (key[1:] >> 8 != key[:-1] >> 8))[: len(row)]
    return _rows(_published(items), row[fresh], key[fresh])


def _weighed(tokens: Tokens, scale: int) -> tuple[Longs, Longs]:
    """(row, key) of the first words of each row."""
    sizes = np.minimum(np.diff(tokens.offsets), MOST_WORDS)
    seen = ranges(tokens.offsets[:-1], tokens.offsets[:-1] + sizes)
    ids, firsts = distinct(tokens)
    needed = np.unique(ids[seen])
    weights = np.zeros(len(firsts), np.int64)
    weights[needed] = [whole_weight(tokens.word(first), scale) for first in firsts[needed].tolist()]
    keys = (tokens.hashes[seen] & np.uint64(0xFFFFFFFFFFFFFF00)).view(np.int64)
    return np.repeat(np.arange(len(tokens)), sizes), keys | weights[ids[seen]]


def _published(items: pa.RecordBatch) -> Longs:
    """When each was published, at the latest when it arrived."""
    published, arrived = (items.column(name).cast(pa.int64()) for name in ("published", "arrived"))
    return np.asarray(pc.min_element_wise(published, arrived, skip_nulls=True).to_numpy())


def _rows(time: Longs, row: Longs, key: Longs) -> Ragged:
    sizes = np.bincount(row, minlength=len(time))
    ptr = np.concatenate([[0], np.cumsum(sizes + 2)]).astype(np.int64)
    data = np.empty(ptr[-1], np.int64)
    starts = ptr[:-1]
    data[starts] = time
    data[starts + 1] = np.bincount(row, (key & 0xFF) ** 2, minlength=len(time)).astype(np.int64)
    data[is_word(ptr)] = key
    return Ragged(ptr, data)


def is_word(ptr: Longs) -> NDArray[np.bool_]:
    """Which numbers of vectors are words."""
    found = np.ones(int(ptr[-1]), np.bool_)
    found[ptr[:-1]] = found[ptr[:-1] + 1] = False
    return found


class StoryIndex:
    """Story vectors by their words. `threshold` is the lowest similarity that is ever asked for; pairs that were
    published further apart than `longest_us` need not be found.

    ```
    heads[word] ─▶ entry ─next▶ entry ─next▶ -1      the vectors that have a word, the latest first
                   record[entry], weight[entry]      which vector that is, and what the word weighs in it
    ptr, data, number, time, latest                  the vectors themselves, by record, their numbers and times
    ```
    """

    def __init__(self, threshold: float, longest_us: int = kernels.FAR) -> None:
        self._threshold, self._longest_us = threshold, min(longest_us, kernels.FAR)
        self._words: dict[int, int] = {}
        self._heads, self._counts = Growing(np.empty(0, np.int64)), Growing(np.empty(0, np.int64))
        self._next, self._record, self._weight = (Growing(np.empty(0, np.int64)) for _ in range(3))
        self._ptr, self._data = Growing(np.zeros(1, np.int64)), Growing(np.empty(0, np.int64))
        self._number, self._time, self._latest = (Growing(np.empty(0, np.int64)) for _ in range(3))

    def add(self, vectors: Ragged, numbers: Longs) -> None:
        """Vectors with ascending numbers, after all those already here."""
        of_words = is_word(vectors.ptr)
        words = self._word_numbers(vectors.longs[of_words] >> 8, is_new=True)
        first, last = len(self._next), len(self._next) + len(words)
        owner = np.repeat(np.arange(len(vectors)) + len(self._number), np.diff(vectors.ptr) - 2)
        self._record.extend(owner)
        self._weight.extend(vectors.longs[of_words] & 0xFF)
        self._next.extend(np.empty(last - first, np.int64))
        self._ptr.extend(vectors.ptr[1:] + len(self._data))
        self._data.extend(vectors.longs)
        self._number.extend(numbers)
        time = vectors.longs[vectors.ptr[:-1]]
        before = self._latest.longs[-1:]
        self._latest.extend(np.maximum.accumulate(np.append(before, time))[len(before) :])
        self._time.extend(time)
        kernels.link(words, first, self._heads.longs, self._counts.longs, self._next.longs)

    def probe(self, vectors: Ragged, bounds: Longs, oldest: Longs) -> Pairs:
        """The partners of each row, numbered from `oldest[row]` up to before `bounds[row]`, by row and number."""
        words = np.full(len(vectors.longs), -1, np.int64)
        of_words = is_word(vectors.ptr)
        words[of_words] = self._word_numbers(vectors.longs[of_words] >> 8, is_new=False)
        asked = kernels.Asked(vectors.ptr, vectors.longs, words, bounds, oldest)
        row, number, alike = kernels.probe(asked, self._postings(), self._threshold, self._longest_us)
        order = np.lexsort((number, row))
        return Pairs(row[order], number[order], alike[order])

    def _postings(self) -> kernels.Chains:
        return kernels.Chains(
            self._heads.longs,
            self._counts.longs,
            self._next.longs,
            self._record.longs,
            self._weight.longs,
            self._ptr.longs,
            self._data.longs,
            self._number.longs,
            self._time.longs,
            self._latest.longs,
        )

    def _word_numbers(self, keys: Longs, *, is_new: bool) -> Longs:
        """The numbers of words; -1 for an unknown one, unless it is to be added."""
        asked, places = np.unique(keys, return_inverse=True)
        known = self._words
        if is_new:
            before = len(known)
            found = [known.setdefault(key, len(known)) for key in asked.tolist()]
            self._heads.extend(np.full(len(known) - before, -1, np.int64))
            self._counts.extend(np.zeros(len(known) - before, np.int64))
        else:
            found = [known.get(key, -1) for key in asked.tolist()]
        return np.array(found, np.int64)[places.reshape(-1)]
