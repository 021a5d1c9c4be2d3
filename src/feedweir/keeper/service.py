"""Everything that runs beside the pipeline, and the pipeline: started together, stopped together, watched."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol

from feedweir.engine.batches import Manifest
from feedweir.items.redact import without_secrets
from feedweir.keeper.announcing import Announcing
from feedweir.keeper.fetching import FetchLoop
from feedweir.keeper.forgetting import Forgetting
from feedweir.keeper.looping import Loop, Standing
from feedweir.keeper.service_note import FILE_NAME as NOTE
from feedweir.keeper.service_note import waiting_since, write_note
from feedweir.keeper.standstill import Bounds, Signs, Trouble, Verdict, judged, pause_before_restart_s
from feedweir.keeper.weir import Weir

_log = logging.getLogger(__name__)

_PYTHON_ERROR = re.compile(r"^[\w.]*(?:Error|Exception): .+", re.MULTILINE)
_TICK_S = 0.5
_TIDY_EVERY = 32
"""Batches."""
_TIDY_AFTER = timedelta(minutes=1)
"""However few there were: people look at counters."""


class RunningQuery(Protocol):
    """What the service needs of a streaming query."""

    @property
    def isActive(self) -> bool: ...

    def stop(self) -> None: ...

    def exception(self) -> Exception | None: ...


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the pipeline is."""

    landed: int
    """The last landing segment."""
    published: int
    """The last one whose documents are published."""
    batches: int
    """Since the start."""
    items: int
    elements: int
    restarts: int
    """Since the start."""
    is_running: bool
    signs: Signs


