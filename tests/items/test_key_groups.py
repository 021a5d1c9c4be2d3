"""Key groups: every key has one for ever, and any number of tasks divides all of them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from feedweir.items.key_groups import KEY_GROUPS, divided, groups_of

hashes = st.lists(st.integers(0, 2**64 - 1), max_size=50)
numbers_of_tasks = st.sampled_from([0, 1, 2, 7, 64, 4095, 4096, 10_000])


@given(hashes, numbers_of_tasks)
def test_a_range_of_groups_is_a_slice_of_sorted_hashes(values: list[int], tasks: int) -> None:
    ordered = np.sort(np.array(values, np.uint64))
    found = [ordered[each.slice_of(ordered)] for each in divided(tasks)]
    assert np.concatenate(found).tolist() == ordered.tolist()
    for each, inside in zip(divided(tasks), found, strict=True):
        assert all(each.first <= group < each.end for group in groups_of(inside).tolist())
    assert groups_of(ordered).tolist() == [one >> 52 for one in ordered.tolist()]


@given(numbers_of_tasks)
def test_ranges_are_neighbours_that_differ_by_one_group(tasks: int) -> None:
    ranges = divided(tasks)
    assert [ranges[0].first, *(one.end for one in ranges)] == [*(one.first for one in ranges), KEY_GROUPS]
    sizes = [one.end - one.first for one in ranges]
    assert max(sizes) - min(sizes) <= 1
    assert len(ranges) == max(1, min(tasks, KEY_GROUPS))
