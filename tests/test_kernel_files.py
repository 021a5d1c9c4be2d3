"""Compiled kernels are used as long as no kernel has changed, and not a moment longer."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from feedweir.kernel_files import directory_of, forget_old_kernels, keep_kernels

CALLED = "from numba import njit\n\n@njit(cache=True)\ndef called():\n    return {}\n"
CALLER = (
    "from numba import njit\nfrom package.called_kernels import called\n\n"
    "@njit(cache=True)\ndef caller():\n    return called()\n"
)
ASK = """
from pathlib import Path
from feedweir.kernel_files import keep_kernels
keep_kernels(Path("package"))
from package.caller_kernels import caller
print(caller())
"""


def answer(directory: Path) -> str:
    path = os.pathsep.join([str(directory), *filter(None, sys.path)])
    asked = subprocess.run(
        [sys.executable, "-c", ASK],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    return asked.stdout.strip()


def test_a_kernel_calls_another_as_it_is_now(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "caller_kernels.py").write_text(CALLER)
    (package / "called_kernels.py").write_text(CALLED.format(1))
    assert answer(tmp_path) == "1"
    assert list(directory_of(package).rglob("*.nbi"))
    (package / "called_kernels.py").write_text(CALLED.format(2))
    assert answer(tmp_path) == "2"


def test_what_was_compiled_of_older_kernels_is_removed(tmp_path: Path) -> None:
    old = directory_of(tmp_path)
    (tmp_path / "new_kernels.py").write_text(CALLED)
    new = directory_of(tmp_path)
    for path in (old, new):
        path.mkdir(parents=True)
    forget_old_kernels(tmp_path)
    assert [path.name for path in new.parent.iterdir()] == [new.name]


def test_who_says_where_kernels_are_is_obeyed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", "elsewhere")
    keep_kernels(tmp_path)
    assert os.environ["NUMBA_CACHE_DIR"] == "elsewhere"