class Service:
    """Keeps the set in force, the sources fetched, the pipeline running and the logs compact."""

    def __init__(
        self,
        weir: Weir,
        start_query: Callable[[Callable[[Manifest], None]], RunningQuery],
        fetch_loop: FetchLoop | None,
        *,
        keep_sent: timedelta | None = None,
        bounds: Bounds | None = None,
    ) -> None:
        self._weir = weir
        self._start_query = start_query
        self._fetch_loop = fetch_loop
        self._forgetting = Forgetting(keep_sent)
        self._bounds = bounds or Bounds()
        self._query: RunningQuery | None = None
        self._loops: list[Loop] = [fetch_loop] if fetch_loop else []
        self._tending = Standing("looking after definitions and logs fails")
        self._started: datetime | None = None
        self._published: datetime | None = None
        self._failed: Trouble | None = None
        self._in_a_row = 0
        self._moved_to = 0
        self._restart_at: datetime | None = None
        self._noted: Signs | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="feedweir-watch", daemon=True)
        self._batches = self._items = self._elements = self._restarts = 0
        self._tidied = Tidied()

    def watch(self, loop: Loop) -> None:
        """Tell of this loop, too, when it stands still."""
        self._loops.append(loop)

    def start(self) -> None:
        self._started = self._weir.clock()
        told = Announcing(_log, "feeds compiled")
        self._weir.repair_set(told)
        self._weir.refresh_set(told)
        self._query = self._start_query(self._committed)
        if self._fetch_loop:
            self._fetch_loop.start()
        self._thread.start()

    def stop(self) -> None:
        """Stop fetching first, then the pipeline: what was landed and not yet published waits for the next start."""
        self._stopping.set()
        if self._fetch_loop:
            self._fetch_loop.stop()
        if self._thread.is_alive():
            self._thread.join()
        if self._query:
            try:
                self._query.stop()
            except Exception as error:  # a JVM that has ended has no query any more
                _log.warning("the pipeline could not be stopped: %s", reason_of(error))

    def progress(self) -> Progress:
        return Progress(
            landed=self._weir.log.latest(),
            published=self._weir.store.latest(),
            batches=self._batches,
            items=self._items,
            elements=self._elements,
            restarts=self._restarts,
            is_running=self._is_running(),
            signs=self.signs(),
        )

    def signs(self) -> Signs:
        """What this process shows of its progress."""
        standing = [self._tending.trouble(), *(loop.trouble() for loop in self._loops)]
        return Signs(
            started=self._started,
            is_running=self._is_running(),
            waiting_since=waiting_since(self._weir.log, self._weir.store),
            published=self._published,
            restarts=self._in_a_row,
            failed=self._failed,
            troubles=tuple(trouble for trouble in standing if trouble),
        )

    def verdict(self) -> Verdict:
        """Whether everything moves, and what does not."""
        return judged(self.signs(), self._weir.clock(), self._bounds)

    def _is_running(self) -> bool:
        return bool(self._query and self._query.isActive)

    def _committed(self, manifest: Manifest) -> None:
        self._weir.commit(manifest)
        if self._fetch_loop:
            self._fetch_loop.learn(manifest)
        self._batches += 1
        # A restart may commit again what was published before: that is no progress.
        if manifest.upto > self._moved_to:
            self._moved_to = manifest.upto
            self._published, self._failed, self._in_a_row = self._weir.clock(), None, 0
        self._items += manifest.item_count
        self._elements += manifest.element_count
        if manifest.item_count:
            _log.info("published %d new items, %d elements", manifest.item_count, manifest.element_count)

    def _watch(self) -> None:
        while not self._stopping.wait(_TICK_S):
            try:
                self._restart_if_ended()
                self._tend()
                self._tending.well()
            except Exception as error:  # a full disk or a database that is away must not end the watch
                self._tending.failed(error)
                _log.exception("the next look will try again")
            self._write_note()

    def _restart_if_ended(self) -> None:
        """Start a pipeline again that has ended; the oftener in a row, the later."""
        now = self._weir.clock()
        if self._query is None or self._query.isActive:
            return
        if self._restart_at is None:
            pause_s = pause_before_restart_s(self._in_a_row)
            self._restart_at = now + timedelta(seconds=pause_s)
            reason = reason_of(self._query.exception())
            self._note_failure(reason, now)
            _log.error("the pipeline stopped and is started again in %g s: %s", pause_s, reason)
        if now < self._restart_at:
            return
        self._restart_at = None
        self._restarts += 1
        self._in_a_row += 1
        try:
            self._weir.repair_set()
            self._query = self._start_query(self._committed)
        except Exception as error:
            self._note_failure(reason_of(error), now)
            raise

    def _note_failure(self, reason: str, now: datetime) -> None:
        since = self._failed.since if self._failed else now
        self._failed = Trouble(what="the pipeline fails", since=since, error=reason)

    def _write_note(self) -> None:
        """Only what changed: whoever reads it asks the logs how far they are."""
        try:
            signs = replace(self.signs(), waiting_since=None)
            if signs != self._noted:
                write_note(self._weir.directory.root, signs)
                self._noted = signs
        except OSError as error:
            _log.warning("%s could not be written: %s", NOTE, error)

    def _tend(self) -> None:
        self._weir.refresh_set()
        now = Tidied(self._weir.store.latest(), self._batches, self._weir.clock())
        if is_time_to_tidy(self._tidied, now):
            self._tidied = now
            self._weir.tidy()
        self._forgetting.tend(self._weir.catalog, self._weir.clock())


@dataclass(frozen=True, slots=True)
class Tidied:
    """What had been published when the logs were tidied."""

    upto: int = 0
    batches: int = 0
    at: datetime | None = None
    """None when a process has not done so yet: an earlier one may have left something."""


def is_time_to_tidy(last: Tidied, now: Tidied) -> bool:
    if now.upto == last.upto:
        return False
    is_old = last.at is None or now.at is None or now.at - last.at >= _TIDY_AFTER
    return is_old or now.batches - last.batches >= _TIDY_EVERY


def reason_of(error: Exception | None) -> str:
    """In one line: of what went through Spark and back, the error that began it."""
    if error is None:
        return "no reason was given"
    told = _PYTHON_ERROR.findall(str(error))
    return without_secrets(told[-1] if told else str(error).strip().split("\n", 1)[0])
