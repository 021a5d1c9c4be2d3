"""One namespace: finding a feed by name, and helping when there is none."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from sqlalchemy import Column, ColumnElement, Connection, select

from feedweir.catalog import tables
from feedweir.catalog.columns import cleaned, storable
from feedweir.catalog.rows import chunks
from feedweir.errors import CatalogError, near, nearest

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
        raise CatalogError(f"{name!r} is not a name", hint="a name is not empty and has no space at its ends")
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
