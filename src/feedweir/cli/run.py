"""`feedweir run`: the whole system in one process, until Ctrl-C."""

from __future__ import annotations

from typing import Annotated

import typer

from feedweir.cli.context import LogLevel, context_of


def add_to(app: typer.Typer) -> None:
    app.command()(run)


def run(
    context: typer.Context,
    sample: Annotated[bool, typer.Option(help="Serve built-in sample feeds and fetch them.")] = False,
    host: Annotated[str | None, typer.Option(help="The address to serve on. [default: 127.0.0.1]")] = None,
    port: Annotated[int | None, typer.Option(help="The port to serve on. [default: 8080]")] = None,
    master: Annotated[str | None, typer.Option(help="The Spark master. [default: local[*]]")] = None,
    fetch: Annotated[bool | None, typer.Option(help="Whether this process fetches sources.")] = None,
    log_level: LogLevel = None,
) -> None:
    """Fetch sources, run the pipeline on Spark, serve feeds and deliver, until Ctrl-C. The next run continues."""
    from feedweir.cli.serving import SAMPLE_SETTINGS, serve

    flags = {"host": host, "port": port, "master": master, "fetch": fetch, "log_level": log_level}
    given = context_of(context)
    settings = given.settings(**flags, **(SAMPLE_SETTINGS if sample else {}))
    serve(settings, is_sample=sample, command=given.beginning())
