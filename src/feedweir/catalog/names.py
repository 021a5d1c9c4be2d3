"""One namespace: finding a feed by its name or a part of it, by whose it is, and helping when there is none.

Parts of names are found in memory, in the names as of a version, without reading every row:

  text   ␀ a l i c e ␀ b o b ␀ …     the folded names, each between zeros
starts   0          6      10 …       where each begins, its zero included
   ids   17         18     21 …       whose it is
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from threading import Lock

import numpy as np
from sqlalchemy import Column, ColumnElement, Connection, func, or_, select

from feedweir.catalog import history, names, tables
from feedweir.catalog.column_types import cleaned, storable
from feedweir.catalog.database import Database
from feedweir.catalog.records import Change
from feedweir.catalog.rows import chunks
from feedweir.errors import CatalogError, near, nearest
from feedweir.items.owners import EVERYONE, SEPARATOR, circle_of

MAX_LENGTH = 200
_NEIGHBOURS = 500
_SAMPLE = 5_000

_feed = tables.feed


def folded(name: str) -> str:
    """What two names must not share."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def is_like(column: Column[str], like: str) -> ColumnElement[bool]:
    """Whether a folded name is like a pattern: one with `*` is the whole name, one without is a part of it."""
    parts = [
        part.replace("/", "//").replace("%", "/%").replace("_", "/_") for part in folded(like).split("*")
    ]
    pattern = "%".join(parts) if len(parts) > 1 else f"%{parts[0]}%"
    return column.like(pattern, escape="/")


def checked(name: str) -> str:
    if not name or name != name.strip():
        raise CatalogError(
            f"{name!r} is not a name", hint="a name must not be empty, or begin or end with a space"
        )
    if len(name) > MAX_LENGTH:
        raise CatalogError(f"the name {name[:40]!r}… is longer than {MAX_LENGTH} characters")
    return storable(name, "the name")


def ids_of(connection: Connection, names: Iterable[str]) -> dict[str, int]:
    """The id of every name that is there."""
    found: dict[str, int] = {}
    for chunk in chunks(sorted({name for name in names if cleaned(name) == name})):
        wanted = set(chunk)
        query = select(_feed.c.name, _feed.c.id).where(_feed.c.folded.in_(sorted(map(folded, chunk))))
        found.update((name, id_) for name, id_ in connection.execute(query) if name in wanted)
    return found


def id_of(connection: Connection, name: str) -> int:
    found = ids_of(connection, (name,))
    if name not in found:
        raise unknown(connection, name)
    return found[name]


def names_of(connection: Connection, ids: Iterable[int]) -> dict[int, str]:
    found: dict[int, str] = {}
    for chunk in chunks(sorted(set(ids))):
        rows = connection.execute(select(_feed.c.id, _feed.c.name).where(_feed.c.id.in_(chunk)))
        found.update((id_, name) for id_, name in rows)
    return found


def taken(connection: Connection, names: Iterable[str]) -> list[tuple[str, str]]:
    """(wanted, there) for every name that is taken, or differs from one that is there only in case."""
    wanted = {folded(name): name for name in names}
    pairs: list[tuple[str, str]] = []
    for chunk in chunks(sorted(wanted)):
        rows = connection.execute(select(_feed.c.folded, _feed.c.name).where(_feed.c.folded.in_(chunk)))
        pairs += [(wanted[key], name) for key, name in rows]
    return sorted(pairs)


def unknown(connection: Connection, name: str) -> CatalogError:
    hint = near(name, near_names(connection, name))
    return CatalogError(f"there is no feed {name!r}", hint=hint)


def near_names(connection: Connection, name: str) -> tuple[str, ...]:
    """Up to three names like this one, among its neighbours in the alphabet and some thousand others."""
    key = folded(cleaned(name))
    query = select(_feed.c.folded, _feed.c.name)
    candidates: dict[str, str] = {}
    for part in (
        query.where(_feed.c.folded >= key).order_by(_feed.c.folded).limit(_NEIGHBOURS),
        query.where(_feed.c.folded < key).order_by(_feed.c.folded.desc()).limit(_NEIGHBOURS),
        query.order_by(_feed.c.id).limit(_SAMPLE),
    ):
        candidates.update((row.folded, row.name) for row in connection.execute(part))
    return tuple(candidates[found] for found in nearest(key, sorted(candidates)))


