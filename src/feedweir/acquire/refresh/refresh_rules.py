"""The next check of a source, from its state and what the last poll brought.

Every rule that binds us is here: the publisher's hints, the cache headers, Retry-After, back-off, the floor and the
cap. A policy only chooses among the moments that these allow.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from feedweir.acquire.fetch.transport import Changed, Failed, FetchResult, Gone, Reason, Unchanged
from feedweir.acquire.refresh.policies import Fixed, Policy
from feedweir.acquire.refresh.source_history import counted, polled
from feedweir.acquire.refresh.source_state import Hints, SourceState
from feedweir.items.model import FeedDescription

_MAX_DOUBLINGS = 20
_GONE = "the server says that it is permanently gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshRules:
    policy: Policy = field(default_factory=Fixed)
    peers: bytes = b""
    """What all sources share (`source_history.rhythm_of`), which every source begins with."""
    floor_s: float = 900.0
    """The shortest interval between polls, whatever the policy says."""
    cap_s: float = 86_400.0
    """The longest interval between polls, whatever a header or a hint says; only Retry-After and back-off may exceed
    it."""
    missing_first_s: float = 3_600.0
    """The first pause after a 404; other failures begin with the floor."""
    failure_cap_s: float = 7 * 86_400.0
    retry_after_cap_s: float = 30 * 86_400.0
    busy_s: float = 5.0
    jitter: float = 0.05
    """The part of a pause by which sources are spread, so that sources due together do not stay together."""
    max_jitter_s: float = 120.0


def next_check(state: SourceState, result: FetchResult, now: datetime, rules: RefreshRules) -> SourceState:
    """The state after a poll. `next_at` depends on nothing but the arguments, so a restart changes nothing."""
    outcome = result.outcome
    if isinstance(outcome, Gone):
        return replace(state, is_stopped=True, failure=_GONE, hosts=result.hosts)
    if isinstance(outcome, Failed):
        return _after_failure(state, outcome, result, now, rules)
    if isinstance(outcome, Unchanged) and state.is_unreadable:
        return unreadable(state, "the same document as before", now, rules)
    return replanned(_polled(state, outcome, result, now, rules), now, rules)


def replanned(state: SourceState, now: datetime, rules: RefreshRules) -> SourceState:
    """The same source with the next poll chosen again, within what its last poll allows.

    An interval that was asked for at registration takes the policy's place; what the publisher and the floor
    forbid it forbids as well.
    """
    if state.is_stopped or state.failures or state.polled_at is None:
        return state
    earliest = max(state.not_before or now, now)
    latest = max(state.polled_at + timedelta(seconds=rules.cap_s), earliest)
    if state.every_s:
        wanted = state.polled_at + timedelta(seconds=state.every_s)
    elif state.pushed_until is not None and state.pushed_until > now:
        # Once a hub pushes, one poll finds what came before it began to; from then on polls are a precaution.
        is_complete = state.pushed_since is None or state.polled_at >= state.pushed_since
        wanted = min(state.pushed_until, latest) if is_complete else earliest
    else:
        wanted = rules.policy.next_poll(state.history, state.polled_at, earliest, latest)
    moment = jittered(state.source, state.polled_at, max(wanted, earliest), rules)
    return replace(state, next_at=outside_skipped(moment, state.hints))


def learned(
    state: SourceState,
    arrived: datetime,
    new_items: int,
    shown: int,
    now: datetime,
    rules: RefreshRules,
    *,
    published: Sequence[datetime] = (),
) -> SourceState:
    """The state after the items of a document were counted, which may be any time after its poll.

    `published` are the dates of its new items, as far as they have any.
    """
    history = counted(
        state.history,
        arrived,
        new_items,
        shown,
        published=published,
        peers=rules.peers,
    )
    return replanned(replace(state, history=history), now, rules)


def described(state: SourceState, feed: FeedDescription, rules: RefreshRules) -> SourceState:
    """The state with what the document says about polling."""
    hours = tuple(sorted({hour % 24 for hour in feed.skip_hours}))
    days = tuple(sorted({day for day in feed.skip_days if 0 <= day < 7}))
    hints = Hints(ttl_s=max(feed.ttl_s, 0), skip_hours=hours, skip_days=days)
    return replace(state, hints=hints, not_before=_not_before(state, hints, rules))


def unreadable(state: SourceState, detail: str, now: datetime, rules: RefreshRules) -> SourceState:
    """The state after a landed document turned out not to be a feed: a failure of the source, with back-off.

    A redirect that leads to one says nothing about where the feed lives: whoever took over a name redirects, too.
    """
    failure = Failed(reason=Reason.UNREADABLE, detail=detail)
    result = FetchResult(source=state.source, at=now, outcome=failure, hosts=state.hosts)
    return replace(_after_failure(state, failure, result, now, rules), is_unreadable=True, moved_to="")


def resumed(state: SourceState, now: datetime, spread_s: float = 600.0) -> SourceState:
    """The state after the whole system was down: polls that fell due meanwhile are spread over time."""
    if state.next_at >= now:
        return state
    return replace(state, next_at=now + timedelta(seconds=spread_s * fraction(state.source)))


def is_due(state: SourceState, now: datetime) -> bool:
    return not state.is_stopped and state.next_at <= now


def outside_skipped(moment: datetime, hints: Hints) -> datetime:
    """The first moment from then on that is in no hour and on no day that the publisher asked to skip."""
    candidate = moment
    for _ in range(24 * 7):
        if candidate.weekday() not in hints.skip_days and candidate.hour not in hints.skip_hours:
            return candidate
        candidate = candidate.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    return moment  # a publisher that asks to skip everything asks for nothing


def jittered(source: str, start: datetime, moment: datetime, rules: RefreshRules) -> datetime:
    """The moment delayed by a part of the pause that differs between sources and is always the same for one."""
    pause_s = max((moment - start).total_seconds(), 0.0)
    return moment + timedelta(seconds=min(rules.jitter * pause_s, rules.max_jitter_s) * fraction(source))


def fraction(source: str) -> float:
    """A number in [0, 1) that is the same for a source on every machine and after every restart."""
    digest = hashlib.blake2b(source.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


def _polled(
    state: SourceState, outcome: Changed | Unchanged, result: FetchResult, now: datetime, rules: RefreshRules
) -> SourceState:
    """The state after a successful poll. That nothing was new counts at once; a document's items are counted later."""
    wait_s = max(rules.floor_s, min(max(result.fresh_s, state.hints.ttl_s), rules.cap_s))
    is_confirmed = result.moved_to != "" and result.moved_to == state.moved_to
    return replace(
        state,
        url=result.moved_to if is_confirmed else state.url,
        moved_to="" if is_confirmed else result.moved_to,
        not_before=_later(now, max(wait_s, _retry_after_s(result, rules))),
        hosts=result.hosts,
        validators=outcome.validators,
        polled_at=now,
        failures=0,
        failure="",
        is_unreadable=False,
        history=polled(state.history, now, is_changed=isinstance(outcome, Changed), peers=rules.peers),
    )


