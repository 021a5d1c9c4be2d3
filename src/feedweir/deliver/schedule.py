"""What to send now, and when to look next: a function of the policy, what waits, what was sent, and the time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from feedweir.deliver.cron import next_time
from feedweir.deliver.policy import Policy, QuietHours, RateCap

_ROUNDS = 1_000
"""Bars that open only to close again are looked through this often before the search is left to the next look."""
_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Queue:
    """What waits for a subscription."""

    count: int
    oldest_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """What a subscription has been through, as far as its schedule cares."""

    since: datetime
    """When the subscription was made."""
    recent: tuple[datetime, ...] = ()
    """When messages were sent, oldest first, as far back as the rate cap reaches."""


@dataclass(frozen=True, slots=True)
class Decision:
    """`messages` says how many entries each message takes, the oldest first."""

    messages: tuple[int, ...] = ()
    look_at: datetime | None = None
    """When to decide again if nothing else comes; None when nothing will change by itself."""


def decide(policy: Policy, queue: Queue | None, pace: Pace, now: datetime) -> Decision:
    """What of the queue goes now; what comes later than `now` is never promised, only looked at again."""
    if queue is None or queue.count == 0:
        return Decision()
    due_at = _due_at(policy, queue, pace)
    if due_at is None:
        return Decision()
    open_at = opens_at(policy, pace.recent, max(due_at, now))
    if open_at > now:
        return Decision(look_at=open_at)
    messages = _messages(policy, queue.count, _room(policy.cap, pace.recent, now))
    left = queue.count - sum(messages)
    if not left:
        return Decision(messages)
    after = replace(pace, recent=sent(policy, pace.recent, now, len(messages)))
    rest = decide(policy, Queue(left, queue.oldest_at), after, now)
    return Decision(messages, rest.look_at)


def sent(
    policy: Policy, recent: tuple[datetime, ...], now: datetime, messages: int = 1
) -> tuple[datetime, ...]:
    """The recent messages after some more; those that the cap no longer counts are forgotten."""
    if policy.cap is None:
        return ()
    return (*(at for at in recent if at > now - policy.cap.per), *((now,) * messages))


def _due_at(policy: Policy, queue: Queue, pace: Pace) -> datetime | None:
    """When the first trigger lets the oldest entry go; None when only more entries can."""
    if policy.is_immediate or 0 < policy.count <= queue.count:
        return queue.oldest_at
    times = [next_time(cron, policy.zone, queue.oldest_at) for cron in policy.at]
    if policy.every is not None:
        times.append(_multiple(pace.since, policy.every, queue.oldest_at))
    if policy.longest_wait is not None:
        times.append(queue.oldest_at + policy.longest_wait)
    return min((time for time in times if time is not None), default=None)


def _multiple(since: datetime, every: timedelta, start: datetime) -> datetime:
    """The first time at or after `start` that is a whole multiple of `every` after `since`, but the zeroth."""
    return since + max(1, -((since - start) // every)) * every


def opens_at(policy: Policy, recent: tuple[datetime, ...], start: datetime) -> datetime:
    """The first time from `start` on at which no bar is down."""
    at = start
    for _ in range(_ROUNDS):
        later = max(
            policy.mute_until or at,
            _cap_opens_at(policy.cap, recent, at),
            max((_quiet_ends_at(policy, hours, at) for hours in policy.quiet), default=at),
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
    """How many messages the cap leaves at a time; None for any number."""
    if cap is None:
        return None
    return max(0, cap.messages - sum(1 for time in recent if time > at - cap.per))


def _messages(policy: Policy, count: int, room: int | None) -> tuple[int, ...]:
    full, rest = divmod(count, policy.per_message)
    return ((policy.per_message,) * full + ((rest,) if rest else ()))[:room]


def _is_within(hours: QuietHours, local: datetime) -> bool:
    clock = local.time()
    if hours.start < hours.end:
        return hours.start <= clock < hours.end
    return clock >= hours.start or clock < hours.end


def _quiet_ends_at(policy: Policy, hours: QuietHours, at: datetime) -> datetime:
    local = at.astimezone(policy.zone)
    if not _is_within(hours, local):
        return at
    end = datetime.combine(local.date(), hours.end, policy.zone)
    if local.time() >= hours.end:
        end = datetime.combine(local.date() + timedelta(days=1), hours.end, policy.zone)
    # In autumn the clock may show the end twice; in spring it may skip it, and the quiet ends where the clock jumps.
    found = end.astimezone(UTC)
    found = found if found > at else end.replace(fold=1).astimezone(UTC)
    while not _is_within(hours, (found - _MINUTE).astimezone(policy.zone)):
        found -= _MINUTE
    return found
