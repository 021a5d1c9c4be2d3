"""Into however many tasks a batch is divided, it publishes the same."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.logs.batches import Manifest, SourceReport
from feedweir.logs.directory import DataDirectory
from feedweir.logs.flow import PhaseLog
from feedweir.logs.landing import Piece
from feedweir.logs.pins import Pin, PinLog
from feedweir.logs.store import Store
from feedweir.pipeline.batch_run import Division
from feedweir.pipeline.batch_tasks import shares
from feedweir.pipeline.exchange import News
from feedweir.pipeline.local_runner import LocalRunner
from feedweir.service.installation import Weir
from tests.engines import Feeds, land, naive, open_weir, published
from tests.join.stories import STATEMENTS, Shown, cut, histories

JOINED = f"""{STATEMENTS}
create feed Echo from Post as $p join last 10 days on Crier as $c with $p[title similar window.title];
create feed Once from distinct (Post | Crier | Notes);
"""
some_tasks = st.sampled_from([1, 2, 7, 64])


def lived(
    directory: Path, statements: str, history: list[Shown], tasks: list[int]
) -> tuple[Feeds, list[Manifest]]:
    """All batches, each divided into its number of tasks."""
    with open_weir(directory, statements) as weir:
        weir.refresh_set()
        for documents, number in zip(cut(history, -(-len(history) // len(tasks)) or 1), tasks, strict=False):
            land(weir, documents)
            LocalRunner(weir.directory, weir.commit, tasks=number).run_available()
        assert weir.damages() == {}
        return published(weir), weir.store.manifests()


def reports_in(directory: Path, manifests: list[Manifest]) -> list[dict[str, SourceReport]]:
    store = Store(directory)
    return [store.reports(one).by_source() for one in manifests]


@settings(max_examples=15, deadline=None)
@given(histories, st.lists(some_tasks, min_size=3, max_size=5))
def test_any_number_of_tasks_publishes_what_the_obvious_meaning_says(
    history: list[Shown], tasks: list[int]
) -> None:
    with TemporaryDirectory() as first, TemporaryDirectory() as second:
        expected = naive(Path(first), STATEMENTS, [history])
        assert lived(Path(second), STATEMENTS, history, tasks)[0] == expected


@settings(max_examples=6, deadline=None)
@given(histories, st.lists(some_tasks, min_size=3, max_size=3))
def test_joins_and_reports_of_sources_are_the_same_as_well(history: list[Shown], tasks: list[int]) -> None:
    with TemporaryDirectory() as first, TemporaryDirectory() as second:
        feeds, manifests = lived(Path(first), JOINED, history, [1] * len(tasks))
        again, others = lived(Path(second), JOINED, history, tasks)
        told, told_again = reports_in(Path(first), manifests), reports_in(Path(second), others)
    assert again == feeds
    assert told_again == told
    assert [one.item_count for one in others] == [one.item_count for one in manifests]


def test_a_batch_in_many_tasks_has_a_file_for_each_and_leaves_nothing_else(tmp_path: Path) -> None:
    history = [
        Shown("Post", tuple((10 * row + guid, f"river {guid}") for guid in range(9))) for row in range(9)
    ]
    _, (manifest,) = lived(tmp_path, STATEMENTS, history, [7])
    assert manifest.tasks == 7
    assert len(manifest.item_files) == 7
    assert list((tmp_path / "exchange").iterdir()) == []


def test_a_batch_that_was_divided_is_made_again_to_the_same_bytes(tmp_path: Path) -> None:
    history = [
        Shown("Post", tuple((10 * row + guid, f"river {guid}") for guid in range(5))) for row in range(5)
    ]
    lived(tmp_path, JOINED, history, [4, 2])
    items = {path.name: path.read_bytes() for path in (tmp_path / "items").iterdir()}
    with Weir.open(tmp_path) as weir:
        for path in sorted((tmp_path / "items").iterdir())[::2]:
            path.unlink()
        assert weir.damages()
        weir.repair_logs()
        assert weir.damages() == {}
    assert {path.name: path.read_bytes() for path in (tmp_path / "items").iterdir()} == items


@pytest.mark.parametrize(("tasks", "files"), [(1, 1), (2, 2), (7, 8)])
def test_what_many_sources_said_is_a_table_and_no_part_of_the_manifest(
    tmp_path: Path, tasks: int, files: int
) -> None:
    statements, history = sources_of_their_own(400)
    names = [shown.source for shown in history]
    _, (manifest,) = lived(tmp_path, statements, history, [tasks])
    with Weir.open(tmp_path) as weir:
        assert len(manifest.source_files) == files
        assert manifest.sources == {}
        assert weir.store.path_of(manifest).stat().st_size < 65_536
        assert sorted(weir.store.reports(manifest).by_source()) == sorted(names)
        (tmp_path / "reports" / manifest.source_files[0]).unlink()
        weir.repair_logs()
        assert weir.damages() == {}
        assert weir.store.reports(weir.store.manifests()[0]).newcomers() == sorted(names)


def test_few_tasks_share_sources_evenly_in_one_round_and_a_hot_source_in_three(tmp_path: Path) -> None:
    statements, many = sources_of_their_own(60)
    _, (even,) = lived(tmp_path / "even", statements, many, [2])
    _, (hot,) = lived(tmp_path / "hot", STATEMENTS, [Shown("Post", ((1, "a"),))] * 12, [2])
    assert rounds(tmp_path / "even", even) == [("whole", 2)]
    assert [name for name, _ in rounds(tmp_path / "hot", hot)] == ["parse", "judge", "match"]


def rounds(directory: Path, manifest: Manifest) -> list[tuple[str, int]]:
    """The rounds of a batch, and in how many tasks each was."""
    phases = PhaseLog(DataDirectory(directory).phases).read(manifest.upto)
    return [(one.name, one.tasks) for one in phases]


def sources_of_their_own(count: int) -> tuple[str, list[Shown]]:
    """Statements that register so many sources, and a document of each."""
    names = [f"Source{number}" for number in range(count)]
    statements = "\n".join(f"register feed http://example.org/{name} as {name};" for name in names)
    return statements, [Shown(name, ((1, "river"),)) for name in names]


def test_a_batch_is_run_as_it_was_pinned_whatever_has_changed_since(tmp_path: Path) -> None:
    with open_weir(tmp_path, STATEMENTS) as weir:
        weir.refresh_set()
        version = weir.version_in_force()
        land(weir, [Shown("Post", ((1, "river"),))])
        pin = PinLog(weir.directory.pins).put(Pin(0, 1, version, 2))
        assert PinLog(weir.directory.pins).put(Pin(0, 9, 7, 1)) == pin
        weir.execute("create feed Late from Post as $r where $r[title contains 'river']")
        weir.refresh_set()
        land(weir, [Shown("Post", ((2, "river two"),))])
        runner = LocalRunner(weir.directory, weir.commit)
        first, second = runner.run_batch(), runner.run_batch()
        assert first
        assert second
        assert (first.upto, first.version, first.tasks) == (1, version, 2)
        assert (second.after, second.upto, second.version) == (1, 2, weir.version_in_force())
        assert [title for *_, title in published(weir)["Late"]] == ["river two"]


@pytest.mark.parametrize(
    ("waiting", "cores", "tasks"),
    [(0, 16, 1), (1 << 20, 16, 1), (4 << 20, 16, 4), (1 << 30, 16, 16), (1 << 30, 1, 1)],
)
def test_what_waits_and_how_many_cores_there_are_decide_into_how_many_tasks(
    waiting: int, cores: int, tasks: int
) -> None:
    assert Division(cores).tasks_for(waiting) == tasks


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 100)), max_size=30), st.integers(1, 9))
def test_shares_hold_every_piece_once_and_none_is_much_larger_than_the_others(
    groups: list[tuple[int, int]], tasks: int
) -> None:
    pieces = [
        (Piece(segment, place, place + 1) if count else Piece(segment), size)
        for segment, (count, size) in enumerate(groups)
        for place in range(max(count, 1))
    ]
    found = shares(pieces, tasks)
    spread = [
        Piece(one.segment, place, place + 1) if one.end else one
        for share in found
        for one in share
        for place in (range(one.first, one.end) if one.end else [0])
    ]
    assert spread == [piece for piece, _ in pieces]
    assert len(found) <= tasks
    sizes = {(piece.segment, piece.first): size for piece, size in pieces}
    bound = sum(sizes.values()) / tasks + max(sizes.values(), default=0)
    for share in found:
        rows = [
            (one.segment, place) for one in share for place in range(one.first, max(one.end, one.first + 1))
        ]
        assert sum(sizes[row] for row in rows) <= bound


@given(st.lists(st.integers(1, 50), max_size=60), st.integers(1, 9))
def test_slices_of_news_hold_each_item_once_and_weigh_about_the_same(weights: list[int], tasks: int) -> None:
    seqs = np.arange(len(weights), dtype=np.int64) * 3 + 5
    news = News(seqs, np.zeros(len(weights), np.int32), np.array(weights, np.int64))
    ranges = news.cut(tasks)
    assert len(ranges) <= tasks
    found = [seqs[(first <= seqs) & (seqs < end)] for first, end in ranges]
    assert np.concatenate([np.empty(0, np.int64), *found]).tolist() == seqs.tolist()
    assert all(len(part) for part in found)
    bound = sum(weights) / tasks + max(weights, default=0)
    assert all(sum(weights[(seq - 5) // 3] for seq in part.tolist()) <= bound for part in found)
