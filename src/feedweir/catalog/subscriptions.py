"""Subscriptions: who wants which feed, by which channel, and where each stands in its schedule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Text, insert, select, tuple_, update

from feedweir.catalog import history, names, outbox, rhythms, tables
from feedweir.catalog.column_types import canonical_json, microseconds, storable
from feedweir.catalog.database import Database
from feedweir.catalog.names import is_theirs
from feedweir.catalog.records import (
    Change,
    NewSubscription,
    Rhythm,
    SubscriptionRecord,
    SubscriptionStatus,
)
from feedweir.catalog.rows import CHUNK, chunks, take_numbers
from feedweir.channel_kinds import CHANNEL_KINDS
from feedweir.errors import CatalogError

_subscription = tables.subscription
_FETCHED = tuple(kind.name for kind in CHANNEL_KINDS.values() if not kind.is_sent)


class Reader(NamedTuple):
    """An active subscription that entries are sent to."""

    feed: int
    subscription: int
    channel: str
    wants_backlog: bool = False


class Subscriptions:
    """All subscriptions. Each change makes a version, as changes of feeds do."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, new: NewSubscription) -> int:
        """Subscribe to a feed; returns the subscription's number."""
        return self._database.write(lambda connection: _add(connection, new))

    def replace(self, id_: int, new: NewSubscription) -> None:
        """Change a subscription; its number, outbox and log stay."""
        self._database.write(lambda connection: _replace(connection, id_, new))

    def set_status(self, id_: int, status: SubscriptionStatus, now: datetime) -> None:
        """Pause, resume or drop. The entries of a paused one wait; those of a dropped one are given up."""
        self._database.write(lambda connection: _set_status(connection, id_, status, now))

    def with_id(self, id_: int) -> SubscriptionRecord:
        return self._database.read(lambda connection: _one(connection, id_))

    def named(self, name: str, *, with_dropped: bool = False) -> SubscriptionRecord | None:
        """The subscription with this name, or else with this number, unless it was dropped.

        With dropped ones, the last that was dropped where none lives.
        """

        def read(connection: Connection) -> SubscriptionRecord | None:
            found = _named(connection, name, _subscription.c.status != "dropped")
            if found is None and with_dropped:
                found = _named(connection, name, _subscription.c.status == "dropped")
            return found

        return self._database.read(read)

    def all(
        self,
        *,
        feed: str | None = None,
        owner: str | None = None,
        with_dropped: bool = False,
        after: int = 0,
        limit: int | None = None,
    ) -> tuple[SubscriptionRecord, ...]:
        """Subscriptions by number, all or those that concern an owner."""
        query = (
            select(_subscription).where(_subscription.c.id > after).order_by(_subscription.c.id).limit(limit)
        )
        if owner is not None:
            query = query.where(is_theirs(_subscription.c.owner, owner))
        if not with_dropped:
            query = query.where(_subscription.c.status != "dropped")

        def read(connection: Connection) -> tuple[SubscriptionRecord, ...]:
            of_feed = () if feed is None else (_subscription.c.feed_id == names.id_of(connection, feed),)
            rows = connection.execute(query.where(*of_feed))
            return tuple(SubscriptionRecord(**row._mapping) for row in rows)

        return self._database.read(read)

    def to_deliver(self, feed_ids: Iterable[int]) -> Iterator[Reader]:
        """The active subscriptions to these feeds that entries are sent to (a stream is fetched), by feed.

        However many there are, only some are held at a time.
        """
        for chunk in chunks(self._with_readers(sorted(set(feed_ids)))):
            page = self._readers(chunk, (0, 0))
            while page:
                yield from page
                page = self._readers(chunk, page[-1][:2]) if len(page) == CHUNK else []

    def _with_readers(self, feed_ids: Sequence[int]) -> Sequence[int]:
        """The feeds that may have readers. A batch may be in a hundred thousand feeds that nobody subscribes to: where
        there are fewer subscriptions than feeds, feeds are looked for among those."""
        of = _subscription.c.feed_id
        near = of.between(min(feed_ids, default=0), max(feed_ids, default=0))
        query = select(of).where(near).order_by(of).limit(len(feed_ids))
        found = self._database.read(lambda one: one.execute(query).scalars().all())
        return feed_ids if len(found) == len(feed_ids) else sorted(set(found).intersection(feed_ids))

    def _readers(self, feed_ids: Sequence[int], after: tuple[int, int]) -> list[Reader]:
        """Some readers after this (feed, subscription), in a query of their own, so that no writer waits for long."""
        of, id_ = _subscription.c.feed_id, _subscription.c.id
        columns = (of, id_, _subscription.c.channel, _subscription.c.options)
        query = select(*columns).where(of.in_(feed_ids), tuple_(of, id_) > after)
        query = query.where(_subscription.c.status == "active", _subscription.c.channel.not_in(_FETCHED))
        query = query.order_by(of, id_).limit(CHUNK)
        rows = self._database.read(lambda one: one.execute(query).all())
        return [Reader(row[0], row[1], row[2], bool(row[3].get("backlog"))) for row in rows]

    def rhythm(self, id_: int) -> Rhythm:
        """Where a subscription stands in its schedule."""
        return self._database.read(lambda connection: rhythms.of(connection, id_))

    def due(self, now: datetime, rooms: Mapping[str, int]) -> tuple[int, ...]:
        """Up to this many due subscriptions of each channel, longest waiting first."""
        return self._database.read(lambda connection: rhythms.due(connection, now, rooms))

    def hold(
        self, ids: Iterable[int], *, due_at: datetime | None = None
    ) -> dict[int, tuple[SubscriptionRecord, Rhythm]]:
        """Subscriptions that are not dropped, with their rhythms, locked until our transaction ends.

        With `due_at`, only those that are active and due then, and that nobody else holds.
        """
        return self._database.write(lambda connection: rhythms.hold(connection, ids, due_at))

    def save_rhythms(self, changed: Sequence[Rhythm]) -> None:
        """Record where subscriptions stand in their schedules; this makes no version."""
        self._database.write(lambda connection: rhythms.save(connection, changed))


