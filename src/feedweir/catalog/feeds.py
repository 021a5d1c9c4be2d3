"""Definitions of feeds: add, replace, drop, each one version and one transaction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Table, and_, delete, func, not_, select, update

from feedweir.catalog import history, names, sources, tables
from feedweir.catalog.column_types import cleaned, storable
from feedweir.catalog.database import Database
from feedweir.catalog.names import NameText, is_theirs
from feedweir.catalog.records import Change, Definition, FeedKind, FeedRecord, NewFeed
from feedweir.catalog.rows import chunks, insert_all, take_numbers
from feedweir.errors import CatalogError
from feedweir.items.owners import concerns

_feed = tables.feed
_read = tables.feed_read
_MANY = 10
"""How many names an error lists."""


class Feeds:
    """The one namespace of sources and virtual feeds."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._text = NameText(database)

    def version(self) -> int:
        """The number of the last change of definitions, 0 before the first."""
        return self._database.read(history.current_version)

    def renew(self) -> int:
        """A new version with the same definitions, for compiling again although nothing was redefined."""
        return self._database.write(history.next_version)

    def definitions(self, version: int | None = None) -> tuple[int, tuple[Definition, ...]]:
        """The feeds as of a version (by default the newest), by id, and that version."""
        return self._database.read(lambda connection: history.definitions(connection, version))

    def sources_unlike(self, version: int, beginnings: Sequence[str]) -> tuple[Definition, ...]:
        """The sources as of a version whose statements begin in none of these ways, by id."""

        def is_wanted(table: Table) -> ColumnElement[bool]:
            begins = (table.c.statement.startswith(one, autoescape=True) for one in beginnings)
            return and_(table.c.kind == "source", *map(not_, begins))

        return self._database.read(lambda one: history.some_definitions(one, version, is_wanted))

    def beginning(self, statement: str, version: int | None = None) -> tuple[Definition, ...]:
        """The sources whose statements begin so, now or as of a version, by id."""

        def is_wanted(table: Table) -> ColumnElement[bool]:
            return and_(table.c.kind == "source", table.c.statement.startswith(statement, autoescape=True))

        def read(connection: Connection) -> tuple[Definition, ...]:
            at = history.current_version(connection) if version is None else version
            return history.some_definitions(connection, at, is_wanted)

        return self._database.read(read)

    def wordings(self, id_: int) -> tuple[tuple[int, str], ...]:
        """The versions that gave a feed another definition, and the statements, oldest first."""
        change = tables.change
        query = select(change.c.version, change.c.statement).where(
            change.c.id == id_, change.c.kind != "subscription", change.c.action != "drop"
        )
        found = self._database.read(lambda one: one.execute(query.order_by(change.c.version)).all())
        return tuple((version, statement) for version, statement in found)

    def several_as_of(self, version: int, feed_names: Iterable[str]) -> tuple[Definition, ...]:
        """Those of these feeds that there were in a version."""

        def of(connection: Connection, some: Sequence[str]) -> tuple[Definition, ...]:
            return history.some_definitions(connection, version, lambda table: table.c.name.in_(some))

        def read(connection: Connection) -> tuple[Definition, ...]:
            return tuple(found for some in chunks(sorted(set(feed_names))) for found in of(connection, some))

        return self._database.read(read)

    def changes_since(self, version: int, limit: int | None = None) -> tuple[Change, ...]:
        """Every change of feeds and subscriptions after `version`, in order; the first ones where there is a limit."""
        return self._database.read(lambda connection: history.changes_since(connection, version, limit))

    def add(self, feeds: Sequence[NewFeed]) -> tuple[int, ...]:
        """Add feeds as one version; they may read each other. Returns their ids. All are added, or none."""
        if not feeds:
            return ()
        return self._database.write(lambda connection: _add(connection, feeds))

    def replace(self, feed: NewFeed) -> int:
        """Give a feed of the same name a new definition; its id, its readers and its statistics stay."""
        return self._database.write(lambda connection: _replace(connection, feed))

    def rename(self, name: str, new: str, statement: str) -> None:
        """Give a virtual feed another name and the statement that says it; its id, readers and statistics stay."""
        self._database.write(lambda connection: _rename(connection, name, new, statement))

    def drop(self, *feed_names: str) -> None:
        """Drop feeds as one version; refused while others read them or subscribe to them."""
        if feed_names:
            self._database.write(lambda connection: _drop(connection, feed_names))

    def named(self, name: str) -> FeedRecord:
        return self._database.read(lambda connection: _one(connection, names.id_of(connection, name)))

    def find(self, name: str) -> FeedRecord | None:
        """The feed of this name, or None."""
        return self._database.read(
            lambda connection: _maybe(connection, names.ids_of(connection, (name,)).get(name))
        )

    def definition(self, name: str) -> Definition | None:
        """What a name stands for now, or None."""
        feed = tables.feed
        query = select(feed.c.id, feed.c.name, feed.c.kind, feed.c.statement)
        query = query.where(feed.c.folded == names.folded(name), feed.c.name == name)
        row = self._database.read(lambda connection: connection.execute(query).first()) if name else None
        return None if row is None else Definition(*row)

    def made_sources(self) -> tuple[str, ...]:
        """The sources that are made from feeds, by name."""
        is_made = select(_read.c.reader_id).where(_read.c.reader_id == _feed.c.id).exists()
        query = select(_feed.c.name).where(_feed.c.kind == "source", is_made).order_by(_feed.c.name)
        return self._database.read(lambda connection: tuple(connection.execute(query).scalars()))

    def with_ids(self, ids: Iterable[int]) -> tuple[FeedRecord, ...]:
        """Those of these feeds that there are, by id."""
        return self._database.read(lambda connection: _with_ids(connection, ids))

    def with_id(self, id_: int) -> FeedRecord | None:
        return self._database.read(lambda connection: _maybe(connection, id_))

    def all(
        self,
        *,
        kind: FeedKind | None = None,
        owner: str | None = None,
        like: str = "",
        after: str = "",
        limit: int | None = None,
    ) -> tuple[FeedRecord, ...]:
        """Feeds by name, all or those that concern an owner or are called like something; `after` and `limit` page
        through them."""
        found = self._text.ids_like(like, self.version()) if like else None
        if found is not None:
            records = (one for one in self.with_ids(found) if kind in (None, one.kind) and one.name > after)
            theirs = [one for one in records if owner is None or concerns(one.owner, owner)]
            return tuple(sorted(theirs, key=lambda one: one.name)[:limit])
        query = select(_feed).where(_feed.c.name > after).order_by(_feed.c.name).limit(limit)
        if like:
            query = query.where(names.is_like(_feed.c.folded, like))
        if kind is not None:
            query = query.where(_feed.c.kind == kind)
        if owner is not None:
            query = query.where(is_theirs(_feed.c.owner, owner))
        return self._database.read(lambda connection: _records(connection, connection.execute(query).all()))

    def count(self, kind: FeedKind | None = None, *, owner: str | None = None) -> int:
        """How many feeds of a kind there are, or of all, or of those that concern an owner."""
        query = select(func.count()).select_from(_feed)
        if kind is not None:
            query = query.where(_feed.c.kind == kind)
        if owner is not None:
            query = query.where(is_theirs(_feed.c.owner, owner))
        return self._database.read(lambda connection: int(connection.execute(query).scalar_one()))

    def near(self, name: str) -> tuple[str, ...]:
        """Up to three names that someone who typed this one may have meant."""
        return self._database.read(lambda connection: names.near_names(connection, name))

    def readers(self, name: str) -> tuple[str, ...]:
        """The feeds that read this one directly, by name."""
        return self._database.read(lambda connection: _readers(connection, (names.id_of(connection, name),)))

    def several(self, feed_names: Iterable[str]) -> tuple[FeedRecord, ...]:
        """Those of these feeds that there are, by id."""
        wanted = frozenset(name for name in feed_names if cleaned(name) == name)

        def read(connection: Connection) -> tuple[FeedRecord, ...]:
            return _records(
                connection, [row for row in _named_like(connection, wanted) if row.name in wanted]
            )

        return self._database.read(read)

    def reading(self, ids: Iterable[int]) -> tuple[FeedRecord, ...]:
        """The feeds that read any of these directly, by id."""
        wanted = sorted(set(ids))

        def read(connection: Connection) -> tuple[FeedRecord, ...]:
            queries = (
                select(_read.c.reader_id).where(_read.c.used_id.in_(chunk)) for chunk in chunks(wanted)
            )
            return _with_ids(
                connection, (id_ for query in queries for id_ in connection.execute(query).scalars())
            )

        return self._database.read(read)

    def few_readers(self, feed_names: Iterable[str], most: int) -> tuple[int, ...]:
        """The ids of the feeds that read any of these directly; none when there are more than `most`."""
        wanted = sorted(map(names.folded, feed_names))
        query = select(_read.c.reader_id).join(_feed, _feed.c.id == _read.c.used_id)
        query = query.where(_feed.c.folded.in_(wanted)).distinct().limit(most + 1)
        found = self._database.read(lambda connection: connection.execute(query).scalars().all())
        return tuple(sorted(found)) if len(found) <= most else ()

    def called(self, ids: Iterable[int]) -> dict[int, tuple[str, str]]:
        """By id the name and the owner of those of these feeds that there are."""
        wanted = sorted(set(ids))

        def read(connection: Connection) -> dict[int, tuple[str, str]]:
            columns = select(_feed.c.id, _feed.c.name, _feed.c.owner)
            queries = (columns.where(_feed.c.id.in_(chunk)) for chunk in chunks(wanted))
            return {id_: (name, owner) for query in queries for id_, name, owner in connection.execute(query)}

        return self._database.read(read)