def is_theirs(owner: Column[str], asker: str) -> ColumnElement[bool]:
    """As `items.owners.concerns` says; by a comparison of bytes, since `like` ignores case in one of the two."""
    is_in_circle = owner.in_(circle_of(asker))
    if asker == EVERYONE:
        return is_in_circle
    below = asker + SEPARATOR
    return or_(is_in_circle, func.substr(owner, 1, len(below)) == below)


MOST_FOUND = 5_000
"""Names beyond which the database is asked."""
_MOST_LATER = 10_000
_END = b"\0"


class NameText:
    """For any number of threads. Whoever asks once asks the database: reading all names takes longer."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._turn = Lock()
        self._was_asked = False
        self._version = -1
        self._text, self._starts, self._ids = _END, np.empty(0, np.int64), np.empty(0, np.int64)
        self._later: dict[int, bytes | None] = {}
        """What has changed since all were read: the name of a feed, none of one that is gone."""

    def ids_like(self, like: str, version: int) -> list[int] | None:
        """The feeds of a version that are called like a pattern; None when that is not known, or they are many."""
        parts = [part.encode() for part in names.folded(like).split("*")]
        if not any(parts):
            return None
        with self._turn:
            if not self._was_asked:
                self._was_asked = True
                return None
            self._database.read_committed(self._bring_up)
            return self._found(parts) if version == self._version else None

    def _bring_up(self, connection: Connection) -> None:
        version = history.current_version(connection)
        if version == self._version:
            return
        changes = history.changes_since(connection, self._version, _MOST_LATER) if self._version >= 0 else ()
        if self._version < 0 or len(self._later) + len(changes) >= _MOST_LATER:
            self._read(connection)
        else:
            self._later |= {one.id: _name_after(one) for one in changes if one.kind != "subscription"}
        self._version = version

    def _read(self, connection: Connection) -> None:
        feed = tables.feed
        rows = connection.execute(select(feed.c.id, feed.c.folded).order_by(feed.c.id)).all()
        self._ids = np.array([id_ for id_, _ in rows], np.int64)
        self._text = _END + b"".join(folded.encode() + _END for _, folded in rows)
        self._starts = np.flatnonzero(np.frombuffer(self._text, np.uint8) == 0)[:-1]
        self._later = {}

    def _found(self, parts: list[bytes]) -> list[int] | None:
        fits = _fitting(parts)
        found = [id_ for id_, name in self._later.items() if name is not None and fits(name)]
        for place in _each_once(self._places(parts)):
            id_ = int(self._ids[place])
            if id_ not in self._later and fits(self._name(place)):
                found.append(id_)
            if len(found) > MOST_FOUND:
                return None
        return found

    def _places(self, parts: list[bytes]) -> Iterator[int]:
        """Of names that hold the longest part of a pattern."""
        wanted = [b"", *parts, b""] if len(parts) == 1 else parts
        first, last = 0, len(wanted) - 1
        literals = [
            (_END if at == first and part else b"") + part + (_END if at == last and part else b"")
            for at, part in enumerate(wanted)
        ]
        longest = max(literals, key=len)
        at = self._text.find(longest)
        while at >= 0:
            # a literal that begins with the zero of a name belongs to that name
            yield int(np.searchsorted(self._starts, at, "right")) - 1
            at = self._text.find(longest, at + 1)

    def _name(self, place: int) -> bytes:
        first = int(self._starts[place]) + 1
        return self._text[first : self._text.index(_END, first)]


def _name_after(change: Change) -> bytes | None:
    return None if change.action == "drop" else names.folded(change.name).encode()


def _each_once(ascending: Iterable[int]) -> Iterator[int]:
    before = -1
    for one in ascending:
        if one != before:
            yield one
        before = one


def _fitting(parts: list[bytes]) -> Callable[[bytes], object]:
    """A pattern with `*` is the whole name; one without is a part of it."""
    pattern = re.compile(b".*".join(map(re.escape, parts)), re.DOTALL)
    return pattern.fullmatch if len(parts) > 1 else pattern.search
