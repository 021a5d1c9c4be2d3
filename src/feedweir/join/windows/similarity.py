"""The similarity join: of each new item all earlier ones whose words overlap enough, exactly.

The index is a list of immutable segments that are merged as they grow, like the history of joins. Tokens are ordered by
how rare they were when the order was made; a token first seen later comes before all of them, since it is rare so far.
Any fixed order gives the same pairs: rarity only decides how many candidates are tried. A new order is made
when the number of records has grown a few times over.

Words are compared by 64-bit hashes. Two empty texts are not similar.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from feedweir.errors import LanguageError
from feedweir.join.ragged import Ragged, ranges
from feedweir.join.windows import similarity_kernels as kernels
from feedweir.join.windows.similarity_kernels import Postings, Records
from feedweir.text.analyser import Tokens

Longs = NDArray[np.int64]
_MERGE = 4
_REORDER = 4
_MIN_REORDER = 5_000
_UNKNOWN = 1 << 62


def token_sets(*parts: Tokens) -> Ragged:
    """The sets of words of rows, over one or several columns."""
    rows = [np.repeat(np.arange(len(part)), np.diff(part.offsets)) for part in parts]
    owner = np.concatenate(rows)
    hashes = np.concatenate([part.hashes for part in parts]).view(np.int64)
    order = np.lexsort((hashes, owner))
    owner, hashes = owner[order], hashes[order]
    fresh = np.ones(len(owner), np.bool_)
    fresh[1:] = (owner[1:] != owner[:-1]) | (hashes[1:] != hashes[:-1])
    owner, hashes = owner[fresh], hashes[fresh]
    ptr = np.searchsorted(owner, np.arange(len(parts[0]) + 1)).astype(np.int64)
    return Ragged(ptr, np.ascontiguousarray(hashes))


@dataclass(frozen=True, slots=True)
class Pairs:
    """Rows of a batch, the numbers of their partners, and how similar the two are."""

    row: Longs
    number: Longs
    similarity: NDArray[np.float64]

    def only(self, is_kept: NDArray[np.bool_]) -> Pairs:
        return Pairs(self.row[is_kept], self.number[is_kept], self.similarity[is_kept])


@dataclass(frozen=True, slots=True)
class _Segment:
    records: Records
    postings: Postings


@dataclass(slots=True)
class SimilarityIndex:
    """Grows with `add`, forgets with `expire`. `threshold` is the lowest that it will be asked for."""

    threshold: float
    _segments: list[_Segment] = field(default_factory=list)
    _keys: dict[int, int] = field(default_factory=dict)
    _next_key: int = 0
    _ordered_at: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.threshold <= 1:
            raise LanguageError(
                f"{self.threshold} is not a similarity",
                hint="use a number above 0 and up to 1",
            )

    def __len__(self) -> int:
        return sum(len(segment.records.number) for segment in self._segments)

    def add(self, sets: Ragged, numbers: Longs) -> None:
        """Records with ascending numbers, after all those already here; empty sets are partners of none."""
        records = self._records(sets, numbers)
        filled = np.flatnonzero(np.diff(records.ptr) > 0)
        if len(filled):
            self._segments.append(self._indexed(_taken(records, filled)))
            self._merge(0)
        if len(self) >= max(_MIN_REORDER, _REORDER * self._ordered_at):
            self._reorder()

    def probe(self, sets: Ragged, numbers: Longs, oldest: Longs) -> Pairs:
        """The partners of each row, of documents numbered from oldest[row] up to before numbers[row]."""
        asked = self._records(sets, numbers)
        found = [
            kernels.probe(asked, oldest, segment.records, segment.postings, self.threshold)
            for segment in self._segments
        ]
        pairs = np.concatenate([np.empty((0, 3), np.int64), *found])
        pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
        sizes = np.diff(asked.ptr)[pairs[:, 0]] + self._sizes(pairs[:, 1])
        return Pairs(pairs[:, 0], pairs[:, 1], pairs[:, 2] / np.maximum(sizes - pairs[:, 2], 1))

    def expire(self, oldest: int) -> None:
        """Forget documents before `oldest`."""
        self._segments = [one for one in self._segments if one.records.number[-1] >= oldest]
        for place, one in enumerate(self._segments):
            kept = np.flatnonzero(one.records.number >= oldest)
            if 2 * len(kept) < len(one.records.number):
                self._segments[place] = self._indexed(_taken(one.records, kept))

    def _sizes(self, numbers: Longs) -> Longs:
        sizes = np.zeros(len(numbers), np.int64)
        for segment in self._segments:
            at = np.minimum(np.searchsorted(segment.records.number, numbers), len(segment.records.number) - 1)
            here = segment.records.number[at] == numbers
            sizes[here] = np.diff(segment.records.ptr)[at[here]]
        return sizes

    def _records(self, sets: Ragged, numbers: Longs) -> Records:
        tokens, inverse, counts = np.unique(sets.longs, return_inverse=True, return_counts=True)
        keys = self._named(tokens, counts)[inverse.ravel()]
        return _sorted(Records(sets.ptr, keys.reshape(-1), np.asarray(numbers, np.int64)))

    def _named(self, tokens: Longs, counts: Longs) -> Longs:
        """The keys of tokens. One never seen comes below all others, the rarest of the batch lowest."""
        found = np.array([self._keys.get(token, _UNKNOWN) for token in tokens.tolist()], np.int64)
        fresh = np.flatnonzero(found == _UNKNOWN)
        fresh = fresh[np.lexsort((tokens[fresh], -counts[fresh]))]
        found[fresh] = self._next_key - 1 - np.arange(len(fresh))
        self._next_key -= len(fresh)
        self._keys.update(zip(tokens[fresh].tolist(), found[fresh].tolist(), strict=True))
        return found

    def _indexed(self, records: Records) -> _Segment:
        keys, record, place = kernels.prefixes(records.ptr, records.tokens, self.threshold)
        order = np.lexsort((record, keys))
        distinct, starts = np.unique(keys[order], return_index=True)
        ptr = np.append(starts, len(keys)).astype(np.int64)
        return _Segment(records, Postings(distinct, ptr, record[order], place[order]))

    def _merge(self, oldest: int) -> None:
        while len(self._segments) >= _MERGE:
            last = self._segments[-_MERGE:]
            sizes = [len(one.records.tokens) for one in last]
            if max(sizes) > _MERGE * min(sizes) * 2:
                return
            self._segments[-_MERGE:] = [self._indexed(_joined([one.records for one in last]))]

    def _reorder(self) -> None:
        """A new order of tokens by how often they occur in what is held, and one segment in it."""
        records = _joined([segment.records for segment in self._segments])
        keys, counts = np.unique(records.tokens, return_counts=True)
        rank = np.empty(len(keys), np.int64)
        rank[np.lexsort((keys, counts))] = np.arange(len(keys))
        translate = dict(zip(keys.tolist(), rank.tolist(), strict=True))
        self._keys = {token: translate[key] for token, key in self._keys.items() if key in translate}
        self._next_key = 0
        tokens = rank[np.searchsorted(keys, records.tokens)]
        self._segments = [self._indexed(_sorted(Records(records.ptr, tokens, records.number)))]
        self._ordered_at = len(records.number)


def _sorted(records: Records) -> Records:
    owner = np.repeat(np.arange(len(records.number)), np.diff(records.ptr))
    order = np.lexsort((records.tokens, owner))
    return Records(records.ptr, np.ascontiguousarray(records.tokens[order]), records.number)


def _taken(records: Records, rows: Longs) -> Records:
    sizes = records.ptr[rows + 1] - records.ptr[rows]
    ptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Records(
        ptr, records.tokens[ranges(records.ptr[rows], records.ptr[rows + 1])], records.number[rows]
    )


def _joined(parts: Sequence[Records]) -> Records:
    sizes = np.concatenate([np.diff(part.ptr) for part in parts])
    return Records(
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.concatenate([part.tokens for part in parts]),
        np.concatenate([part.number for part in parts]),
    )
