"""Similarity joins: items against a full window, and brute force over all pairs on a few of them."""

from __future__ import annotations

import random
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from feedweir.join.ragged import Ragged
from feedweir.join.windows.similarity import SimilarityIndex, token_sets
from feedweir.text.analyser import analyse


def similar_texts(path: str, count: int) -> list[str]:
    """Titles: those of the named items again and again with a word changed, or generated with Zipf words."""
    chance = random.Random(17)
    if path:
        titles = [title or "" for title in pq.read_table(path, columns=["title"])["title"].to_pylist()]
        more = [titles[chance.randrange(len(titles))] for _ in range(max(0, count - len(titles)))]
        changed = [" ".join([*title.split()[:-1], f"w{chance.randrange(50_000)}"]) for title in more]
        return (titles + changed)[:count]
    common = [f"w{place}" for place in range(60_000)]
    weights = np.cumsum(1 / np.arange(1, len(common) + 1) ** 0.9).tolist()
    titles = []
    for place in range(count):
        if place > 100 and chance.random() < 0.03:
            words = titles[chance.randrange(place)].split()
            words[chance.randrange(len(words))] = chance.choice(common)
        else:
            words = chance.choices(common, cum_weights=weights, k=chance.randrange(6, 15))
        titles.append(" ".join(words))
    return titles


def similar(path: str, window: int, asked: int, threshold: float) -> dict[str, object]:
    """Items against a full window: their rate, and brute force over all pairs on a few of them."""
    sets = token_sets(analyse(pa.array(similar_texts(path, window + asked))))
    numbers = np.arange(window + asked, dtype=np.int64)
    index = SimilarityIndex(threshold)
    for start in range(0, window, 20_000):
        some = numbers[start : min(start + 20_000, window)]
        index.add(sets.take(some), some)
    batches = [numbers[start : start + 500] for start in range(window, window + asked, 500)]
    first = sets.take(batches[0])
    index.probe(first, batches[0], batches[0] - window)
    spent, found = 0.0, set()
    for some in batches:
        start_s = time.perf_counter()
        chosen = sets.take(some)
        index.add(chosen, some)
        pairs = index.probe(chosen, some, some - window)
        index.expire(int(some[0]) - window)
        spent += time.perf_counter() - start_s
        found.update(zip(some[pairs.row].tolist(), pairs.number.tolist(), strict=True))
    sample = random.Random(1).sample(range(window, window + asked), 40)
    start_s = time.perf_counter()
    expected = {pair for number in sample for pair in _all_pairs(sets, number, window, threshold)}
    brute_s = (time.perf_counter() - start_s) / len(sample)
    chosen_pairs = {pair for pair in found if pair[0] in set(sample)}
    return {
        "window": window,
        "threshold": threshold,
        "items_per_s": round(asked / spent, 1),
        "pairs": len(found),
        "speedup_over_all_pairs": round(brute_s / (spent / asked), 1),
        "agree": chosen_pairs == expected,
    }


def _all_pairs(sets: Ragged, number: int, window: int, threshold: float) -> list[tuple[int, int]]:
    """Brute force: the overlap with every item of the window, counted from all its tokens."""
    low = number - window
    mine = sets.longs[sets.ptr[number] : sets.ptr[number + 1]]
    shared = np.isin(sets.longs[sets.ptr[low] : sets.ptr[number]], mine)
    sums = np.concatenate([[0], np.cumsum(shared)])
    ptr = sets.ptr[low : number + 1] - sets.ptr[low]
    common = sums[ptr[1:]] - sums[ptr[:-1]]
    union = np.diff(ptr) + len(mine) - common
    close = (common > 0) & (common / np.maximum(union, 1) >= threshold)
    return [(number, low + int(place)) for place in np.flatnonzero(close)]
