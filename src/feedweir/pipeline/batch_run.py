"""A batch from what has landed to its manifest: pinned, divided, run round by round, published.

How tasks are run is the engine's affair: here one after another, on Spark on whatever executors there are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from secrets import token_hex
from typing import Any, TypeAlias

from feedweir.items.key_groups import ALL_GROUPS, GroupRange, divided_by_weight, shares_of
from feedweir.logs.batches import Assignment, Manifest, Phase, Receipt, phase_of, reports_of
from feedweir.logs.directory import DataDirectory, current_version
from feedweir.logs.landing import LandingLog
from feedweir.logs.pins import Pin, PinLog
from feedweir.logs.store import Store
from feedweir.pipeline.batch_publisher import BatchPublisher
from feedweir.pipeline.batch_tasks import (
    JudgedParts,
    JudgeTask,
    MatchTask,
    Parsed,
    ParseTask,
    RunTasks,
    Task,
    WholeTask,
    shares,
)
from feedweir.pipeline.exchange import Exchange
from feedweir.pipeline.seen import PARTS, keys_of_sources

_JUDGED_BY = 2
"""Judging takes a small part of the time of parsing: one task does it for what so many have parsed."""
_ONE_ROUND = 4
"""So many tasks read all documents each, and take those of their sources: that costs less than to hand them on."""
_EVEN = 1.3
"""By how much the largest share may exceed the average, for that."""
Attempts: TypeAlias = Mapping[str, Mapping[int, str]]
"""By kind (`""`, `parsed`, `seen`, `joins`), and by number of the task, what an attempt is to be called."""


@dataclass(frozen=True, slots=True)
class Division:
    """Into how many tasks a batch is divided."""

    most: int = 1
    """As many as there are cores, say."""
    least_bytes: int = 1 << 20
    """Of documents in a task, as they landed: dividing less costs more than it saves."""

    def tasks_for(self, waiting_bytes: int) -> int:
        return max(1, min(self.most, waiting_bytes // max(self.least_bytes, 1)))


LEAST_BYTES = 256 << 10
"""Smaller batches take hardly less time, since most of it passes before the first document is read."""
_TELLING = 2
"""A batch that is more than so many times smaller than it might have been tells nothing of larger ones."""
_STEP = 2.0
"""By how much the size changes from one batch to the next, at most."""


@dataclass(frozen=True, slots=True)
class Pace:
    """The sizes of batches, in bytes of documents as they landed."""

    most_bytes: int
    seconds: float = 0.0
    """How long a batch should take; 0 is as long as it may."""
    limit: int = 0
    """What has been learned; 0 is nothing yet."""

    @property
    def bytes_at_once(self) -> int:
        return self.limit or self.most_bytes

    def after(self, size: int, took_s: float) -> Pace:
        """What a batch of so many bytes teaches."""
        if not self.seconds or size <= 0 or took_s <= 0:
            return self
        if took_s <= self.seconds and size * _TELLING < self.bytes_at_once:
            return self
        wanted = size * self.seconds / took_s
        near = min(max(wanted, self.bytes_at_once / _STEP), self.bytes_at_once * _STEP)
        least = min(LEAST_BYTES, self.most_bytes)
        return Pace(self.most_bytes, self.seconds, int(min(max(near, least), self.most_bytes)))


Reach: TypeAlias = Callable[[int], int]
"""From a segment that was published, the one that the next batch ends with."""


class BatchRun:
    """The batches of one data directory, one after another."""

    def __init__(
        self, directory: DataDirectory, publisher: BatchPublisher, run_tasks: RunTasks, reach: Reach
    ) -> None:
        self._directory = directory
        self._publisher = publisher
        self._run_tasks = run_tasks
        self._reach = reach
        self._landing = LandingLog(directory.landing)
        self._store = Store(directory.root)
        self._phases: list[Phase] = []
        self._pins = PinLog(directory.pins)
        self._exchange = Exchange(directory.exchange)

    def next_pin(self, division: Division) -> Pin | None:
        """The next batch, pinned; None if nothing waits, or there is no set to match it against."""
        after = self._store.latest()
        if pinned := self._pins.after(after):
            return pinned
        version = current_version(self._directory.sets)
        upto = self._reach(after)
        if version is None or upto <= after:
            return None
        tasks = division.tasks_for(self._landing.bytes_in(after, upto))
        return self._pins.put(Pin(after, upto, version, tasks))

    def newest(self) -> Manifest | None:
        """The batch that was published last."""
        return self._publisher.newest()

    def run_next(self, division: Division) -> Manifest | None:
        """Run the next batch, if there is one."""
        pin = self.next_pin(division)
        return self.run(pin) if pin else None

    def run(self, pin: Pin, attempts: Attempts | None = None) -> Manifest:
        """Run a batch. With `attempts` it is one that is repeated, to the byte."""
        named = _Named(pin, attempts or {})
        self._phases = []
        ranges = self._ranges(pin, named)
        receipts = self._in_one_round(named, ranges) if ranges else self._in_three_rounds(pin, named)
        manifest = self._publisher.publish(
            named.task(0), receipts, pin.tasks, named.attempts.get("joins", {}), self._phases
        )
        self._exchange.forget(manifest.upto)
        self._pins.forget()
        return manifest

    def _ranges(self, pin: Pin, named: _Named) -> Sequence[GroupRange]:
        """Which sources each task has, by their key groups; none if they cannot be shared like this."""
        if pin.tasks <= 1:
            return [ALL_GROUPS]
        if pin.tasks > _ONE_ROUND or "seen" in named.attempts:  # it had three when it was first run
            return []
        hashes = keys_of_sources(self._landing.sources_in(pin.after, pin.upto)).high
        ranges = divided_by_weight(hashes, pin.tasks)
        most = shares_of(hashes, ranges).max()
        return ranges if most * pin.tasks <= _EVEN * len(hashes) else []

    def _round(self, name: str, tasks: Sequence[Task]) -> Sequence[Any]:
        """What the tasks of a round hand back; what they took is noted."""
        begun = time.perf_counter()
        done = self._run_tasks(tasks)
        self._phases.append(phase_of(name, time.perf_counter() - begun, [one.spent_s for one in done]))
        return done

    def _in_one_round(self, named: _Named, ranges: Sequence[GroupRange]) -> Sequence[Receipt]:
        receipts: Sequence[Receipt] = self._round(
            "whole",
            [WholeTask(named.task(number), groups) for number, groups in enumerate(ranges)],
        )
        return receipts

    def _in_three_rounds(self, pin: Pin, named: _Named) -> Sequence[Receipt]:
        pieces = self._landing.pieces_of(
            pin.after, pin.upto, self._landing.bytes_in(pin.after, pin.upto) // pin.tasks // 2
        )
        parsed: Sequence[Parsed] = self._round(
            "parse",
            [
                ParseTask(named.task(number, "parsed"), share)
                for number, share in enumerate(shares(pieces, pin.tasks))
            ],
        )
        having = [one for one in parsed if one.last]
        names = tuple(one.name for one in having)
        judges = min(PARTS, max(1, pin.tasks // _JUDGED_BY))
        judged: Sequence[JudgedParts] = self._round(
            "judge",
            [
                JudgeTask(
                    named.task(number, "seen"),
                    tuple(range(PARTS * number // judges, PARTS * (number + 1) // judges)),
                    names,
                )
                for number in range(judges if names else 0)
            ],
        )
        news = f"{pin.upto:012d}-news-{token_hex(4)}"
        found = self._exchange.gather(news, [one.name for one in judged])
        ranges = found.cut(pin.tasks) or [(0, 0)]
        matched: Sequence[Receipt] = self._round(
            "match",
            [
                MatchTask(
                    named.task(number),
                    first,
                    end,
                    tuple(one.name for one in having if one.first < end and first <= one.last),
                    news,
                )
                for number, (first, end) in enumerate(ranges)
            ],
        )
        return _together(matched, parsed, [one.seen_file for one in judged])


def _together(
    matched: Sequence[Receipt], parsed: Sequence[Parsed], seen_files: Sequence[str]
) -> list[Receipt]:
    """The receipts of a batch, the first with what was learned before anything was matched."""
    first, *others = matched
    doubts = tuple(doubt for one in parsed for doubt in one.doubts)
    known = reports_of([*(one.sources for one in parsed), first.sources])
    files = (*(name for one in parsed for name in one.source_files), *first.source_files)
    first = replace(
        first, sources=known, source_files=files, doubts=doubts, seen_files=tuple(filter(None, seen_files))
    )
    return [first, *others]


@dataclass(frozen=True, slots=True)
class _Named:
    """The tasks of a batch, and what their attempts are called."""

    pin: Pin
    attempts: Attempts

    def task(self, number: int, kind: str = "") -> Assignment:
        attempt = self.attempts.get(kind, {}).get(number, "")
        return Assignment(self.pin.after, self.pin.upto, self.pin.version, number, attempt)
