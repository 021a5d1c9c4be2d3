"""A storage does what its six operations say."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from feedweir.storage import Storage
from feedweir.storage.disk import DiskStorage
from feedweir.tables.range_log import RangeLog

Opened = Callable[[], Storage]


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    """Opens one storage, again and again."""
    return lambda: DiskStorage(tmp_path / "disk")


def test_what_is_put_is_there_and_of_several_writers_one_succeeds(opened: Opened, tmp_path: Path) -> None:
    storage = opened()
    storage.put("batches/1", b"one")
    storage.put("batches/1", b"two")
    assert opened().get("batches/1") == b"two"
    (tmp_path / "big").write_bytes(b"x" * 100_000)
    storage.put("items/1", tmp_path / "big")
    assert storage.local("items/1").read_bytes() == b"x" * 100_000
    with ThreadPoolExecutor(8) as threads:
        texts = [f"writer {number}".encode() for number in range(8)]
        wrote = list(threads.map(lambda text: opened().put_absent("epochs/7", text), texts))
    assert wrote.count(True) == 1
    assert storage.get("epochs/7") == texts[wrote.index(True)]
    storage.delete("epochs/7")
    storage.delete("epochs/7")
    with pytest.raises(FileNotFoundError):
        storage.get("epochs/7")
    with pytest.raises(FileNotFoundError):
        storage.local("epochs/7")


def test_keys_are_listed_in_order_after_one(opened: Opened) -> None:
    storage = opened()
    names = [f"landing/{number:012d}" for number in (5, 3, 11, 4)]
    for name in [*names, "landed/1", "landing/deeper/1"]:
        storage.put(name, name.encode())
    wanted = [*sorted(names), "landing/deeper/1"]
    found = list(storage.keys("landing"))
    assert [one.key for one in found] == wanted
    assert [one.size for one in found] == [len(name) for name in wanted]
    assert all(abs(datetime.now(UTC) - one.changed) < timedelta(minutes=10) for one in found)
    assert [one.key for one in storage.keys("landing", after=names[3])] == wanted[2:]
    assert list(storage.keys("nothing")) == []


def test_rows_in_files_that_say_what_they_cover_can_be_anywhere(opened: Opened) -> None:
    log = RangeLog(opened(), "tables/sources")
    for number in range(1, 40):
        log.append(number, pa.table({"n": [number]}))
        log.merge()
    again = RangeLog(opened(), "tables/sources")
    assert [n for one in again.files() for n in again.read(one)["n"].to_pylist()] == list(range(1, 40))
    again.remove_merged(datetime.now(UTC) + timedelta(hours=1))
    assert len(list(opened().keys("tables/sources"))) == len(again.files()) < 32
