"""The delivery log: every attempt for a subscription and its outcome. Append-only, and readable for subscribers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, func, select

from feedweir.catalog import tables
from feedweir.catalog.database import Database
from feedweir.catalog.records import Delivery, Entry
from feedweir.catalog.rows import CHUNK, insert_all, take_numbers

_delivery = tables.delivery


class Deliveries:
    def __init__(self, database: Database) -> None:
        self._database = database

    def of(
        self, subscription_id: int, *, before: int | None = None, limit: int = 100
    ) -> tuple[Delivery, ...]:
        """A subscription's log, latest first; `before` is the number of the line to continue from."""
        query = select(_delivery).where(_delivery.c.subscription_id == subscription_id)
        if before is not None:
            query = query.where(_delivery.c.id < before)
        query = query.order_by(_delivery.c.id.desc()).limit(limit)
        rows = self._database.read(lambda connection: connection.execute(query).all())
        return tuple(Delivery(**row._mapping) for row in rows)

    def of_entry(self, entry: Entry) -> tuple[Delivery, ...]:
        """The log lines of one entry of the outbox, in order."""
        query = select(_delivery).where(_delivery.c.subscription_id == entry.subscription_id)
        query = query.where(_delivery.c.outbox_id == entry.id).order_by(_delivery.c.id)
        rows = self._database.read(lambda connection: connection.execute(query).all())
        return tuple(Delivery(**row._mapping) for row in rows)

    def count_at(self, line: Delivery) -> int:
        """How many lines of the subscription have the same outcome at the same moment, this one included."""
        query = select(func.count()).where(_delivery.c.subscription_id == line.subscription_id)
        query = query.where(_delivery.c.at == line.at, _delivery.c.outcome == line.outcome)
        return self._database.read(lambda connection: connection.execute(query).scalar_one())

    def since(self, number: int, limit: int) -> list[dict[str, Any]]:
        """The lines of all subscriptions after this one, in order, each with its reader and its element. Numbers are
        given in the order of commits, so no line comes later with a smaller one."""
        query = (
            select(
                _delivery,
                tables.subscription.c.owner,
                tables.subscription.c.channel,
                tables.outbox.c.payload,
            )
            .outerjoin(tables.subscription, tables.subscription.c.id == _delivery.c.subscription_id)
            .outerjoin(tables.outbox, tables.outbox.c.id == _delivery.c.outbox_id)
            .where(_delivery.c.id > number)
            .order_by(_delivery.c.id)
            .limit(limit)
        )
        rows = self._database.read(lambda connection: connection.execute(query).all())
        return [dict(row._mapping) for row in rows]

    def returned(self, lines: Sequence[Delivery], now: datetime, reason: str) -> None:
        """Record that the deliveries in these lines were returned later."""
        rows = [
            {**asdict(line), "at": now, "outcome": "returned", "worker": "", "reason": reason}
            for line in lines
        ]
        self._database.write(lambda connection: append(connection, rows))

    def forget(self, before: datetime) -> int:
        """Delete lines from before then, at most a few thousand; returns how many."""
        oldest = select(_delivery.c.id).where(_delivery.c.at < before).order_by(_delivery.c.id).limit(CHUNK)
        statement = delete(_delivery).where(_delivery.c.id.in_(oldest.scalar_subquery()))
        return self._database.write(lambda connection: connection.execute(statement).rowcount)


def line(entry: Any, outcome: str, worker: str, now: datetime, reason: str) -> dict[str, Any]:
    """A line about an entry's row, without its number."""
    return {
        "subscription_id": entry.subscription_id,
        "outbox_id": entry.id,
        "element_key": entry.element_key,
        "at": now,
        "outcome": outcome,
        "attempt": entry.attempts,
        "worker": worker,
        "reason": reason,
    }


def append(connection: Connection, lines: Sequence[dict[str, Any]]) -> None:
    if lines:
        numbers = take_numbers(connection, "delivery", len(lines))
        insert_all(
            connection, _delivery, (row | {"id": id_} for id_, row in zip(numbers, lines, strict=True))
        )
