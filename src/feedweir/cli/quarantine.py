"""`feedweir quarantine`: the documents that were set aside because reading them took too much or crashed."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Annotated

import typer

from feedweir.cli.context import context_of, show_rows

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON array.")]
Number = Annotated[int, typer.Argument(help="A document by its number.")]

_COLUMNS = ("number", "source", "size", "since", "attempts", "reason")

quarantine = typer.Typer(
    no_args_is_help=True,
    help="Look at the documents that were set aside, try them again, or drop them.",
)


def add_to(app: typer.Typer) -> None:
    for name, command in (("list", list_all), ("show", show), ("retry", retry), ("drop", drop)):
        quarantine.command(name)(command)
    app.add_typer(quarantine, name="quarantine")


def list_all(context: typer.Context, as_json: AsJson = False) -> None:
    """List the documents that are set aside, oldest first."""
    with context_of(context).weir() as weir:
        rows = [asdict(record) for record in weir.quarantine.waiting()]
    show_rows(rows, _COLUMNS, as_json=as_json)


def show(
    context: typer.Context,
    number: Number,
    body: Annotated[bool, typer.Option("--body", help="Write the document itself, as it came.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what is known of a document that was set aside."""
    with context_of(context).weir() as weir:
        record = weir.quarantine.record(number)
        document = weir.set_aside(number)
    if body:
        sys.stdout.buffer.write(document.body)
        return
    facts = {**asdict(record), "url": document.url, "media type": document.media_type}
    show_rows(
        [{"what": what, "value": value} for what, value in facts.items()], ("what", "value"), as_json=as_json
    )


def retry(context: typer.Context, number: Number) -> None:
    """Try a document again: it is landed anew, behind everything that has landed by now."""
    with context_of(context).weir() as weir:
        segment = weir.retry_set_aside(number)
    typer.echo(f"landed document {number} again, in segment {segment}")


def drop(context: typer.Context, number: Number) -> None:
    """Do not show a document any more; it stays in the landing log and is never read."""
    with context_of(context).weir() as weir:
        weir.quarantine.settle(number, "dropped")
    typer.echo(f"dropped document {number}")
