"""`feedweir warm-up`: compile all kernels ahead of time."""

from __future__ import annotations

from pathlib import Path

import typer

from feedweir.cli.context import context_of
from feedweir.storage import is_store


def add_to(app: typer.Typer) -> None:
    app.command("warm-up")(warm_up)


def warm_up(context: typer.Context) -> None:
    """Compile all kernels ahead of time, as after installing or when building an image.

    `feedweir run` does this before it serves; other commands compile what they need, once.
    """
    from feedweir.kernels import warm_up as kernels
    from feedweir.kernels.declare import directory_in_use

    settings = context_of(context).settings()
    done = kernels.warm_up(spare=None if is_store(settings.data) else Path(settings.data) / "kernels")
    failures = sum(1 for one in done if one.failure)
    typer.echo(f"{len(done) - failures} kernels were compiled; they are stored in {directory_in_use()}")
    if failures:
        raise typer.Exit(1)
