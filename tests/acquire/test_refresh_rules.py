"""The next check of a source: what binds us, what backs off, and what survives a restart."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedweir.acquire.fetch.transport import Changed, Failed, FetchResult, Gone, Reason, Unchanged, Validators
from feedweir.acquire.refresh.policies import Fixed, Planned, Policy, RateProportional
from feedweir.acquire.refresh.refresh_rules import (
    RefreshRules,
    described,
    is_due,
    learned,
    next_check,
    outside_skipped,
    resumed,
    unreadable,
)
from feedweir.acquire.refresh.source_state import Hints, SourceState
from feedweir.items.model import FeedDescription
from feedweir.logs.landing import Landed
from tests.acquire.stored_states import read_back

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)
EXACT = RefreshRules(policy=Fixed(interval_s=3_600), jitter=0.0)


def a_state(**changes: object) -> SourceState:
    return replace(SourceState(source="s", url="http://a/", next_at=NOW), **changes)  # type: ignore[arg-type]


def found(*, at: datetime = NOW, **fields: object) -> FetchResult:
    document = Landed(source="s", arrived=at, body=b"x")
    outcome = Changed(document=document, validators=Validators(url="http://a/", etag='"1"'))
    return FetchResult(source="s", at=at, outcome=outcome, status=200, **fields)  # type: ignore[arg-type]


def unchanged(**fields: object) -> FetchResult:
    return FetchResult(source="s", at=NOW, outcome=Unchanged(validators=Validators()), **fields)  # type: ignore[arg-type]


def failed(status: int = 500, reason: Reason = Reason.STATUS, **fields: object) -> FetchResult:
    return FetchResult(source="s", at=NOW, outcome=Failed(reason=reason), status=status, **fields)  # type: ignore[arg-type]


def pause_s(state: SourceState, now: datetime = NOW) -> float:
    return (state.next_at - now).total_seconds()


def test_a_poll_that_went_well_is_followed_by_the_policys_next() -> None:
    state = next_check(a_state(failures=3, failure="x"), found(), NOW, EXACT)
    assert pause_s(state) == 3_600
    assert (state.failures, state.failure, state.polled_at) == (0, "", NOW)
    assert state.validators.etag == '"1"'


@pytest.mark.parametrize(
    ("fields", "hints", "expected_s"),
    [
        ({"fresh_s": 7_200}, Hints(), 7_200),
        ({"fresh_s": 60}, Hints(), 3_600),
        ({"fresh_s": 10**8}, Hints(), 86_400),
        ({}, Hints(ttl_s=10_000), 10_000),
        ({}, Hints(ttl_s=10**8), 86_400),
        ({"retry_after_s": 200_000}, Hints(), 200_000),
        ({"retry_after_s": 10**9}, Hints(), 30 * 86_400),
    ],
)
def test_headers_and_hints_delay_a_poll_but_not_for_ever(
    fields: dict[str, int], hints: Hints, expected_s: float
) -> None:
    assert pause_s(next_check(a_state(hints=hints), found(**fields), NOW, EXACT)) == expected_s


def test_the_floor_holds_whatever_a_policy_wishes() -> None:
    rules = replace(EXACT, policy=Fixed(interval_s=1))
    assert pause_s(next_check(a_state(), found(), NOW, rules)) == rules.floor_s


def test_failures_back_off_twice_as_long_each_time_up_to_a_cap() -> None:
    state = a_state()
    pauses = []
    for _ in range(12):
        state = next_check(state, failed(), NOW, EXACT)
        pauses.append(pause_s(state))
    assert pauses[:4] == [900, 1_800, 3_600, 7_200]
    assert pauses[-1] == EXACT.failure_cap_s
    assert "the server returned an error" in state.failure


def test_sources_that_failed_together_do_not_come_back_together() -> None:
    rules = replace(EXACT, jitter=0.05)
    states = [replace(a_state(), source=f"source {number}") for number in range(20)]
    pauses = [pause_s(next_check(state, failed(), NOW, rules)) for state in states]
    assert len(set(pauses)) == 20
    assert all(900 <= pause <= 900 * 1.05 for pause in pauses)


def test_a_missing_document_backs_off_further_than_a_hiccup() -> None:
    assert pause_s(next_check(a_state(), failed(404), NOW, EXACT)) == 3_600


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_is_obeyed_when_it_is_longer_than_the_back_off(status: int) -> None:
    assert pause_s(next_check(a_state(), failed(status, retry_after_s=5_000), NOW, EXACT)) == 5_000
    assert pause_s(next_check(a_state(), failed(status, retry_after_s=5), NOW, EXACT)) == 900


def test_gone_stops_a_source() -> None:
    state = next_check(a_state(), FetchResult(source="s", at=NOW, outcome=Gone(), status=410), NOW, EXACT)
    assert state.is_stopped
    assert not is_due(state, NOW + timedelta(days=1000))


def test_our_own_restraint_is_not_the_sources_failure() -> None:
    state = next_check(a_state(), failed(0, Reason.BUSY), NOW, EXACT)
    assert (state.failures, state.failure) == (0, "")
    assert pause_s(state) == EXACT.busy_s


def test_an_address_is_rewritten_at_the_second_sighting_of_a_permanent_redirect() -> None:
    once = next_check(a_state(), found(moved_to="http://b/"), NOW, EXACT)
    assert (once.url, once.moved_to) == ("http://a/", "http://b/")
    twice = next_check(once, unchanged(moved_to="http://b/"), NOW, EXACT)
    assert (twice.url, twice.moved_to) == ("http://b/", "")


def test_a_redirect_seen_once_and_not_again_moves_nothing() -> None:
    once = next_check(a_state(), found(moved_to="http://b/"), NOW, EXACT)
    straight = next_check(once, found(), NOW, EXACT)
    assert next_check(straight, found(moved_to="http://b/"), NOW, EXACT).url == "http://a/"
    other = next_check(once, found(moved_to="http://c/"), NOW, EXACT)
    assert (other.url, other.moved_to) == ("http://a/", "http://c/")


def test_a_redirect_to_what_is_no_feed_is_never_confirmed() -> None:
    state = a_state()
    for _ in range(3):
        state = next_check(state, found(moved_to="http://parked/"), NOW, EXACT)
        state = unreadable(state, "a page", NOW, EXACT)
    assert state.url == "http://a/"


def test_a_document_that_is_no_feed_fails_until_it_changes() -> None:
    state = unreadable(next_check(a_state(), found(), NOW, EXACT), "an HTML page", NOW, EXACT)
    assert state.failure == "the document is not a feed: an HTML page"
    again = next_check(state, unchanged(), NOW, EXACT)
    assert again.failures == 2
    assert next_check(again, found(), NOW, EXACT).failures == 0


def test_hours_and_days_that_a_publisher_skips_are_skipped() -> None:
    feed = FeedDescription(ttl_s=600, skip_hours=(13, 14, 24), skip_days=(9,))
    state = described(a_state(), feed, EXACT)
    assert state.hints == Hints(ttl_s=600, skip_hours=(0, 13, 14))
    assert next_check(state, found(), NOW, EXACT).next_at == NOW.replace(hour=15)


def test_what_the_first_document_says_holds_after_the_first_poll() -> None:
    polled = next_check(a_state(), found(), NOW, EXACT)
    told = described(polled, FeedDescription(ttl_s=10_800), EXACT)
    state = learned(told, NOW, 1, 1, NOW + timedelta(minutes=1), EXACT)
    assert pause_s(state) == 10_800


def test_a_ttl_of_weeks_is_kept_to_for_a_day() -> None:
    polled = next_check(a_state(), found(), NOW, EXACT)
    told = described(polled, FeedDescription(ttl_s=10**7), EXACT)
    assert pause_s(learned(told, NOW, 1, 1, NOW, EXACT)) == 86_400


@given(
    st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1)),
    st.sets(st.integers(0, 23)),
    st.sets(st.integers(0, 6)),
)
def test_the_moment_outside_the_skipped_is_the_first_one(
    start: datetime, hours: set[int], days: set[int]
) -> None:
    moment = start.replace(tzinfo=UTC)
    hints = Hints(skip_hours=tuple(hours), skip_days=tuple(days))
    result = outside_skipped(moment, hints)
    if len(hours) == 24 or len(days) == 7:
        assert result == moment
        return
    assert result.hour not in hours
    assert result.weekday() not in days
    hour = moment.replace(minute=0, second=0, microsecond=0)
    while hour < result.replace(minute=0, second=0, microsecond=0):
        assert hour.hour in hours or hour.weekday() in days
        hour += timedelta(hours=1)


POLICIES: list[Policy] = [Fixed(), RateProportional(), Planned()]
outcomes = st.one_of(
    st.builds(found, fresh_s=st.integers(0, 10**7), moved_to=st.sampled_from(["", "http://b/"])),
    st.builds(unchanged, retry_after_s=st.none() | st.integers(0, 10**7)),
    st.builds(failed, st.sampled_from([404, 429, 500, 503]), retry_after_s=st.none() | st.integers(0, 10**7)),
)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: type(policy).__name__)
@given(st.lists(st.tuples(outcomes, st.integers(1, 100_000), st.integers(0, 40)), max_size=12))
def test_no_history_leads_below_the_floor_and_a_saved_state_goes_on_the_same(
    policy: Policy, story: list[tuple[FetchResult, int, int]]
) -> None:
    rules = RefreshRules(policy=policy)
    state, now = a_state(), NOW
    for result, seconds, items in story:
        state = next_check(state, replace(result, at=now), now, rules)
        assert (state.next_at - now).total_seconds() >= rules.floor_s
        if isinstance(result.outcome, Changed):
            state = learned(state, now, items, 30, now, rules)
            assert (state.next_at - now).total_seconds() >= rules.floor_s
        assert read_back(state) == state
        assert next_check(read_back(state), result, now, rules) == next_check(state, result, now, rules)
        now += timedelta(seconds=seconds)


def test_a_restart_after_a_long_pause_is_no_burst() -> None:
    states = [a_state(source=f"s{n}", next_at=NOW - timedelta(hours=5)) for n in range(1_000)]
    states = [resumed(state, NOW, spread_s=1_000) for state in states]
    due_at_once = sum(is_due(state, NOW + timedelta(seconds=10)) for state in states)
    assert due_at_once < 30
    later = a_state(next_at=NOW + timedelta(hours=5))
    assert resumed(later, NOW) is later


def test_learning_comes_any_time_after_the_poll_and_only_once() -> None:
    rules = RefreshRules(policy=RateProportional(items_per_poll=2))
    first = next_check(a_state(), found(), NOW, rules)
    later = NOW + timedelta(hours=1)
    second = next_check(first, found(at=later), later, rules)
    third = next_check(second, unchanged(), later + timedelta(hours=1), rules)
    taught = learned(third, later, 20, 30, later + timedelta(hours=2), rules)
    assert taught.next_at < third.next_at
    assert learned(taught, later, 20, 30, later, rules).history == taught.history
    assert learned(taught, NOW - timedelta(days=1), 20, 30, later, rules).history == taught.history


def test_a_pushed_source_is_polled_at_rarely_and_at_the_latest_when_the_lease_ends() -> None:
    soon, late = NOW + timedelta(hours=5), NOW + timedelta(days=9)
    assert next_check(a_state(pushed_until=soon), found(), NOW, EXACT).next_at == soon
    assert pause_s(next_check(a_state(pushed_until=late), found(), NOW, EXACT)) == EXACT.cap_s
    assert pause_s(next_check(a_state(pushed_until=NOW), found(), NOW, EXACT)) == 3_600
