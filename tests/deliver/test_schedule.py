"""Scheduling decisions against an obvious twin that walks through every minute."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.deliver.send.due import Decision, Pace, Queue, decide, sent
from feedweir.errors import SettingsError
from feedweir.language import parse
from feedweir.language.statements import Subscribe
from feedweir.schedules import Schedule, next_time, parse_cron, schedule_from_json, schedule_to_json
from feedweir.schedules.schedule import READERS

MINUTE = timedelta(minutes=1)
PARIS = ZoneInfo("Europe/Paris")
MONDAY = datetime(2024, 5, 6, tzinfo=UTC)
STARTS = [MONDAY, datetime(2024, 3, 30, 20, tzinfo=UTC), datetime(2024, 10, 26, 20, tzinfo=UTC)]
"""An ordinary day, and the evenings before Paris changes its clocks."""

clock_times = st.builds("{:02d}:{:02d}".format, st.integers(0, 23), st.sampled_from([0, 15, 30, 59]))
lengths = st.sampled_from([60, 600, 3_600, 10_800, 86_400])
schedules = st.fixed_dictionaries(
    {"zone": st.sampled_from(["UTC", "Europe/Paris", "Asia/Kathmandu", "America/St_Johns"])},
    optional={
        "every_s": lengths,
        "at": st.lists(
            st.sampled_from(["0 8 * * *", "*/20 * * * *", "30 7,19 * * mon-fri", "0 0 1 * *"]), max_size=2
        ),
        "count": st.integers(0, 5),
        "longest_wait_s": lengths,
        "quiet": st.builds("{}-{}".format, clock_times, clock_times)
        .filter(lambda text: text[:5] != text[6:])
        .map(lambda text: [text]),
        "mute_until": st.sampled_from([start + timedelta(hours=5) for start in STARTS]).map(
            datetime.isoformat
        ),
        "cap": st.tuples(st.integers(1, 3), lengths).map(list),
        "per_message": st.integers(1, 4),
    },
)


def is_allowed(policy: Schedule, pace: Pace, at: datetime) -> bool:
    """The bars, said plainly."""
    if policy.muted_until and at < policy.muted_until:
        return False
    if policy.cap:
        recent = [time for time in pace.recent if at - policy.cap.per < time <= at]
        if len(recent) >= policy.cap.messages:
            return False
    clock = at.astimezone(policy.clock).time()
    return not any(
        one.start <= clock < one.end if one.start < one.end else not one.end <= clock < one.start
        for one in policy.quiet
    )


def is_triggered(policy: Schedule, queue: Queue, pace: Pace, at: datetime) -> bool:
    """The triggers, said plainly."""
    if policy.is_immediate or (policy.count and queue.count >= policy.count):
        return True
    waited = at - queue.oldest_at
    if policy.longest_wait and waited >= policy.longest_wait:
        return True
    if policy.every and (at - pace.since) // policy.every > max(
        0, (queue.oldest_at - pace.since - timedelta(microseconds=1)) // policy.every
    ):
        return True
    return any(
        (found := next_time(cron, policy.clock, queue.oldest_at)) and found <= at for cron in policy.at
    )


@settings(max_examples=60, deadline=None)
@given(
    schedules,
    st.sampled_from(STARTS),
    st.integers(1, 8),
    st.integers(0, 600),
    st.lists(st.integers(0, 300), max_size=4),
)
def test_the_next_look_is_the_first_minute_at_which_something_may_go(
    schedule: dict[str, Any], start: datetime, count: int, age_min: int, past: list[int]
) -> None:
    policy = schedule_from_json(schedule)
    pace = Pace(
        since=start - timedelta(minutes=age_min),
        recent=tuple(start - minutes * MINUTE for minutes in sorted(past, reverse=True)),
    )
    queue = Queue(count, start - timedelta(minutes=age_min // 2))
    decision = decide(policy, queue, pace, start)
    for step in range(26 * 60):
        at = start + step * MINUTE
        goes = is_triggered(policy, queue, pace, at) and is_allowed(policy, pace, at)
        assert bool(decide(policy, queue, pace, at).messages) == goes
        if goes:
            assert decision.messages if step == 0 else decision.decide_again_at == at
            return
    assert decision.decide_again_at is None or decision.decide_again_at >= at


@settings(max_examples=60, deadline=None)
@given(schedules, st.sampled_from(STARTS), st.lists(st.integers(0, 1_500), min_size=1, max_size=12))
def test_on_a_simulated_clock_every_entry_goes_once_and_no_bar_is_broken(
    schedule: dict[str, Any], start: datetime, arrivals: list[int]
) -> None:
    policy = schedule_from_json({"longest_wait_s": 3_600, **schedule})
    coming = sorted(start + minutes * MINUTE for minutes in arrivals)
    pace, waiting, gone, now = Pace(since=start), list[datetime](), list[datetime](), start
    for _ in range(10_000):
        waiting += [at for at in coming if at <= now]
        coming = [at for at in coming if at > now]
        queue = Queue(len(waiting), waiting[0]) if waiting else None
        decision = decide(policy, queue, pace, now)
        if decision.messages:
            assert is_allowed(policy, pace, now)
            assert max(decision.messages) <= policy.most_per_message
            total = sum(decision.messages)
            gone, waiting = gone + waiting[:total], waiting[total:]
            pace = Pace(since=start, recent=sent(policy, pace.recent, now, len(decision.messages)))
            assert policy.cap is None or len(pace.recent) <= policy.cap.messages
        times = [*coming[:1], *([decision.decide_again_at] if decision.decide_again_at else [])]
        if not times and not waiting:
            break
        assert times, "something waits for ever"
        now = max(now, min(times))
    assert not waiting
    assert not coming
    assert gone == sorted(start + minutes * MINUTE for minutes in arrivals)


def test_as_items_come_means_at_once() -> None:
    assert decide(Schedule(), Queue(3, MONDAY), Pace(since=MONDAY), MONDAY) == Decision((3,))


def test_nothing_waits_so_nothing_goes() -> None:
    assert decide(Schedule(), None, Pace(since=MONDAY), MONDAY) == Decision()


def test_every_three_hours_is_counted_from_the_subscription() -> None:
    policy = schedule_from_json({"every_s": 10_800})
    queue = Queue(2, MONDAY + timedelta(hours=1))
    decision = decide(policy, queue, Pace(since=MONDAY), MONDAY + timedelta(hours=2))
    assert decision == Decision(decide_again_at=MONDAY + timedelta(hours=3))
    assert decide(policy, queue, Pace(since=MONDAY), MONDAY + timedelta(hours=3)) == Decision((2,))


def test_a_count_alone_waits_for_more() -> None:
    policy = schedule_from_json({"count": 5})
    assert decide(policy, Queue(4, MONDAY), Pace(since=MONDAY), MONDAY) == Decision()
    assert decide(policy, Queue(5, MONDAY), Pace(since=MONDAY), MONDAY) == Decision((5,))


def test_what_the_cap_leaves_goes_later() -> None:
    policy = schedule_from_json({"cap": [2, 3_600], "per_message": 10})
    decision = decide(policy, Queue(25, MONDAY), Pace(since=MONDAY), MONDAY)
    assert decision == Decision((10, 10), MONDAY + timedelta(hours=1))


def test_quiet_hours_are_those_of_the_users_zone() -> None:
    policy = schedule_from_json({"quiet": ["22:00-07:00"], "zone": "Europe/Paris"})
    late = datetime(2024, 5, 6, 21, 30, tzinfo=UTC)
    decision = decide(policy, Queue(1, late), Pace(since=MONDAY), late)
    assert decision.decide_again_at == datetime(2024, 5, 7, 7, tzinfo=PARIS)


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(
        ["0 8 * * *", "*/7 9-17 * * 1-5", "15 0 29 2 *", "0 12 13 * fri", "5,10 * * * sun", "@daily"]
    ),
    st.datetimes(datetime(2023, 1, 1), datetime(2025, 12, 1), timezones=st.just(UTC)),
)
def test_the_next_time_is_the_first_minute_whose_fields_agree(text: str, start: datetime) -> None:
    cron = parse_cron(text)
    found = next_time(cron, ZoneInfo("Asia/Kathmandu"), start)
    assert found is not None
    assert found >= start
    local = found.astimezone(ZoneInfo("Asia/Kathmandu"))
    assert local.minute in cron.minutes
    assert local.hour in cron.hours
    assert cron.has_day(local.date())
    at = max(start.replace(second=0, microsecond=0) + MINUTE, found - timedelta(days=3))
    while at < found:
        wall = at.astimezone(ZoneInfo("Asia/Kathmandu"))
        assert not (wall.minute in cron.minutes and wall.hour in cron.hours and cron.has_day(wall.date()))
        at += MINUTE


def test_a_time_that_the_clock_skips_comes_an_hour_later() -> None:
    found = next_time(parse_cron("30 2 * * *"), PARIS, datetime(2024, 3, 30, 12, tzinfo=UTC))
    assert found == datetime(2024, 3, 31, 3, 30, tzinfo=PARIS)


def test_a_time_that_the_clock_shows_twice_comes_once() -> None:
    cron = parse_cron("30 2 * * *")
    first = next_time(cron, PARIS, datetime(2024, 10, 26, 12, tzinfo=UTC))
    assert first == datetime(2024, 10, 27, 0, 30, tzinfo=UTC)
    second = next_time(cron, PARIS, first + MINUTE)
    assert second == datetime(2024, 10, 28, 1, 30, tzinfo=UTC)


def test_every_minute_does_not_stop_when_the_clock_goes_back() -> None:
    at, cron = datetime(2024, 10, 26, 23, 50, tzinfo=UTC), parse_cron("* * * * *")
    for _ in range(200):
        assert next_time(cron, PARIS, at) == at
        at += MINUTE


@pytest.mark.parametrize(
    "text",
    ["", "* * * *", "60 * * * *", "* * * * 8", "a * * * *", "*/0 * * * *", "5-1 * * * *", "0 0 30 2 *"],
)
def test_a_table_of_times_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(SettingsError):
        parse_cron(text)


@pytest.mark.parametrize(
    "schedule",
    [
        {"evry_s": 5},
        {"every_s": "soon"},
        {"every_s": 0},
        {"every_s": 1e300},
        {"every_s": float("nan")},
        {"at": "sometimes"},
        {"at": 5},
        {"zone": "Mars/Olympus"},
        {"zone": "../etc/passwd"},
        {"count": -1},
        {"count": 1.5},
        {"quiet": "22-7"},
        {"quiet": "08:00-08:00"},
        {"quiet": [7]},
        {"mute_until": "never"},
        {"cap": 3},
        {"cap": [0, 60]},
        {"per_message": 0},
        {"per_message": None},
    ],
)
def test_a_schedule_that_makes_no_sense_is_refused(schedule: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        schedule_from_json(schedule)


def test_the_documentation_shows_every_clause_with_an_example_that_is_kept_as_it_says() -> None:
    text = (Path(__file__).parents[2] / "docs" / "delivery.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([^`]+)` \| `(\w+)(?:: ([^`]+))?` \|", text, re.MULTILINE)
    assert {name for _, name, _ in rows} == set(READERS)
    for clause, name, example in rows:
        (statement,) = parse(f"subscribe to News output mail 'a@example.org' {clause}")
        assert isinstance(statement, Subscribe)
        kept = schedule_to_json(statement.schedule)
        assert set(kept) == {name}
        assert not example or kept[name] == json.loads(example)
        schedule_from_json(kept)