def _add(connection: Connection, feeds: Sequence[NewFeed]) -> tuple[int, ...]:
    version = history.next_version(connection)
    _check(feeds)
    _refuse_taken(connection, feeds)
    ids = take_numbers(connection, "resource", len(feeds))
    added = {feed.name: id_ for feed, id_ in zip(feeds, ids, strict=True)}
    _refuse_cycles(feeds, added)
    used = added | _used(connection, feeds, added)
    insert_all(connection, _feed, (_row(feed, added[feed.name], version) for feed in feeds))
    insert_all(connection, _read, (row for feed in feeds for row in _reads(feed, added[feed.name], used)))
    insert_all(
        connection, tables.source, (sources.first_state(feed, added[feed.name]) for feed in feeds if feed.url)
    )
    history.record(connection, (_change(version, added[feed.name], "create", feed) for feed in feeds))
    return tuple(ids)


def _replace(connection: Connection, feed: NewFeed) -> int:
    version = history.next_version(connection)
    _check((feed,))
    before = _one(connection, names.id_of(connection, feed.name))
    if before.kind != feed.kind:
        raise CatalogError(
            f"{feed.name!r} is a {before.kind} feed", hint="drop it first to make it something else"
        )
    used = _used(connection, (feed,), {feed.name: before.id}) | {feed.name: before.id}
    _refuse_cycle_through(connection, before, [used[name] for name in feed.reads])
    connection.execute(
        update(_feed)
        .where(_feed.c.id == before.id)
        .values(statement=feed.statement, owner=feed.owner, version=version)
    )
    connection.execute(delete(_read).where(_read.c.reader_id == before.id))
    insert_all(connection, _read, _reads(feed, before.id, used))
    sources.move(connection, before.id, feed)
    history.record(connection, (_change(version, before.id, "replace", feed),))
    return before.id


