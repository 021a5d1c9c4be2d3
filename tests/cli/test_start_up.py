"""What a command does not need it does not import: counted, since seconds depend on the machine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {
    "aiohttp",
    "fastapi",
    "highspy",
    "numba",
    "numpy",
    "pandas",
    "psycopg",
    "pyarrow",
    "pyspark",
    "sqlalchemy",
}
OF_LISTS = {"numpy", "pyarrow", "sqlalchemy"}
"""Feeds and items are read from the catalog and the logs."""
_PROGRAM = """
import sys
from feedweir.cli import main
try:
    main()
finally:
    print("\\n" + " ".join({name.partition(".")[0] for name in sys.modules}))
"""


def imported_by(*arguments: str) -> set[str]:
    done = subprocess.run([sys.executable, "-c", _PROGRAM, *arguments], capture_output=True, text=True)
    assert "Traceback" not in done.stderr, done.stderr
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["feeds", "--help"], ["run", "--help"]])
def test_what_asks_nothing_of_an_installation_imports_no_engine(arguments: list[str]) -> None:
    assert not HEAVY & imported_by(*arguments)


@pytest.mark.parametrize("command", [["feeds"], ["status"], ["items", "Nothing"], ["quarantine", "list"]])
def test_lists_import_the_logs_and_the_catalog_alone(command: list[str], tmp_path: Path) -> None:
    assert HEAVY & imported_by("--data", str(tmp_path), *command) == OF_LISTS


def test_where_kernels_lie_is_told_without_numba(tmp_path: Path) -> None:
    settings = tmp_path / "feedweir.toml"
    settings.write_text(f'data = "{tmp_path}"\nkernels = "{tmp_path}"\n')
    assert "numba" not in imported_by("--config", str(settings), "feeds")
