"""`feedweir doctor`: check that this machine and this installation can work."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from feedweir.cli.context import NEEDS_ATTENTION, Context, context_of, show_rows
from feedweir.config import Settings
from feedweir.errors import CompiledSetError, FeedweirError
from feedweir.health.standstill import judge
from feedweir.logs.disk_errors import ENOUGH_OPEN_FILES, open_file_limit
from feedweir.storage import own_place

if TYPE_CHECKING:
    from feedweir.service.installation import Weir

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
        typer.Option(
            "--repair",
            help="First rebuild damaged files from the landing log; `feedweir run` must be stopped.",
        ),
    ] = False,
) -> None:
    """Check Python, Java, disk, catalog, logs and the compiled set. The exit code is 4 if there is a problem."""
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
            yield _quarantined(weir)
            yield _failures(weir)
    except FeedweirError as error:
        yield Finding("catalog", "broken", str(error))


def _repairs(context: Context) -> Iterator[Finding]:
    with context.weir() as weir:
        done, removed = weir.repair_logs(), weir.log.removed()
    for name in done.made:
        yield Finding("repair", "ok", f"{name} was rebuilt")
    for name, why in sorted((done.left or {}).items()) if removed else ():
        lost = f"{name} cannot be rebuilt: {why}, and documents up to segment {removed} have been deleted"
        yield Finding("repair", "lost", lost)
    for name, why in sorted((done.lost or {}).items()):
        yield Finding(
            "repair", "lost", f"{name} cannot be rebuilt: {why}; it was replaced by an empty segment"
        )


def _java(settings: Settings) -> Finding:
    from feedweir.spark.java import java_home

    return Finding("java", "ok", str(java_home(_own(settings) / "scratch")))


def _own(settings: Settings) -> Path:
    from feedweir.service.archive import place_in  # which brings the engine along

    own = own_place(place_in(settings))
    own.mkdir(parents=True, exist_ok=True)
    return own


def _kernels() -> Finding:
    from feedweir.kernels.compilation import missing
    from feedweir.kernels.declare import directory_in_use

    lacking = len(missing())
    detail = f"{lacking} are not compiled yet: `feedweir warm-up` or `feedweir run` compiles them"
    return Finding("kernels", "ok", detail if lacking else f"all are compiled, in {directory_in_use()}")


def _disk(settings: Settings) -> Finding:
    usage = os.statvfs(_own(settings))
    free = usage.f_bavail * usage.f_frsize
    return Finding("disk", "ok" if free > _ENOUGH_DISK else "low", f"{free >> 20:,} MiB free")


def _compiled_set(weir: Weir) -> Finding:
    from feedweir.logs.directory import current_version
    from feedweir.pipeline.sets import check_installed

    version = current_version(weir.directory.sets)
    if version is None:
        return Finding("compiled set", "ok", "none yet: the first `feedweir run` compiles it")
    try:
        check_installed(weir.directory.sets, version)
    except CompiledSetError as error:
        return Finding("compiled set", "broken", f"{error}; the next `feedweir run` compiles it again")
    return Finding("compiled set", "ok", f"version {version}")


def _logs(weir: Weir) -> Finding:
    damaged = weir.damages()
    detail = "; ".join(f"{name}: {why}" for name, why in sorted(damaged.items()))
    return Finding("logs", "damaged" if damaged else "ok", detail or "no file is damaged or missing")


def _backlog(weir: Weir, settings: Settings) -> Finding:
    from feedweir.service.service_note import bounds_in, signs_from_outside

    waiting = weir.log.latest() - weir.store.latest()
    signs = signs_from_outside(weir.directory.root, weir.log, weir.store)
    sentences = judge(signs, weir.clock(), bounds_in(settings)).sentences()
    detail = "; ".join([f"{waiting} landed segments are waiting to be published", *sentences])
    return Finding("pipeline", "stalled" if sentences else "ok", detail)


def _open_files() -> Finding:
    limit = open_file_limit()
    is_enough = limit >= ENOUGH_OPEN_FILES or limit < 0
    return Finding(
        "open files", "ok" if is_enough else "low", f"at most {limit:,}" if limit >= 0 else "no limit"
    )


def _quarantined(weir: Weir) -> Finding:
    aside = weir.quarantine.waiting()
    names = ", ".join(sorted({record.source for record in aside})[:10])
    detail = f"{len(aside)} from {names}: see `feedweir quarantine list`" if aside else "none is quarantined"
    return Finding("documents", "quarantined" if aside else "ok", detail)


def _failures(weir: Weir) -> Finding:
    failing = [feed for feed in weir.feed_views.feeds() if feed.failure]
    names = ", ".join(feed.name for feed in failing[:10])
    return Finding("feeds", "failing" if failing else "ok", names or "no feed is failing")
