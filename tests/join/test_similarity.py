from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.errors import LanguageError
from feedweir.join.ragged import Ragged
from feedweir.join.windows import similarity
from feedweir.join.windows.similarity import SimilarityIndex, token_sets
from feedweir.text.analyser import analyse

Sets = list[frozenset[int]]


def packed(sets: Sets) -> Ragged:
    ptr = np.concatenate([[0], np.cumsum([len(one) for one in sets])]).astype(np.int64)
    return Ragged(ptr, np.array([token for one in sets for token in sorted(one)], np.int64))


def obvious(sets: Sets, threshold: float, back: int) -> dict[tuple[int, int], float]:
    pairs = {}
    for later, one in enumerate(sets):
        for earlier in range(max(0, later - back), later):
            union = one | sets[earlier]
            if union and len(one & sets[earlier]) / len(union) >= threshold:
                pairs[later, earlier] = len(one & sets[earlier]) / len(union)
    return pairs


def found(sets: Sets, threshold: float, back: int, cut: int) -> dict[tuple[int, int], float]:
    index = SimilarityIndex(threshold)
    pairs = {}
    for start in range(0, len(sets), cut):
        some = packed(sets[start : start + cut])
        numbers = np.arange(start, start + len(some), dtype=np.int64)
        index.add(some, numbers)
        similar = index.probe(some, numbers, np.maximum(numbers - back, 0))
        columns = (numbers[similar.row], similar.number, similar.similarity)
        for later, earlier, score in zip(*(column.tolist() for column in columns), strict=True):
            pairs[later, earlier] = score
        index.expire(start - back)
    return pairs


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.frozensets(st.integers(0, 12), max_size=8), max_size=40),
    st.sampled_from((0.1, 0.25, 1 / 3, 0.5, 0.6, 2 / 3, 0.75, 0.8, 0.9, 1.0)),
    st.sampled_from((3, 1000)),
    st.sampled_from((1, 7, 1000)),
)
def test_the_similarity_join_finds_exactly_the_pairs_that_brute_force_finds(
    sets: Sets, threshold: float, back: int, cut: int
) -> None:
    assert found(sets, threshold, back, cut) == obvious(sets, threshold, back)


def test_a_new_order_of_tokens_changes_no_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similarity, "_MIN_REORDER", 10)
    chance = np.random.default_rng(5)
    sets = [frozenset(chance.zipf(1.5, chance.integers(0, 9)).tolist()) for _ in range(300)]
    assert found(sets, 0.5, 1000, 7) == obvious(sets, 0.5, 1000)


def test_words_of_several_columns_are_one_set() -> None:
    title = analyse(pa.array(["Red river", ""]))
    more = analyse(pa.array(["river RED flows", "x"]))
    sets = token_sets(title, more)
    assert np.diff(sets.ptr).tolist() == [3, 1]


@pytest.mark.parametrize("threshold", [0.0, -1.0, 1.5])
def test_a_threshold_out_of_range_is_refused(threshold: float) -> None:
    with pytest.raises(LanguageError, match="similarity"):
        SimilarityIndex(threshold)
