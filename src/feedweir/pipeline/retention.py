"""How much of the logs is kept: each has a bound in time or in bytes, beyond which data that is not needed is deleted.

Whole files are deleted: landing segments, and the items or elements of published batches, whose manifests stay and say
so. The record of seen items is never deleted, so that an item that appears again is always recognised. What the next or
a repeated batch may need is always kept: the newest batch, the history of joins, deliveries that wait to be sent, and
quarantined documents. Deletion is recorded before files are deleted, which happens an hour later: whoever reads the
tables at that time may go on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import takewhile
from typing import TYPE_CHECKING

from feedweir.errors import SettingsError
from feedweir.items.numbering import segment_of, segment_of_document
from feedweir.join.history_floor import oldest_remembered
from feedweir.pipeline.quarantine import Quarantine
from feedweir.storage import Place

if TYPE_CHECKING:
    from feedweir.logs.batches import Manifest
    from feedweir.logs.directory import DataDirectory
    from feedweir.logs.landing import LandingLog
    from feedweir.logs.store import Store

_DAYS = re.compile(r"(\d+(?:\.\d+)?)\s*days?", re.IGNORECASE)
_BYTES = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt])i?b", re.IGNORECASE)
_UNITS = {"k": 10, "m": 20, "g": 30, "t": 40}
PIECES = 8
"""Batches are merged up to this fraction of a bound, since whole batches are deleted."""


@dataclass(frozen=True, slots=True)
class Bound:
    """The greatest age, or the greatest total size; neither is no bound."""

    text: str = ""
    age: timedelta | None = None
    size: int | None = None

    def __bool__(self) -> bool:
        return self.age is not None or self.size is not None


def bound_of(text: str, setting: str = "") -> Bound:
    """Parses `90 days` or `20 GB`; an empty text is no bound."""
    if not text.strip():
        return Bound()
    if days := _DAYS.fullmatch(text.strip()):
        return Bound(text.strip(), age=timedelta(days=float(days[1])))
    if size := _BYTES.fullmatch(text.strip()):
        return Bound(text.strip(), size=int(float(size[1]) * (1 << _UNITS[size[2].lower()])))
    raise SettingsError(
        f"setting {setting}: {text!r} is not a limit",
        hint="write '90 days' or '20 GB'; leave it empty to keep everything",
    )


@dataclass(frozen=True, slots=True)
class Retention:
    """How much is kept of each log."""

    landing: Bound = Bound()
    items: Bound = Bound()
    elements: Bound = Bound()

    def __bool__(self) -> bool:
        return bool(self.landing or self.items or self.elements)


KEEP_ALL = Retention()


@dataclass(frozen=True, slots=True)
class Piece:
    """Files that are deleted together: up to which segment, when the newest of it arrived, and its size in bytes."""

    upto: int
    came: datetime | None
    """None if it is empty."""
    size: int


def surplus(pieces: Sequence[Piece], bound: Bound, now: datetime) -> int:
    """The segment up to which pieces, oldest first, exceed a bound; 0 if none does."""
    beyond = 0
    if bound.age is not None:
        oldest = now - bound.age
        old = takewhile(lambda piece: piece.came is None or piece.came < oldest, pieces)
        beyond = max((piece.upto for piece in old), default=0)
    if bound.size is not None:
        room = bound.size
        for piece in reversed(pieces):
            room -= piece.size
            if room < 0:
                return max(beyond, piece.upto)
    return beyond


@dataclass(frozen=True, slots=True)
class Due:
    """Up to which segment each log is to be deleted, and what prevents more from being deleted."""

    landing: int = 0
    items: int = 0
    elements: int = 0
    held_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Need:
    """From which item number on items are needed, and by whom."""

    seq: int
    who: str


def due(
    directory: DataDirectory,
    store: Store,
    log: LandingLog,
    retention: Retention,
    now: datetime,
    needs: Callable[[], Sequence[Need]],
) -> Due:
    """What is to be deleted now. `needs` is called only if there is anything."""
    manifests = store.manifests()
    # The newest batch may be repeated, and then reads what landed and what was published before it.
    older = manifests[:0:-1]
    if not retention or not older:
        return Due()
    pieces = [_piece(store, manifest) for manifest in older] if retention.items or retention.elements else []
    items = surplus(pieces, retention.items, now)
    elements = max(items, surplus([_elements_of(store, one) for one in older], retention.elements, now))
    landed = min(_landed_beyond(log, retention.landing, now), manifests[0].after, _quarantined(directory) - 1)
    if not (elements or landed):
        return Due()
    floors = [*needs(), *_joined(directory.joins)]
    first = min((segment_of(need.seq) for need in floors), default=1 << 62)
    held = {need.who for need in floors if segment_of(need.seq) <= elements}
    return Due(landed, min(items, first - 1), min(elements, first - 1), tuple(sorted(held)))


def remove(store: Store, log: LandingLog, what: Due) -> None:
    """Delete what is due; nothing while any file is damaged, since it may have to be rebuilt from the others."""
    if store.damages():
        return
    for manifest in store.manifests()[1:]:
        if manifest.upto <= what.elements:
            store.empty(manifest, with_items=manifest.upto <= what.items)
    if what.landing:
        log.remove(what.landing)


def may_merge(store: Store, retention: Retention, run: Sequence[Manifest]) -> bool:
    """Whether batches, oldest first, may be merged: together they should be a small part of what is kept."""
    bounds = [bound for bound in (retention.items, retention.elements) if bound]
    if not bounds:
        return True
    pieces = [_piece(store, manifest) for manifest in run]
    came = [piece.came for piece in pieces if piece.came]
    span = max(came) - min(came) if came else timedelta()
    size = sum(piece.size for piece in pieces)
    return all(
        (bound.age is None or span * PIECES <= bound.age)
        and (bound.size is None or size * PIECES <= bound.size)
        for bound in bounds
    )


def _piece(store: Store, manifest: Manifest) -> Piece:
    return Piece(manifest.upto, store.newest_arrival(manifest), store.size_of(manifest)[0])


def _elements_of(store: Store, manifest: Manifest) -> Piece:
    return Piece(manifest.upto, store.newest_arrival(manifest), store.size_of(manifest)[1])


def _landed_beyond(log: LandingLog, bound: Bound, now: datetime) -> int:
    return surplus([Piece(*one) for one in log.pieces()], bound, now) if bound else 0


def _quarantined(directory: DataDirectory) -> int:
    """The first segment with a document that awaits a decision."""
    waiting = Quarantine(directory.quarantine).waiting()
    return min((segment_of_document(record.number) for record in waiting), default=1 << 62)


def _joined(joins: Place) -> Iterator[Need]:
    """The oldest items in the history of joins, including those that constructed documents are made of."""
    if oldest := oldest_remembered(joins):
        yield Need(oldest, "joins")


def retention_report(store: Store, log: LandingLog, retention: Retention, what: Due) -> dict[str, str]:
    """For each log what is kept and what was deleted."""
    manifests = store.manifests()
    items, elements = (
        sum(getattr(one, name) for one in manifests) for name in ("items_removed", "elements_removed")
    )
    held = f"; {' and '.join(what.held_by)} prevent more from being deleted" if what.held_by else ""
    landed = f"; deleted up to segment {log.removed():,}" if log.removed() else ""
    return {
        "retained documents": f"{retention.landing.text or 'everything'}{landed}",
        "retained items": f"{retention.items.text or 'everything'}{_removed(items)}{held}",
        "retained elements": f"{retention.elements.text or 'everything'}{_removed(elements)}",
    }


def _removed(count: int) -> str:
    return f"; {count:,} deleted" if count else ""