def _rename(connection: Connection, name: str, new: str, statement: str) -> None:
    version = history.next_version(connection)
    before = _one(connection, names.id_of(connection, name))
    feed = NewFeed(
        name=new, kind=before.kind, statement=statement, owner=before.owner, created_at=before.created_at
    )
    _check((feed,))
    if names.folded(new) != names.folded(name):
        _refuse_taken(connection, (feed,))
    values = {"name": new, "folded": names.folded(new), "statement": statement, "version": version}
    connection.execute(update(_feed).where(_feed.c.id == before.id).values(values))
    history.record(connection, (_change(version, before.id, "replace", feed),))


def _drop(connection: Connection, feed_names: Sequence[str]) -> None:
    version = history.next_version(connection)
    ids = sorted({names.id_of(connection, name) for name in feed_names})
    _refuse_used(connection, ids)
    dropped = [_one(connection, id_) for id_ in ids]
    for id_ in ids:
        connection.execute(delete(_read).where(_read.c.reader_id == id_))
    for id_ in ids:
        connection.execute(delete(_feed).where(_feed.c.id == id_))
    history.record(
        connection, (Change(version, feed.id, "drop", feed.kind, feed.name, "", {}) for feed in dropped)
    )


def _check(feeds: Sequence[NewFeed]) -> None:
    seen: dict[str, str] = {}
    for feed in feeds:
        names.checked(feed.name)
        storable(feed.statement, f"the definition of {feed.name!r}")
        storable(feed.url, f"the URL of {feed.name!r}")
        key = names.folded(feed.name)
        if key in seen:
            raise _taken(feed.name, seen[key])
        seen[key] = feed.name


