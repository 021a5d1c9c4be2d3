"""Versions of a set on disk: opened by number, kept until pruned, and made again when damaged."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from feedweir.errors import CompiledSetError
from feedweir.items.model import Item
from feedweir.items.schema import batch_of
from feedweir.match import (
    Note,
    SegmentedSet,
    apply_changes,
    forget_merge,
    is_worth_merging,
    open_version,
    prepare_merge,
    prune,
    verify_version,
    versions_of,
    write_version,
)
from feedweir.match.sets.segments import Segment, numbers_of
from feedweir.match.sets.set_versions import (
    commit_version,
    is_segmented,
    number_of,
    segments_being_merged,
    segments_of,
)
from feedweir.plan.predicates import Contains, Not, Term
from feedweir.plan.query import Query

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def wanting(key: int, word: str, owner: str = "") -> Query:
    return Query(key, (), Contains(None, (Term(word),), 1), owner)


def keys(opened: SegmentedSet, *titles: str) -> list[int]:
    batch = [Item(source="s", identity=title, title=title, arrived=NOW) for title in titles]
    return opened.match(batch_of(batch)).keys.tolist()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_version(tmp_path / "set", 1, [wanting(1, "storm"), wanting(2, "calm")])
    return tmp_path / "set"


def test_versions_are_listed_oldest_first_whatever_their_number(root: Path) -> None:
    for version in (10, 9):
        write_version(root, version, [])
    (root / "versions" / ".draft").mkdir()
    assert versions_of(root) == [1, 9, 10]
    assert open_version(root).version == 10


def test_where_nothing_was_written_there_is_no_version(tmp_path: Path) -> None:
    assert not is_segmented(tmp_path)
    assert versions_of(tmp_path) == []
    with pytest.raises(CompiledSetError, match="has no version 0") as raised:
        open_version(tmp_path)
    assert raised.value.hint == "it may have been pruned"


def test_a_version_that_is_not_there_is_refused_by_number(root: Path) -> None:
    with pytest.raises(CompiledSetError, match="set has no version 7"):
        number_of(root, 7)


def test_each_version_keeps_what_it_was(root: Path) -> None:
    apply_changes(root, [wanting(3, "storm")], [1])
    apply_changes(root, [wanting(1, "calm")], [2])
    assert [keys(open_version(root, version), "storm calm") for version in (1, 2, 3)] == [
        [1, 2],
        [2, 3],
        [1, 3],
    ]


def test_a_change_may_follow_an_older_version_under_a_number_of_its_own(root: Path) -> None:
    apply_changes(root, [wanting(3, "storm")])
    other = apply_changes(root, [wanting(4, "storm")], since=1, version=9)
    assert (other.version, keys(other, "storm calm")) == (9, [1, 2, 4])


def test_a_change_to_what_another_has_changed_is_refused(root: Path) -> None:
    apply_changes(root, [wanting(3, "storm")])
    with pytest.raises(CompiledSetError, match="set was changed by another") as raised:
        apply_changes(root, [wanting(4, "storm")], since=1)
    assert raised.value.hint == "apply the change again"
    assert versions_of(root) == [1, 2]


def test_a_version_may_be_written_again_under_its_number(root: Path) -> None:
    write_version(root, 1, [wanting(5, "storm")])
    assert keys(open_version(root), "storm calm") == [5]
    commit_version(root, 1, [], replaces=True)
    assert keys(open_version(root), "storm calm") == []


def test_nothing_to_write_is_a_version_without_segments(tmp_path: Path) -> None:
    empty = write_version(tmp_path / "set", 1, [])
    assert (empty.segments, len(empty), keys(empty, "storm")) == ((), 0, [])
    changed = apply_changes(tmp_path / "set", [wanting(1, "storm")], [9])
    assert (len(changed), keys(changed, "storm")) == (1, [1])


def test_the_newest_version_and_those_named_are_kept(root: Path) -> None:
    for key in range(3, 7):
        apply_changes(root, [wanting(key, "storm")])
    prune(root, [2])
    assert versions_of(root) == [2, 5]
    named = {segment.name for version in (2, 5) for segment in segments_of(root, version)}
    assert {path.name for path in (root / "segments").iterdir()} == named
    assert keys(open_version(root, 2), "storm") == [1, 3]


def test_nothing_is_pruned_of_segments_while_a_merge_may_be_writing_one(root: Path) -> None:
    prepared = prepare_merge(root)
    assert segments_being_merged(root) == [segment.name for segment in prepared.merged]
    prune(root, [])
    assert {path.name for path in (root / "segments").iterdir()} == {
        one.name for one in (*prepared.merged, *prepared.written)
    }
    forget_merge(root)
    forget_merge(root)
    prune(root, [])
    assert [path.name for path in (root / "segments").iterdir()] == [prepared.merged[0].name]


def test_pruning_goes_on_past_a_damaged_version(root: Path) -> None:
    apply_changes(root, [wanting(3, "storm")])
    (root / "versions" / "1" / "manifest.json").write_text("{")
    prune(root, [1])
    assert versions_of(root) == [1, 2]
    assert keys(open_version(root), "storm") == [1, 3]


def test_a_byte_that_changed_on_the_disk_is_found_by_looking_for_it(root: Path) -> None:
    verify_version(root, 1)
    (segment,) = (root / "segments").iterdir()
    path = segment / "index.arrays"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(CompiledSetError, match=r"index\.arrays of .* is damaged"):
        verify_version(root, 1)


def test_notes_of_removed_queries_go_with_them(root: Path) -> None:
    never = Query(8, (), Not(Contains(None, (Term("storm"),), 1)))
    noted = apply_changes(root, [never, wanting(9, "!")])
    assert {(note.key, note.kind) for note in noted.notes} == {(8, "costly"), (9, "never")}
    assert all(isinstance(note, Note) and note.text for note in noted.notes)
    assert [note.key for note in apply_changes(root, [], [8]).notes] == [9]


def test_a_key_of_several_queries_is_removed_with_all_of_them(root: Path) -> None:
    several = apply_changes(root, [wanting(3, "storm"), wanting(3, "calm")])
    assert keys(several, "storm", "calm") == [1, 3, 2, 3]
    assert several.query(3) == wanting(3, "storm")
    without = apply_changes(root, [], [3])
    assert (keys(without, "storm", "calm"), without.query(3)) == ([1, 2], None)


def test_the_newest_definition_of_a_key_is_the_one_that_is_explained(root: Path) -> None:
    changed = apply_changes(root, [wanting(1, "calm")], [1])
    told = changed.explain(Item(source="s", identity="1", title="storm", arrived=NOW), 1)
    assert (told.is_match, told.lacked) == (False, "calm")
    with pytest.raises(CompiledSetError, match="no query has that key"):
        apply_changes(root, [], [1]).explain(Item(source="s", identity="1", arrived=NOW), 1)


def test_a_merge_takes_in_what_was_removed_beside_it(root: Path) -> None:
    prepared = prepare_merge(root)
    apply_changes(root, [wanting(3, "storm")], [2])
    merged = apply_changes(root, [], [], prepared=prepared)
    assert keys(merged, "storm calm") == [1, 3]
    assert {one.name for one in prepared.written} <= {segment.name for segment in merged.segments}
    assert segments_being_merged(root) == []


def test_a_merge_of_segments_that_are_gone_is_given_up(root: Path) -> None:
    prepared = prepare_merge(root)
    write_version(root, 2, [wanting(3, "storm")])
    changed = apply_changes(root, [], [], prepared=prepared)
    assert keys(changed, "storm calm") == [3]
    assert segments_being_merged(root) == []


def segment(size: int, removed: int = 0) -> Segment:
    return Segment("x", size, np.arange(removed))


@pytest.mark.parametrize(
    ("segments", "is_worth"),
    [
        ((), False),
        ((segment(100_000),), False),
        ((segment(100_000, 10_001),), True),
        ((segment(100, 90),), False),
        ((segment(100_000), segment(9_000)), False),
        ((segment(100_000), segment(9_000, 0), segment(2_000)), True),
        ((segment(100_000, 8_000), segment(3_000)), True),
        (tuple(segment(1) for _ in range(6)), False),
        (tuple(segment(1) for _ in range(7)), True),
    ],
)
def test_a_merge_is_worth_its_time_when_much_lies_beside_the_largest(
    segments: tuple[Segment, ...], is_worth: bool
) -> None:
    assert is_worth_merging(segments) is is_worth


@pytest.mark.parametrize(
    ("some", "numbers"),
    [([1], [0]), ([3], [1, 2, 3]), ([3, 7], [1, 2, 3, 5]), ([2, 8], []), ([], [])],
)
def test_numbers_of_keys_are_told_with_all_queries_of_a_key(some: list[int], numbers: list[int]) -> None:
    known = np.array([1, 3, 3, 3, 5, 7], np.int64)
    assert numbers_of(known, np.array(some, np.int64)).tolist() == numbers
