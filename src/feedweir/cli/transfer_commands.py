"""`feedweir export` and `import`: everything the catalog knows as JSON lines, or feeds and folders as OPML."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from feedweir import __version__
from feedweir.cli.context import Context, context_of, unusable
from feedweir.errors import SettingsError
from feedweir.logs.disk_errors import is_storage_error

if TYPE_CHECKING:
    from rich.progress import Progress


def add_to(app: typer.Typer) -> None:
    app.command("export")(export)
    app.command("import")(import_)


def export(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="The file to write; `-` is standard output.")],
    opml: Annotated[bool, typer.Option(help="Write only the sources and their folders, as OPML.")] = False,
) -> None:
    """Write sources, feeds, subscriptions, statistics and the outbox to a file that `import` reads.

    With --opml, or if the name ends in .opml, only the sources, in the format that other feed readers import.
    """
    try:
        if opml or file.suffix.lower() == ".opml":
            _export_opml(context, file)
        else:
            _export_lines(context, file)
    except OSError as error:
        if is_storage_error(error):
            raise
        raise unusable(file, error) from error


def _export_lines(context: typer.Context, file: Path) -> None:
    with context_of(context).weir() as weir, _progress() as progress:
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


def _progress() -> Progress:
    """On standard error: the standard output may be the export itself."""
    from rich.console import Console
    from rich.progress import Progress

    return Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())


def import_(
    context: typer.Context,
    what: Annotated[str, typer.Argument(help="A file that `export` wrote, an OPML file, or the URL of one.")],
) -> None:
    """Fill an empty catalog from a file that `export` wrote, or add the feeds of an OPML file.

    An export can be imported into another kind of database. It is compiled at once, so that `run` starts quickly.

    Feeds of an OPML file become sources and its folders virtual feeds; sources that exist already are left unchanged.
    """
    from feedweir.acquire.fetch.http_rules import wire_url

    given = context_of(context)
    if wire_url(what):
        _import_opml(given, _fetched(given, what))
        return
    file = Path(what)
    if not file.is_file():
        raise SettingsError(f"there is no file {what}", hint="give a file, or a URL that begins with http")
    if file.suffix.lower() == ".opml" or _is_xml(file):
        _import_opml(given, file.read_bytes())
        return
    with given.weir() as weir, _progress() as progress:
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
    from feedweir.acquire.fetch.addresses import AddressRule
    from feedweir.acquire.fetch.single_fetch import fetch_url
    from feedweir.acquire.fetch.transport import Agent
    from feedweir.service.archive import now_utc

    settings = given.settings()
    agent = Agent(version=__version__, contact=settings.contact)
    rule = AddressRule(allow_private=settings.allow_private)
    return fetch_url(url, agent=agent, rule=rule, clock=now_utc).body


def _import_opml(given: Context, body: bytes) -> None:
    from feedweir.service.opml_import import import_opml

    with given.weir() as weir:
        done = import_opml(weir, body)
    typer.echo(
        f"registered {len(done.registered)} feeds in {len(done.folders)} folders; "
        f"{len(done.known)} existed already"
    )
    for name, reason in done.refused:
        typer.echo(f"left out {name}: {reason}", err=True)


def _export_opml(context: typer.Context, file: Path) -> None:
    from feedweir.service.opml_import import export_opml

    with context_of(context).weir() as weir:
        written = export_opml(weir)
    if str(file) == "-":
        typer.echo(written.decode())
    else:
        file.write_bytes(written)


def _rows(file: Path, on_read: Callable[[int], None]) -> Iterator[dict[str, Any]]:
    """The rows of a file; `on_read` is given the number of bytes of each."""
    with file.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            on_read(len(line))
            try:
                yield _row(json.loads(line))
            except ValueError as error:
                raise SettingsError(
                    f"{file}, line {number}: {error}", hint="was it written by `feedweir export`?"
                ) from error


def _row(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("this is not a JSON object")
    return value
