"""What to send now, and when to decide again: a function of the schedule, the queue, what was sent, and the time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from feedweir.schedules import QuietHours, RateCap, Schedule, next_time

_ROUNDS = 1_000
"""How often to search further when one restriction ends just as another begins; after that, the next decision
continues."""
_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Queue:
    """What waits for a subscription."""

    count: int
    oldest_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """What has happened to a subscription, as far as its schedule depends on it."""

    since: datetime
    """When the subscription was created."""
    recent: tuple[datetime, ...] = ()
    """When messages were sent, oldest first, within the period of the rate cap."""


@dataclass(frozen=True, slots=True)
class Decision:
    """`messages` says how many entries each message gets, oldest first."""

    messages: tuple[int, ...] = ()
    decide_again_at: datetime | None = None
    """When to decide again if nothing arrives before; None if time alone changes nothing."""


def decide(schedule: Schedule, queue: Queue | None, pace: Pace, now: datetime) -> Decision:
    """What to send of the queue now. Nothing later than `now` is decided, only when to decide again."""
    if queue is None or queue.count == 0:
        return Decision()
    due_at = _due_at(schedule, queue, pace)
    if due_at is None:
        return Decision()
    open_at = opens_at(schedule, pace.recent, max(due_at, now))
    if open_at > now:
        return Decision(decide_again_at=open_at)
    messages = _messages(schedule, queue.count, _room(schedule.cap, pace.recent, now))
    left = queue.count - sum(messages)
    if not left:
        return Decision(messages)
    after = replace(pace, recent=sent(schedule, pace.recent, now, len(messages)))
    rest = decide(schedule, Queue(left, queue.oldest_at), after, now)
    return Decision(messages, rest.decide_again_at)


def sent(
    schedule: Schedule, recent: tuple[datetime, ...], now: datetime, messages: int = 1
) -> tuple[datetime, ...]:
    """The recent messages after some more were sent, without those that the cap no longer counts."""
    if schedule.cap is None:
        return ()
    return (*(at for at in recent if at > now - schedule.cap.per), *((now,) * messages))


def _due_at(schedule: Schedule, queue: Queue, pace: Pace) -> datetime | None:
    """When the first trigger releases the oldest entry; None if only more entries can."""
    if schedule.is_immediate or 0 < schedule.count <= queue.count:
        return queue.oldest_at
    times = [next_time(cron, schedule.clock, queue.oldest_at) for cron in schedule.at]
    if schedule.every is not None:
        times.append(_multiple(pace.since, schedule.every, queue.oldest_at))
    if schedule.longest_wait is not None:
        times.append(queue.oldest_at + schedule.longest_wait)
    return min((time for time in times if time is not None), default=None)


def _multiple(since: datetime, every: timedelta, start: datetime) -> datetime:
    """The first time at or after `start` that is a whole multiple (at least one) of `every` after `since`."""
    return since + max(1, -((since - start) // every)) * every


def opens_at(schedule: Schedule, recent: tuple[datetime, ...], start: datetime) -> datetime:
    """The first time from `start` on at which no restriction holds messages back."""
    at = start
    for _ in range(_ROUNDS):
        later = max(
            schedule.muted_until or at,
            _cap_opens_at(schedule.cap, recent, at),
            max((_quiet_ends_at(schedule, hours, at) for hours in schedule.quiet), default=at),
        )
        if later <= at:
            return at
        at = later
    return at


def _cap_opens_at(cap: RateCap | None, recent: tuple[datetime, ...], at: datetime) -> datetime:
    if cap is None or _room(cap, recent, at):
        return at
    return recent[-cap.messages] + cap.per


def _room(cap: RateCap | None, recent: tuple[datetime, ...], at: datetime) -> int | None:
    """How many messages the cap still allows at this time; None for any number."""
    if cap is None:
        return None
    return max(0, cap.messages - sum(1 for time in recent if time > at - cap.per))


def _messages(schedule: Schedule, count: int, room: int | None) -> tuple[int, ...]:
    full, rest = divmod(count, schedule.most_per_message)
    return ((schedule.most_per_message,) * full + ((rest,) if rest else ()))[:room]


def _is_within(hours: QuietHours, local: datetime) -> bool:
    clock = local.time()
    if hours.start < hours.end:
        return hours.start <= clock < hours.end
    return clock >= hours.start or clock < hours.end


def _quiet_ends_at(schedule: Schedule, hours: QuietHours, at: datetime) -> datetime:
    local = at.astimezone(schedule.clock)
    if not _is_within(hours, local):
        return at
    end = datetime.combine(local.date(), hours.end, schedule.clock)
    if local.time() >= hours.end:
        end = datetime.combine(local.date() + timedelta(days=1), hours.end, schedule.clock)
    # In autumn the end may occur twice; in spring it may be skipped, and quiet hours end where the clock jumps.
    found = end.astimezone(UTC)
    found = found if found > at else end.replace(fold=1).astimezone(UTC)
    while not _is_within(hours, (found - _MINUTE).astimezone(schedule.clock)):
        found -= _MINUTE
    return found