def _refuse_taken(connection: Connection, feeds: Sequence[NewFeed]) -> None:
    for wanted, there in names.taken(connection, (feed.name for feed in feeds)):
        raise _taken(wanted, there)


def _taken(wanted: str, there: str) -> CatalogError:
    if wanted == there:
        return CatalogError(f"there is a feed {wanted!r} already", hint="replace it, or choose another name")
    return CatalogError(f"there is a feed {there!r}, which differs from {wanted!r} only in case")


def _refuse_cycles(feeds: Sequence[NewFeed], added: dict[str, int]) -> None:
    """New feeds can be read by new feeds only, so a cycle is among them or nowhere."""
    inner = {feed.name: [name for name in feed.reads if name in added] for feed in feeds}
    try:
        TopologicalSorter({name: reads for name, reads in inner.items() if reads}).prepare()
    except CycleError as error:
        raise CatalogError(f"feeds read each other in a circle: {' → '.join(error.args[1])}") from None


def _refuse_cycle_through(connection: Connection, feed: FeedRecord, used: Sequence[int]) -> None:
    """Refuse when `feed` is among what it would read, at any depth."""
    below = select(_feed.c.id).where(_feed.c.id.in_(used)).cte("below", recursive=True)
    below = below.union(select(_read.c.used_id).join(below, _read.c.reader_id == below.c.id))
    if connection.execute(select(below.c.id).where(below.c.id == feed.id)).first() is not None:
        raise CatalogError(f"{feed.name!r} would read itself through other feeds")


def _refuse_used(connection: Connection, ids: Sequence[int]) -> None:
    subscription = tables.subscription
    gone = names.names_of(connection, ids)
    readers = _readers(connection, ids)
    query = select(subscription.c.id, subscription.c.options).where(
        subscription.c.feed_id.in_(ids), subscription.c.status != "dropped"
    )
    subscribers = [
        f"subscription {options.get('name') or id_}"
        for id_, options in connection.execute(query.order_by(subscription.c.id))
    ]
    users = [*readers, *subscribers]
    if users:
        listed = ", ".join(users[:_MANY]) + (f" and {len(users) - _MANY} more" if len(users) > _MANY else "")
        dropped = ", ".join(repr(name) for _, name in sorted(gone.items()))
        raise CatalogError(f"cannot drop {dropped}: still used by {listed}", hint="drop those first")


