"""`feedweir doctor`: check that this machine and this installation can work."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Annotated

import typer

from feedweir.cli.context import Context, context_of, show_rows
from feedweir.config import Settings
from feedweir.engine.directory import current_version
from feedweir.engine.sets import check_installed
from feedweir.errors import CompiledSetError, FeedweirError
from feedweir.keeper.weir import Weir

NEEDS_ATTENTION = 4
_ENOUGH_DISK = 1 << 30


@dataclass(frozen=True, slots=True)
class Finding:
    check: str
    result: str
    detail: str


def add_to(app: typer.Typer) -> None:
    app.command()(doctor)


def doctor(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON array.")] = False,
) -> None:
    """Check Python, Java, disk, catalog, logs and the compiled set; exit code 4 when something needs attention."""
    findings = list(_findings(context_of(context)))
    show_rows(map(asdict, findings), ("check", "result", "detail"), as_json=as_json)
    if any(finding.result != "ok" for finding in findings):
        raise typer.Exit(NEEDS_ATTENTION)


def _findings(context: Context) -> Iterator[Finding]:
    settings = context.settings()
    yield Finding("python", "ok", sys.version.split()[0])
    yield _java(settings)
    try:
        with context.weir() as weir:
            yield Finding("catalog", "ok", f"version {weir.catalog.feeds.version()}")
            yield _disk(settings)
            yield _compiled_set(weir)
            yield _backlog(weir)
            yield _failures(weir)
    except FeedweirError as error:
        yield Finding("catalog", "broken", str(error))


def _java(settings: Settings) -> Finding:
    from feedweir.spark.java import java_home

    return Finding("java", "ok", str(java_home(settings.data / "scratch")))


def _disk(settings: Settings) -> Finding:
    usage = os.statvfs(settings.data)
    free = usage.f_bavail * usage.f_frsize
    return Finding("disk", "ok" if free > _ENOUGH_DISK else "low", f"{free >> 20:,} MiB free")


def _compiled_set(weir: Weir) -> Finding:
    version = current_version(weir.directory.sets)
    if version is None:
        return Finding("compiled set", "ok", "none yet: the first `feedweir run` makes it")
    try:
        check_installed(weir.directory.sets, version)
    except CompiledSetError as error:
        return Finding("compiled set", "broken", f"{error}; the next `feedweir run` makes it again")
    return Finding("compiled set", "ok", f"version {version}")


def _backlog(weir: Weir) -> Finding:
    waiting = weir.log.latest() - weir.store.latest()
    return Finding("pipeline", "ok", f"{waiting} landed segments wait")


def _failures(weir: Weir) -> Finding:
    failing = [feed for feed in weir.shelves.feeds() if feed.failure]
    names = ", ".join(feed.name for feed in failing[:10])
    return Finding("feeds", "failing" if failing else "ok", names or "none is failing")
