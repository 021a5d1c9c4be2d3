"""Who tells a story first, and elements as columns: compared with going through them one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from feedweir.join.batch_documents import NOTHING, Elements, merged, notes_of
from feedweir.join.result_tables import pair_documents, pair_elements, pairs_of_feeds
from feedweir.join.windows.annotation_batch import FirstReports, StoryPairs, first_reports, stage_results

Pair = tuple[int, int, int, bool, float]
"""(row, row of the earlier one in the batch or -1, how many items back one of before is, is revision, degree)."""


def pairs_of(pairs: list[Pair]) -> StoryPairs:
    count = len(pairs)
    column = list(zip(*pairs, strict=True)) if pairs else [()] * 5
    back = np.array(column[2], np.int64)
    return StoryPairs(
        np.zeros(count, np.int64),
        np.array(column[0], np.int64),
        np.array(column[1], np.int64),
        1_000 - back,
        back,
        np.array(column[3], np.bool_),
        7_000 - back,
        np.array(column[4], np.float64),
    )


def obvious(
    rows: list[int], pairs: list[Pair], most: int
) -> tuple[list[bool], list[tuple[int, int]], list[int]]:
    """One element after the other, against the list of those that came out."""
    out: list[int] = []
    firsts, again, late = [], [], []
    for row in rows:
        known = []
        for pair in (one for one in pairs if one[0] == row):
            _, earlier, back, is_revision, degree = pair
            if earlier < 0:
                is_near = len(out) + back <= most
            else:
                is_near = earlier in out[-most:]
            if is_near:
                known.append((pair, is_revision, degree))
        is_first = not known or any(is_revision for _, is_revision, _ in known)
        firsts.append(is_first)
        if is_first:
            out.append(row)
            continue
        best = max(degree for _, _, degree in known)
        (_, earlier, back, _, _), _, _ = next(one for one in known if one[2] == best)
        if earlier < 0:
            late.append(1_000 - back)
        else:
            again.append((earlier, row))
    return firsts, again, late


@st.composite
def batches(draw: st.DrawFn) -> tuple[list[int], list[Pair]]:
    """Some rows of a batch are elements; pairs go by row and then from the oldest to the newest."""
    rows = sorted(draw(st.sets(st.integers(0, 12), min_size=1, max_size=9)))
    pairs: list[Pair] = []
    for place, row in enumerate(rows):
        older = sorted(draw(st.sets(st.integers(1, 6), max_size=2)), reverse=True)
        earlier = sorted(draw(st.sets(st.sampled_from(rows[:place]), max_size=4))) if place else []
        degrees = st.sampled_from((0.4, 0.5, 0.9))
        is_revision = st.sampled_from((False, False, False, True))
        pairs += [(row, -1, back, draw(is_revision), draw(degrees)) for back in older]
        pairs += [(row, one, 0, draw(is_revision), draw(degrees)) for one in earlier]
    return rows, pairs


@given(batches().filter(lambda drawn: bool(drawn[1])), st.sampled_from((1, 2, 5, 1_000)))
def test_who_tells_first_is_what_going_through_them_one_by_one_finds(
    drawn: tuple[list[int], list[Pair]], most: int
) -> None:
    rows, pairs = drawn
    found = first_reports(np.array(rows, np.int64), pairs_of(pairs), slice(0, len(pairs)), most)
    firsts, again, late = obvious(rows, pairs, most)
    assert found.is_first.tolist() == firsts
    assert found.again == again
    assert [number for number, *_ in found.late] == late


def decided(pairs: list[Pair], most: int = 1_000) -> FirstReports:
    rows = sorted({row for pair in pairs for row in pair[:2] if row >= 0})
    return first_reports(np.array(rows, np.int64), pairs_of(pairs), slice(0, len(pairs)), most)


def test_what_did_not_come_out_is_nobodys_first() -> None:
    found = decided([(1, 0, 0, False, 0.9), (2, 1, 0, False, 0.9)])
    assert found.is_first.tolist() == [True, False, True]
    assert found.again == [(0, 1)]


def test_a_new_wording_comes_out_like_the_old_one() -> None:
    found = decided([(1, 0, 0, True, 0.9), (2, 0, 0, False, 0.5), (2, 1, 0, False, 0.9)])
    assert found.is_first.tolist() == [True, True, False]
    assert found.again == [(1, 2)], "with the one it is most like"


def test_of_two_that_are_equally_alike_the_earlier_has_it() -> None:
    assert decided([(2, 0, 0, False, 0.5), (2, 1, 0, False, 0.5)]).again == [(0, 2)]


def test_a_window_of_items_counts_those_that_came_out_only() -> None:
    pairs = [(1, 0, 0, False, 0.9), (2, 0, 0, False, 0.9), (3, 0, 0, False, 0.9)]
    assert decided(pairs, most=1).is_first.tolist() == [True, False, False, False]
    older = [(0, -1, 2, False, 0.9)]
    assert decided(older, most=2).late == [(998, 6_998, 0)]
    assert decided(older, most=1).late == []


def test_pairs_of_a_stage_are_put_in_order_and_nothing_is_found_of_nothing() -> None:
    rows = [np.array([[5, 1, 9], [5, 0, 8]], np.int64), np.array([[4, 2, 7]], np.int64)]
    found = stage_results(rows, ())
    together = zip(
        *(getattr(found.annotations, name).tolist() for name in ("key", "row", "partner")), strict=True
    )
    assert list(together) == [(4, 2, 7), (5, 0, 8), (5, 1, 9)]
    assert len(stage_results((), ()).annotations) == 0
    assert len(stage_results((), ()).stories.key) == 0
    assert stage_results((), (), [3, 1]).dropped == (1, 3)


def elements(rows: list[int], notes: list[tuple[int, int, int]] | None = None) -> Elements:
    return Elements(np.array(rows, np.int64), np.array(notes or [], np.int64).reshape(-1, 3))


def test_elements_that_are_dropped_take_their_partners_with_them() -> None:
    all_ = elements([1, 4, 6], [(1, 0, 50), (4, 0, 51), (6, 1, 52), (6, 0, 50)])
    left = all_.only(np.array([True, False, True]))
    assert left.rows.tolist() == [1, 6]
    assert left.notes.tolist() == [[1, 0, 50], [6, 1, 52], [6, 0, 50]]
    assert len(notes_of(all_.notes, np.array([4]))) == 1
    assert all_.noted(np.empty((0, 3), np.int64)) is all_
    assert len(all_.noted(all_.notes).notes) == 8


def test_an_element_that_comes_two_ways_is_there_once_with_all_partners() -> None:
    found = merged([elements([1, 3], [(1, 0, 9)]), NOTHING, elements([1, 2], [(1, 1, 8)])], np.unique)
    assert found.rows.tolist() == [1, 2, 3]
    assert found.notes.tolist() == [[1, 0, 9], [1, 1, 8]]
    assert merged([NOTHING, NOTHING], np.unique) is NOTHING
    only = elements([5])
    assert merged([NOTHING, only], np.unique) is only


stream_pairs = st.lists(
    st.tuples(st.sampled_from((-3, -2, -1)), st.integers(10, 14), st.integers(10, 14)),
    max_size=12,
    unique=True,
)


@given(
    stream_pairs,
    st.lists(
        st.tuples(st.integers(1, 6), st.sampled_from((-9, -3, -2, -1))),
        max_size=5,
        unique_by=lambda one: one[0],
    ),
)
def test_pairs_of_streams_are_pairs_of_all_feeds_that_show_them(
    chosen: list[tuple[int, int, int]], roots: list[tuple[int, int]]
) -> None:
    ordered = sorted(chosen, key=lambda one: (one[0], max(one[1:]), *one[1:]))
    if ordered and not {key for _, key in roots} & {key for key, *_ in ordered}:
        return
    found = pairs_of_feeds(np.array(ordered, np.int64).reshape(-1, 3), roots)
    expected = [
        (feed, left, right) for feed, key in sorted(roots) for own, left, right in ordered if own == key
    ]
    assert [tuple(row) for row in found.tolist()] == expected
    shown = pair_elements(found).to_pylist()
    assert [(row["feed"], row["seq"]) for row in shown] == sorted(
        {(feed, max(left, right)) for feed, left, right in expected}
    )
    documents = pair_documents(found).to_pylist()
    assert [(row["feed"], row["seq"], tuple(row["made_of"])) for row in documents] == [
        (feed, max(left, right), (left, right)) for feed, left, right in expected
    ]
    assert not any(row["xml"] or row["is_selected"] for row in documents)
