"""Changes, merges and matching in any order: every version answers as its queries do, and touches nothing twice."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from feedweir.errors import CompiledSetError
from feedweir.items.model import Item
from feedweir.items.schema import batch_of
from feedweir.match import Work, apply_changes, matches, open_version, prepare_merge, write_version
from feedweir.match.arrays import frozen
from feedweir.match.matching.pair_kernels import REMOVED, in_order, merge_pairs
from feedweir.match.sets.segments import opened_segment
from feedweir.match.sets.set_changes import PreparedMerge
from feedweir.plan.query import Query
from tests.match.generated import items, queries
from tests.match.test_matching import naive_pairs, pairs_of
from tests.match.test_segments import news, word_query

many_steps = st.lists(
    st.sampled_from(("begin", "finish", "finish with a change"))
    | st.tuples(st.lists(queries, max_size=3), st.lists(st.integers(-5, 30), max_size=3)),
    min_size=1,
    max_size=6,
)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(queries, max_size=8), many_steps, st.lists(items(), min_size=1, max_size=2))
def test_changes_and_merges_that_overlap_answer_as_the_queries_of_the_moment(
    first: list[Query], steps: list[Any], batch: list[Item]
) -> None:
    with TemporaryDirectory() as directory:
        root = Path(directory) / "set"
        write_version(root, 1, first)
        wanted, merge = first, None
        for step in steps:
            wanted, merge = _taken(root, step, wanted, merge)
            opened = open_version(root)
            assert pairs_of(opened.match(batch_of(batch))) == naive_pairs(wanted, batch)
            assert len(opened) == len(wanted)


def _taken(
    root: Path, step: Any, wanted: list[Query], merge: PreparedMerge | None
) -> tuple[list[Query], PreparedMerge | None]:
    """A step of a story: the queries that are wanted then, and the merge that is at work."""
    if step == "begin":
        return wanted, prepare_merge(root) if merge is None else merge
    if step == "finish":
        if merge is not None:
            apply_changes(root, prepared=merge)
        return wanted, None
    added, removed = step if isinstance(step, tuple) else ([], [])
    if step == "finish with a change":
        apply_changes(root, prepared=merge)
        return wanted, None
    apply_changes(root, added, removed)
    return [query for query in wanted if query.key not in removed] + added, merge


pair_lists = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), max_size=60)


@settings(max_examples=200, deadline=None)
@given(
    pair_lists,
    st.lists(st.integers(-4, 20), min_size=10, max_size=10),
    st.sets(st.integers(0, 9)),
    pair_lists,
)
def test_pairs_are_put_in_order_without_what_was_removed_and_with_those_found_beside(
    found: list[tuple[int, int]], some_keys: list[int], removed: set[int], beside: list[tuple[int, int]]
) -> None:
    keys = sorted(some_keys)
    gone = {keys[query] for query in removed}  # whole keys are removed, whatever number of queries share one
    marked = np.array([int(REMOVED) if key in gone else key for key in keys])
    by_row = sorted(found, key=lambda pair: pair[0])
    rows, asked = (np.array([pair[side] for pair in by_row], np.int32) for side in (0, 1))
    others = sorted(set(beside))
    other_rows = np.array([row for row, _ in others], np.int32)
    other_keys = np.array([key for _, key in others], np.int64)
    kept = {(row, keys[query]) for row, query in found if keys[query] not in gone}
    ordered = in_order(rows, asked, frozen(marked), len(marked), other_rows, other_keys)
    assert list(zip(*(column.tolist() for column in ordered), strict=True)) == sorted(kept | set(others))


def test_segments_together_do_the_work_of_each_and_no_pairs_are_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "set"
    write_version(root, 1, [word_query(key, f"w{key % 7}") for key in range(8000)])
    for number in (0, 1):
        size = 200 if number == 0 else 5
        first = 10_000 + 1000 * number
        apply_changes(root, [word_query(first + key, f"w{key % 7}") for key in range(size)], [number])
    changed = open_version(root)
    assert [segment.size for segment in changed.segments] == [8000, 200, 5]
    copied: list[int] = []

    def counted(*pairs: Any) -> Any:
        copied.append(len(pairs[0]) + len(pairs[2]))
        return merge_pairs(*pairs)

    monkeypatch.setattr(matches, "merge_pairs", counted)
    batch = batch_of(news("w1 w2 w3", "nothing", "w0"))
    found = changed.match(batch)
    alone = [opened_segment(root, segment).match(batch) for segment in changed.segments]
    assert len(found) == sum(map(len, alone)) - 2  # two of the first segment were removed
    assert found.work.tests == sum(one.work.tests for one in alone)
    assert found.work.candidates == sum(one.work.candidates for one in alone)
    assert copied == []
    assert isinstance(found.work, Work)


def test_a_small_segment_that_was_damaged_is_not_written_anew_under_another_name(tmp_path: Path) -> None:
    root = tmp_path / "set"
    write_version(root, 1, [word_query(key, "a") for key in range(100)])
    changed = apply_changes(root, [word_query(200, "b")])
    small = root / "segments" / changed.segments[-1].name / "queries.arrow"
    data = bytearray(small.read_bytes())
    data[len(data) // 2] ^= 1
    small.write_bytes(data)
    with pytest.raises(CompiledSetError, match="damaged"):
        apply_changes(root, [word_query(201, "b")])
