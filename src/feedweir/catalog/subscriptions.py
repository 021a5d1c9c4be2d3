"""Subscriptions: who wants which feed, by which channel, and where each stands in its schedule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, insert, select, update

from feedweir.catalog import history, names, outbox, tables
from feedweir.catalog.columns import microseconds, moment, storable
from feedweir.catalog.database import Database
from feedweir.catalog.records import (
    Change,
    NewSubscription,
    Rhythm,
    SubscriptionRecord,
    SubscriptionStatus,
)
from feedweir.catalog.rows import existing, take_numbers, upsert_all
from feedweir.errors import CatalogError

_subscription = tables.subscription
_rhythm = tables.rhythm


class Subscriptions:
    """Every subscription; each change of one is a version, like a change of a feed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, new: NewSubscription) -> int:
        """Subscribe to a feed; returns the subscription's number."""
        return self._database.write(lambda connection: _add(connection, new))

    def replace(self, id_: int, new: NewSubscription) -> None:
        """Change a subscription; its number, its outbox and its log stay."""
        self._database.write(lambda connection: _replace(connection, id_, new))

    def set_status(self, id_: int, status: SubscriptionStatus, now: datetime) -> None:
        """Pause, resume or drop. What waits for a paused one keeps waiting; for a dropped one it is dead."""
        self._database.write(lambda connection: _set_status(connection, id_, status, now))

    def with_id(self, id_: int) -> SubscriptionRecord:
        return self._database.read(lambda connection: _one(connection, id_))

    def all(
        self, *, feed: str | None = None, owner: str | None = None, with_dropped: bool = False
    ) -> tuple[SubscriptionRecord, ...]:
        """Subscriptions in the order they were made."""
        query = select(_subscription).order_by(_subscription.c.id)
        if owner is not None:
            query = query.where(_subscription.c.owner == owner)
        if not with_dropped:
            query = query.where(_subscription.c.status != "dropped")

        def read(connection: Connection) -> tuple[SubscriptionRecord, ...]:
            of_feed = () if feed is None else (_subscription.c.feed_id == names.id_of(connection, feed),)
            rows = connection.execute(query.where(*of_feed))
            return tuple(SubscriptionRecord(**row._mapping) for row in rows)

        return self._database.read(read)

    def as_of(self, version: int) -> tuple[SubscriptionRecord, ...]:
        """The subscriptions that a batch of this version delivers to, paused ones included."""
        return self._database.read(
            lambda connection: tuple(map(_from_change, history.subscription_changes(connection, version)))
        )

    def rhythm(self, id_: int) -> Rhythm:
        """Where a subscription stands in its schedule; a new one has not begun."""
        query = select(_rhythm).where(_rhythm.c.subscription_id == id_)
        row = self._database.read(lambda connection: connection.execute(query).one_or_none())
        return Rhythm(subscription_id=id_) if row is None else Rhythm(**row._mapping)

    def due(self, now: datetime, limit: int) -> tuple[Rhythm, ...]:
        """Active subscriptions whose next time has come, those that wait longest first."""
        query = (
            select(_rhythm)
            .join(_subscription, _subscription.c.id == _rhythm.c.subscription_id)
            .where(_rhythm.c.next_due_at <= now, _subscription.c.status == "active")
            .order_by(_rhythm.c.next_due_at, _rhythm.c.subscription_id)
            .limit(limit)
        )
        rows = self._database.read(lambda connection: connection.execute(query).all())
        return tuple(Rhythm(**row._mapping) for row in rows)

    def hold_rhythms(self, ids: Sequence[int]) -> dict[int, Rhythm]:
        """Where living subscriptions stand, held: others who ask for these wait until our transaction ends."""
        return self._database.write(lambda connection: _hold_rhythms(connection, ids))

    def save_rhythms(self, rhythms: Sequence[Rhythm]) -> None:
        """Remember where subscriptions stand in their schedules; this is not a version."""
        self._database.write(lambda connection: save_rhythms(connection, rhythms))


