"""`feedweir warm-up`: compile all kernels ahead."""

from __future__ import annotations

import typer

from feedweir.cli.context import context_of
from feedweir.keeper import warm_up as kernels
from feedweir.kernels.declare import directory_in_use


def add_to(app: typer.Typer) -> None:
    app.command("warm-up")(warm_up)


def warm_up(context: typer.Context) -> None:
    """Compile all kernels ahead: after an installation, and when an image is built.

    `feedweir run` does so by itself before it serves; other commands compile what they need, once.
    """
    context_of(context).settings()
    done = kernels.warm_up()
    failures = sum(1 for one in done if one.failure)
    typer.echo(f"{len(done) - failures} kernels were compiled; all are kept in {directory_in_use()}")
    if failures:
        raise typer.Exit(1)
