"""What joins remember: the elements of streams from before a batch. The logs have them; here they are kept at hand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Protocol, TypeAlias

from feedweir.engine.constructed import items_shown, parts_of
from feedweir.engine.store import Store
from feedweir.engine.window_index import WindowIndex
from feedweir.items.model import Item
from feedweir.items.schema import items_of
from feedweir.match.meaning import Reading
from feedweir.plan.nodes import LastItems, TimeSpan, WindowSpec

EARLIEST = datetime.min.replace(tzinfo=UTC)

Place: TypeAlias = tuple[int, tuple[int, ...], str]
"""Where an item or a constructed document stands in the stream (`Item.place`)."""
Members: TypeAlias = Mapping[int, Sequence[Reading]]
"""By key of a stream its elements of a batch, in the order of the stream."""


def before(moment: datetime, length: timedelta) -> datetime:
    """So long before a moment, or the beginning of time."""
    return moment - length if moment - EARLIEST > length else EARLIEST


class History(Protocol):
    """The elements of streams from before the batch that is being joined, in the order of the stream."""

    def window(self, key: int, spec: WindowSpec, since: datetime) -> WindowIndex:
        """At least the last so many, or those whose time is later than `since`."""

    def items(self, seqs: Sequence[int]) -> Mapping[int, Item]:
        """The items that constructed documents are made of."""


class MemoryHistory:
    """Everything that was learnt, and nothing else: for replays."""

    def __init__(self, read: Callable[[Sequence[int]], Mapping[int, Item]]) -> None:
        self._streams: defaultdict[int, WindowIndex] = defaultdict(WindowIndex)
        self._read = read

    def window(self, key: int, spec: WindowSpec, since: datetime) -> WindowIndex:
        return self._streams[key]

    def items(self, seqs: Sequence[int]) -> Mapping[int, Item]:
        return self._read(seqs)

    def learn(self, members: Members) -> None:
        for key, readings in members.items():
            self._streams[key].extend(readings)


@dataclass(frozen=True, slots=True)
class _Slot:
    """One window over one stream."""

    key: int
    spec: WindowSpec


@dataclass(slots=True)
class _Held:
    """Members of a window: all of those later than `since`."""

    window: WindowIndex
    since: datetime


class StoredHistory:
    """Reads the logs when it must, and else goes on from what it held for the batch before.

    What is held follows from the logs alone: a new process, or a batch that is run again, finds the same.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._held: dict[_Slot, _Held] = {}
        self._upto = -1

    def stand_at(self, upto: int) -> None:
        """The next batch begins after this segment; what is held for another place is let go."""
        if upto != self._upto:
            self._held.clear()
            self._upto = upto

    def window(self, key: int, spec: WindowSpec, since: datetime) -> WindowIndex:
        return self._window(_Slot(key, spec), since)

    def items(self, seqs: Sequence[int]) -> Mapping[int, Item]:
        return {item.seq: item for item in items_of(self._store.items(seqs))}

    def learn(self, upto: int, members: Members) -> None:
        """The batch was published: its members are history now."""
        for slot, held in self._held.items():
            held.window.extend([_kept(reading) for reading in members.get(slot.key, ())])
            if isinstance(slot.spec, LastItems) and len(held.window) > 2 * slot.spec.count:
                held.window = WindowIndex(held.window.readings[-slot.spec.count :])
        self._upto = upto

    def _window(self, slot: _Slot, since: datetime) -> WindowIndex:
        held = self._held.get(slot)
        if held is None or since < held.since:
            held = self._held[slot] = _Held(WindowIndex(self._load(slot, since)), since)
        elif isinstance(slot.spec, TimeSpan) and (since - held.since) * _SWEEPS > slot.spec.length:
            held.window = WindowIndex(r for r in held.window.readings if r.item.time > since)
            held.since = since
        return held.window

    def _load(self, slot: _Slot, since: datetime) -> list[Reading]:
        limit = slot.spec.count if isinstance(slot.spec, LastItems) else None
        seqs = self._store.seqs(slot.key, limit).tolist()
        # An item's time is never later than its arrival, by which the log can skip what is too old.
        table = self._store.items(seqs, arrived_after=since if isinstance(slot.spec, TimeSpan) else None)
        items = list(items_of(table))
        made = self._store.made(slot.key, [item.seq for item in items])
        shown = items_shown(items, made, self.items(parts_of(made))) if made else items
        return [_kept(Reading(item)) for item in shown]


_SWEEPS = 8
"""How often a window is swept while it goes on by its own length."""


def _kept(reading: Reading) -> Reading:
    """Join predicates read attributes, never the XML: a window need not hold that."""
    return Reading(replace(reading.item, raw=""))
