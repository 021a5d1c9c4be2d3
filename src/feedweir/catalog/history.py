"""Versions: every change of definitions has a number, and definitions as of any number can be read again."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sqlalchemy import ColumnElement, Connection, Select, Subquery, Table, and_, func, select

from feedweir.catalog import tables
from feedweir.catalog.records import Change, Definition
from feedweir.catalog.rows import insert_all, take_numbers
from feedweir.errors import CatalogError

_change = tables.change


def next_version(connection: Connection) -> int:
    """The version this transaction makes. It also puts all who change definitions in a row."""
    return take_numbers(connection, "version", 1)[0]


def current_version(connection: Connection) -> int:
    counter = tables.counter
    value: int = connection.execute(select(counter.c.value).where(counter.c.name == "version")).scalar_one()
    return value


def record(connection: Connection, changes: Iterable[Change]) -> None:
    insert_all(connection, _change, (change._asdict() for change in changes))


def definitions(connection: Connection, version: int | None) -> tuple[int, tuple[Definition, ...]]:
    """The version and its feeds, by id."""
    now = current_version(connection)
    if version is None or version == now:
        feed = tables.feed
        query = select(feed.c.id, feed.c.name, feed.c.kind, feed.c.statement).order_by(feed.c.id)
        return now, _definitions(connection, query)
    last = last_changes(_known(version, now))
    query = (
        select(_change.c.id, _change.c.name, _change.c.kind, _change.c.statement)
        .join(last, _is_last(last))
        .where(_change.c.action != "drop", _change.c.kind != "subscription")
        .order_by(_change.c.id)
    )
    return version, _definitions(connection, query)


def some_definitions(
    connection: Connection, version: int, criteria: Callable[[Table], ColumnElement[bool]]
) -> tuple[Definition, ...]:
    """Those of the feeds as of a version of which something holds, by id, without reading the others."""
    now, feed = current_version(connection), tables.feed
    if version == now:
        query = select(feed.c.id, feed.c.name, feed.c.kind, feed.c.statement)
        return _definitions(connection, query.where(criteria(feed)).order_by(feed.c.id))
    asked_for = select(_change.c.id).where(criteria(_change), _change.c.kind != "subscription")
    last = last_changes(_known(version, now), asked_for)
    query = (
        select(_change.c.id, _change.c.name, _change.c.kind, _change.c.statement)
        .join(last, _is_last(last))
        .where(_change.c.action != "drop", criteria(_change))
        .order_by(_change.c.id)
    )
    return _definitions(connection, query)


def changes_since(connection: Connection, version: int, limit: int | None = None) -> tuple[Change, ...]:
    """Everything that was changed after `version`, in order."""
    query = select(_change).where(_change.c.version > version).order_by(_change.c.version, _change.c.id)
    query = query.limit(limit)
    return tuple(Change(*row) for row in connection.execute(query))


def last_changes(version: int, ids: Select[tuple[int]] | None = None) -> Subquery:
    """(id, version) of the last change of every resource, or of some, up to `version`."""
    query = select(_change.c.id, func.max(_change.c.version).label("version"))
    if ids is not None:
        query = query.where(_change.c.id.in_(ids))
    return query.where(_change.c.version <= version).group_by(_change.c.id).subquery()


def _is_last(last: Subquery) -> ColumnElement[bool]:
    return and_(_change.c.id == last.c.id, _change.c.version == last.c.version)


def _known(version: int, now: int) -> int:
    if not 0 <= version <= now:
        raise CatalogError(f"there is no version {version} of the definitions", hint=f"the newest is {now}")
    return version


def _definitions(connection: Connection, query: Select[tuple[int, str, str, str]]) -> tuple[Definition, ...]:
    return tuple(map(Definition._make, connection.execute(query)))