def _hold_rhythms(connection: Connection, ids: Sequence[int]) -> dict[int, Rhythm]:
    living = existing(connection, _subscription.c.id, ids, _subscription.c.status != "dropped")
    new = [asdict(Rhythm(subscription_id=id_)) for id_ in sorted(living)]
    if new:
        upsert_all(connection, _rhythm, new, ["subscription_id"], None)
    query = select(_rhythm).where(_rhythm.c.subscription_id.in_(sorted(living)))
    rows = connection.execute(query.order_by(_rhythm.c.subscription_id).with_for_update())
    return {row.subscription_id: Rhythm(**row._mapping) for row in rows}


def save_rhythms(connection: Connection, rhythms: Sequence[Rhythm]) -> None:
    last = {rhythm.subscription_id: rhythm for rhythm in rhythms}
    rows = [asdict(last[id_]) for id_ in sorted(last)]
    upsert_all(connection, _rhythm, rows, ["subscription_id"], ["next_due_at", "last_sent_at", "state"])


def _add(connection: Connection, new: NewSubscription) -> int:
    version = history.next_version(connection)
    id_ = take_numbers(connection, "resource", 1)[0]
    record = _record(connection, id_, new, version, new.created_at, "active")
    connection.execute(insert(_subscription), asdict(record))
    history.record(connection, (_change(version, "create", record),))
    return id_


def _replace(connection: Connection, id_: int, new: NewSubscription) -> None:
    version = history.next_version(connection)
    before = _living(connection, id_)
    record = _record(connection, id_, new, version, before.created_at, before.status)
    _save(connection, record)
    history.record(connection, (_change(version, "replace", record),))


def _set_status(connection: Connection, id_: int, status: SubscriptionStatus, now: datetime) -> None:
    version = history.next_version(connection)
    values = asdict(_living(connection, id_)) | {"status": status, "version": version}
    record = SubscriptionRecord(**values)
    _save(connection, record)
    history.record(connection, (_change(version, "drop" if status == "dropped" else "replace", record),))
    if status == "dropped":
        outbox.give_up(connection, id_, now, "the subscription was dropped")


def _save(connection: Connection, record: SubscriptionRecord) -> None:
    values = asdict(record)
    connection.execute(update(_subscription).where(_subscription.c.id == values.pop("id")).values(values))


def _record(
    connection: Connection,
    id_: int,
    new: NewSubscription,
    version: int,
    created_at: datetime,
    status: SubscriptionStatus,
) -> SubscriptionRecord:
    values = asdict(new) | {"created_at": created_at}
    feed_id = names.id_of(connection, values.pop("feed"))
    for what in ("statement", "channel", "target", "owner"):
        storable(values[what], f"the subscription's {what}")
    return SubscriptionRecord(id=id_, feed_id=feed_id, status=status, version=version, **values)


def _one(connection: Connection, id_: int) -> SubscriptionRecord:
    row = connection.execute(select(_subscription).where(_subscription.c.id == id_)).one_or_none()
    if row is None:
        raise CatalogError(f"there is no subscription {id_}")
    return SubscriptionRecord(**row._mapping)


def _living(connection: Connection, id_: int) -> SubscriptionRecord:
    record = _one(connection, id_)
    if record.status == "dropped":
        raise CatalogError(f"subscription {id_} was dropped", hint="subscribe again")
    return record


def _change(version: int, action: Any, record: SubscriptionRecord) -> Change:
    detail = asdict(record) | {"created_at": microseconds(record.created_at)}
    for said in ("id", "version", "statement"):
        del detail[said]
    return Change(version, record.id, action, "subscription", "", record.statement, detail)


def _from_change(change: Change) -> SubscriptionRecord:
    detail = dict(change.detail)
    created_at = moment(detail.pop("created_at"))
    return SubscriptionRecord(
        id=change.id, version=change.version, statement=change.statement, created_at=created_at, **detail
    )
