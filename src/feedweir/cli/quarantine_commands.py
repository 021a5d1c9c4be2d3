"""`feedweir quarantine`: documents that were not read because that took too much time or memory, or crashed."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Annotated

import typer

from feedweir.cli.context import context_of, show_rows

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON array.")]
Number = Annotated[int, typer.Argument(help="The number of a document, as `list` shows it.")]

_COLUMNS = ("number", "source", "size", "since", "attempts", "reason")

quarantine = typer.Typer(
    no_args_is_help=True,
    help="List, show, retry or drop quarantined documents.",
)


def add_to(app: typer.Typer) -> None:
    for name, command in (("list", list_all), ("show", show), ("retry", retry), ("drop", drop)):
        quarantine.command(name)(command)
    app.add_typer(quarantine, name="quarantine")


def list_all(context: typer.Context, as_json: AsJson = False) -> None:
    """List the quarantined documents, oldest first."""
    with context_of(context).archive() as archive:
        rows = [asdict(record) for record in archive.quarantine.waiting()]
    show_rows(rows, _COLUMNS, as_json=as_json)


def show(
    context: typer.Context,
    number: Number,
    body: Annotated[
        bool, typer.Option("--body", help="Print the document itself, as it was received.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show what is known about a quarantined document."""
    with context_of(context).weir() as weir:
        record = weir.quarantine.record(number)
        document = weir.quarantined(number)
    if body:
        sys.stdout.buffer.write(document.body)
        return
    facts = {**asdict(record), "url": document.url, "media type": document.media_type}
    show_rows(
        [{"what": what, "value": value} for what, value in facts.items()], ("what", "value"), as_json=as_json
    )


def retry(context: typer.Context, number: Number) -> None:
    """Land a quarantined document again, after everything that has landed so far."""
    with context_of(context).weir() as weir:
        segment = weir.retry_quarantined(number)
    typer.echo(f"landed document {number} again, in segment {segment}")


def drop(context: typer.Context, number: Number) -> None:
    """Remove a document from the list; it stays in the landing log and is never read."""
    with context_of(context).archive() as archive:
        archive.quarantine.settle(number, "dropped")
    typer.echo(f"dropped document {number}")
