"""How many documents a feed with joins may make in an hour: which of them it shows is decided by the stream alone.

A document counts for the hour of the item that completed it, by that item's own time, so that what piled up during an
outage counts for the hours that it is about. Hours that lie more than a day behind the clock share one: that of the
clock. Within an hour the first documents in the order of the stream are shown. However the stream is cut into batches,
the same are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from feedweir.join.clock import HOUR_US, LONG_AGO, Times

Longs = NDArray[np.int64]

MOST_PER_HOUR = 100_000
"""Of feeds that do not say otherwise."""
_HOURS_APART = 24
_BITS = 22
"""For an hour since the epoch, and whether it stands for all that is long past."""
_LATE = 1 << (_BITS - 1)
_NONE = np.empty(0, np.int64)


def _nothing() -> Longs:
    return _NONE


@dataclass(frozen=True, slots=True)
class ResultCounts:
    """How many documents feeds have made, by feed and hour, in order; hours that nothing can count for are left out."""

    code: Longs = field(default_factory=_nothing)
    count: Longs = field(default_factory=_nothing)

    def table(self) -> pa.Table:
        return pa.table({"code": self.code, "count": self.count})

    @staticmethod
    def of(table: pa.Table) -> ResultCounts:
        return ResultCounts(*(table[name].combine_chunks().to_numpy() for name in ("code", "count")))

    def before(self, code: Longs) -> Longs:
        """How many were made before, for each of these feeds and hours."""
        if not len(self.code):
            return np.zeros(len(code), np.int64)
        place = np.minimum(np.searchsorted(self.code, code), len(self.code) - 1)
        return np.where(self.code[place] == code, self.count[place], 0)

    def with_more(self, code: Longs, count: Longs, clock: int) -> ResultCounts:
        """With what a batch has made, up to a clock."""
        codes, places = np.unique(np.concatenate([self.code, code]), return_inverse=True)
        counts = np.zeros(len(codes), np.int64)
        np.add.at(counts, places, np.concatenate([self.count, count]))
        hour = codes & (_LATE - 1)
        is_late = (codes & _LATE) > 0
        now = _hours(np.array([clock]))[0]
        kept = np.where(is_late, hour >= now, hour >= now - _HOURS_APART)
        return ResultCounts(codes[kept], counts[kept])


@dataclass(frozen=True, slots=True)
class Limits:
    """What feeds say of themselves, by feed; the others have the default."""

    feed: Longs = field(default_factory=_nothing)
    most: Longs = field(default_factory=_nothing)

    def of(self, feeds: Longs, default: int) -> Longs:
        if not len(self.feed):
            return np.full(len(feeds), default, np.int64)
        place = np.minimum(np.searchsorted(self.feed, feeds), len(self.feed) - 1)
        return np.where(self.feed[place] == feeds, self.most[place], default)


class Limited(Protocol):
    """A feed that may say how much it wants."""

    @property
    def feed(self) -> int: ...
    @property
    def most(self) -> int: ...


def limits_of(feeds: Iterable[Limited]) -> Limits:
    """Those of the feeds that say any."""
    rows = sorted((one.feed, one.most) for one in feeds if one.most)
    columns = np.array(rows, np.int64).reshape(-1, 2)
    return Limits(np.ascontiguousarray(columns[:, 0]), np.ascontiguousarray(columns[:, 1]))


@dataclass(frozen=True, slots=True)
class Bounded:
    """What is shown of a batch, or of a part of it, and how many documents of which feed are not."""

    elements: pa.Table
    made: pa.Table
    counts: ResultCounts
    left_out: dict[int, int]


def bounded(
    elements: pa.Table,
    made: pa.Table,
    counts: ResultCounts,
    times: Times,
    limits: Limits,
    default: int = MOST_PER_HOUR,
) -> Bounded:
    """The elements and documents of a batch, by feed and number, that feeds have room for."""
    feed, seq = _columns(made)
    is_result = pc.greater(pc.list_value_length(made["made_of"]), 0).to_numpy(zero_copy_only=False)
    lone = _lone(elements, feed, seq, limits)
    row_feed = np.concatenate([feed[is_result], lone[0]])
    row_seq = np.concatenate([seq[is_result], lone[1]])
    if not len(row_feed):
        return Bounded(elements, made, counts, {})
    code = _codes(row_feed, row_seq, times)
    # Both kinds are in the order of the stream, and no feed has both for one item.
    order = np.lexsort((np.arange(len(code)), row_seq, code))
    starts = np.flatnonzero(np.append(True, code[order][1:] != code[order][:-1]))
    rank = np.empty(len(code), np.int64)
    rank[order] = np.arange(len(code)) - np.repeat(starts, np.diff(np.append(starts, len(code))))
    kept = counts.before(code) + rank < limits.of(row_feed, default)
    after = counts.with_more(*np.unique(code, return_counts=True), _now(times))
    if kept.all():
        return Bounded(elements, made, after, {})
    feeds, left_out = np.unique(row_feed[~kept], return_counts=True)
    is_shown = np.ones(len(feed), np.bool_)
    is_shown[is_result] = kept[: int(is_result.sum())]
    made = made.filter(pa.array(is_shown))
    dropped_feed = np.concatenate(
        [feed[~is_shown], row_feed[len(row_feed) - len(lone[0]) :][_tail(kept, lone)]]
    )
    dropped_seq = np.concatenate([seq[~is_shown], row_seq[len(row_seq) - len(lone[0]) :][_tail(kept, lone)]])
    elements = _without(elements, dropped_feed, dropped_seq, made)
    return Bounded(elements, made, after, dict(zip(feeds.tolist(), left_out.tolist(), strict=True)))


class FeedBounds:
    """Bounds the feeds of a batch, run by run, and remembers what was left out."""

    def __init__(self, counts: ResultCounts, limits: Limits, default: int = MOST_PER_HOUR) -> None:
        self.counts = counts
        self._limits = limits
        self._default = default
        self._left_out: Counter[int] = Counter()

    def applied(self, elements: pa.Table, made: pa.Table, times: Times) -> tuple[pa.Table, pa.Table]:
        """The elements and documents that feeds have room for."""
        found = bounded(elements, made, self.counts, times, self._limits, self._default)
        self.counts = found.counts
        self._left_out.update(found.left_out)
        return found.elements, found.made

    def messages(self) -> list[tuple[int, str]]:
        """(feed, what is said of it), for those that made more than they may show."""
        feeds = np.array(sorted(self._left_out), np.int64)
        most = self._limits.of(feeds, self._default)
        return [
            (feed, left_out_message(self._left_out[feed], limit))
            for feed, limit in zip(feeds.tolist(), most.tolist(), strict=True)
        ]


def _tail(kept: NDArray[np.bool_], lone: Sequence[Longs]) -> NDArray[np.bool_]:
    return ~kept[len(kept) - len(lone[0]) :]


def _lone(elements: pa.Table, feed: Longs, seq: Longs, limits: Limits) -> tuple[Longs, Longs]:
    """(feed, number) of the elements that stand for themselves, of feeds that say how much they want: an item is shown
    once, so that others need no bound."""
    own_feed, own_seq = _columns(elements)
    chosen = np.isin(own_feed, limits.feed)
    own_feed, own_seq = own_feed[chosen], own_seq[chosen]
    is_made = _is_among(own_feed, own_seq, feed, seq)
    return own_feed[~is_made], own_seq[~is_made]


def _without(elements: pa.Table, feed: Longs, seq: Longs, made: pa.Table) -> pa.Table:
    """The elements but those of which nothing is left."""
    own_feed, own_seq = _columns(elements)
    is_dropped = _is_among(own_feed, own_seq, feed, seq) & ~_is_among(own_feed, own_seq, *_columns(made))
    return elements.filter(pa.array(~is_dropped))


def _is_among(feed: Longs, seq: Longs, feeds: Longs, seqs: Longs) -> NDArray[np.bool_]:
    """Which pairs are among some."""
    if not len(feeds):
        return np.zeros(len(feed), np.bool_)
    together = np.concatenate([np.column_stack([feed, seq]), np.column_stack([feeds, seqs])])
    _, place = np.unique(together, axis=0, return_inverse=True)
    place = place.ravel()
    return np.isin(place[: len(feed)], place[len(feed) :])


def _columns(table: pa.Table) -> tuple[Longs, Longs]:
    feed, seq = (table[name].to_numpy() for name in ("feed", "seq"))
    return feed, seq


def _codes(feed: Longs, seq: Longs, times: Times) -> Longs:
    """The feed and the hour that each document counts for, as one number."""
    time, clock = times.at(seq)
    own, now = _hours(time), _hours(clock)
    hour = np.where(own >= now - _HOURS_APART, own, now | _LATE)
    return np.asarray(feed << _BITS | hour)


def _hours(time: Longs) -> Longs:
    return np.clip(time // HOUR_US, 0, _LATE - 1)


def _now(times: Times) -> int:
    return int(times.clock_us[-1]) if len(times.clock_us) else LONG_AGO


def left_out_message(count: int, most: int) -> str:
    """What is said of a feed that made more than it may show."""
    documents = "1 document" if count == 1 else f"{count:,} documents"
    return (
        f"{documents} beyond {most:,} in an hour are not shown: compare more values, take a shorter window,"
        " or allow more, with `at most … results per hour`"
    )