def _readers(connection: Connection, ids: Sequence[int]) -> tuple[str, ...]:
    query = select(_feed.c.name).join(_read, _read.c.reader_id == _feed.c.id)
    query = query.where(_read.c.used_id.in_(ids), _feed.c.id.not_in(ids)).distinct().order_by(_feed.c.name)
    return tuple(connection.execute(query).scalars())


def _used(connection: Connection, feeds: Iterable[NewFeed], added: dict[str, int]) -> dict[str, int]:
    """The ids of what `feeds` read beyond themselves."""
    wanted = {name for feed in feeds for name in feed.reads if name not in added}
    found = names.ids_of(connection, wanted)
    for name in sorted(wanted - found.keys()):
        raise names.unknown(connection, name)
    return found


def _row(feed: NewFeed, id_: int, version: int) -> dict[str, object]:
    return {
        "id": id_,
        "name": feed.name,
        "folded": names.folded(feed.name),
        "kind": feed.kind,
        "statement": feed.statement,
        "owner": feed.owner,
        "created_at": feed.created_at,
        "version": version,
    }


def _reads(feed: NewFeed, id_: int, used: dict[str, int]) -> list[dict[str, object]]:
    each_once = dict.fromkeys(feed.reads)
    return [{"reader_id": id_, "place": place, "used_id": used[name]} for place, name in enumerate(each_once)]


def _change(version: int, id_: int, action: str, feed: NewFeed) -> Change:
    detail = {"url": feed.url} if feed.url else {}
    return Change(version, id_, action, feed.kind, feed.name, feed.statement, detail)  # type: ignore[arg-type]


def _one(connection: Connection, id_: int) -> FeedRecord:
    return _records(connection, connection.execute(select(_feed).where(_feed.c.id == id_)).all())[0]


def _maybe(connection: Connection, id_: int | None) -> FeedRecord | None:
    rows = connection.execute(select(_feed).where(_feed.c.id == id_)).all()
    return next(iter(_records(connection, rows)), None)


def _named_like(connection: Connection, feed_names: Iterable[str]) -> Iterator[Row[Any]]:
    """The feeds that are called so, or differ only in case, by id within a chunk."""
    folded = sorted(set(map(names.folded, feed_names)))
    for chunk in chunks(folded):
        yield from connection.execute(select(_feed).where(_feed.c.folded.in_(chunk)).order_by(_feed.c.id))


def _with_ids(connection: Connection, ids: Iterable[int]) -> tuple[FeedRecord, ...]:
    queries = (select(_feed).where(_feed.c.id.in_(chunk)) for chunk in chunks(sorted(set(ids))))
    rows = [row for query in queries for row in connection.execute(query.order_by(_feed.c.id))]
    return _records(connection, rows)


def _records(connection: Connection, rows: Sequence[object]) -> tuple[FeedRecord, ...]:
    reads = _reads_of(connection, [row.id for row in rows])  # type: ignore[attr-defined]
    return tuple(_record(row, reads) for row in rows)


def _record(row: object, reads: dict[int, list[str]]) -> FeedRecord:
    values = row._asdict()  # type: ignore[attr-defined]
    del values["folded"]
    return FeedRecord(reads=tuple(reads.get(values["id"], ())), **values)


def _reads_of(connection: Connection, ids: Sequence[int]) -> dict[int, list[str]]:
    reads: dict[int, list[str]] = defaultdict(list)
    for chunk in chunks(ids):
        query = select(_read.c.reader_id, _feed.c.name).join(_feed, _feed.c.id == _read.c.used_id)
        query = query.where(_read.c.reader_id.in_(chunk)).order_by(_read.c.reader_id, _read.c.place)
        for reader, name in connection.execute(query):
            reads[reader].append(name)
    return reads
