"""Rows of tables that no task writes: what a manifest says of its batch and of its sources, and the delivery log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa

from feedweir.catalog import Definition
from feedweir.logs.batches import Manifest
from feedweir.logs.store import Store
from feedweir.tables.table_kinds import BATCHES, DELIVERIES, FEEDS, SOURCES


def batch_rows(store: Store, manifests: Iterable[Manifest], committed: Mapping[int, datetime]) -> pa.Table:
    """A row for each batch; `committed` says by batch when the catalog had it."""
    rows = [
        {
            "batch": one.upto,
            "after": one.after,
            "version": one.version,
            "committed": committed.get(one.upto),
            "documents": told.documents,
            "items": one.item_count,
            "elements": one.element_count,
            "sources": len(told.names),
            "failures": len(told.failures()),
            "tasks": one.tasks,
            "epoch": one.epoch,
            "merged": one.batches,
            "doubts": list(one.doubts),
        }
        for one in manifests
        for told in [store.reports(one)]
    ]
    return pa.Table.from_pylist(rows, schema=BATCHES.schema)


def source_rows(store: Store, manifests: Iterable[Manifest]) -> pa.Table:
    """A row for each source that had documents in a batch, with what the batch learned of it."""
    rows = [
        {
            "batch": one.upto,
            "source": source,
            "documents": report.documents,
            "sightings": report.sightings,
            "items": report.items,
            "revisions": report.revisions,
            "failure": report.failure,
            "arrived": datetime.fromisoformat(report.arrived) if report.arrived else None,
            "is_new": report.is_new,
            "title": (report.description or {}).get("title", ""),
            "link": (report.description or {}).get("link", ""),
        }
        for one in manifests
        for source, report in store.reports(one).by_source().items()
    ]
    return pa.Table.from_pylist(rows, schema=SOURCES.schema)


def feed_rows(definitions: Iterable[Definition], before: pa.Table) -> pa.Table:
    """A row for each feed, by id; those that were there before and are no more are marked as dropped."""
    rows = {one["feed"]: {**one, "dropped": True} for one in before.to_pylist()}
    for one in definitions:
        values = {"feed": one.id, "name": one.name, "kind": one.kind, "statement": one.statement}
        rows[one.id] = {**values, "dropped": False}
    return pa.Table.from_pylist([rows[feed] for feed in sorted(rows)], schema=FEEDS.schema)


def delivery_rows(lines: Sequence[Mapping[str, Any]]) -> pa.Table:
    """A row for each line of the delivery log."""
    rows = [
        {
            "id": one["id"],
            "subscription": one["subscription_id"],
            "owner": one["owner"],
            "channel": one["channel"],
            "entry": one["outbox_id"],
            "feed": (one["payload"] or {}).get("feed"),
            "seq": (one["payload"] or {}).get("seq"),
            "at": one["at"],
            "outcome": one["outcome"],
            "attempt": one["attempt"],
            "reason": one["reason"],
        }
        for one in lines
    ]
    return pa.Table.from_pylist(rows, schema=DELIVERIES.schema)
