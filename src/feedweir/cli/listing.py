"""`feedweir feeds`, `items` and `status`: look at what is there."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from feedweir.cli.context import Owner, context_of, owner_in, show_rows
from feedweir.keeper.questions import row_of
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
    """Show how far the pipeline is, what waits, and what fails."""
    with context_of(context).weir() as weir:
        rows = [{"what": what, "value": value} for what, value in _facts(weir).items()]
    show_rows(rows, ("what", "value"), as_json=as_json)


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
        "failing": len(weir.catalog.failures.latest(limit=1_000)),
    }
