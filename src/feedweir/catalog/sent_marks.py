"""Deleting old entries of the outbox; sixteen bytes remain of each, so that its element is never sent again.

A source may show an item again after years, as an edit, and the batch that holds it offers it to its subscriptions like
any other. The marks answer for the entries that are no longer there.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from hashlib import blake2b
from itertools import groupby
from operator import attrgetter
from typing import Any

from sqlalchemy import Connection, delete, select

from feedweir.catalog import tables
from feedweir.catalog.column_types import storable_key
from feedweir.catalog.records import NewEntry
from feedweir.catalog.rows import CHUNK, chunks, upsert_all

_outbox = tables.outbox
_subscription = tables.subscription
_forgotten = tables.forgotten


def forget_sent(connection: Connection, before: datetime, most: int = CHUNK) -> int:
    """Delete entries sent before then, at most `most`; returns how many."""
    query = select(_outbox.c.id, _outbox.c.subscription_id, _outbox.c.element_key, _subscription.c.status)
    query = query.join(_subscription, _subscription.c.id == _outbox.c.subscription_id)
    query = query.where(_outbox.c.state == "sent", _outbox.c.settled_at < before).limit(most)
    rows = connection.execute(query.order_by(_outbox.c.settled_at).with_for_update(of=_outbox)).all()
    marks = [_mark_row(row) for row in rows if row.status != "dropped"]
    if marks:
        upsert_all(connection, _forgotten, marks, ["subscription_id", "mark"], None)
    connection.execute(delete(_outbox).where(_outbox.c.id.in_([row.id for row in rows])))
    return len(rows)


def forget_given_up(connection: Connection, before: datetime, most: int = CHUNK) -> int:
    """Delete dead letters of dropped subscriptions from before then, at most `most`: none can be replayed."""
    query = select(_outbox.c.id).join(_subscription, _subscription.c.id == _outbox.c.subscription_id)
    query = query.where(_subscription.c.status == "dropped", _outbox.c.state == "dead")
    ids = connection.execute(query.where(_outbox.c.settled_at < before).limit(most)).scalars().all()
    connection.execute(delete(_outbox).where(_outbox.c.id.in_(ids)))
    return len(ids)


def forget_dropped(connection: Connection) -> int:
    """Delete the marks of dropped subscriptions, to which nothing is sent; returns how many."""
    dropped = select(_subscription.c.id).where(_subscription.c.status == "dropped")
    return connection.execute(
        delete(_forgotten).where(_forgotten.c.subscription_id.in_(dropped.scalar_subquery()))
    ).rowcount


def not_forgotten(connection: Connection, entries: Sequence[NewEntry]) -> Sequence[NewEntry]:
    """The entries without those that only the marks know as sent."""
    known = _with_marks(connection, {entry.subscription_id for entry in entries})
    if not known:
        return entries
    marked = [entry for entry in entries if entry.subscription_id in known]
    refused: set[tuple[int, str]] = set()
    by_subscription = attrgetter("subscription_id")
    for id_, group in groupby(sorted(marked, key=by_subscription), key=by_subscription):
        keys = {mark_of(storable_key(entry.element_key)): entry.element_key for entry in group}
        refused.update((id_, keys[mark]) for mark in _found(connection, id_, sorted(keys)))
    return [entry for entry in entries if (entry.subscription_id, entry.element_key) not in refused]


def mark_of(stored_key: str) -> int:
    """A 64-bit number, the same on every machine."""
    digest = blake2b(stored_key.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def _mark_row(row: Any) -> dict[str, int]:
    return {"subscription_id": row.subscription_id, "mark": mark_of(row.element_key)}


def _with_marks(connection: Connection, ids: set[int]) -> set[int]:
    """The subscriptions that have marks: usually none, and then no other query is needed."""
    found: set[int] = set()
    for chunk in chunks(sorted(ids)):
        has_marks = (
            select(_forgotten.c.mark).where(_forgotten.c.subscription_id == _subscription.c.id).exists()
        )
        query = select(_subscription.c.id).where(_subscription.c.id.in_(chunk), has_marks)
        found.update(connection.execute(query).scalars())
    return found


def _found(connection: Connection, subscription_id: int, marks: Sequence[int]) -> list[int]:
    found: list[int] = []
    for chunk in chunks(marks):
        query = select(_forgotten.c.mark).where(_forgotten.c.subscription_id == subscription_id)
        found += connection.execute(query.where(_forgotten.c.mark.in_(chunk))).scalars()
    return found
