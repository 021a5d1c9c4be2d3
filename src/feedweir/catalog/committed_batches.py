"""Batches: everything one leaves behind is written in one transaction, once, however often it is repeated."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, Row, delete, func, insert, select

from feedweir.catalog import failures, hit_statistics, outbox, sources, tables
from feedweir.catalog.column_types import storable
from feedweir.catalog.database import Database
from feedweir.catalog.records import BatchCommit, BatchRecord
from feedweir.catalog.rows import take_numbers

_batch = tables.batch


class Batches:
    def __init__(self, database: Database) -> None:
        self._database = database

    def commit(self, batch: BatchCommit) -> bool:
        """Write what a batch leaves behind; False, and nothing written, when it is there already."""
        return self._database.write(lambda connection: _commit(connection, batch))

    def with_id(self, batch: str) -> BatchRecord | None:
        query = select(_batch).where(_batch.c.id == batch)
        return self._record(query)

    def holding(self, segment: int) -> BatchRecord | None:
        """The batch that published a landing segment: batches are named by the last segment that they cover."""
        # What is committed beside batches (counters, observations) has longer names.
        query = select(_batch).where(_batch.c.id >= f"{segment:012d}", func.length(_batch.c.id) == 12)
        return self._record(query.order_by(_batch.c.id).limit(1))

    def last(self, *, prefix: str = "") -> BatchRecord | None:
        """The batch that was committed last, of those whose names begin so."""
        named_so = _batch.c.id.startswith(prefix, autoescape=True)
        return self._record(select(_batch).where(named_so).order_by(_batch.c.ordinal.desc()).limit(1))

    def forget(self, before: datetime) -> int:
        """Delete batches committed before then. Only for times that no batch can be repeated from."""
        statement = delete(_batch).where(_batch.c.committed_at < before)
        return self._database.write(lambda connection: connection.execute(statement).rowcount)

    def _record(self, query: object) -> BatchRecord | None:
        row = self._database.read(lambda connection: connection.execute(query).one_or_none())  # type: ignore[call-overload]
        return None if row is None else _from_row(row)


def _commit(connection: Connection, batch: BatchCommit) -> bool:
    storable(batch.batch, "the batch's name")
    # Taking the number first makes commits wait for each other: a repeat sees what the first one wrote.
    ordinal = take_numbers(connection, "batch", 1)[0]
    if connection.execute(select(_batch.c.id).where(_batch.c.id == batch.batch)).first() is not None:
        # The transaction goes on to its end: it has only used up a number.
        return False
    connection.execute(insert(_batch), _row(batch, ordinal))
    hit_statistics.add_counts(connection, batch.counts, batch.at)
    hit_statistics.fade(connection, batch.fading)
    hit_statistics.add_atoms(connection, batch.atoms)
    failures.record(connection, batch.failures)
    sources.save(connection, batch.fetch_states)
    outbox.insert(connection, batch.entries, batch.at)
    return True


def _row(batch: BatchCommit, ordinal: int) -> dict[str, object]:
    return {
        "id": batch.batch,
        "ordinal": ordinal,
        "version": batch.version,
        "committed_at": batch.at,
        "detail": batch.detail,
    }


def _from_row(row: Row[tuple[object, ...]]) -> BatchRecord:
    values = dict(row._mapping)
    return BatchRecord(batch=values.pop("id"), **values)
