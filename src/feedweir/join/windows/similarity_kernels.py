"""Set similarity by prefix filtering, on flat arrays.

Records are sets of token keys in ascending order, the rarest first. Two sets with |A ∩ B| / |A ∪ B| >= t share a token
among the first |A| - ceil(t|A|) + 1 of A and of B; those prefixes are indexed. A candidate is dropped when its size is
out of bounds, or when the tokens after the shared ones cannot make up the overlap that is needed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from feedweir.join.array_kernels import SLACK, doubled, first_from
from feedweir.kernels import njit


class Records(NamedTuple):
    """Record r has the tokens ptr[r] to ptr[r + 1]."""

    ptr: NDArray[np.int64]
    tokens: NDArray[np.int64]
    number: NDArray[np.int64]
    """Of each record its document, ascending."""


class Postings(NamedTuple):
    """Token keys[k] is in the prefixes of the records ptr[k] to ptr[k + 1], at those places, by ascending record."""

    keys: NDArray[np.int64]
    ptr: NDArray[np.int64]
    record: NDArray[np.int32]
    place: NDArray[np.int32]


@njit(inline="always")
def prefix_length(size, threshold):  # type: ignore[no-untyped-def]
    return size - int(np.ceil(threshold * size - SLACK)) + 1


@njit(cache=True)
def prefixes(ptr, tokens, threshold):  # type: ignore[no-untyped-def]
    """(token, record, place) of every prefix token."""
    total = 0
    for record in range(len(ptr) - 1):
        size = ptr[record + 1] - ptr[record]
        total += min(size, max(0, prefix_length(size, threshold)))
    keys = np.empty(total, np.int64)
    records = np.empty(total, np.int32)
    places = np.empty(total, np.int32)
    at = 0
    for record in range(len(ptr) - 1):
        size = ptr[record + 1] - ptr[record]
        for place in range(min(size, max(0, prefix_length(size, threshold)))):
            keys[at] = tokens[ptr[record] + place]
            records[at] = record
            places[at] = place
            at += 1
    return keys, records, places


@njit(cache=True)
def overlap(a, a_stop, a_tokens, b, b_stop, b_tokens, needed):  # type: ignore[no-untyped-def]
    """How many tokens are in both, or -1 as soon as `needed` cannot be reached."""
    common = 0
    while a < a_stop and b < b_stop:
        if common + min(a_stop - a, b_stop - b) < needed:
            return -1
        if a_tokens[a] == b_tokens[b]:
            common += 1
            a += 1
            b += 1
        elif a_tokens[a] < b_tokens[b]:
            a += 1
        else:
            b += 1
    return common


@njit(cache=True)
def probe(asked, oldest, records, postings, threshold):  # type: ignore[no-untyped-def]
    """(asked record, document, overlap) of all pairs at least `threshold` similar.

    Only documents from oldest[r] up to, not including, the asked record's own number are partners.

    ```
    asked record r:  token token token │ …        its prefix: a partner shares a token of it
                       └─▶ postings ─▶ records    `upper`: shared prefix tokens so far; -1 when it cannot be enough
                                          └─▶ `overlap` decides, on all tokens
    ```
    """
    count = len(records.number)
    upper = np.zeros(count, np.int32)
    touched = np.empty(count, np.int32)
    found = np.empty((64, 3), np.int64)
    total = 0
    for r in range(len(asked.number)):
        size = asked.ptr[r + 1] - asked.ptr[r]
        if size == 0:
            continue
        smallest = int(np.ceil(threshold * size - SLACK))
        largest = int(np.floor(size / threshold + SLACK))
        # 1. The records that may be partners, and of these the candidates that share tokens of the prefix.
        first = first_from(records.number, 0, count, oldest[r])
        last = first_from(records.number, first, count, asked.number[r])
        seen = 0
        for place in range(min(size, prefix_length(size, threshold))):
            key = asked.tokens[asked.ptr[r] + place]
            k = first_from(postings.keys, 0, len(postings.keys), key)
            if k == len(postings.keys) or postings.keys[k] != key:
                continue
            at = first_from(postings.record, postings.ptr[k], postings.ptr[k + 1], first)
            while at < postings.ptr[k + 1] and postings.record[at] < last:
                record = postings.record[at]
                other = records.ptr[record + 1] - records.ptr[record]
                if smallest <= other <= largest and upper[record] >= 0:
                    needed = int(np.ceil(threshold / (1 + threshold) * (size + other) - SLACK))
                    if upper[record] == 0:
                        touched[seen] = record
                        seen += 1
                    rest = min(size - place, other - postings.place[at])
                    if upper[record] + rest >= needed:
                        upper[record] += 1
                    else:
                        upper[record] = -1
                at += 1
        # 2. Candidates are decided by their whole overlap.
        for one in range(seen):
            record = touched[one]
            if upper[record] > 0:
                other = records.ptr[record + 1] - records.ptr[record]
                needed = int(np.ceil(threshold / (1 + threshold) * (size + other) - SLACK))
                common = overlap(
                    asked.ptr[r], asked.ptr[r + 1], asked.tokens,
                    records.ptr[record], records.ptr[record + 1], records.tokens, needed,
                )  # fmt: skip
                if common > 0 and common / (size + other - common) >= threshold:
                    if total == len(found):
                        found = doubled(found)
                    found[total, 0] = r
                    found[total, 1] = records.number[record]
                    found[total, 2] = common
                    total += 1
            upper[record] = 0
    return found[:total]


@njit(cache=True)
def similarities(a_rows, b_rows, a_ptr, a_tokens, b_ptr, b_tokens):  # type: ignore[no-untyped-def]
    """|A ∩ B| / |A ∪ B| of pairs of rows with sorted tokens; 0 when both are empty."""
    result = np.zeros(len(a_rows))
    for pair in range(len(a_rows)):
        a, b = a_rows[pair], b_rows[pair]
        common = overlap(a_ptr[a], a_ptr[a + 1], a_tokens, b_ptr[b], b_ptr[b + 1], b_tokens, 0)
        union = a_ptr[a + 1] - a_ptr[a] + b_ptr[b + 1] - b_ptr[b] - common
        if union > 0:
            result[pair] = common / union
    return result
