"""`feedweir export` and `import`: everything the catalog knows, as JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import Progress

from feedweir.cli.context import context_of
from feedweir.errors import SettingsError


def add_to(app: typer.Typer) -> None:
    app.command("export")(export)
    app.command("import")(import_)


def export(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="Where to write; `-` is the standard output.")],
) -> None:
    """Write sources, feeds, subscriptions, statistics and the outbox to a file that `import` reads."""
    with context_of(context).weir() as weir, Progress(transient=True) as progress:
        lines = (json.dumps(row, ensure_ascii=False) for row in weir.catalog.dump())
        task = progress.add_task("exporting", total=None)
        if str(file) == "-":
            for line in lines:
                typer.echo(line)
            return
        with file.open("w", encoding="utf-8") as output:
            for line in lines:
                output.write(line + "\n")
                progress.advance(task)


def import_(
    context: typer.Context, file: Annotated[Path, typer.Argument(help="What `export` wrote.", exists=True)]
) -> None:
    """Fill an empty catalog from a file that `export` wrote, on any database."""
    with context_of(context).weir() as weir, Progress(transient=True) as progress:
        task = progress.add_task("importing", total=None)

        def counted() -> Iterator[dict[str, Any]]:
            for row in _rows(file):
                progress.advance(task)
                yield row

        weir.catalog.load(counted())


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    with file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                yield json.loads(line)
            except ValueError as error:
                raise SettingsError(
                    f"{file}, line {number}: {error}", hint="is it a file of `export`?"
                ) from error
