"""Where compiled kernels are kept: as long as no kernel has changed, and not a moment longer."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from feedweir.kernels.declare import IS_COMPILING
from feedweir.kernels.kernel_files import (
    chosen_place,
    forget_old_kernels,
    name_of,
    temporary_place,
    usable_directory,
)

CALLED = "from feedweir.kernels import njit\n\n@njit(cache=True)\ndef called():\n    return {}\n"
CALLER = (
    "from feedweir.kernels import njit\nfrom package.called_kernels import called\n\n"
    "@njit(cache=True)\ndef caller():\n    return called()\n"
)
ASK = """
from pathlib import Path
from feedweir.kernels import declare
from feedweir.kernels import kernel_files as files
declare._Place.directory = Path("kept") / files.name_of(Path("package"), made_by="")
declare._Place.directory.mkdir(parents=True, exist_ok=True)
from package.caller_kernels import caller
print(caller(), sum(caller.stats.cache_misses.values()))
"""
DAY_S = 86_400


@pytest.fixture(autouse=True)
def _forgets_the_temporary_place() -> Iterator[None]:
    yield
    temporary_place.cache_clear()


def answer(directory: Path, **environment: str) -> str:
    path = os.pathsep.join([str(directory), *filter(None, map(os.path.abspath, sys.path))])
    asked = subprocess.run(
        [sys.executable, "-c", ASK],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return asked.stdout.strip()


@pytest.fixture
def package(tmp_path: Path) -> Path:
    package = tmp_path / "package"
    package.mkdir()
    (package / "caller_kernels.py").write_text(CALLER)
    (package / "called_kernels.py").write_text(CALLED.format(1))
    return package


@pytest.mark.skipif(not IS_COMPILING, reason="without a compiler nothing is compiled")
def test_a_kernel_is_compiled_once_and_calls_another_as_it_is_now(package: Path) -> None:
    assert answer(package.parent) == "1 1"
    assert answer(package.parent) == "1 0"
    (package / "called_kernels.py").write_text(CALLED.format(2))
    assert answer(package.parent) == "2 1"


def test_who_says_where_kernels_are_is_obeyed() -> None:
    assert chosen_place({"HOME": "/h"}) == Path("/h/.cache/feedweir")
    assert chosen_place({"HOME": "/h", "XDG_CACHE_HOME": "/c"}) == Path("/c/feedweir")
    assert chosen_place({"HOME": "/h", "NUMBA_CACHE_DIR": "/n"}) == Path("/n")
    assert chosen_place({"NUMBA_CACHE_DIR": "/n", "FEEDWEIR_KERNELS": "/k"}) == Path("/k")


def test_the_name_tells_the_text_of_all_kernels_and_the_compiler(tmp_path: Path) -> None:
    before = name_of(tmp_path, made_by="1")
    assert name_of(tmp_path, made_by="2") != before
    (tmp_path / "new_kernels.py").write_text(CALLED)
    assert name_of(tmp_path, made_by="1") != before


def test_a_place_is_made_when_it_is_not_there(tmp_path: Path) -> None:
    assert usable_directory(tmp_path / "place", "kernels-1").is_dir()


def test_where_nothing_can_be_made_a_temporary_place_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.touch()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    temporary_place.cache_clear()
    found = usable_directory(in_the_way, "kernels-1")
    assert found == temporary_place() / "kernels-1"
    assert found.is_dir()


def test_where_nothing_can_be_written_at_all_each_process_compiles_for_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.touch()
    monkeypatch.setattr("tempfile.tempdir", str(in_the_way))
    temporary_place.cache_clear()
    assert usable_directory(in_the_way, "kernels-1") == in_the_way / "kernels-1"


def test_where_a_command_is_given_is_no_temporary_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TMPDIR", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    temporary_place.cache_clear()
    assert usable_directory(in_the_way, "kernels-1") == in_the_way / "kernels-1"
    assert os.listdir(tmp_path) == ["file"]


def test_a_temporary_place_of_somebody_else_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    temporary_place.cache_clear()
    others = tmp_path / f"feedweir-{os.getuid()}"
    others.mkdir()
    others.chmod(0o777)
    assert temporary_place() != others


def test_the_last_three_versions_and_whatever_is_in_use_are_kept(tmp_path: Path) -> None:
    ages_in_days = {"now": 9, "a": 0.5, "b": 2, "c": 3, "d": 4, "e": 5}
    now = 100.0 * DAY_S
    for name, age in ages_in_days.items():
        path = tmp_path / f"kernels-{name}"
        path.mkdir()
        os.utime(path, (now - age * DAY_S,) * 2)
    (tmp_path / "other").mkdir()
    forget_old_kernels(tmp_path / "kernels-now", now)
    left = {path.name.removeprefix("kernels-") for path in tmp_path.iterdir()}
    assert left == {"now", "a", "b", "c", "other"}
