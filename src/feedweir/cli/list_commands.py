"""`feedweir feeds`, `items` and `status`: lists of what is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from feedweir.cli.context import NEEDS_ATTENTION, Owner, context_of, owner_in, show_rows
from feedweir.health.backpressure import Backlog, in_words, pressure_of
from feedweir.health.standstill import Signs, Verdict, judge

if TYPE_CHECKING:
    from feedweir.config import Settings
    from feedweir.service.archive import Archive

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON array.")]


def add_to(app: typer.Typer) -> None:
    for command in (feeds, items, status):
        app.command()(command)


def feeds(
    context: typer.Context,
    like: Annotated[
        str, typer.Option(help="Only names that contain this text, or that match it if it has a `*`.")
    ] = "",
    limit: Annotated[int | None, typer.Option(min=1, help="How many feeds to show, by name.")] = None,
    after: Annotated[str, typer.Option(help="Start after this name.")] = "",
    owner: Owner = "",
    as_json: AsJson = False,
) -> None:
    """List sources and virtual feeds with their counts and failures.

    `hits`, `last hit` and `candidates` are counted a little later than `items`.

    `candidates` is how often the matcher had to check the feed, which is what it costs.
    """
    with context_of(context).archive() as archive:
        rows = [
            {
                "name": feed.name,
                "kind": feed.kind,
                "owner": feed.owner,
                "items": feed.item_count,
                "last": feed.last_item,
                "hits": feed.hits,
                "candidates": feed.candidates,
                "last hit": feed.last_hit,
                "failure": feed.failure,
                "definition": feed.definition,
            }
            for feed in archive.feed_views.feeds(like=like, limit=limit, after=after, owner=owner_in(owner))
        ]
    columns = ("name", "kind", "owner", "items", "last", "hits", "candidates", "last hit", "failure")
    show_rows(rows, columns, as_json=as_json)


def items(
    context: typer.Context,
    feed: Annotated[str, typer.Argument(help="A source or virtual feed.")],
    limit: Annotated[int, typer.Option(min=1, help="How many items to show, newest first.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List the newest items of a feed."""
    from feedweir.items.model import row_of

    with context_of(context).archive() as archive:
        rows = [row_of(item) for item in archive.items(feed, limit)]
    show_rows(rows, ("time", "source", "title", "link"), as_json=as_json)


def status(context: typer.Context, as_json: AsJson = False) -> None:
    """Show the progress of the pipeline, what is waiting and what fails. The exit code is 4 if work has stalled."""
    from feedweir.service.service_note import bounds_in, signs_from_outside

    given = context_of(context)
    with given.archive() as archive:
        signs = signs_from_outside(archive.directory.root, archive.log, archive.store)
        verdict = judge(signs, archive.clock(), bounds_in(given.settings()))
        facts = {
            **_facts(archive, given.settings()),
            **_flow(archive, given.settings(), signs),
            **_movement(signs, verdict),
        }
    rows = [{"what": what, "value": value} for what, value in facts.items()]
    show_rows(rows, ("what", "value"), as_json=as_json)
    if verdict.troubles:
        raise typer.Exit(NEEDS_ATTENTION)


def _flow(archive: Archive, settings: Settings, signs: Signs) -> dict[str, Any]:
    from feedweir.logs.flow import flow_of, state_bytes

    flow = flow_of(archive.directory, archive.log, archive.store, signs.waiting_since, archive.clock())
    wanted = f", about {settings.batch_seconds:g} s" if settings.batch_seconds else ""
    return {
        "documents waiting": flow.documents_waiting,
        "seconds behind": round(flow.behind_s, 1),
        "last batch": flow.sentence(),
        "largest batch": f"{settings.batch_bytes:,} bytes{wanted}",
        "bytes kept": state_bytes(archive.directory),
    }


def _movement(signs: Signs, verdict: Verdict) -> dict[str, Any]:
    return {
        "running since": signs.started or ("yes" if signs.is_running else "not running"),
        "waiting since": signs.waiting_since,
        "restarts in a row": signs.restarts,
        "last error": signs.failed.error if signs.failed else None,
        "stalled": "; ".join(verdict.sentences()) or None,
    }


def _facts(archive: Archive, settings: Settings) -> dict[str, Any]:
    manifests = archive.store.manifests()
    counted = archive.catalog.statistics.feeds()
    landed, published = archive.log.latest(), archive.store.latest()
    backlog = Backlog(waiting_bytes=archive.log.bytes_in(published, landed))
    return {
        "data directory": str(archive.directory.root),
        "sources": len(archive.catalog.feeds.all(kind="source")),
        "virtual feeds": len(archive.catalog.feeds.all(kind="virtual")),
        "definitions version": archive.catalog.feeds.version(),
        "landed segments": landed,
        "segments waiting": landed - published,
        "bytes waiting": backlog.waiting_bytes,
        "slowed": in_words(pressure_of(backlog, settings.backlog_bytes)) or None,
        "items": sum(manifest.item_count - manifest.items_removed for manifest in manifests),
        "elements": sum(manifest.element_count - manifest.elements_removed for manifest in manifests),
        **archive.retained(),
        "hits counted": sum(one.hits for one in counted),
        "candidates counted": sum(one.candidates for one in counted),
        "last hit": max((one.last_hit_at for one in counted if one.last_hit_at), default=None),
        "outbox": dict(sorted(archive.catalog.outbox.counts().items())),
        "damaged files": ", ".join(sorted(map(str, archive.store.damages()))) or "none",
        "quarantined": len(archive.quarantine.waiting()),
        "failing": len(archive.catalog.failures.latest(limit=1_000)),
    }
