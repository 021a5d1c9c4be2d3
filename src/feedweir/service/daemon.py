"""Starts, supervises and stops the pipeline and all that runs beside it."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol

from feedweir.acquire.fetch.fetch_loop import FetchLoop
from feedweir.deliver.send.outbox_retention import Forgetting
from feedweir.errors import DisplacedError, EngineError
from feedweir.health.loop import Loop, LoopHealth
from feedweir.health.memory import give_back
from feedweir.health.standstill import Bounds, Signs, Trouble, Verdict, judge, pause_before_restart_s
from feedweir.logs.batches import Manifest
from feedweir.service.installation import Weir
from feedweir.service.progress_log import ProgressLog
from feedweir.service.service_note import FILE_NAME as NOTE
from feedweir.service.service_note import waiting_since, write_note
from feedweir.text.redact import without_secrets

_log = logging.getLogger(__name__)

_PYTHON_ERROR = re.compile(r"^[\w.]*(?:Error|Exception): .+", re.MULTILINE)
_TICK_S = 0.5
_ANSWERS_WITHIN_S = 10.0
_TIDY_EVERY = 32
"""Batches."""
_TIDY_AFTER = timedelta(minutes=1)
"""However few batches there were: people read the counters."""


class RunningQuery(Protocol):
    """What the service needs of a streaming query."""

    @property
    def isActive(self) -> bool: ...

    def stop(self) -> None: ...

    def kill(self) -> None:
        """End what does not answer any more."""

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


class Daemon:
    """Keeps the compiled set current, sources fetched, the pipeline running and the logs compact."""

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
        # Only the watch asks Spark whether the query runs, and everybody else gets the last answer: a Java process
        # that hangs does not answer, and health has to.
        self._is_active = False
        self._asked_at: datetime | None = None
        self._loops: list[Loop] = [fetch_loop] if fetch_loop else []
        self._upkeep = LoopHealth("maintaining the compiled set and the logs fails")
        self._started: datetime | None = None
        self._published: datetime | None = None
        self._failed: Trouble | None = None
        self._in_a_row = 0
        self._moved_to = 0
        self._restart_at: datetime | None = None
        self._noted: Signs | None = None
        self._stopping = threading.Event()
        self.displaced: DisplacedError | None = None
        """Set when another process has taken charge of the data directory: this one has to end."""
        self._when_displaced: Callable[[], object] = lambda: None
        self._when_published: Callable[[], object] = lambda: None
        self._thread = threading.Thread(target=self._watch, name="feedweir-watch", daemon=True)
        self._batches = self._items = self._elements = self._restarts = 0
        self._tidied = Tidied()

    def watch(self, loop: Loop) -> None:
        """Include this loop in the health of the installation."""
        self._loops.append(loop)

    def when_displaced(self, callback: Callable[[], object]) -> None:
        """Call this when another process has taken charge of the data directory."""
        self._when_displaced = callback

    def when_published(self, callback: Callable[[], object]) -> None:
        """Call this when a batch was published and committed."""
        self._when_published = callback

    def start(self) -> None:
        self._started = self._weir.clock()
        self._moved_to = self._weir.store.latest()
        progress = ProgressLog(_log, "feeds compiled")
        self._weir.repair_set(progress)
        self._weir.refresh_set(progress)
        try:
            self._query = self._start_query(self._committed)
            self._is_active = True
        except EngineError as error:  # the watch starts it again
            self._note_failure(reason_of(error), self._started)
        if self._fetch_loop:
            self._fetch_loop.start()
        self._thread.start()

    def stop(self) -> None:
        """Stop fetching first, then the pipeline: what was landed and not yet published waits for the next start."""
        self._stopping.set()
        if self._fetch_loop:
            self._fetch_loop.stop()
        if self._thread.is_alive():
            self._end_watch()
        if self._query:
            try:
                self._query.stop()
            except Exception as error:  # a JVM that has ended has no query any more
                _log.warning("the pipeline could not be stopped: %s", reason_of(error))

    def _end_watch(self) -> None:
        self._thread.join(_ANSWERS_WITHIN_S)
        if self._asked_at is not None and self._query:
            _log.warning("Spark does not answer and is killed")
            self._query.kill()
        self._thread.join()

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
        """The state of this process, by which health is judged."""
        troubles = [self._upkeep.trouble(), *(loop.trouble() for loop in self._loops), self._silence()]
        return Signs(
            started=self._started,
            is_running=self._is_running(),
            waiting_since=waiting_since(self._weir.log, self._weir.store),
            published=self._published,
            restarts=self._in_a_row,
            failed=self._failed,
            troubles=tuple(trouble for trouble in troubles if trouble),
        )

    def verdict(self) -> Verdict:
        """Whether everything makes progress, and what does not."""
        return judge(self.signs(), self._weir.clock(), self._bounds)

    def _is_running(self) -> bool:
        return self._query is not None and self._is_active

    def _silence(self) -> Trouble | None:
        """Since when an answer of Spark is waited for."""
        since = self._asked_at
        return Trouble(what="Spark does not answer", since=since, error="") if since else None

    def _ask_query(self) -> bool:
        """Whether the query runs; returns when it answers."""
        self._asked_at = self._weir.clock()
        try:
            self._is_active = bool(self._query and self._query.isActive)
        finally:
            self._asked_at = None
        return self._is_active

    def _committed(self, manifest: Manifest) -> None:
        self._weir.commit(manifest)
        if self._fetch_loop:
            self._fetch_loop.learn(self._weir.store.reports(manifest).by_source())
        # A start may commit a published batch once more: that is not progress.
        if manifest.upto <= self._moved_to:
            return
        self._moved_to = manifest.upto
        self._published, self._failed, self._in_a_row = self._weir.clock(), None, 0
        self._batches += 1
        self._when_published()
        self._items += manifest.item_count
        self._elements += manifest.element_count
        if manifest.item_count:
            _log.info("published %d new items, %d elements", manifest.item_count, manifest.element_count)

    def _watch(self) -> None:
        while not self._stopping.wait(_TICK_S):
            try:
                if self._weir.charge:
                    self._weir.charge.check()
                self._restart_if_ended()
                self._tend()
                self._upkeep.well()
            except DisplacedError as error:
                self.displaced = error
                self._when_displaced()
                return
            except Exception as error:  # a full disk or an unreachable database must not end the supervision
                self._upkeep.failed(error)
                _log.exception("retrying at the next tick")
            self._write_note()

    def _restart_if_ended(self) -> None:
        """Restart a pipeline that has ended, after longer pauses the more often in a row that happened."""
        now = self._weir.clock()
        if self._ask_query():
            return
        if self._restart_at is None:
            pause_s = pause_before_restart_s(self._in_a_row)
            self._restart_at = now + timedelta(seconds=pause_s)
            reason = self._reason_of_end()
            self._note_failure(reason, now)
            _log.error("the pipeline stopped and will be restarted in %g s: %s", pause_s, reason)
        if now < self._restart_at:
            return
        self._restart_at = None
        self._restarts += 1
        self._in_a_row += 1
        try:
            self._weir.repair_set()
            self._query = self._start_query(self._committed)
            self._is_active = True
        except Exception as error:
            self._note_failure(reason_of(error), now)
            raise

    def _reason_of_end(self) -> str:
        if self._query is None:  # it was never started
            return self._failed.error if self._failed else reason_of(None)
        return reason_of(self._query.exception())

    def _note_failure(self, reason: str, now: datetime) -> None:
        since = self._failed.since if self._failed else now
        self._failed = Trouble(what="the pipeline fails", since=since, error=reason)

    def _write_note(self) -> None:
        """Write `service.json` if it changed; readers take positions from the logs."""
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
            give_back()
        self._forgetting.tend(self._weir.catalog, self._weir.clock())


@dataclass(frozen=True, slots=True)
class Tidied:
    """The progress at the time when logs were last tidied."""

    upto: int = 0
    batches: int = 0
    at: datetime | None = None
    """None if this process has not done so yet: an earlier one may have left work."""


def is_time_to_tidy(last: Tidied, now: Tidied) -> bool:
    if now.upto == last.upto:
        return False
    is_old = last.at is None or now.at is None or now.at - last.at >= _TIDY_AFTER
    return is_old or now.batches - last.batches >= _TIDY_EVERY


def reason_of(error: Exception | None) -> str:
    """The error in one line; of one that passed through Spark, the Python error that caused it."""
    if error is None:
        return "no reason was given"
    errors = _PYTHON_ERROR.findall(str(error))
    return without_secrets(errors[-1] if errors else str(error).strip().split("\n", 1)[0])
