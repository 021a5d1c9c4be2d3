"""The item log and the element log as readers see them: what manifests name, and nothing else."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from feedweir.items.model import Item
from feedweir.items.numbering import document_number, first_seq
from feedweir.items.schema import batch_of
from feedweir.logs.batches import Manifest
from feedweir.logs.store import ELEMENT_SCHEMA, Store

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
WATER, TRADE = 2, 3


def seq(segment: int, place: int = 0) -> int:
    return first_seq(document_number(segment, 0)) + place


def publish(store: Store, after: int, upto: int, *pairs: tuple[int, int], revision: int = 0) -> Manifest:
    """A batch of one item for each number, all wordings of one, and these elements."""
    name = f"{upto:012d}-0"
    numbers = sorted({number for _, number in pairs})
    items = [
        Item(source="Post", identity="g", seq=one, title=f"t{one}", arrived=NOON, revision=revision)
        for one in numbers
    ]
    store.write_items(f"{name}.parquet", pa.Table.from_batches([batch_of(items)]))
    columns = [pa.array(column, pa.int64()) for column in zip(*sorted(pairs), strict=True)]
    store.write_elements(f"{name}.parquet", pa.table(columns, schema=ELEMENT_SCHEMA))
    manifest = Manifest(after, upto, 1, (f"{name}.parquet",), (f"{name}.parquet",), len(items), len(pairs))
    store.publish(manifest)
    return manifest


@pytest.fixture
def store(tmp_path: Path) -> Store:
    opened = Store(tmp_path)
    publish(opened, 0, 1, (WATER, seq(1)), (WATER, seq(1, 1)), (TRADE, seq(1)))
    publish(opened, 1, 3, (WATER, seq(2)), (TRADE, seq(3)), revision=1)
    return opened


def test_batches_are_listed_newest_first_and_another_process_sees_the_same(
    store: Store, tmp_path: Path
) -> None:
    assert [one.upto for one in store.manifests()] == [3, 1]
    assert [one.upto for one in Store(tmp_path).manifests()] == [3, 1]
    assert store.latest() == 3


def test_files_that_no_manifest_names_are_not_there(store: Store, tmp_path: Path) -> None:
    table = pa.table([pa.array([WATER]), pa.array([seq(9)])], schema=ELEMENT_SCHEMA)
    store.write_elements("000000000009-0.parquet", table)
    assert seq(9) not in Store(tmp_path).seqs(WATER)


def test_elements_are_read_newest_first_by_limit_and_before_a_number(store: Store) -> None:
    assert store.seqs(WATER).tolist() == [seq(2), seq(1, 1), seq(1)]
    assert store.seqs(WATER, 2).tolist() == [seq(2), seq(1, 1)]
    assert store.seqs(WATER, 5, before=seq(1, 1)).tolist() == [seq(1)]
    assert store.seqs(99).tolist() == []


def test_pairs_are_looked_up_and_counted(store: Store) -> None:
    feeds, numbers = np.array([WATER, TRADE, TRADE]), np.array([seq(2), seq(2), seq(3)])
    assert store.is_in(feeds, numbers).tolist() == [True, False, True]
    counts, newest = store.figures([WATER, TRADE, 99])
    assert (counts.tolist(), newest.tolist()) == ([3, 2, 0], [seq(2), seq(3), 0])


def test_all_wordings_of_an_item_are_read_in_order(store: Store) -> None:
    found = store.revisions("Post", "g")
    assert [one.seq for one in found] == [seq(1), seq(1, 1), seq(2), seq(3)]
    assert [one.revision for one in found] == [0, 0, 1, 1]
    assert store.revisions("Post", "other") == store.revisions("Other", "g") == []


def test_a_damaged_file_counts_as_empty_and_is_named(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "elements" / "000000000003-0.parquet"
    path.write_bytes(path.read_bytes()[:-9])
    again = Store(tmp_path)
    assert again.seqs(WATER).tolist() == [seq(1, 1), seq(1)]
    assert list(again.damages()) == [path]


def test_a_missing_manifest_is_noticed_with_what_it_covered(store: Store, tmp_path: Path) -> None:
    (tmp_path / "batches" / "000000000003.json").unlink()
    again = Store(tmp_path)
    assert [one.upto for one in again.manifests()] == [1]
    (reason,) = again.damages().values()
    assert "segments 2 to 3" in reason


def test_a_manifest_inside_another_does_not_count(store: Store, tmp_path: Path) -> None:
    """A compaction died before it deleted what it had merged."""
    whole = Manifest(0, 3, 1, (), ("000000000003-0.parquet",), 0, 2, batches=2)
    store.publish(whole)
    assert Store(tmp_path).manifests() == [whole]


def test_a_merge_between_listing_manifests_and_reading_them_loses_no_batch(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = Store(tmp_path)
    listed = Store._listed
    files = [name for manifest in store.manifests() for name in manifest.element_files]
    whole = Manifest(0, 3, 1, (), tuple(files), 0, 5, batches=2)

    def merged_meanwhile(self: Store) -> list[tuple[str, int]]:
        found = listed(self)
        monkeypatch.setattr(Store, "_listed", listed)
        store.publish(whole)
        store.drop_replaced()
        return found

    monkeypatch.setattr(Store, "_listed", merged_meanwhile)
    assert reader.manifests() == [whole]
    assert len(reader.seqs(WATER)) == 3
    assert reader.damages() == {}


def test_of_two_that_publish_a_batch_the_first_counts(store: Store, tmp_path: Path) -> None:
    first = store.publish(Manifest(3, 5, 1, (), (), 0, 0, epoch=1))
    assert Store(tmp_path).publish(Manifest(3, 5, 2, (), (), 0, 0, epoch=2)) == first
    assert Store(tmp_path).manifests()[0] == first
    (tmp_path / "batches" / "000000000005.json").write_bytes(b"{")
    again = Manifest(3, 5, 2, (), (), 0, 0, epoch=2)
    assert store.publish(again) == again, "what is there cannot be read"
    assert Store(tmp_path).manifests()[0] == again


def test_what_no_manifest_names_is_removed_after_a_while(store: Store, tmp_path: Path) -> None:
    table = pa.table([pa.array([WATER]), pa.array([seq(2)])], schema=ELEMENT_SCHEMA)
    names = {f"00000000000{batch}-0-beef.parquet" for batch in (2, 3, 9)}
    for name in names:
        store.write_elements(name, table)
    before = {path.name for path in (tmp_path / "elements").iterdir()}
    now = datetime.now(UTC)
    store.remove_leftovers(now - timedelta(hours=1))
    assert {path.name for path in (tmp_path / "elements").iterdir()} == before
    store.remove_leftovers(now + timedelta(hours=1))
    left = {path.name for path in (tmp_path / "elements").iterdir()}
    assert before - left == {"000000000002-0-beef.parquet", "000000000003-0-beef.parquet"}, (
        "the ninth is to come"
    )
    assert store.damages() == {}


def test_nothing_is_removed_while_a_manifest_is_lost(store: Store, tmp_path: Path) -> None:
    (tmp_path / "batches" / "000000000003.json").unlink()
    before = sorted((tmp_path / "elements").iterdir())
    Store(tmp_path).remove_leftovers(datetime.now(UTC) + timedelta(hours=1))
    assert sorted((tmp_path / "elements").iterdir()) == before


def test_an_emptied_batch_stays_and_says_what_it_had(store: Store) -> None:
    (first,) = (one for one in store.manifests() if one.upto == 1)
    files = store.files_of(first)
    store.empty(first, with_items=True)
    assert all(path.exists() for path in files), "somebody may be reading them"
    store.remove_leftovers(datetime.now(UTC) + timedelta(hours=1))
    assert not any(path.exists() for path in files)
    (emptied,) = (one for one in store.manifests() if one.upto == 1)
    assert emptied.is_emptied == (True, True)
    assert (emptied.items_removed, emptied.elements_removed) == (first.item_count, first.element_count)
    assert store.is_removed(seq(1))
    assert not store.is_removed(seq(2))
    assert store.seqs(WATER).tolist() == [seq(2)]
    assert store.damages() == {}
