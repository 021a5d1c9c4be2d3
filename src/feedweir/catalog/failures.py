"""Failures, recorded against the resource that they concern; the last few of each are stored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, Select, delete, func, select

from feedweir.catalog import tables
from feedweir.catalog.column_types import storable_key
from feedweir.catalog.database import Database
from feedweir.catalog.records import Failure, FailureKind
from feedweir.catalog.rows import chunks, insert_all, take_numbers
from feedweir.text.redact import without_secrets

KEPT = 20
"""How many failures of each resource are stored."""

_failure = tables.failure


class Failures:
    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, failures: Sequence[Failure]) -> None:
        self._database.write(lambda connection: record(connection, failures))

    def of(self, kind: FailureKind, resource: str) -> tuple[Failure, ...]:
        """The failures of one resource, latest first."""
        query = select(_failure).where(_failure.c.kind == kind, _failure.c.resource == storable_key(resource))
        return self._read(query.order_by(_failure.c.id.desc()))

    def last_of(self, kind: FailureKind, resources: Iterable[str]) -> dict[str, Failure]:
        """The last failure of each of these resources, if it has one."""
        keys = {storable_key(resource): resource for resource in resources}
        found: dict[str, Failure] = {}
        for chunk in chunks(sorted(keys)):
            of_these = (_failure.c.kind == kind, _failure.c.resource.in_(chunk))
            last = select(func.max(_failure.c.id)).where(*of_these).group_by(_failure.c.resource)
            failures = self._read(select(_failure).where(_failure.c.id.in_(last)))
            found.update((keys[failure.resource], failure) for failure in failures)
        return found

    def latest(self, *, kind: FailureKind | None = None, limit: int = 100) -> tuple[Failure, ...]:
        """The last failure of every resource that has one, latest first."""
        last = select(func.max(_failure.c.id)).group_by(_failure.c.kind, _failure.c.resource)
        query = select(_failure).where(_failure.c.id.in_(last)).order_by(_failure.c.id.desc()).limit(limit)
        return self._read(query if kind is None else query.where(_failure.c.kind == kind))

    def forget(self, kind: FailureKind, resource: str) -> None:
        """Delete the failures of a resource, as when its cause was fixed."""
        of_resource = (_failure.c.kind == kind, _failure.c.resource == storable_key(resource))
        statement = delete(_failure).where(*of_resource)
        self._database.write(lambda connection: connection.execute(statement))

    def _read(self, query: Select[Any]) -> tuple[Failure, ...]:
        rows = self._database.read(lambda connection: connection.execute(query).all())
        return tuple(Failure(**{name: row._mapping[name] for name in Failure.__slots__}) for row in rows)


def record(connection: Connection, failures: Sequence[Failure]) -> None:
    """Record failures in this order, and delete the oldest of each resource beyond `KEPT`."""
    if not failures:
        return
    numbers = take_numbers(connection, "failure", len(failures))
    insert_all(
        connection, _failure, (_row(id_, failure) for id_, failure in zip(numbers, failures, strict=True))
    )
    for kind, resource in sorted({(failure.kind, storable_key(failure.resource)) for failure in failures}):
        _forget_oldest(connection, kind, resource)


def _row(id_: int, failure: Failure) -> dict[str, Any]:
    values = {name: getattr(failure, name) for name in Failure.__slots__}
    return values | {
        "id": id_,
        "resource": storable_key(failure.resource),
        "reason": without_secrets(failure.reason),
    }


def _forget_oldest(connection: Connection, kind: str, resource: str) -> None:
    of_resource = (_failure.c.kind == kind, _failure.c.resource == resource)
    kept = select(_failure.c.id).where(*of_resource).order_by(_failure.c.id.desc()).offset(KEPT).limit(1)
    connection.execute(delete(_failure).where(*of_resource, _failure.c.id <= kept.scalar_subquery()))
