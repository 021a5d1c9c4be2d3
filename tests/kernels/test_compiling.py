"""Kernels are compiled ahead, and told about where they were not."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from feedweir import Weir
from feedweir.kernels.compilation import missing
from feedweir.kernels.compile_notices import compiled_in, tell_once
from feedweir.kernels.declare import IS_COMPILING, directory_in_use, keep_kernels_in
from feedweir.kernels.kernel_files import temporary_place
from feedweir.kernels.signatures import Signature, entry_of
from feedweir.kernels.warm_up import warm_up
from tests.cli.test_commands import Shell

pytestmark = pytest.mark.skipif(not IS_COMPILING, reason="without a compiler there is nothing to compile")

LINE = "feedweir.match.index.trie_kernels:drop_repeats(int64[::1], int32[::1])"
LISTED = (
    LINE,
    "feedweir.optimize.filter_plans.graph_kernels:make_consistent(float64[::1], int64[::1], int32[::1])",
)
CALL = """
import numpy as np
from feedweir.match.index.trie_kernels import drop_repeats
for _ in range(2):
    drop_repeats(np.array([0, 2]), np.array([7, 7], np.int32))
print(sum(drop_repeats.stats.cache_misses.values()))
"""


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path) -> Iterator[Path]:
    """A place where nothing is kept yet."""
    before = directory_in_use().parent
    keep_kernels_in(tmp_path / "kept")
    yield directory_in_use()
    keep_kernels_in(before)


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> tuple[Signature, ...]:
    entries = tuple(map(entry_of, LISTED))
    monkeypatch.setattr("feedweir.kernels.compilation.entries_in", lambda: entries)
    return entries


def quietly() -> Console:
    return Console(file=io.StringIO(), width=500)


def said_to(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def called() -> tuple[str, str]:
    """How often a new process that calls a kernel compiles it, and what it complains about."""
    path = os.pathsep.join(map(os.path.abspath, filter(None, sys.path)))
    done = subprocess.run(
        [sys.executable, "-c", CALL],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip(), done.stderr


def test_what_is_compiled_ahead_is_compiled_once(listed: tuple[Signature, ...]) -> None:
    assert missing() == listed
    assert {one.entry for one in warm_up(quietly()) if not one.failure} == set(listed)
    assert not missing()
    assert warm_up(quietly()) == ()
    assert called() == ("0", "")
    assert compiled_in(directory_in_use()) == []


def test_what_was_not_compiled_ahead_is_told_once_and_written_down(listed: tuple[Signature, ...]) -> None:
    misses, complaint = called()
    assert misses == "1"
    assert complaint.count("feedweir warm-up") == 1
    assert compiled_in(directory_in_use()) == [LINE]
    assert called() == ("0", "")


@pytest.mark.usefixtures("listed")
def test_a_run_says_so_before_other_processes_compile(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Weir.open(tmp_path / "data") as weir:
        weir.run()
        assert caplog.text.count("feedweir warm-up") == 1
        warm_up(quietly())
        caplog.clear()
        tell_once.cache_clear()
        weir.run()
    assert "feedweir warm-up" not in caplog.text


def test_what_cannot_be_saved_works_all_the_same(elsewhere: Path) -> None:
    (elsewhere / "lock").mkdir()
    assert [called()[0], called()[0]] == ["1", "1"]


def test_what_cannot_be_written_is_read(
    listed: tuple[Signature, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    warm_up(quietly())
    kept = directory_in_use()
    monkeypatch.setattr("feedweir.kernels.kernel_files.os.access", lambda path, mode: False)
    keep_kernels_in(kept.parent.parent)
    keep_kernels_in(kept.parent)
    assert directory_in_use() == kept
    assert warm_up(quietly()) == ()


@pytest.mark.usefixtures("listed")
def test_what_is_missing_and_cannot_be_written_is_kept_in_a_temporary_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    refused = directory_in_use()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    temporary_place.cache_clear()
    monkeypatch.setattr("feedweir.kernels.warm_up.can_be_written", lambda directory: directory != refused)
    try:
        assert len(warm_up(quietly())) == len(LISTED)
        assert directory_in_use().parent == temporary_place()
    finally:
        temporary_place.cache_clear()
    assert f"kernels are missing in {refused.parent}, which cannot be written" in caplog.text
    assert called() == ("0", "")


@pytest.mark.usefixtures("listed")
def test_where_there_is_no_temporary_place_either_kernels_are_kept_in_the_spare_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = directory_in_use()

    def no_place() -> Path:
        raise OSError("read-only")

    monkeypatch.setattr("feedweir.kernels.warm_up.temporary_place", no_place)
    monkeypatch.setattr("feedweir.kernels.warm_up.can_be_written", lambda directory: directory != refused)
    assert len(warm_up(quietly(), tmp_path / "spare")) == len(LISTED)
    assert directory_in_use().parent == tmp_path / "spare"
    assert called() == ("0", "")


def test_a_line_that_a_kernel_no_longer_takes_is_told_and_the_others_are_compiled(
    listed: tuple[Signature, ...], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    wrong = Signature(listed[0].kernel, "int64")
    monkeypatch.setattr("feedweir.kernels.compilation.entries_in", lambda: (wrong, *listed))
    assert {one.entry: bool(one.failure) for one in warm_up(quietly())} == {
        wrong: True,
        **dict.fromkeys(listed, False),
    }
    assert f"{wrong} was not compiled: TypeError" in caplog.text


@pytest.mark.usefixtures("listed")
def test_it_is_told_how_long_it_takes_and_how_far_it_is() -> None:
    log = quietly()
    warm_up(log)
    assert said_to(log).splitlines() == [
        f"Compiling 2 kernels, once: about a minute. They are stored in {directory_in_use()}",
        "compiled 1 of 2 kernels",
        "compiled 2 of 2 kernels",
    ]


@pytest.mark.usefixtures("listed")
def test_a_terminal_shows_a_bar() -> None:
    terminal = Console(file=io.StringIO(), width=100, force_terminal=True)
    warm_up(terminal)
    assert "2/2" in said_to(terminal)
    assert "compiled 1 of" not in said_to(terminal)


@pytest.mark.usefixtures("listed")
def test_a_command_compiles_ahead_where_the_settings_say(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shell = Shell(capsys, monkeypatch, tmp_path)
    monkeypatch.delenv("FEEDWEIR_KERNELS")
    (tmp_path / "feedweir.toml").write_text('kernels = "mine"\n')
    assert shell("warm-up") == 0
    assert directory_in_use().parent == tmp_path / "mine"
    assert shell.said.startswith("2 kernels were compiled")
    assert shell("warm-up") == 0
    assert shell.said.startswith("0 kernels were compiled")
