"""Sources: where to fetch, what is remembered between fetches, which are due."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, bindparam, func, select, update

from feedweir.catalog import names, tables
from feedweir.catalog.database import Database
from feedweir.catalog.records import FetchState, FirstDocument, NewFeed, SourceRecord
from feedweir.catalog.rows import chunks, upsert_all
from feedweir.errors import CatalogError

_feed = tables.feed
_source = tables.source
_first = tables.first_document
_COLUMNS = tuple(_source.c.keys())
_BY_HAND = ("hub", "imported_from")
"""What people set for a source: it survives a change of its address."""
_STATE = tuple(field.name for field in fields(FetchState))


class Sources:
    """The sources that are fetched."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def named(self, name: str) -> SourceRecord:
        return self._database.read(lambda connection: _named(connection, name))

    def all(self) -> tuple[SourceRecord, ...]:
        """Every source, by name."""
        return self._database.read(lambda connection: _records(connection, _query().order_by(_feed.c.name)))

    def several(self, wanted: Iterable[str]) -> tuple[SourceRecord, ...]:
        """The sources among these names, by name; unknown names are left out."""
        names = sorted(set(wanted))
        return self._database.read(lambda connection: _several(connection, names))

    def due(self, now: datetime, limit: int, *, version: int | None = None) -> tuple[SourceRecord, ...]:
        """Active sources whose time has come, those that wait longest first; as of a version, none changed since."""
        query = _query().where(_source.c.status == "active", _source.c.next_check_at <= now)
        if version is not None:
            query = query.where(_feed.c.version <= version)
        query = query.order_by(_source.c.next_check_at, _source.c.feed_id).limit(limit)
        return self._database.read(lambda connection: _records(connection, query))

    def overdue(self, now: datetime) -> tuple[str, ...]:
        """The names of all active sources whose time has come, by name."""
        query = select(_feed.c.name).join(_source, _feed.c.id == _source.c.feed_id)
        query = query.where(_source.c.status == "active", _source.c.next_check_at <= now)
        query = query.order_by(_feed.c.name)
        return tuple(self._database.read(lambda connection: connection.execute(query).scalars().all()))

    def next_check_at(self) -> datetime | None:
        """When the next source is due, to sleep until then."""
        query = select(_source.c.next_check_at).where(_source.c.status == "active")
        query = query.order_by(_source.c.next_check_at).limit(1)
        return self._database.read(lambda connection: connection.execute(query).scalar_one_or_none())

    def readers(self) -> dict[str, int]:
        """By source how many active subscriptions read it, directly or through other feeds; sources that none reads are
        left out."""
        return self._database.read(_readers)

    def first_documents(self, wanted: Iterable[str]) -> dict[str, FirstDocument]:
        """Of the sources among these names that are fetched: the first document that brought items, if one has yet."""
        names = sorted(set(wanted))
        return self._database.read(lambda connection: _first_documents(connection, names))

    def begin(self, documents: Mapping[str, int]) -> None:
        """Remember the first documents of sources; one that is known stays."""
        self._database.write(lambda connection: _begin(connection, documents))

    def save(self, states: Sequence[FetchState]) -> None:
        """Save states; those of sources that are gone are left out."""
        self._database.write(lambda connection: save(connection, states))


def _first_documents(connection: Connection, names: Sequence[str]) -> dict[str, FirstDocument]:
    query = (
        select(_feed.c.name, _first.c.document, _feed.c.created_at)
        .join(_source, _feed.c.id == _source.c.feed_id)
        .outerjoin(_first, _feed.c.id == _first.c.feed_id)
    )
    rows = (
        row for chunk in chunks(names) for row in connection.execute(query.where(_feed.c.name.in_(chunk)))
    )
    return {row.name: FirstDocument(row.document, row.created_at) for row in rows}


def _begin(connection: Connection, documents: Mapping[str, int]) -> None:
    query = select(_feed.c.id, _feed.c.name)
    for chunk in chunks(sorted(documents)):
        ids = connection.execute(query.where(_feed.c.name.in_(chunk))).all()
        rows = [{"feed_id": row.id, "document": documents[row.name]} for row in ids]
        upsert_all(connection, _first, rows, ["feed_id"], None)


