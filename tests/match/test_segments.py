"""A set that changes answers, after every change, as if it had been compiled anew."""

from __future__ import annotations

import gc
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from feedweir.errors import CompiledSetError
from feedweir.items.model import Item
from feedweir.items.schema import batch_of
from feedweir.match import (
    Counters,
    SegmentedSet,
    apply_changes,
    open_version,
    prune,
    versions_of,
    write_version,
)
from feedweir.match.matching.answer_parts import joined
from feedweir.match.sets.set_changes import prepare_merge
from feedweir.plan.predicates import Contains, Term
from feedweir.plan.query import Query
from tests.match.generated import items, queries
from tests.match.test_matching import naive_pairs, pairs_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)
changes = st.lists(
    st.tuples(st.lists(queries, max_size=4), st.lists(st.integers(-5, 30), max_size=3)), max_size=4
)


def word_query(key: int, word: str) -> Query:
    return Query(key, (), Contains(None, (Term(word),), 1))


def news(*titles: str) -> list[Item]:
    return [
        Item(source="s", identity=title, seq=n, title=title, arrived=NOW) for n, title in enumerate(titles)
    ]


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(queries, max_size=6),
    changes,
    st.lists(items(), min_size=1, max_size=3),
    st.booleans(),
    st.sampled_from(("ann", "bob", "nobody")),
)
def test_every_version_answers_everyone_and_each_owner_as_its_queries_do(
    first: list[Query],
    later: list[tuple[list[Query], list[int]]],
    batch: list[Item],
    is_merged: bool,
    owner: str,
) -> None:
    with TemporaryDirectory() as directory:
        root = Path(directory) / "set"
        write_version(root, 1, first)
        wanted, known = first, {1: first}
        for added, removed in later:
            wanted = [query for query in wanted if query.key not in removed] + added
            known[apply_changes(root, added, removed).version] = wanted
        if is_merged:
            known[apply_changes(root, prepared=prepare_merge(root)).version] = wanted
        for version, queries_then in known.items():
            opened = open_version(root, version)
            assert pairs_of(opened.match(batch_of(batch))) == naive_pairs(queries_then, batch)
            theirs = [query for query in queries_then if query.owner in ("", owner)]
            assert pairs_of(opened.match(batch_of(batch), owner=owner)) == naive_pairs(theirs, batch)
            assert len(opened) == len(queries_then)


def test_an_owner_no_longer_gets_what_was_removed_beside_a_large_segment(tmp_path: Path) -> None:
    root = tmp_path / "set"
    owned = [replace(word_query(key, "a"), owner="ann" if key % 2 else "bob") for key in range(100)]
    write_version(root, 1, owned)
    changed = apply_changes(root, [replace(word_query(200, "a"), owner="ann")], [1, 2])
    assert any(len(segment.removed) for segment in changed.segments)
    batch = batch_of(news("a"))
    assert changed.match(batch, owner="ann").keys.tolist() == [*range(3, 100, 2), 200]
    assert changed.match(batch, owner="bob").keys.tolist() == [0, *range(4, 100, 2)]
    assert len(changed.match(batch, owner="nobody")) == 0


def test_changes_while_a_merge_runs_are_kept(tmp_path: Path) -> None:
    root = tmp_path / "set"
    write_version(root, 1, [word_query(1, "a"), word_query(2, "b")])
    apply_changes(root, [word_query(3, "c")], [])
    prepared = prepare_merge(root)
    apply_changes(root, [word_query(4, "a"), word_query(1, "d")], [1, 3])
    finished = apply_changes(root, prepared=prepared)
    assert len(finished.segments) == 2
    assert pairs_of(finished.match(batch_of(news("a b c", "d")))) == [(0, 2), (0, 4), (1, 1)]


def parts_of(opened: SegmentedSet) -> list[tuple[str, int, list[int]]]:
    return [(one.name, one.size, one.removed.tolist()) for one in opened.segments]


def test_of_two_merges_at_once_the_second_changes_nothing(tmp_path: Path) -> None:
    root = tmp_path / "set"
    write_version(root, 1, [word_query(1, "a")])
    one, other = prepare_merge(root), prepare_merge(root)
    apply_changes(root, prepared=one)
    merged = parts_of(open_version(root))
    assert parts_of(apply_changes(root, prepared=other)) == merged


def test_small_segments_are_merged_so_that_few_stay(tmp_path: Path) -> None:
    root = tmp_path / "set"
    write_version(root, 1, [word_query(key, f"w{key}") for key in range(100)])
    for key in range(100, 140):
        apply_changes(root, [word_query(key, f"w{key}")], [])
    assert len(open_version(root).segments) <= 8
    assert pairs_of(open_version(root).match(batch_of(news("w3 w99 w100 w139")))) == [
        (0, 3),
        (0, 99),
        (0, 100),
        (0, 139),
    ]


def test_a_worker_keeps_its_version_while_newer_ones_appear_and_pruning_is_explicit(tmp_path: Path) -> None:
    root = tmp_path / "set"
    old = write_version(root, 1, [word_query(1, "a")])
    apply_changes(root, [word_query(2, "a")], [1])
    assert pairs_of(old.match(batch_of(news("a")))) == [(0, 1)]
    assert pairs_of(open_version(root, 1).match(batch_of(news("a")))) == [(0, 1)]
    prune(root, keep=[])
    assert versions_of(root) == [2]
    assert pairs_of(old.match(batch_of(news("a")))) == [(0, 1)]
    with pytest.raises(CompiledSetError, match="no version 1"):
        open_version(root, 1)


def test_counters_add_up_to_the_totals_over_all_segments(tmp_path: Path) -> None:
    root = tmp_path / "set"
    write_version(root, 1, [word_query(key, f"w{key % 7}") for key in range(30)])
    changed = apply_changes(root, [Query(50, (), Contains(None, (Term("w1 w2"),), 1))], [3])
    counters = Counters()
    batch = batch_of(news("w1 w2", "w3", "w2 w1"))
    matches = joined(changed.match_in_parts(batch, counters=counters))
    joined(changed.match_in_parts(batch, counters=counters, limit=1))
    tally = counters.tally()
    assert pairs_of(matches) == pairs_of(changed.match(batch))
    assert tally.hits.sum() == 2 * len(matches)
    assert dict(zip(tally.keys.tolist(), tally.last_hits.tolist(), strict=True))[50] == 0
    assert tally.costs[tally.keys == 50] == 4  # a candidate of both items that have the two words, twice
    assert 3 not in tally.keys


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="asks the system which files are open")
def test_what_was_pruned_is_not_kept_open(tmp_path: Path) -> None:
    root = tmp_path / "set"
    batch = batch_of(news("flood"))
    write_version(root, 1, [word_query(1, "flood")]).match(batch)
    for key in range(2, 6):
        apply_changes(root, [word_query(key, "flood")], [key - 1]).match(batch)
        prune(root, keep=[])
    apply_changes(root, [word_query(6, "flood")]).match(batch)
    gc.collect()
    links = [path.readlink() for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]
    open_here = [str(link) for link in links if link.is_relative_to(root)]
    assert open_here
    assert not [link for link in open_here if link.endswith("(deleted)")]
