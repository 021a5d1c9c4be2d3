"""Statistics that flow back from batches: counters per feed, and how often each atom held per source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, case, func, or_, select, update

from feedweir.catalog import tables
from feedweir.catalog.column_types import microseconds, moment, storable_key
from feedweir.catalog.database import Database
from feedweir.catalog.records import AtomCount, Fading, FeedCounts, FeedStatistics
from feedweir.catalog.rows import chunks, existing, upsert_all

HALF_LIFE_S = 7 * 86_400
"""A hit counts half in the recent counters after a week: rhythms of publishing are weekly."""

_HALF_LIFE_US = HALF_LIFE_S * 1_000_000

_feed = tables.feed_statistics
_atom = tables.atom_statistics


class Statistics:
    """What was counted. Counting itself is part of committing a batch."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def feeds(self, ids: Sequence[int] | None = None) -> tuple[FeedStatistics, ...]:
        """The statistics of all feeds, or of those with `ids`, by id; a feed never counted has none."""
        return self._database.read(lambda connection: _feeds(connection, ids))

    def atoms(self, source_id: int | None = None) -> tuple[AtomCount, ...]:
        """The atoms of a source, or of all, by source and atom."""
        query = select(_atom).order_by(_atom.c.source_id, _atom.c.atom)
        if source_id is not None:
            query = query.where(_atom.c.source_id == source_id)
        rows = self._database.read(lambda connection: connection.execute(query).all())
        return tuple(AtomCount(*row) for row in rows)


def add_counts(connection: Connection, counts: Sequence[FeedCounts], now: datetime) -> None:
    """Add what a batch counted; a feed that was dropped meanwhile is left out."""
    living = existing(connection, tables.feed.c.id, (count.feed_id for count in counts))
    rows = [
        _counts_row(count, microseconds(now)) for count in summed_counts(counts) if count.feed_id in living
    ]
    upsert_all(connection, _feed, rows, ["feed_id"], _added_counts)


def fade(connection: Connection, fading: Iterable[Fading]) -> None:
    """Weigh what was counted before less: one statement a source, however many atoms are watched."""
    for one in fading:
        is_meant = and_(_atom.c.source_id == one.source_id, _atom.c.atom.not_in(one.spared))
        connection.execute(update(_atom).where(is_meant).values(weight=_atom.c.weight * one.share))


def add_atoms(connection: Connection, atoms: Sequence[AtomCount]) -> None:
    """Add how often atoms held; a source that was dropped meanwhile is left out."""
    living = existing(connection, tables.feed.c.id, (atom.source_id for atom in atoms))
    rows = [atom._asdict() for atom in summed_atoms(atoms) if atom.source_id in living]
    upsert_all(connection, _atom, rows, ["source_id", "atom"], _added_atoms)


def summed_counts(counts: Sequence[FeedCounts]) -> list[FeedCounts]:
    """One for each feed, by id: who locks rows in the same order never waits for another in a circle."""
    sums: dict[int, FeedCounts] = {}
    for new in counts:
        old = sums.get(new.feed_id)
        sums[new.feed_id] = new if old is None else _both(old, new)
    return sorted(sums.values(), key=lambda count: count.feed_id)


def summed_atoms(atoms: Sequence[AtomCount]) -> list[AtomCount]:
    """One for each source and atom, in their order, under the name it is stored by."""
    sums: dict[tuple[int, str], tuple[int, float]] = {}
    for source_id, atom, times, weight in atoms:
        key = (source_id, storable_key(atom))
        old_times, old_weight = sums.get(key, (0, 0.0))
        sums[key] = (old_times + times, old_weight + weight)
    return [AtomCount(*key, *sums[key]) for key in sorted(sums)]


def _both(old: FeedCounts, new: FeedCounts) -> FeedCounts:
    hits_at = [at for at in (old.last_hit_at, new.last_hit_at) if at is not None]
    return FeedCounts(
        old.feed_id,
        items=old.items + new.items,
        hits=old.hits + new.hits,
        candidates=old.candidates + new.candidates,
        last_hit_at=max(hits_at, default=None),
    )


def _added_counts(new: Any) -> Mapping[str, ColumnElement[Any]]:
    """Totals grow; recent counters fade by the time since they were last written, then grow."""
    old = _feed.c
    age = (new.recent_at - old.recent_at) * 1.0 / _HALF_LIFE_US
    kept = case((age > 0, func.power(2.0, -age)), else_=1.0)
    is_later = or_(
        old.last_hit_at.is_(None), and_(new.last_hit_at.is_not(None), new.last_hit_at > old.last_hit_at)
    )
    totals = {name: old[name] + new[name] for name in ("items", "hits", "candidates")}
    recent = {
        name: old[name] * kept + new[name] for name in ("recent_items", "recent_hits", "recent_candidates")
    }
    return {
        **totals,
        **recent,
        "last_hit_at": case((is_later, new.last_hit_at), else_=old.last_hit_at),
        "recent_at": case((age > 0, new.recent_at), else_=old.recent_at),
    }


def _added_atoms(new: Any) -> Mapping[str, ColumnElement[Any]]:
    return {"times": _atom.c.times + new.times, "weight": _atom.c.weight + new.weight}


def _counts_row(count: FeedCounts, now: int) -> dict[str, Any]:
    return {
        **count._asdict(),
        "recent_items": float(count.items),
        "recent_hits": float(count.hits),
        "recent_candidates": float(count.candidates),
        "recent_at": now,
    }


def _feeds(connection: Connection, ids: Sequence[int] | None) -> tuple[FeedStatistics, ...]:
    query = select(_feed).order_by(_feed.c.feed_id)
    if ids is None:
        rows = list(connection.execute(query))
    else:
        parts = chunks(sorted(set(ids)))
        rows = [row for part in parts for row in connection.execute(query.where(_feed.c.feed_id.in_(part)))]
    return tuple(FeedStatistics(**{**row._mapping, "recent_at": moment(row.recent_at)}) for row in rows)
