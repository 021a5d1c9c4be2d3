"""The delivery log: what was tried for a subscription, and how it went. Append-only; a user can read it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, select

from feedweir.catalog import tables
from feedweir.catalog.database import Database
from feedweir.catalog.records import Delivery
from feedweir.catalog.rows import CHUNK, insert_all, take_numbers

_delivery = tables.delivery


class Deliveries:
    def __init__(self, database: Database) -> None:
        self._database = database

    def of(
        self, subscription_id: int, *, before: int | None = None, limit: int = 100
    ) -> tuple[Delivery, ...]:
        """A subscription's log, the latest first; `before` is the number of a line to go on from."""
        query = select(_delivery).where(_delivery.c.subscription_id == subscription_id)
        if before is not None:
            query = query.where(_delivery.c.id < before)
        query = query.order_by(_delivery.c.id.desc()).limit(limit)
        rows = self._database.read(lambda connection: connection.execute(query).all())
        return tuple(Delivery(**row._mapping) for row in rows)

    def returned(self, lines: Sequence[Delivery], now: datetime, reason: str) -> None:
        """Write down that what these lines tell of came back after all."""
        rows = [
            {**asdict(line), "at": now, "outcome": "returned", "worker": "", "reason": reason}
            for line in lines
        ]
        self._database.write(lambda connection: append(connection, rows))

    def forget(self, before: datetime) -> int:
        """Delete lines written before then, some thousands at most; how many."""
        oldest = select(_delivery.c.id).where(_delivery.c.at < before).order_by(_delivery.c.id).limit(CHUNK)
        statement = delete(_delivery).where(_delivery.c.id.in_(oldest.scalar_subquery()))
        return self._database.write(lambda connection: connection.execute(statement).rowcount)


def line(entry: Any, outcome: str, worker: str, now: datetime, reason: str) -> dict[str, Any]:
    """A line about an entry's row, still without its number."""
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
