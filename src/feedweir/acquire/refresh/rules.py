"""The next check of a source, from its state and what the last look brought.

Every rule that binds us is here: the publisher's hints, the cache headers, Retry-After, back-off, the floor and the
cap. A policy only chooses among the moments that these allow.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from feedweir.acquire.exchange import Changed, Failed, FetchResult, Gone, Reason, Unchanged
from feedweir.acquire.refresh.history import counted, looked
from feedweir.acquire.refresh.policies import Fixed, Policy
from feedweir.acquire.refresh.state import Hints, SourceState
from feedweir.items.model import FeedDescription

_MAX_DOUBLINGS = 20
_GONE = "the publisher says that it is gone for good"


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshRules:
    policy: Policy = field(default_factory=Fixed)
    peers: bytes = b""
    """What all sources share (`history.rhythm_of`), which every source begins with."""
    floor_s: float = 900.0
    """Never sooner than this after a look, whatever a policy wishes."""
    cap_s: float = 86_400.0
    """Never later than this, whatever a header or a hint says; Retry-After and back-off may exceed it."""
    missing_first_s: float = 3_600.0
    """The first pause after a 404; other failures begin with the floor."""
    failure_cap_s: float = 7 * 86_400.0
    retry_after_cap_s: float = 30 * 86_400.0
    busy_s: float = 5.0
    jitter: float = 0.05
    """Part of a pause by which sources are spread, so that those that met once do not meet for ever."""
    max_jitter_s: float = 120.0


def first_check(source: str, url: str, now: datetime, spread_s: float = 60.0) -> SourceState:
    """A source that was just registered; thousands registered at once are spread over `spread_s`."""
    return SourceState(source=source, url=url, next_at=now + timedelta(seconds=spread_s * fraction(source)))


def next_check(state: SourceState, result: FetchResult, now: datetime, rules: RefreshRules) -> SourceState:
    """The state after a look. `next_at` depends on nothing but the arguments, so a restart changes nothing."""
    outcome = result.outcome
    if isinstance(outcome, Gone):
        return replace(state, is_stopped=True, failure=_GONE, hosts=result.hosts)
    if isinstance(outcome, Failed):
        return _after_failure(state, outcome, result, now, rules)
    if isinstance(outcome, Unchanged) and state.is_unreadable:
        return unreadable(state, "still the same document", now, rules)
    return replanned(_looked(state, outcome, result, now, rules), now, rules)


def replanned(state: SourceState, now: datetime, rules: RefreshRules) -> SourceState:
    """The same source with the next look chosen again, within what its last look allows.

    An interval that was asked for at registration takes the policy's place; what the publisher and the floor
    forbid it forbids as well.
    """
    if state.is_stopped or state.failures or state.looked_at is None:
        return state
    earliest = max(state.not_before or now, now)
    latest = max(state.looked_at + timedelta(seconds=rules.cap_s), earliest)
    if state.every_s:
        wanted = state.looked_at + timedelta(seconds=state.every_s)
    elif state.pushed_until is not None and state.pushed_until > now:
        # Once a hub pushes, one look finds what came before it began to; from then on looks are a precaution.
        is_complete = state.pushed_since is None or state.looked_at >= state.pushed_since
        wanted = min(state.pushed_until, latest) if is_complete else earliest
    else:
        wanted = rules.policy.next_look(state.history, state.looked_at, earliest, latest)
    moment = jittered(state.source, state.looked_at, max(wanted, earliest), rules)
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
    """What counting a document's items teaches; it may come any time after the look that brought it.

    `published` are the times that its new items tell, as far as they do.
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
    """The source with what its document says about when to come back: already after the look that brought it."""
    hours = tuple(sorted({hour % 24 for hour in feed.skip_hours}))
    days = tuple(sorted({day for day in feed.skip_days if 0 <= day < 7}))
    hints = Hints(ttl_s=max(feed.ttl_s, 0), skip_hours=hours, skip_days=days)
    return replace(state, hints=hints, not_before=_not_before(state, hints, rules))


def unreadable(state: SourceState, detail: str, now: datetime, rules: RefreshRules) -> SourceState:
    """A document that was landed and turned out to be no feed: a failure of the source, and it backs off.

    A redirect that leads to one says nothing about where the feed lives: whoever took over a name redirects, too.
    """
    failure = Failed(reason=Reason.UNREADABLE, detail=detail)
    result = FetchResult(source=state.source, at=now, outcome=failure, hosts=state.hosts)
    return replace(_after_failure(state, failure, result, now, rules), is_unreadable=True, moved_to="")


def resumed(state: SourceState, now: datetime, spread_s: float = 600.0) -> SourceState:
    """A state as it is after a pause of the whole system: what fell due meanwhile is spread, not fetched at once."""
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
    """Later by a part of the pause that differs between sources and is always the same for one."""
    pause_s = max((moment - start).total_seconds(), 0.0)
    return moment + timedelta(seconds=min(rules.jitter * pause_s, rules.max_jitter_s) * fraction(source))


def fraction(source: str) -> float:
    """A number in [0, 1) that is the same for a source on every machine and after every restart."""
    digest = hashlib.blake2b(source.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


def _looked(
    state: SourceState, outcome: Changed | Unchanged, result: FetchResult, now: datetime, rules: RefreshRules
) -> SourceState:
    """Nothing new is a lesson at once; a document's items are counted later, by whoever parses it."""
    wait_s = max(rules.floor_s, min(max(result.fresh_s, state.hints.ttl_s), rules.cap_s))
    is_confirmed = result.moved_to != "" and result.moved_to == state.moved_to
    return replace(
        state,
        url=result.moved_to if is_confirmed else state.url,
        moved_to="" if is_confirmed else result.moved_to,
        not_before=_later(now, max(wait_s, _retry_after_s(result, rules))),
        hosts=result.hosts,
        validators=outcome.validators,
        looked_at=now,
        failures=0,
        failure="",
        is_unreadable=False,
        history=looked(state.history, now, is_changed=isinstance(outcome, Changed), peers=rules.peers),
    )


def _not_before(state: SourceState, hints: Hints, rules: RefreshRules) -> datetime | None:
    if state.looked_at is None or state.not_before is None:
        return state.not_before
    return max(state.not_before, _later(state.looked_at, min(hints.ttl_s, rules.cap_s)))


def _after_failure(
    state: SourceState, failure: Failed, result: FetchResult, now: datetime, rules: RefreshRules
) -> SourceState:
    if failure.reason is Reason.BUSY:
        # Which hosts a look needs is remembered: the next choice waits until all of them are free.
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
