"""Files of logs are whole or absent, and disks that fail are told in one sentence with a hint."""

from __future__ import annotations

import errno
import os
import resource
from pathlib import Path

import pyarrow as pa
import pytest

from feedweir.errors import DamagedFileError, StorageError
from feedweir.logs import disk_errors as storage
from feedweir.logs.directory import current_version, latest_batch
from feedweir.logs.files import (
    open_arrow,
    read_held_parquet,
    read_parquet,
    replace_arrow,
    replace_json,
    replace_parquet,
    replace_sealed_json,
    retry_when_compacted,
)
from feedweir.logs.seals import read_json
from feedweir.storage import replacing

TABLE = pa.table({"n": [1, 2, 3], "word": ["a", "b", "a"]})


def test_a_file_that_was_not_finished_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "x.json"
    replace_json(path, {"a": 1})
    with pytest.raises(TypeError), replacing(path) as file:
        file.write([b"half", None])  # type: ignore[arg-type]
    assert path.read_bytes() == b'{"a": 1}'
    assert [one.name for one in path.parent.glob("[!.]*")] == ["x.json"], "a draft is not listed"


def test_tables_are_read_as_they_were_written(tmp_path: Path) -> None:
    replace_arrow(tmp_path / "t.arrow", TABLE)
    assert open_arrow(tmp_path / "t.arrow").equals(TABLE)
    replace_parquet(tmp_path / "t.parquet", TABLE, row_group_size=2, repeating=["word"])
    assert read_parquet(tmp_path / "t.parquet").equals(TABLE)
    some = read_parquet(tmp_path / "t.parquet", ["n"], pa.compute.field("word") == "a")
    assert some.to_pydict() == {"n": [1, 3]}


def test_a_table_is_read_although_a_compaction_took_its_file(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    replace_parquet(path, TABLE, row_group_size=10, repeating=[])
    held = path.open("rb")
    path.unlink()
    assert read_held_parquet(path, held).equals(TABLE)


@pytest.mark.parametrize("length", [0, 7, -9])
def test_a_damaged_table_is_told_by_its_path(tmp_path: Path, length: int) -> None:
    path = tmp_path / "t.parquet"
    replace_parquet(path, TABLE, row_group_size=10, repeating=[])
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(DamagedFileError) as caught:
        read_parquet(path)
    assert caught.value.path == path


def test_a_file_that_took_the_place_of_another_is_noticed(tmp_path: Path) -> None:
    replace_sealed_json(tmp_path / "1.json", {"upto": 1})
    (tmp_path / "2.json").write_bytes((tmp_path / "1.json").read_bytes())
    assert read_json(tmp_path / "1.json")["upto"] == 1
    with pytest.raises(DamagedFileError):
        read_json(tmp_path / "2.json")


def test_what_a_compaction_took_away_is_looked_for_again() -> None:
    asked: list[int] = []

    def read() -> str:
        asked.append(1)
        if len(asked) < 4:
            raise FileNotFoundError("gone")
        return "found"

    assert retry_when_compacted(read) == "found"
    assert len(asked) == 4


def test_what_is_really_gone_is_told_in_the_end() -> None:
    asked: list[int] = []

    def read() -> str:
        asked.append(1)
        raise FileNotFoundError("gone")

    with pytest.raises(FileNotFoundError):
        retry_when_compacted(read)
    assert len(asked) == 11


def test_the_newest_batch_is_the_one_that_is_listed_or_the_one_that_is_named(tmp_path: Path) -> None:
    assert latest_batch(tmp_path) == 0
    replace_sealed_json(tmp_path / "000000000007.json", {"version": 3})
    assert latest_batch(tmp_path) == 7
    replace_sealed_json(tmp_path / "NEWEST", {"upto": 9})
    assert latest_batch(tmp_path) == 9, "its manifest went missing"
    (tmp_path / "NEWEST").write_bytes(b"{")
    assert latest_batch(tmp_path) == 7


def test_the_version_in_force_is_none_until_there_is_one_or_when_its_name_is_damaged(tmp_path: Path) -> None:
    assert current_version(tmp_path) is None
    (tmp_path / "CURRENT").write_text("12")
    assert current_version(tmp_path) == 12
    (tmp_path / "CURRENT").write_text("")
    assert current_version(tmp_path) is None


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EMFILE, errno.EIO])
def test_an_error_of_the_disk_says_where_and_what_to_do(number: int) -> None:
    with pytest.raises(StorageError) as caught, storage.as_storage_errors():
        raise OSError(number, "whatever", "data/x")
    assert str(caught.value).startswith(f"data/x: {os.strerror(number)}")
    assert caught.value.hint


def test_an_error_that_no_disk_is_the_cause_of_is_none_of_storage() -> None:
    assert not storage.is_storage_error(ConnectionResetError(errno.ECONNRESET, "reset"))
    assert not storage.is_storage_error(OSError("no number"))


def test_as_many_files_are_opened_as_are_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = {"now": (256, 100_000)}
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits["now"])
    monkeypatch.setattr(resource, "setrlimit", lambda _, wanted: limits.update(now=wanted))
    storage.ensure_open_files()
    assert limits["now"] == (16_384, 100_000)
    assert storage.open_file_limit() == 16_384


def test_too_few_open_files_are_refused_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (100, 100))
    with pytest.raises(StorageError, match=r"only 100 files .*ulimit -n"):
        storage.ensure_open_files()
