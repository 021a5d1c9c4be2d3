"""Replays: entries that are sent again on request, whether they were sent or given up."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, bindparam, select, update

from feedweir.catalog import deliveries, rhythms, tables
from feedweir.catalog.rows import chunks

_outbox = tables.outbox
_subscription = tables.subscription
_SETTLED = ("dead", "sent")
AGAIN = "again"
"""In an entry's payload: how often it was sent and then replayed."""


def replay(
    connection: Connection,
    now: datetime,
    subscription_id: int | None,
    ids: Sequence[int] | None,
    since: datetime | None,
    until: datetime | None,
) -> int:
    """Make settled entries pending again; how many.

    Those of these numbers and those settled in this time whatever became of them; with neither, all dead ones.
    """
    query = select(_outbox.c.id).join(_subscription, _subscription.c.id == _outbox.c.subscription_id)
    query = query.where(_subscription.c.status != "dropped", *_chosen(ids, since, until))
    if subscription_id is not None:
        query = query.where(_outbox.c.subscription_id == subscription_id)
    found = set(connection.execute(query).scalars())
    rows = _locked(connection, sorted(found if ids is None else found & set(ids)))
    _make_pending(connection, rows, now)
    rhythms.wake(connection, {row.subscription_id for row in rows}, now)
    deliveries.append(connection, [deliveries.line(row, "replayed", "", now, row.reason) for row in rows])
    return len(rows)


def _chosen(
    ids: Sequence[int] | None, since: datetime | None, until: datetime | None
) -> list[ColumnElement[bool]]:
    if ids is None and since is None and until is None:
        return [_outbox.c.state == "dead"]
    conditions: list[ColumnElement[bool]] = [_outbox.c.state.in_(_SETTLED)]
    conditions += [_outbox.c.settled_at >= since] if since is not None else []
    conditions += [_outbox.c.settled_at < until] if until is not None else []
    return conditions


def _locked(connection: Connection, ids: Sequence[int]) -> list[Any]:
    rows: list[Any] = []
    for chunk in chunks(ids):
        query: Select[Any] = select(_outbox).where(_outbox.c.id.in_(chunk), _outbox.c.state.in_(_SETTLED))
        rows += connection.execute(query.order_by(_outbox.c.id).with_for_update())
    return rows


def _make_pending(connection: Connection, rows: Sequence[Any], now: datetime) -> None:
    values = {"state": "pending", "attempts": 0, "due_at": now, "worker": "", "settled_at": None}
    statement = update(_outbox).where(_outbox.c.id == bindparam("entry"))
    changes = [{"entry": row.id, "said": _payload(row)} for row in rows]
    for chunk in chunks(changes):
        connection.execute(statement.values(**values, payload=bindparam("said")), chunk)


def _payload(row: Any) -> dict[str, Any]:
    """With a count of replays: a receiver that remembers keys accepts the entry only under another key."""
    if row.state != "sent":
        return dict(row.payload)
    return {**row.payload, AGAIN: row.payload.get(AGAIN, 0) + 1}