def _add(connection: Connection, new: NewSubscription) -> int:
    version = history.next_version(connection)
    id_ = take_numbers(connection, "resource", 1)[0]
    record = _record(connection, id_, new, version, new.created_at, "active")
    connection.execute(insert(_subscription), asdict(record))
    rhythms.begin(connection, id_, record.channel)
    history.record(connection, (_change(version, "create", record),))
    return id_


def _replace(connection: Connection, id_: int, new: NewSubscription) -> None:
    version = history.next_version(connection)
    before = _living(connection, id_)
    record = _record(connection, id_, new, version, before.created_at, before.status)
    _save(connection, record)
    rhythms.begin(connection, id_, record.channel)
    rhythms.wake(connection, [id_], new.created_at)
    history.record(connection, (_change(version, "replace", record),))


def _set_status(connection: Connection, id_: int, status: SubscriptionStatus, now: datetime) -> None:
    version = history.next_version(connection)
    values = asdict(_living(connection, id_)) | {"status": status, "version": version}
    record = SubscriptionRecord(**values)
    _save(connection, record)
    history.record(connection, (_change(version, "drop" if status == "dropped" else "replace", record),))
    if status == "active":
        rhythms.wake(connection, [id_], now)
    else:
        rhythms.rest(connection, id_)
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


def _named(connection: Connection, name: str, which: ColumnElement[bool]) -> SubscriptionRecord | None:
    """The last of these with this name, or the one with this number."""
    these = select(_subscription).where(which)
    # Options are JSON in one spelling: a name stands in them in this way only.
    spelled = f'"name":{canonical_json(name)}'
    query = these.where(_subscription.c.options.cast(Text).contains(spelled, autoescape=True))
    for row in connection.execute(query.order_by(_subscription.c.version.desc())):
        if row.options.get("name") == name:
            return SubscriptionRecord(**row._mapping)
    if not (name.isascii() and name.isdigit() and len(name) < 19):
        return None
    numbered = connection.execute(these.where(_subscription.c.id == int(name))).one_or_none()
    return None if numbered is None else SubscriptionRecord(**numbered._mapping)


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
