"""Whether work has stalled, and since when: decided from values, so that every command and page says the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

RESTARTS_TO_TELL = 3
"""The pipeline fails for some lasting reason, not for a passing one."""
RESTARTS_TO_GIVE_UP = 10
_STARTING = "the pipeline is being started"
FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0
_NOBODY_RUNS = "documents have been waiting, with no process running,"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """Something that fails again and again: since when, and the last error."""

    what: str
    since: datetime
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """What an installation shows of its progress."""

    started: datetime | None
    """Since when a process runs it; None when none does."""
    is_running: bool = True
    """Whether the pipeline runs at this moment."""
    waiting_since: datetime | None = None
    """When the oldest document landed that is not published; None when none waits."""
    published: datetime | None = None
    """When this process last published a batch."""
    restarts: int = 0
    """Of the pipeline, in a row: without a published batch in between."""
    failed: Trouble | None = None
    """What the pipeline last stopped for, since it last published."""
    troubles: tuple[Trouble, ...] = ()
    """Of what runs beside it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """After how long work counts as stalled."""

    late: timedelta = timedelta(minutes=5)
    """Documents wait, or work beside the pipeline fails, for longer than is usual."""

    @property
    def stuck(self) -> timedelta:
        """So long that only a new process may help."""
        return 3 * self.late


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    is_healthy: bool
    """Otherwise a supervisor should start the process again."""
    is_ready: bool
    troubles: tuple[Trouble, ...] = ()
    """Work that makes no progress."""
    pause: str = ""
    """Why the pipeline does not run at this moment, which is no trouble yet; empty when it runs."""

    def sentences(self) -> tuple[str, ...]:
        return tuple(sentence(trouble) for trouble in self.troubles)

    def reasons(self) -> tuple[str, ...]:
        """Why an installation is not ready; empty only when it is."""
        return (*((self.pause,) if self.pause else ()), *self.sentences())


def judge(signs: Signs, now: datetime, bounds: Bounds) -> Verdict:
    """Whether an installation makes progress, and what does not."""
    troubles = tuple(_troubles(signs, now, bounds))
    is_stuck = signs.restarts >= RESTARTS_TO_GIVE_UP or _unmoved_for(signs, now) > bounds.stuck
    pause = _pause(signs)
    is_ready = not pause and not troubles
    return Verdict(is_healthy=not is_stuck, is_ready=is_ready, troubles=troubles, pause=pause)


def pause_before_restart_s(restarts: int) -> float:
    """How long to wait before the pipeline is started again after so many restarts in a row."""
    return min(FIRST_PAUSE_S * 2.0 ** min(restarts, 30), LONGEST_PAUSE_S)


def sentence(trouble: Trouble) -> str:
    since = f"{trouble.since.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    return f"{trouble.what} since {since}" + (f": {trouble.error}" if trouble.error else "")


def _pause(signs: Signs) -> str:
    """Why the pipeline does not run; empty when it does."""
    if signs.started is None:
        return "no pipeline was started"
    if signs.is_running:
        return ""
    return f"the pipeline stopped and will be restarted: {signs.failed.error}" if signs.failed else _STARTING


def _troubles(signs: Signs, now: datetime, bounds: Bounds) -> Iterator[Trouble]:
    if signs.failed and signs.restarts >= RESTARTS_TO_TELL:
        what = f"the pipeline fails and was restarted {signs.restarts} times"
        yield Trouble(what=what, since=signs.failed.since, error=signs.failed.error)
    waiting = signs.waiting_since
    # What waited while nothing ran is given the same time as what lands now.
    if waiting and now - max(waiting, signs.started or waiting) > bounds.late:
        what = "documents have been waiting to be published" if signs.started else _NOBODY_RUNS
        yield Trouble(what=what, since=waiting, error=signs.failed.error if signs.failed else "")
    yield from (one for one in signs.troubles if now - one.since > bounds.late)


def _unmoved_for(signs: Signs, now: datetime) -> timedelta:
    """For how long documents have waited without any batch."""
    if signs.waiting_since is None or signs.started is None:
        return timedelta(0)
    return now - max(filter(None, (signs.waiting_since, signs.started, signs.published)))
