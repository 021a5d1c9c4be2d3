"""`feedweir export` and `import`: everything the catalog knows as JSON lines, or feeds and folders as OPML."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import Progress

from feedweir import __version__
from feedweir.acquire.addresses import AddressRule
from feedweir.acquire.exchange import Agent
from feedweir.acquire.http_rules import wire_url
from feedweir.acquire.once import fetch_once
from feedweir.cli.context import Context, context_of
from feedweir.errors import SettingsError
from feedweir.keeper.outlines import export_opml, import_opml
from feedweir.keeper.weir import now_utc


def add_to(app: typer.Typer) -> None:
    app.command("export")(export)
    app.command("import")(import_)


def export(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="Where to write; `-` is the standard output.")],
    opml: Annotated[
        bool, typer.Option(help="Only the sources and their folders, for other feed readers.")
    ] = False,
) -> None:
    """Write sources, feeds, subscriptions, statistics and the outbox to a file that `import` reads.

    With --opml, or to a file that ends in .opml, the sources in the form that every feed reader imports.
    """
    if opml or file.suffix.lower() == ".opml":
        _export_opml(context, file)
        return
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
    context: typer.Context,
    what: Annotated[str, typer.Argument(help="A file that `export` wrote, or OPML: a file, or its address.")],
) -> None:
    """Fill an empty catalog from a file that `export` wrote, on any database; or add the feeds of an OPML file.

    What was imported is compiled at once, so that `run` begins with it.

    Feeds of an OPML file become sources, its folders virtual feeds. Feeds that are there already are left alone.
    """
    given = context_of(context)
    if wire_url(what):
        _import_opml(given, _fetched(given, what))
        return
    file = Path(what)
    if not file.is_file():
        raise SettingsError(
            f"there is no file {what}", hint="give a file, or an address that begins with http"
        )
    if file.suffix.lower() == ".opml" or _is_xml(file):
        _import_opml(given, file.read_bytes())
        return
    with given.weir() as weir, Progress(transient=True) as progress:
        reading = progress.add_task("importing", total=file.stat().st_size)
        weir.catalog.load(_rows(file, lambda size: progress.advance(reading, size)))
        compiling = progress.add_task("compiling", total=None)
        weir.refresh_set(lambda done, total: progress.update(compiling, completed=done, total=total))
        n_sources, n_feeds = (weir.catalog.feeds.count(kind) for kind in ("source", "virtual"))
    typer.echo(f"imported {n_sources:,} sources and {n_feeds:,} feeds")


def _is_xml(file: Path) -> bool:
    with file.open("rb") as start:
        return start.read(200).lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n")[:1] == b"<"


def _fetched(given: Context, url: str) -> bytes:
    settings = given.settings()
    agent = Agent(version=__version__, contact=settings.contact)
    rule = AddressRule(allow_private=settings.allow_private)
    return fetch_once(url, agent=agent, rule=rule, clock=now_utc).body


def _import_opml(given: Context, body: bytes) -> None:
    with given.weir() as weir:
        done = import_opml(weir, body)
    typer.echo(
        f"registered {len(done.registered)} feeds in {len(done.folders)} folders; "
        f"{len(done.known)} were there already"
    )
    for name, reason in done.refused:
        typer.echo(f"left out {name}: {reason}", err=True)


def _export_opml(context: typer.Context, file: Path) -> None:
    with context_of(context).weir() as weir:
        written = export_opml(weir)
    if str(file) == "-":
        typer.echo(written.decode())
    else:
        file.write_bytes(written)


def _rows(file: Path, told: Callable[[int], None]) -> Iterator[dict[str, Any]]:
    """The rows of a file; `told` hears of how many bytes each was."""
    with file.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            told(len(line))
            try:
                yield json.loads(line)
            except ValueError as error:
                raise SettingsError(
                    f"{file}, line {number}: {error}", hint="is it a file of `export`?"
                ) from error
