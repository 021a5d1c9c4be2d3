"""What programs and people hold on to is as it was recorded."""

from __future__ import annotations

from difflib import unified_diff
from pathlib import Path

import pytest

from tests.golden.record import HELP, SCHEMA
from tests.golden.surface import help_texts, http_schema


def test_the_http_schema_is_as_recorded(tmp_path: Path) -> None:
    compare(SCHEMA, http_schema(tmp_path))


def test_every_help_is_as_recorded() -> None:
    compare(HELP, help_texts())


def compare(recorded: Path, now: str) -> None:
    before = recorded.read_text("utf-8").splitlines()
    if found := list(unified_diff(before, now.splitlines(), "recorded", "now", lineterm="")):
        hint = "if that is right: python -m tests.golden.record surface"
        pytest.fail("\n".join([*found, hint]), pytrace=False)