def _not_before(state: SourceState, hints: Hints, rules: RefreshRules) -> datetime | None:
    if state.polled_at is None or state.not_before is None:
        return state.not_before
    return max(state.not_before, _later(state.polled_at, min(hints.ttl_s, rules.cap_s)))


def _after_failure(
    state: SourceState, failure: Failed, result: FetchResult, now: datetime, rules: RefreshRules
) -> SourceState:
    if failure.reason is Reason.BUSY:
        # The hosts that a poll needs are kept: the source is chosen again once all of them are free.
        hosts = tuple(dict.fromkeys((*state.hosts, *result.hosts)))
        moment = jittered(state.source, now, _later(now, rules.busy_s), rules)
        return replace(state, hosts=hosts, next_at=moment)
    if failure.reason is Reason.PAGE:
        # The page is not asked again; its feed is, as soon as its host is free.
        moment = jittered(state.source, now, _later(now, rules.busy_s), rules)
        return replace(state, page=state.url, url=result.found_at, hosts=(), next_at=moment)
    failures = state.failures + 1
    first_s = rules.missing_first_s if result.status == 404 else rules.floor_s
    pause_s = min(first_s * 2.0 ** min(failures - 1, _MAX_DOUBLINGS), rules.failure_cap_s)
    moment = _later(now, max(pause_s, _retry_after_s(result, rules)))
    return replace(
        state,
        failures=failures,
        failure=str(failure),
        hosts=result.hosts,
        next_at=outside_skipped(jittered(state.source, now, moment, rules), state.hints),
    )


def _retry_after_s(result: FetchResult, rules: RefreshRules) -> float:
    return min(float(result.retry_after_s or 0), rules.retry_after_cap_s)


def _later(now: datetime, seconds: float) -> datetime:
    return now + timedelta(seconds=seconds)
