"""The clock that joins forget by: the latest time of any item so far, as far as that has surely passed.

What has surely passed at an item is the earliest arrival of all items in the last three days *of arrivals*: these are
counted by how far arrivals went on from one item to the next, in the order of the stream, and a step counts for no
more than half a day. So a machine's clock that jumps ahead, however far, is believed when arrivals have gone on for two
and a half days after it, and so is a real pause; when they go back before that, nothing has happened. When they go back
later, the clock goes back with them: what was forgotten by then stays forgotten (`highest`), whatever comes from then
on is remembered as ever. No date that an item gives itself brings the clock further than that.

Everything follows from the items up to the one in question, so that it does not matter how the stream is cut.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Longs = NDArray[np.int64]


LONG_AGO = -(1 << 62)


HOUR_US = 3_600_000_000


STEP_US = 12 * HOUR_US
"""The most that a step counts for; when arrivals go back by less, the next step is still measured from the latest."""


TRUSTED_HOURS = 72
"""How many hours of arrivals what has surely passed lags behind."""


@dataclass(frozen=True, slots=True)
class Clock:
    """The clock after some item: a value, never changed."""

    now: int = LONG_AGO
    """In microseconds since the epoch."""
    seq: int = -1
    """The item."""
    passed: int = 0
    """How long arrivals have gone on so far."""
    latest: int = LONG_AGO
    """The arrival from which the next step is measured."""
    hours: tuple[tuple[int, int], ...] = ()
    """(hour of `passed`, earliest arrival in it), of the last hours; without those that a later one undercuts."""
    peaks: tuple[tuple[int, int], ...] = ()
    """(item, clock at it) wherever the clock went back right after, as long as it has not come there again."""

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    @staticmethod
    def from_json(value: Mapping[str, Any] | int) -> Clock:
        """Of older states only the latest time of any item is known: arrivals were about there."""
        if isinstance(value, int):
            return Clock() if value == LONG_AGO else Clock(value, latest=value, hours=((0, value),))
        pairs = {name: tuple((int(a), int(b)) for a, b in value[name]) for name in ("hours", "peaks")}
        return Clock(**{**value, **pairs})


@dataclass(frozen=True, slots=True)
class Clocks:
    """The clock at each item of a batch, and wherever it went back in it or before."""

    clock_us: Longs
    peaks: Longs
    """Rows (item, clock at it), by item."""
    after: Clock


def highest(clock_us: Longs, peaks: Longs, first: Longs, last: Longs) -> Longs:
    """The highest that the clock was from one item on up to another, at which it is `clock_us`.

    It is highest either at the last item or where it went back.
    """
    found = clock_us
    for seq, clock in peaks.tolist():
        found = np.where((first <= seq) & (seq < last), np.maximum(found, clock), found)
    return found


def clocks_of(clock: Clock, seq: Longs, time: Longs, arrived: Longs) -> Clocks:
    """The clock at each item, in the order of the stream, given the clock before them."""
    arrivals = _Arrivals(clock)
    surely = arrivals.passed_at(arrived)
    now = _behind(clock.now, time, surely)
    peaks = np.concatenate([np.array(clock.peaks, np.int64).reshape(-1, 2), _peaks(clock, seq, now)])
    if not len(seq):
        return Clocks(now, peaks, clock)
    left = _not_reached(peaks.tolist(), int(now[-1]))
    return Clocks(now, peaks, arrivals.after(int(now[-1]), int(seq[-1]), left))


class _Arrivals:
    """What has surely passed, while items come."""

    def __init__(self, clock: Clock) -> None:
        self._passed, self._latest, self._hours = clock.passed, clock.latest, deque(clock.hours)

    def passed_at(self, arrived: Longs) -> Longs:
        # The items of a document arrived together: a step is taken for each document.
        starts = np.flatnonzero(np.append(True, arrived[1:] != arrived[:-1])[: len(arrived)])
        surely = np.array([self._step(time) for time in arrived[starts].tolist()], np.int64)
        return np.repeat(surely, np.diff(np.append(starts, len(arrived))))

    def _step(self, arrived: int) -> int:
        if self._latest == LONG_AGO:
            self._latest = arrived
        self._passed += min(max(arrived - self._latest, 0), STEP_US)
        is_back = arrived < self._latest - STEP_US
        self._latest = arrived if is_back else max(arrived, self._latest)
        self._take_in(self._passed // HOUR_US, arrived)
        return self._hours[0][1]

    def _take_in(self, hour: int, arrived: int) -> None:
        while self._hours and self._hours[0][0] <= hour - TRUSTED_HOURS:
            self._hours.popleft()
        while self._hours and self._hours[-1][1] >= arrived:
            self._hours.pop()
        if not self._hours or self._hours[-1][0] < hour:
            self._hours.append((hour, arrived))

    def after(self, now: int, seq: int, peaks: tuple[tuple[int, int], ...]) -> Clock:
        return Clock(now, seq, self._passed, self._latest, tuple(self._hours), peaks)


def _behind(clock: int, time: Longs, surely: Longs) -> Longs:
    """The latest time so far, never ahead of what has surely passed: while that does not fall, a running maximum."""
    now = np.minimum(time, surely)
    falls = np.flatnonzero(surely[1:] < surely[:-1]) + 1
    for start, stop in pairwise([0, *falls.tolist(), len(time)]):
        if start < stop:
            now[start] = max(now[start], min(clock, surely[start]))
            now[start:stop] = np.maximum.accumulate(now[start:stop])
            clock = int(now[stop - 1])
    return now


def _peaks(clock: Clock, seq: Longs, now: Longs) -> Longs:
    """Where the clock went back right after."""
    before, items = np.append(clock.now, now[:-1])[: len(now)], np.append(clock.seq, seq[:-1])[: len(now)]
    return np.column_stack([items, before])[now < before]


def _not_reached(peaks: Sequence[Sequence[int]], now: int) -> tuple[tuple[int, int], ...]:
    """Those that neither a later one nor the clock of now has reached."""
    kept: list[tuple[int, int]] = []
    for seq, clock in reversed(peaks):
        if clock > max(now, kept[-1][1] if kept else now):
            kept.append((seq, clock))
    return tuple(reversed(kept))


@dataclass(frozen=True, slots=True)
class Times:
    """The times of all items of a batch, by number, and the clock at each."""

    seq: Longs
    time_us: Longs
    clock_us: Longs
    peaks: Longs
    """Where the clock went back, in the batch or before: rows (item, clock at it)."""
    clock: Clock
    """After the batch."""

    def at(self, seqs: Longs) -> tuple[Longs, Longs]:
        places = np.searchsorted(self.seq, seqs)
        return self.time_us[places], self.clock_us[places]


def times_of(items: pa.Table | pa.RecordBatch, clock: Clock) -> Times:
    """The times of items with `seq`, `published` and `arrived`, given the clock before them."""
    seq, arrived = items.column("seq").to_numpy(), _microseconds(items.column("arrived"), None)
    time = np.minimum(_microseconds(items.column("published"), arrived), arrived)
    order = np.argsort(seq, kind="stable")
    clocks = clocks_of(clock, seq[order], time[order], arrived[order])
    return Times(seq[order], time[order], clocks.clock_us, clocks.peaks, clocks.after)


def _microseconds(column: Any, missing: Longs | None) -> Longs:
    flat = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    numbers = flat.cast(pa.int64())
    found: Longs = numbers.fill_null(0).to_numpy(zero_copy_only=False)
    if missing is not None and numbers.null_count:
        found = np.where(numbers.is_null().to_numpy(zero_copy_only=False), missing, found)
    return found
