"""One process runs batches in a data directory, and what is wrong with the directory is said in one sentence."""

from __future__ import annotations

import errno
import os
import resource
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from feedweir.errors import StorageError
from feedweir.logs import disk_errors as storage
from feedweir.logs.disk_errors import ensure_open_files, storage_error
from feedweir.pipeline.charge import FILE_NAME, in_charge, is_running
from feedweir.service.installation import Weir

HOLDER = """
import sys
from pathlib import Path
from feedweir.pipeline.charge import in_charge
with in_charge(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_runner_is_told_who_the_first_is(tmp_path: Path) -> None:
    with in_charge(tmp_path):
        assert is_running(tmp_path)
        with pytest.raises(StorageError, match=f"in use by process {os.getpid()} on "), in_charge(tmp_path):
            pass
    assert not is_running(tmp_path)
    with in_charge(tmp_path):
        pass


def test_a_runner_that_was_killed_leaves_the_directory_free(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(StorageError, match=f"process {other.pid}"), in_charge(tmp_path):
            pass
        other.kill()
    with in_charge(tmp_path):
        pass


def test_in_process_runs_wait_for_nobody_and_statements_work_beside_a_runner(tmp_path: Path) -> None:
    with Weir.open(tmp_path) as weir, in_charge(tmp_path):
        weir.execute("register feed push://local as Alerts")
        weir.push("Alerts", b"<rss/>")
        with pytest.raises(StorageError, match="in use by process"):
            weir.run()


def test_an_unreadable_note_of_the_holder_is_no_reason_to_fail_otherwise(tmp_path: Path) -> None:
    with in_charge(tmp_path):
        (tmp_path / FILE_NAME).write_text("{")
        with pytest.raises(StorageError, match="in use by another process"), in_charge(tmp_path):
            pass


def test_a_directory_that_cannot_be_is_named_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "data"):
        with pytest.raises(StorageError, match="--data") as refused:
            Weir.open(path)
        assert str(tmp_path / "file") in refused.value.message


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.ENOSPC, errno.EMFILE, errno.ENOTDIR])
def test_every_usual_error_of_a_disk_has_a_hint(number: int) -> None:
    told = storage_error(OSError(number, os.strerror(number), "/data/x"))
    assert told.message.startswith("/data/x: ")
    assert told.hint


def test_too_few_open_files_are_told_before_anything_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []
    limits = iter([(64, 100), (100, 100)])
    monkeypatch.setattr(storage.resource, "getrlimit", lambda _: next(limits))
    monkeypatch.setattr(storage.resource, "setrlimit", lambda _, wanted: asked.append(wanted))
    with pytest.raises(StorageError, match="only 100 files") as refused:
        ensure_open_files()
    assert "ulimit -n" in refused.value.hint
    assert asked == [(100, 100)]


def test_a_limit_that_can_be_raised_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = iter([(64, resource.RLIM_INFINITY), (16_384, resource.RLIM_INFINITY)])
    monkeypatch.setattr(storage.resource, "getrlimit", lambda _: next(limits))
    monkeypatch.setattr(storage.resource, "setrlimit", lambda *_: None)
    ensure_open_files()


def test_a_locked_catalog_is_given_up_after_a_while_with_a_hint(tmp_path: Path) -> None:
    Weir.open(tmp_path).close()
    other = sqlite3.connect(tmp_path / "catalog.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        with (
            Weir.open(tmp_path, patience_s=0.01) as weir,
            pytest.raises(StorageError, match="is locked") as told,
        ):
            weir.execute("register feed push://local as Alerts")
        assert "another process" in told.value.hint
    finally:
        other.close()


def test_logs_are_not_repaired_while_somebody_runs(tmp_path: Path) -> None:
    with Weir.open(tmp_path) as weir, in_charge(tmp_path), pytest.raises(StorageError, match="in use by"):
        weir.repair_logs()
