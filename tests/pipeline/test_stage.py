"""A task's pairs of feeds and items."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedweir.pipeline.stage import _sorted_pairs

rows = st.integers(0, 40)
keys = st.integers(-5, 5) | st.integers(-(2**63), 2**63 - 1) | st.sampled_from([-(2**57), 2**57 - 1, 2**57])


@given(st.lists(st.tuples(keys, rows), unique=True, max_size=60), st.integers(41, 70))
def test_pairs_are_sorted_by_feed_and_then_by_item(pairs: list[tuple[int, int]], n_rows: int) -> None:
    feeds, places = (np.array([pair[at] for pair in pairs], np.int64) for at in (0, 1))
    found = zip(*(each.tolist() for each in _sorted_pairs(feeds, places, n_rows)), strict=True)
    assert list(found) == sorted(pairs)


@pytest.mark.parametrize("n_rows", [0, 1, 2])
def test_no_pairs_of_few_items(n_rows: int) -> None:
    feeds, places = _sorted_pairs(np.empty(0, np.int64), np.empty(0, np.int32), n_rows)
    assert len(feeds) == len(places) == 0
