"""The outbox: deliveries to be made, each once.

An entry is `pending`, then `claimed` by a sender for the length of a lease, then `sent`, `failed` (and due
again) or `dead`. A sender that dies loses its lease, and another takes the entry. Which subscriptions have something
due is not asked here but of their rhythms, which every change of the outbox keeps up to date.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, func, select, update

from feedweir.catalog import deliveries, replays, rhythms, sent_marks, tables
from feedweir.catalog.column_types import storable_key
from feedweir.catalog.database import Database
from feedweir.catalog.records import Entry, EntryOutcome, EntryState, NewEntry, Waiting
from feedweir.catalog.rows import chunks, existing, take_numbers, upsert_all

_outbox = tables.outbox
_subscription = tables.subscription
_NEVER = datetime.max.replace(tzinfo=UTC)


class Outbox:
    """Senders claim entries, send them and settle them; any number of senders may do so at once."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def insert(self, entries: Sequence[NewEntry], now: datetime) -> int:
        """Add new entries; returns how many. Batches do this as part of their commit."""
        return self._database.write(lambda connection: insert(connection, entries, now))

    def claim(
        self,
        limit: int,
        *,
        worker: str,
        now: datetime,
        lease_s: float,
        channel: str | None = None,
        subscription_id: int | None = None,
        ids: Sequence[int] | None = None,
    ) -> tuple[Entry, ...]:
        """Claim up to `limit` due entries of active subscriptions for `lease_s` seconds, oldest first.

        With `ids`, only those that are among them: at most `rows.CHUNK`.
        """
        query = _due(now, channel, subscription_id).limit(limit)
        if ids is not None:
            query = query.where(_outbox.c.id.in_(ids))
        until = now + timedelta(seconds=lease_s)
        return self._database.write(lambda connection: _claim(connection, query, worker, until))

    def renew(self, ids: Sequence[int], *, worker: str, now: datetime, lease_s: float) -> tuple[int, ...]:
        """Extend the lease of claimed entries. Returns those that are still ours: the others must not be sent."""
        until = now + timedelta(seconds=lease_s)
        return self._database.write(lambda connection: _renew(connection, ids, worker, until))

    def release(self, ids: Sequence[int], *, worker: str, now: datetime) -> None:
        """Give claimed entries back without an attempt, as when stopping."""
        self._database.write(lambda connection: _release(connection, ids, worker, now))

    def settle(self, outcomes: Sequence[EntryOutcome], *, worker: str, now: datetime) -> tuple[int, ...]:
        """Record the results of entries, also in the delivery log. Returns the entries for which they were accepted.

        That something was sent is a fact, and accepted even after the lease was lost; that it failed is
        accepted only from the sender that holds it.
        """
        return self._database.write(lambda connection: _settle(connection, outcomes, worker, now))

    def replay(
        self,
        *,
        now: datetime,
        subscription_id: int | None = None,
        ids: Sequence[int] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> int:
        """Make entries pending again; returns how many: all dead ones, or, dead or sent, those of these numbers and
        those settled in this time."""
        return self._database.write(
            lambda connection: replays.replay(connection, now, subscription_id, ids, since, until)
        )

    def entries(
        self,
        *,
        subscription_id: int | None = None,
        state: EntryState | None = None,
        after: int = 0,
        limit: int | None = 1_000,
    ) -> tuple[Entry, ...]:
        """Entries by number, from the one after `after`."""
        query = select(_outbox).where(_outbox.c.id > after).order_by(_outbox.c.id).limit(limit)
        if subscription_id is not None:
            query = query.where(_outbox.c.subscription_id == subscription_id)
        if state is not None:
            query = query.where(_outbox.c.state == state)
        rows = self._database.read(lambda connection: connection.execute(query).all())
        return tuple(Entry(**row._mapping) for row in rows)

    def waiting(self, ids: Sequence[int], now: datetime) -> dict[int, Waiting]:
        """What is due for these subscriptions; those with nothing due are left out."""
        query = select(_outbox.c.subscription_id, func.count(), func.min(_outbox.c.created_at))
        query = query.where(_outbox.c.due_at <= now).group_by(_outbox.c.subscription_id)
        found: dict[int, Waiting] = {}
        for chunk in chunks(sorted(set(ids))):
            of_these = query.where(_outbox.c.subscription_id.in_(chunk))
            rows = self._database.read(lambda connection, asked=of_these: connection.execute(asked).all())  # type: ignore[misc]
            found.update((row[0], Waiting(*row)) for row in rows)
        return found

    def with_ids(self, ids: Sequence[int]) -> tuple[Entry, ...]:
        """The entries with these numbers, in order; missing ones are left out."""
        rows = self._database.read(lambda connection: _numbered(connection, ids))
        return tuple(Entry(**row._mapping) for row in rows)

    def of_elements(self, subscription_ids: Iterable[int], element_keys: Sequence[str]) -> tuple[Entry, ...]:
        """The entries of these subscriptions about these few elements, by number."""
        keys = [storable_key(key) for key in element_keys]
        query = select(_outbox).where(_outbox.c.element_key.in_(keys))

        def read(connection: Connection) -> list[Entry]:
            of_some = (
                query.where(_outbox.c.subscription_id.in_(chunk)) for chunk in chunks(subscription_ids)
            )
            return [Entry(**row._mapping) for each in of_some for row in connection.execute(each)]

        return tuple(sorted(self._database.read(read), key=lambda entry: entry.id))

    def forgotten_as_sent(self, subscription_ids: Iterable[int], element_keys: Sequence[str]) -> set[int]:
        """The subscriptions to which one of these elements was sent so long ago that its entry was deleted."""
        now = datetime.now(UTC)
        asked = [NewEntry(id_, key, {}, now) for id_ in subscription_ids for key in element_keys]
        new = self._database.read(lambda connection: sent_marks.not_forgotten(connection, asked))
        kept = {(one.subscription_id, one.element_key) for one in new}
        return {one.subscription_id for one in asked if (one.subscription_id, one.element_key) not in kept}

    def claim_first(
        self, most: Mapping[int, int], *, worker: str, now: datetime, lease_s: float
    ) -> dict[int, tuple[Entry, ...]]:
        """Claim the oldest due entries of each subscription, at most this many; at once for many subscriptions.

        The caller must hold these subscriptions: nothing else prevents two senders from claiming the same entries.
        """
        until = now + timedelta(seconds=lease_s)
        claimed = self._database.write(lambda connection: _claim_first(connection, most, worker, now, until))
        found: dict[int, list[Entry]] = {}
        for entry in claimed:
            found.setdefault(entry.subscription_id, []).append(entry)
        return {id_: tuple(entries) for id_, entries in found.items()}

    def next_due_at(self) -> datetime | None:
        """When the next entry is due."""
        query = (
            select(_outbox.c.due_at).where(_outbox.c.due_at.is_not(None)).order_by(_outbox.c.due_at).limit(1)
        )
        return self._database.read(lambda connection: connection.execute(query).scalar_one_or_none())

    def oldest_unsent(self) -> int:
        """The smallest number of an item that is still to be sent; 0 if there is none."""
        query = select(_outbox.c.payload).where(_outbox.c.state.in_(("pending", "claimed", "failed")))
        rows = self._database.read(lambda connection: connection.execute(query).scalars().all())
        return min((payload["seq"] for payload in rows), default=0)

    def counts(self, *, subscription_id: int | None = None) -> dict[str, int]:
        """How many entries are in each state, of all subscriptions or one."""
        query = select(_outbox.c.state, func.count()).group_by(_outbox.c.state).order_by(_outbox.c.state)
        if subscription_id is not None:
            query = query.where(_outbox.c.subscription_id == subscription_id)
        rows = self._database.read(lambda connection: connection.execute(query).all())
        return {row[0]: row[1] for row in rows}

    def forget_sent(self, before: datetime) -> int:
        """Delete entries sent before then, at most a few thousand; returns how many. They are still known as sent."""
        return self._database.write(lambda connection: sent_marks.forget_sent(connection, before))

    def forget_given_up(self, before: datetime) -> int:
        """Delete dead letters of dropped subscriptions from before then, at most a few thousand; returns how many."""
        return self._database.write(lambda connection: sent_marks.forget_given_up(connection, before))

    def forget_dropped(self) -> int:
        """Delete the marks of what was sent to dropped subscriptions; returns how many."""
        return self._database.write(sent_marks.forget_dropped)


def insert(connection: Connection, entries: Sequence[NewEntry], now: datetime) -> int:
    """Add new entries in this order; those for dropped subscriptions are left out."""
    entries = sent_marks.not_forgotten(connection, entries)
    if not entries:
        return 0
    wanted = (entry.subscription_id for entry in entries)
    living = existing(connection, _subscription.c.id, wanted, _subscription.c.status != "dropped")
    numbers = take_numbers(connection, "outbox", len(entries))
    pairs = zip(numbers, entries, strict=True)
    rows = (_new_row(id_, entry, now) for id_, entry in pairs if entry.subscription_id in living)
    added = upsert_all(connection, _outbox, rows, ["subscription_id", "element_key"], None)
    rhythms.hear(connection, _first_times(entries))
    return added


def _first_times(entries: Sequence[NewEntry]) -> dict[int, datetime]:
    first: dict[int, datetime] = {}
    for entry in entries:
        at = first.setdefault(entry.subscription_id, entry.not_before)
        if entry.not_before < at:
            first[entry.subscription_id] = entry.not_before
    return first


def give_up(connection: Connection, subscription_id: int, now: datetime, reason: str) -> None:
    """Make all waiting entries of a subscription dead letters."""
    waits = (_outbox.c.subscription_id == subscription_id, _outbox.c.due_at.is_not(None))
    values = {"state": "dead", "due_at": None, "worker": "", "reason": reason, "settled_at": now}
    connection.execute(update(_outbox).where(*waits).values(values))


def _new_row(id_: int, entry: NewEntry, now: datetime) -> dict[str, Any]:
    return {
        "id": id_,
        "subscription_id": entry.subscription_id,
        "element_key": storable_key(entry.element_key),
        "payload": entry.payload,
        "state": "pending",
        "attempts": 0,
        "due_at": entry.not_before,
        "worker": "",
        "reason": "",
        "created_at": now,
        "settled_at": None,
    }


def _due(now: datetime, channel: str | None, subscription_id: int | None) -> Select[Any]:
    query = select(_outbox).join(_subscription, _subscription.c.id == _outbox.c.subscription_id)
    query = query.where(_outbox.c.due_at <= now, _subscription.c.status == "active")
    if channel is not None:
        query = query.where(_subscription.c.channel == channel)
    if subscription_id is not None:
        query = query.where(_outbox.c.subscription_id == subscription_id)
    return query.order_by(_outbox.c.due_at, _outbox.c.id)


def _claim(connection: Connection, due: Select[Any], worker: str, until: datetime) -> tuple[Entry, ...]:
    rows = connection.execute(due.with_for_update(of=_outbox, skip_locked=True)).all()
    return _taken(connection, rows, worker, until)


def _taken(connection: Connection, rows: Sequence[Any], worker: str, until: datetime) -> tuple[Entry, ...]:
    values = {"state": "claimed", "attempts": _outbox.c.attempts + 1, "due_at": until, "worker": worker}
    _update(connection, [row.id for row in rows], values)
    changed = {"state": "claimed", "due_at": until, "worker": worker}
    return tuple(Entry(**{**row._mapping, **changed, "attempts": row.attempts + 1}) for row in rows)


def _claim_first(
    connection: Connection, most: Mapping[int, int], worker: str, now: datetime, until: datetime
) -> tuple[Entry, ...]:
    rows: list[Any] = []
    for chunk in chunks(sorted(most)):
        place = func.row_number().over(
            partition_by=_outbox.c.subscription_id, order_by=(_outbox.c.due_at, _outbox.c.id)
        )
        waits = (_outbox.c.subscription_id.in_(chunk), _outbox.c.due_at <= now)
        placed = select(_outbox.c.id, place.label("place")).where(*waits).subquery()
        first = select(placed.c.id).where(placed.c.place <= max(most[id_] for id_ in chunk))
        query = select(_outbox).where(_outbox.c.id.in_(first))
        rows += connection.execute(query.order_by(_outbox.c.due_at, _outbox.c.id).with_for_update())
    left = dict(most)
    taken = [row for row in rows if _takes(left, row.subscription_id)]
    return _taken(connection, taken, worker, until)


def _takes(left: dict[int, int], id_: int) -> bool:
    left[id_] -= 1
    return left[id_] >= 0


def _renew(connection: Connection, ids: Sequence[int], worker: str, until: datetime) -> tuple[int, ...]:
    held = [row.id for row in _held(connection, ids, worker)]
    _update(connection, held, {"due_at": until})
    return tuple(held)


def _release(connection: Connection, ids: Sequence[int], worker: str, now: datetime) -> None:
    values = {"state": "pending", "attempts": _outbox.c.attempts - 1, "due_at": now, "worker": ""}
    held = _held(connection, ids, worker)
    _update(connection, [row.id for row in held], values)
    rhythms.wake(connection, {row.subscription_id for row in held}, now)


def _held(connection: Connection, ids: Iterable[int], worker: str) -> list[Any]:
    """The entries that a sender has claimed, locked until our commit."""
    return [row for row in _locked(connection, ids) if row.state == "claimed" and row.worker == worker]


def _numbered(connection: Connection, ids: Iterable[int]) -> list[Any]:
    rows: list[Any] = []
    for chunk in chunks(sorted(set(ids))):
        rows += connection.execute(select(_outbox).where(_outbox.c.id.in_(chunk)).order_by(_outbox.c.id))
    return rows


def _locked(connection: Connection, ids: Iterable[int], *where: ColumnElement[bool]) -> list[Any]:
    rows: list[Any] = []
    for chunk in chunks(sorted(set(ids))):
        query = select(_outbox).where(_outbox.c.id.in_(chunk), *where).order_by(_outbox.c.id)
        rows += connection.execute(query.with_for_update())
    return rows


def _update(connection: Connection, ids: Iterable[int], values: dict[str, Any]) -> None:
    for chunk in chunks(ids):
        connection.execute(update(_outbox).where(_outbox.c.id.in_(chunk)).values(values))


def _settle(
    connection: Connection, outcomes: Sequence[EntryOutcome], worker: str, now: datetime
) -> tuple[int, ...]:
    rows = {row.id: row for row in _locked(connection, (outcome.id for outcome in outcomes))}
    accepted = [outcome for outcome in outcomes if _accepts(rows.get(outcome.id), outcome, worker)]
    for values, group in groupby(sorted(accepted, key=_kind), key=_kind):
        _update(connection, [outcome.id for outcome in group], _settled(*values, worker, now))
    lines = [deliveries.line(rows[o.id], o.state, worker, now, o.reason) for o in accepted]
    deliveries.append(connection, lines)
    return tuple(outcome.id for outcome in accepted)


def _accepts(row: Any, outcome: EntryOutcome, worker: str) -> bool:
    if row is None or row.state == "sent":
        return False
    return outcome.state == "sent" or (row.state == "claimed" and row.worker == worker)


def _kind(outcome: EntryOutcome) -> tuple[str, str, datetime]:
    """Entries with equal values are settled by one SQL statement."""
    return outcome.state, outcome.reason, outcome.retry_at or _NEVER


def _settled(state: str, reason: str, retry_at: datetime, worker: str, now: datetime) -> dict[str, Any]:
    is_final = state != "failed"
    again_at = now if retry_at is _NEVER else retry_at
    return {
        "state": state,
        "due_at": None if is_final else again_at,
        "worker": worker,
        "reason": reason,
        "settled_at": now if is_final else None,
    }
