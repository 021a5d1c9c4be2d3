"""`feedweir feeds`, `items` and `status`: look at what is there."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from feedweir.cli.context import NEEDS_ATTENTION, Owner, bounds_in, context_of, owner_in, show_rows
from feedweir.keeper.questions import row_of
from feedweir.keeper.service_note import signs_from_outside
from feedweir.keeper.standstill import Signs, Verdict, judged
from feedweir.keeper.weir import Weir

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON array.")]


def add_to(app: typer.Typer) -> None:
    for command in (feeds, items, status):
        app.command()(command)


def feeds(context: typer.Context, owner: Owner = "", as_json: AsJson = False) -> None:
    """List sources and virtual feeds with their counts and failures.

    `hits`, `candidates` (how often the matcher had to look at a feed: what it costs) and `last hit` are counted
    a little behind `items`.
    """
    with context_of(context).weir() as weir:
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
            for feed in weir.shelves.feeds(owner=owner_in(owner))
        ]
    columns = ("name", "kind", "owner", "items", "last", "hits", "candidates", "last hit", "failure")
    show_rows(rows, columns, as_json=as_json)


def items(
    context: typer.Context,
    feed: Annotated[str, typer.Argument(help="A source or virtual feed.")],
    limit: Annotated[int, typer.Option(min=1, help="How many, newest first.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List the newest items of a feed."""
    with context_of(context).weir() as weir:
        rows = [row_of(item) for item in weir.items(feed, limit)]
    show_rows(rows, ("time", "source", "title", "link"), as_json=as_json)


def status(context: typer.Context, as_json: AsJson = False) -> None:
    """Show how far the pipeline is, what waits, what fails and what stands still; exit code 4 when something does."""
    given = context_of(context)
    with given.weir() as weir:
        signs = signs_from_outside(weir.directory.root, weir.log, weir.store)
        verdict = judged(signs, weir.clock(), bounds_in(given.settings()))
        facts = {**_facts(weir), **_movement(signs, verdict)}
    rows = [{"what": what, "value": value} for what, value in facts.items()]
    show_rows(rows, ("what", "value"), as_json=as_json)
    if verdict.troubles:
        raise typer.Exit(NEEDS_ATTENTION)


def _movement(signs: Signs, verdict: Verdict) -> dict[str, Any]:
    return {
        "running since": signs.started or ("yes" if signs.is_running else "not running"),
        "waiting since": signs.waiting_since,
        "restarts in a row": signs.restarts,
        "last error": signs.failed.error if signs.failed else None,
        "standing still": "; ".join(verdict.sentences()) or None,
    }


def _facts(weir: Weir) -> dict[str, Any]:
    manifests = weir.store.manifests()
    counted = weir.catalog.statistics.feeds()
    landed, published = weir.log.latest(), weir.store.latest()
    return {
        "data directory": str(weir.directory.root),
        "sources": len(weir.catalog.feeds.all(kind="source")),
        "virtual feeds": len(weir.catalog.feeds.all(kind="virtual")),
        "definitions version": weir.catalog.feeds.version(),
        "landed segments": landed,
        "segments waiting": landed - published,
        "items": sum(manifest.item_count for manifest in manifests),
        "elements": sum(manifest.element_count for manifest in manifests),
        "hits counted": sum(one.hits for one in counted),
        "candidates counted": sum(one.candidates for one in counted),
        "last hit": max((one.last_hit_at for one in counted if one.last_hit_at), default=None),
        "outbox": dict(sorted(weir.catalog.outbox.counts().items())),
        "damaged files": ", ".join(sorted(map(str, weir.store.damages()))) or "none",
        "set aside": len(weir.quarantine.waiting()),
        "failing": len(weir.catalog.failures.latest(limit=1_000)),
    }
