"""How similar story vectors are, on flat arrays (`windows.story_vectors`).

ptr[r]                                                ptr[r + 1]
  │ published │ Σ weight² │ hash·weight │ hash·weight │ …        words by ascending hash
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from feedweir.join.array_kernels import SLACK
from feedweir.kernels import njit

TWO_DAYS = 2 * 86_400_000_000
FAR = 1 << 61


class Asked(NamedTuple):
    """Vectors whose partners are asked for: words[i] is the number of the word data[i], or -1; partners of row r are
    numbered from oldest[r] up to before bounds[r]."""

    ptr: NDArray[np.int64]
    data: NDArray[np.int64]
    words: NDArray[np.int64]
    bounds: NDArray[np.int64]
    oldest: NDArray[np.int64]


class Chains(NamedTuple):
    """What `StoryIndex` holds: for each word its entries, the latest first, and how many they are; the vectors."""

    heads: NDArray[np.int64]
    counts: NDArray[np.int64]
    next: NDArray[np.int64]
    record: NDArray[np.int64]
    weight: NDArray[np.int64]
    ptr: NDArray[np.int64]
    data: NDArray[np.int64]
    number: NDArray[np.int64]
    time: NDArray[np.int64]
    latest: NDArray[np.int64]
    """The latest time of a vector and of all before it."""


@njit(cache=True)
def link(words, first, heads, counts, following):  # type: ignore[no-untyped-def]
    """Entry first + i is of words[i]: put it before the others of that word."""
    for i in range(len(words)):
        following[first + i] = heads[words[i]]
        heads[words[i]] = first + i
        counts[words[i]] += 1


@njit(inline="always")
def _nearness(a, b):  # type: ignore[no-untyped-def]
    """1 for two times that are equal, a half for two that are two days apart or more."""
    return TWO_DAYS / (TWO_DAYS + min(abs(a - b), TWO_DAYS))


@njit(cache=True)
def _similarity(a, a_at, a_stop, b, b_at, b_stop):  # type: ignore[no-untyped-def]
    norms = a[a_at + 1] * b[b_at + 1]
    if norms == 0:
        return 0.0
    near = _nearness(a[a_at], b[b_at])
    a_at += 2
    b_at += 2
    common = 0
    while a_at < a_stop and b_at < b_stop:
        left, right = a[a_at] >> 8, b[b_at] >> 8
        if left == right:
            common += (a[a_at] & 0xFF) * (b[b_at] & 0xFF)
        if left <= right:
            a_at += 1
        if right <= left:
            b_at += 1
    return common / np.sqrt(norms) * near


@njit(cache=True)
def similarities(a_rows, b_rows, a_ptr, a_data, b_ptr, b_data):  # type: ignore[no-untyped-def]
    """How similar pairs of vectors are."""
    result = np.zeros(len(a_rows))
    for pair in range(len(a_rows)):
        a, b = a_rows[pair], b_rows[pair]
        result[pair] = _similarity(a_data, a_ptr[a], a_ptr[a + 1], b_data, b_ptr[b], b_ptr[b + 1])
    return result


@njit(cache=True)
def _by_rarity(asked, r, chains):  # type: ignore[no-untyped-def]
    """The places of a vector's words, those in the fewest vectors first."""
    start, stop = asked.ptr[r] + 2, asked.ptr[r + 1]
    counts = np.zeros(stop - start, np.int64)
    for place in range(start, stop):
        if asked.words[place] >= 0:
            counts[place - start] = chains.counts[asked.words[place]]
    return start + np.argsort(counts, kind="mergesort")


@njit(cache=True)
def _reaches(asked, r, places, threshold, longest):  # type: ignore[no-untyped-def]
    """For each place, (rest, reach): the most that the words from it on can contribute to a similarity; and how far
    apart in time a vector may be that shares none of the words before it, at most `longest`, negative for nowhere."""
    rest = np.zeros(len(places) + 1)
    reach = np.full(len(places), np.int64(-1))
    mass = 0
    norm = asked.data[asked.ptr[r] + 1]
    for at in range(len(places) - 1, -1, -1):
        weight = asked.data[places[at]] & 0xFF
        mass += weight * weight
        rest[at] = np.sqrt(mass / norm)
        share = rest[at] / threshold + SLACK
        if share >= 2:
            reach[at] = longest
        elif share >= 1:
            reach[at] = min(np.int64((share - 1) * TWO_DAYS) + 1, longest)
    return rest, reach


@njit(cache=True)
def _gather(asked, r, places, reach, chains, common, touched):  # type: ignore[no-untyped-def]
    """Add up what vectors have in common with the asked one, as far as each of its words reaches; how many they are."""
    seen = 0
    time = asked.data[asked.ptr[r]]
    for at in range(len(places)):
        word, weight = asked.words[places[at]], asked.data[places[at]] & 0xFF
        if reach[at] < 0:
            break
        entry = chains.heads[word] if word >= 0 else -1
        while entry >= 0:
            record = chains.record[entry]
            # Nothing that came before it was published later than `latest` says.
            if chains.number[record] < asked.oldest[r] or chains.latest[record] < time - reach[at]:
                break
            is_near = abs(chains.time[record] - time) <= reach[at]
            if is_near and chains.number[record] < asked.bounds[r]:
                if common[record] == 0:
                    touched[seen] = record
                    seen += 1
                common[record] += weight * chains.weight[entry]
            entry = chains.next[entry]
    return seen


@njit(inline="always")
def _left(gap, rest, reach):  # type: ignore[no-untyped-def]
    """The most that the words can contribute which do not reach so far."""
    at = 0
    while at < len(reach) and reach[at] >= gap:
        at += 1
    return rest[at]


@njit(cache=True)
def probe(asked, chains, threshold, longest):  # type: ignore[no-untyped-def]
    """(asked row, number, similarity) of all pairs that are at least so similar and no further apart than `longest`.

    1. The words of a row by rarity, and how far in time each of them must be followed.
    2. What older vectors have in common with it in those words.
    3. Those for which the other words could make up the rest are compared in full.
    """
    common = np.zeros(len(chains.number), np.int64)
    touched = np.empty(len(chains.number), np.int64)
    rows, numbers = np.empty(64, np.int64), np.empty(64, np.int64)
    degrees = np.empty(64)
    total = 0
    for r in range(len(asked.bounds)):
        start, stop = asked.ptr[r], asked.ptr[r + 1]
        time, norm = asked.data[start], asked.data[start + 1]
        places = _by_rarity(asked, r, chains)
        rest, reach = _reaches(asked, r, places, threshold, longest)
        for one in range(_gather(asked, r, places, reach, chains, common, touched)):
            record = touched[one]
            at = chains.ptr[record]
            had, common[record] = common[record], 0
            # Could the words that were not followed so far make up what is missing?
            most = had / np.sqrt(norm * chains.data[at + 1])
            most += _left(abs(chains.time[record] - time), rest, reach)
            if most * _nearness(time, chains.time[record]) < threshold - SLACK:
                continue
            found = _similarity(asked.data, start, stop, chains.data, at, chains.ptr[record + 1])
            if found >= threshold:
                if total == len(rows):
                    rows = np.append(rows, np.empty(total, np.int64))
                    numbers = np.append(numbers, np.empty(total, np.int64))
                    degrees = np.append(degrees, np.empty(total))
                rows[total], numbers[total], degrees[total] = r, chains.number[record], found
                total += 1
    return rows[:total], numbers[:total], degrees[:total]
