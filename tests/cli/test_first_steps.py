"""An installation that nobody has used yet, and the first commands of whoever begins."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.test_commands import Shell, shell

__all__ = ["shell"]

COMMANDS = [
    "run",
    "exec",
    "preview",
    "backtest",
    "search",
    "match",
    "explain",
    "why",
    "trace",
    "plan",
    "feeds",
    "items",
    "status",
    "config",
    "send",
    "log",
    "dead",
    "replay",
    "bounces",
    "quarantine",
    "doctor",
    "export",
    "import",
    "warm-up",
]


def facts(shell: Shell) -> dict[str, object]:
    assert shell("status", "--json") == 0
    return {row["what"]: row["value"] for row in json.loads(shell.said)}


def test_an_empty_installation_can_be_asked_everything(shell: Shell) -> None:
    assert shell("feeds") == 0
    assert shell("feeds", "--json") == 0
    assert json.loads(shell.said) == []
    assert shell("search", "river", "--json") == 0
    assert json.loads(shell.said) == {"searched": 0, "hits": 0, "per_day": {}, "items": []}
    assert shell("quarantine", "list", "--json") == 0
    assert json.loads(shell.said) == []
    assert shell.complained == ""


def test_before_anything_ran_there_is_no_plan_to_show(shell: Shell) -> None:
    assert shell("plan") == 3
    assert "feedweir run" in shell.complained


def test_the_status_of_an_empty_installation_is_all_zeros(shell: Shell) -> None:
    found = facts(shell)
    assert [found[name] for name in ("sources", "virtual feeds", "landed segments", "items", "elements")] == [
        0
    ] * 5
    assert found["damaged files"] == "none"
    assert found["stalled"] is None
    assert found["outbox"] == {}


def test_the_first_command_makes_the_data_directory_where_it_is_told(shell: Shell, tmp_path: Path) -> None:
    assert shell("--data", "elsewhere/deep", "exec", "register feed push://p as P") == 0
    assert (tmp_path / "elsewhere" / "deep" / "catalog.sqlite").is_file()
    assert not (tmp_path / "data").exists()


def test_a_doctor_that_finds_an_empty_installation_well_says_what_comes_next(shell: Shell) -> None:
    assert shell("doctor", "--json") == 0
    found = {row["check"]: row for row in json.loads(shell.said)}
    assert {row["result"] for row in found.values()} == {"ok"}
    assert "feedweir run" in found["compiled set"]["detail"]


def test_the_statements_of_the_help_work_as_they_stand(shell: Shell) -> None:
    assert shell("--help") == 0
    examples = re.findall(r'feedweir exec "(.+?)"', re.sub(r"\s+", " ", shell.said))
    assert len(examples) == 2
    for statement in examples:
        assert shell("exec", statement) == 0
    assert shell("feeds", "--json") == 0
    assert [row["name"] for row in json.loads(shell.said)] == ["Floods", "News"]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_that_begins_with_a_sentence(shell: Shell, command: str) -> None:
    assert shell(command, "--help") == 0
    lines = [line.strip() for line in shell.said.splitlines() if line.strip()]
    assert lines[0].startswith("Usage: ")
    assert f"feedweir {command} " in lines[0]
    assert lines[1][0].isupper()
    assert shell.complained == ""


def test_the_help_names_every_command(shell: Shell) -> None:
    assert shell("--help") == 0
    assert [name for name in COMMANDS if f" {name} " not in shell.said] == []


def test_without_a_command_the_help_is_shown(shell: Shell) -> None:
    assert shell() == 2
    assert "Usage: " in shell.said
    assert "feedweir exec" in shell.said
