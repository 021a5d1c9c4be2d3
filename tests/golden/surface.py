"""What programs and people hold on to: the HTTP schema and the help of every command, as text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from click import unstyle
from typer.testing import CliRunner

from feedweir import Weir
from feedweir.cli.main import app
from feedweir.config import Settings
from feedweir.service.composition import Installation

WIDTH = 100


def http_schema(directory: Path) -> str:
    """Of a door that has everything a door can have."""
    with Weir.open(directory) as weir:
        installation = Installation(weir, Settings(fetch=False, send=False))
        schema = installation.app.openapi()
        installation.deliveries.close()
    return json.dumps(schema, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def help_texts() -> str:
    """Of the program and of every command and group in it, as a terminal without colours shows them."""
    command = typer.main.get_command(app)
    return "\n".join(f"$ {' '.join(path)} --help\n{_help(path)}" for path in _paths(command, ("feedweir",)))


def _paths(command: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    yield path
    for name, inner in sorted(getattr(command, "commands", {}).items()):
        yield from _paths(inner, (*path, name))


def _help(path: tuple[str, ...]) -> str:
    terminal = {"COLUMNS": str(WIDTH), "TERM": "dumb", "NO_COLOR": "1"}
    shown = CliRunner(env=terminal).invoke(
        app, [*path[1:], "--help"], prog_name="feedweir", terminal_width=WIDTH
    )
    assert shown.exit_code == 0, shown.output
    return "".join(f"{line.rstrip()}\n" for line in unstyle(shown.stdout).splitlines())