def save(connection: Connection, states: Sequence[FetchState]) -> None:
    rows = [_renamed(state) for state in sorted(states, key=lambda state: state.feed_id)]
    statement = update(_source).where(_source.c.feed_id == bindparam("of_feed"))
    for chunk in chunks(rows):
        connection.execute(statement, chunk)


def first_state(feed: NewFeed, id_: int) -> dict[str, Any]:
    """A new source is due at once."""
    return asdict(FetchState(feed_id=id_, url=feed.url, next_check_at=feed.created_at))


def move(connection: Connection, id_: int, feed: NewFeed) -> None:
    """A source that gets another URL starts anew; otherwise it keeps its state."""
    if not feed.url:
        connection.execute(_source.delete().where(_source.c.feed_id == id_))
        return
    if _registered_url(connection, id_) != feed.url:
        anew = [name for name in _STATE if name not in ("feed_id", *_BY_HAND)]
        upsert_all(connection, _source, [first_state(feed, id_)], ["feed_id"], anew)


def _readers(connection: Connection) -> dict[str, int]:
    read, subscription = tables.feed_read, tables.subscription
    counts = (
        select(subscription.c.feed_id, func.count().label("count"))
        .where(subscription.c.status == "active")
        .group_by(subscription.c.feed_id)
        .subquery()
    )
    reach = select(counts.c.feed_id.label("subscribed"), counts.c.feed_id.label("feed")).cte(recursive=True)
    reach = reach.union(
        select(reach.c.subscribed, read.c.used_id).join(read, read.c.reader_id == reach.c.feed)
    )
    reached = reach.join(counts, counts.c.feed_id == reach.c.subscribed)
    by_source = (
        select(_feed.c.name, func.sum(counts.c.count))
        .select_from(
            reached.join(_source, _source.c.feed_id == reach.c.feed).join(_feed, _feed.c.id == reach.c.feed)
        )
        .group_by(_feed.c.name)
    )
    # A virtual feed that reads no feed by its name reads all sources.
    of_all = (
        select(reach.c.subscribed, counts.c.count)
        .select_from(reached.join(_feed, _feed.c.id == reach.c.feed))
        .outerjoin(read, read.c.reader_id == _feed.c.id)
        .where(_feed.c.kind == "virtual", read.c.reader_id.is_(None))
        .distinct()
    )
    found = {name: int(count) for name, count in connection.execute(by_source)}
    everywhere = sum(count for _, count in connection.execute(of_all))
    if everywhere:
        every = connection.execute(
            select(_feed.c.name).join(_source, _source.c.feed_id == _feed.c.id)
        ).scalars()
        found = {name: found.get(name, 0) + everywhere for name in every}
    return dict(sorted(found.items()))


def _registered_url(connection: Connection, id_: int) -> str | None:
    """The URL of the last statement; the one in the state may have moved since."""
    change = tables.change
    query = select(change.c.detail).where(change.c.id == id_).order_by(change.c.version.desc()).limit(1)
    detail = connection.execute(query).scalar_one_or_none()
    return None if detail is None else detail.get("url")


def _named(connection: Connection, name: str) -> SourceRecord:
    query = _query().where(_source.c.feed_id == names.id_of(connection, name))
    for record in _records(connection, query):
        return record
    raise CatalogError(f"{name!r} is not a source that is fetched")


def _several(connection: Connection, wanted: Sequence[str]) -> tuple[SourceRecord, ...]:
    queries = [_query().where(_feed.c.name.in_(chunk)) for chunk in chunks(wanted, 500)]
    found = [record for query in queries for record in _records(connection, query)]
    return tuple(sorted(found, key=lambda record: record.name))


def _query() -> Select[Any]:
    return select(_feed.c.name, _feed.c.owner, _source).join(_feed, _feed.c.id == _source.c.feed_id)


def _records(connection: Connection, query: Select[Any]) -> tuple[SourceRecord, ...]:
    return tuple(_record(row) for row in connection.execute(query))


def _record(row: Row[Any]) -> SourceRecord:
    name, owner, *values = tuple(row)
    return SourceRecord(name=name, owner=owner, state=FetchState(**dict(zip(_COLUMNS, values, strict=True))))


def _renamed(state: FetchState) -> dict[str, Any]:
    """A bound name must not be a column's name in an UPDATE."""
    values = {name: getattr(state, name) for name in _STATE}
    values["of_feed"] = values.pop("feed_id")
    return values
