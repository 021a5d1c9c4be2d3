"""`feedweir doctor`: check that this machine and this installation can work."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Annotated

import typer

from feedweir.cli.context import NEEDS_ATTENTION, Context, bounds_in, context_of, show_rows
from feedweir.config import Settings
from feedweir.engine.directory import current_version
from feedweir.engine.sets import check_installed
from feedweir.engine.storage import ENOUGH_OPEN_FILES, open_file_limit
from feedweir.errors import CompiledSetError, FeedweirError
from feedweir.keeper.service_note import signs_from_outside
from feedweir.keeper.standstill import judged
from feedweir.keeper.weir import Weir
from feedweir.kernels.compiling import missing
from feedweir.kernels.declare import directory_in_use

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
    repair: Annotated[
        bool,
        typer.Option("--repair", help="Make damaged files again from the landing log; stop `run` before."),
    ] = False,
) -> None:
    """Check Python, Java, disk, catalog, logs and the compiled set; exit code 4 when something needs attention."""
    findings = [*(_repairs(context_of(context)) if repair else ()), *_findings(context_of(context))]
    show_rows(map(asdict, findings), ("check", "result", "detail"), as_json=as_json)
    if any(finding.result != "ok" for finding in findings):
        raise typer.Exit(NEEDS_ATTENTION)


def _findings(context: Context) -> Iterator[Finding]:
    settings = context.settings()
    yield Finding("python", "ok", sys.version.split()[0])
    yield _java(settings)
    yield _open_files()
    yield _kernels()
    try:
        with context.weir() as weir:
            yield Finding("catalog", "ok", f"version {weir.catalog.feeds.version()}")
            yield _disk(settings)
            yield _compiled_set(weir)
            yield _logs(weir)
            yield _backlog(weir, settings)
            yield _set_aside(weir)
            yield _failures(weir)
    except FeedweirError as error:
        yield Finding("catalog", "broken", str(error))


def _repairs(context: Context) -> Iterator[Finding]:
    with context.weir() as weir:
        done = weir.repair_logs()
    for name in done.made:
        yield Finding("repair", "ok", f"{name} was made again")
    for name, why in sorted((done.lost or {}).items()):
        yield Finding(
            "repair", "lost", f"{name} cannot be made again: {why}; an empty one stands in its place"
        )


def _java(settings: Settings) -> Finding:
    from feedweir.spark.java import java_home

    return Finding("java", "ok", str(java_home(settings.data / "scratch")))


def _kernels() -> Finding:
    lacking = len(missing())
    told = f"{lacking} are not compiled: `feedweir warm-up` does it; `feedweir run` does, too"
    return Finding("kernels", "ok", told if lacking else f"all are compiled, in {directory_in_use()}")


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


def _logs(weir: Weir) -> Finding:
    damaged = weir.damages()
    told = "; ".join(f"{name}: {why}" for name, why in sorted(damaged.items()))
    return Finding("logs", "damaged" if damaged else "ok", told or "every file is as it was written")


def _backlog(weir: Weir, settings: Settings) -> Finding:
    waiting = weir.log.latest() - weir.store.latest()
    signs = signs_from_outside(weir.directory.root, weir.log, weir.store)
    sentences = judged(signs, weir.clock(), bounds_in(settings)).sentences()
    detail = "; ".join([f"{waiting} landed segments wait", *sentences])
    return Finding("pipeline", "stalled" if sentences else "ok", detail)


def _open_files() -> Finding:
    limit = open_file_limit()
    is_enough = limit >= ENOUGH_OPEN_FILES or limit < 0
    return Finding(
        "open files", "ok" if is_enough else "low", f"{limit} at a time" if limit >= 0 else "no limit"
    )


def _set_aside(weir: Weir) -> Finding:
    aside = weir.quarantine.waiting()
    names = ", ".join(sorted({record.source for record in aside})[:10])
    told = f"{len(aside)} of {names}: see `feedweir quarantine list`" if aside else "none is set aside"
    return Finding("documents", "set aside" if aside else "ok", told)


def _failures(weir: Weir) -> Finding:
    failing = [feed for feed in weir.shelves.feeds() if feed.failure]
    names = ", ".join(feed.name for feed in failing[:10])
    return Finding("feeds", "failing" if failing else "ok", names or "none is failing")
