"""Where subscriptions stand in their schedules, and which are due. This is the only place where senders find work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, select, update

from feedweir.catalog import tables
from feedweir.catalog.records import Rhythm, SubscriptionRecord
from feedweir.catalog.rows import chunks, upsert_all

_rhythm = tables.rhythm
_subscription = tables.subscription
_FIELDS = tuple(field.name for field in fields(Rhythm))
_RECORD = tuple(column.name for column in _subscription.columns)


def begin(connection: Connection, id_: int, channel: str) -> None:
    """Record a new subscription, or a new channel of an existing one."""
    row = _row(Rhythm(subscription_id=id_, channel=channel))
    upsert_all(connection, _rhythm, [row], ["subscription_id"], ["channel"])


def hear(connection: Connection, arrivals: Mapping[int, datetime]) -> None:
    """Entries arrived that may be sent from these times on: their subscriptions are due, unless only time matters."""
    waits = _rhythm.c.next_due_at.is_(None)
    for at, ids in _by_time(arrivals):
        later = (_rhythm.c.next_due_at > at) & (_rhythm.c.hears == 1)
        _make_due(connection, ids, at, waits | later)


def wake(connection: Connection, ids: Iterable[int], at: datetime) -> None:
    """Mark subscriptions as due because something else about them changed."""
    _make_due(connection, ids, at, _rhythm.c.next_due_at.is_(None) | (_rhythm.c.next_due_at > at))


def rest(connection: Connection, id_: int) -> None:
    """A subscription is not due until it is woken."""
    connection.execute(update(_rhythm).where(_rhythm.c.subscription_id == id_).values(next_due_at=None))


def due(connection: Connection, now: datetime, rooms: Mapping[str, int]) -> tuple[int, ...]:
    """Up to this many due subscriptions of each channel, longest waiting first."""
    found: list[tuple[datetime, int]] = []
    for channel, room in sorted(rooms.items()):
        query = select(_rhythm.c.next_due_at, _rhythm.c.subscription_id)
        query = query.where(_rhythm.c.channel == channel, _rhythm.c.next_due_at <= now)
        query = query.order_by(_rhythm.c.next_due_at, _rhythm.c.subscription_id).limit(room)
        found += [(at, id_) for at, id_ in connection.execute(query)] if room > 0 else []
    return tuple(id_ for _, id_ in sorted(found))


def hold(
    connection: Connection, ids: Iterable[int], due_at: datetime | None
) -> dict[int, tuple[SubscriptionRecord, Rhythm]]:
    """Subscriptions that are not dropped, locked until our transaction ends.

    With `due_at`, only those that are active and due then, and that nobody else holds; the others are waited for.
    """
    found: dict[int, tuple[SubscriptionRecord, Rhythm]] = {}
    for chunk in chunks(sorted(set(ids))):
        for row in connection.execute(_held(chunk, due_at)):
            values = row._mapping
            record = SubscriptionRecord(**{name: values[_subscription.c[name]] for name in _RECORD})
            found[record.id] = (record, _from(row))
    return found


def _held(ids: Sequence[int], due_at: datetime | None) -> Select[Any]:
    query = select(_subscription, _rhythm).join(_rhythm, _rhythm.c.subscription_id == _subscription.c.id)
    query = query.where(_rhythm.c.subscription_id.in_(ids)).order_by(_rhythm.c.subscription_id)
    if due_at is None:
        return query.where(_subscription.c.status != "dropped").with_for_update(of=_rhythm)
    query = query.where(_subscription.c.status == "active", _rhythm.c.next_due_at <= due_at)
    return query.with_for_update(of=_rhythm, skip_locked=True)


def save(connection: Connection, rhythms: Iterable[Rhythm]) -> None:
    """Record where subscriptions stand; the last rhythm of each counts."""
    last = {rhythm.subscription_id: rhythm for rhythm in rhythms}
    rows = [_row(last[id_]) for id_ in sorted(last)]
    if rows:
        kept = ["next_due_at", "last_sent_at", "state", "hears"]
        upsert_all(connection, _rhythm, rows, ["subscription_id"], kept)


def of(connection: Connection, id_: int) -> Rhythm:
    row = connection.execute(select(_rhythm).where(_rhythm.c.subscription_id == id_)).one_or_none()
    return Rhythm(subscription_id=id_) if row is None else _from(row)


def _make_due(connection: Connection, ids: Iterable[int], at: datetime, which: Any) -> None:
    for chunk in chunks(sorted(set(ids))):
        active = select(_subscription.c.id).where(
            _subscription.c.id.in_(chunk), _subscription.c.status == "active"
        )
        statement = update(_rhythm).where(_rhythm.c.subscription_id.in_(active), which)
        connection.execute(statement.values(next_due_at=at))


def _by_time(arrivals: Mapping[int, datetime]) -> list[tuple[datetime, list[int]]]:
    by_time: dict[datetime, list[int]] = {}
    for id_, at in arrivals.items():
        by_time.setdefault(at, []).append(id_)
    return sorted(by_time.items())


def _row(rhythm: Rhythm) -> dict[str, Any]:
    return {**asdict(rhythm), "hears": int(rhythm.hears)}


def _from(row: Row[Any]) -> Rhythm:
    values = {name: row._mapping[_rhythm.c[name]] for name in _FIELDS}
    return Rhythm(**{**values, "hears": bool(values["hears"])})
