"""`feedweir exec`: execute statements."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from feedweir.cli.context import context_of, owner_in, show_rows, unusable
from feedweir.errors import SettingsError

if TYPE_CHECKING:
    from feedweir.service.execution import Outcome


def add_to(app: typer.Typer) -> None:
    app.command("exec")(execute)


def execute(
    context: typer.Context,
    statements: Annotated[
        str, typer.Argument(help="Statements, separated by semicolons; `-` reads them from standard input.")
    ] = "",
    file: Annotated[
        Path | None, typer.Option("-f", "--file", help="Read the statements from a file.")
    ] = None,
    owner: Annotated[
        str, typer.Option(help="Owner of feeds and subscriptions that are created without `for`.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON array.")] = False,
) -> None:
    """Execute statements: all of them, or none if one is refused.

    A running `feedweir run` applies them from its next batch on.

        feedweir exec "create feed Floods from News where title contains 'flood'"
    """
    with context_of(context).weir() as weir:
        outcomes = weir.execute(_text(statements, file), owner=owner_in(owner) or "")
    if as_json:
        typer.echo(json.dumps([asdict(outcome) for outcome in outcomes], default=str, ensure_ascii=False))
        return
    for outcome in outcomes:
        _print(outcome)


def _text(statements: str, file: Path | None) -> str:
    if bool(statements) == bool(file):
        raise SettingsError("give either statements or --file", hint="feedweir exec --help")
    if file is None:
        return sys.stdin.read() if statements == "-" else statements
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise unusable(file, error) from error


def _print(outcome: Outcome) -> None:
    if outcome.message:
        typer.echo(outcome.message)
    for advice in outcome.advice:
        typer.echo(f"  note: {advice}")
    if outcome.rows:
        show_rows(outcome.rows, tuple(outcome.rows[0]), as_json=False)
