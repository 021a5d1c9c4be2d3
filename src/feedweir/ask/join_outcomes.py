"""The outcome of an item in feeds with joins, from the logs: nothing is run again."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from feedweir.ask.preview import StoredElement, stored_element
from feedweir.items.model import Item
from feedweir.items.numbering import segment_of
from feedweir.join.clock import Clock, highest, times_of
from feedweir.join.window_bounds import JoinBounds
from feedweir.logs.store import Store
from feedweir.plan.nodes import LastItems, TimeSpan, WindowSpec

Longs = NDArray[np.int64]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def version_of(store: Store, item: Item, feeds: Iterable[int] = ()) -> int:
    """The version of the definitions that the item's batch was matched against; 0 when that is not known, or when the
    batch could not join one of these feeds."""
    segment = segment_of(item.seq)
    batch = next((one for one in store.manifests() if one.after < segment <= one.upto), None)
    if batch is None or any(str(feed) in batch.feed_failures for feed in feeds):
        return 0
    return store.versions_at([item.seq])[item.seq]


def element_of(store: Store, feed: int, item: Item) -> StoredElement | None:
    """The element that the item is in a feed, with all that it was joined with; None when it is not in there."""
    if not store.is_in(np.array([feed]), np.array([item.seq]))[0]:
        return None
    annotations = store.joined.annotations(feed, [item.seq]).get(item.seq, {})
    made = store.joined.made(feed, [item.seq]).get(item.seq, ())
    return stored_element(item, annotations, made, store)


def in_window(store: Store, feeds: Iterable[int], item: Item, spec: WindowSpec) -> int:
    """How many items of some feeds, apart from itself, an item met in a window over them."""
    upto = item.seq + 1
    match spec:
        case LastItems(count):
            found = _each_once(store.seqs(feed, count, before=upto) for feed in feeds)[-count:]
        case TimeSpan(length):
            members = _each_once(store.seqs(feed, before=upto) for feed in feeds)
            found = _recent(store, members, item, length // _MICROSECOND)
    return int((found != item.seq).sum())


def _each_once(parts: Iterable[Longs]) -> Longs:
    return np.unique(np.concatenate([np.empty(0, np.int64), *parts]))


def _recent(store: Store, members: Longs, item: Item, length_us: int) -> Longs:
    """Those that a join would not have been too late for, nor forgotten, when the item came."""
    manifests = [one for one in store.manifests() if one.after < segment_of(item.seq)]
    items = store.item_table(manifests, ("seq", "arrived", "published"))
    times = times_of(items.filter(pc.less_equal(items["seq"], item.seq)), Clock())
    members = members[np.isin(members, times.seq)]
    own, places = np.searchsorted(times.seq, [item.seq])[0], np.searchsorted(times.seq, members)
    arrived_us = (item.arrived - _EPOCH) // _MICROSECOND
    now = np.full(len(members), times.clock_us[own])
    clock = highest(now, times.peaks, members, np.full(len(members), item.seq))
    least = np.maximum(arrived_us, clock - JoinBounds().lateness_us) - length_us
    return members[times.time_us[places] > least]
