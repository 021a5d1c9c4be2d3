"""What a look for due work costs: what is due, not what waits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import event

from feedweir.catalog import Catalog, NewEntry, NewSubscription
from tests.deliver.musical import NOON, numbered
from tests.deliver.outgoing import Catalogs, Clock, Memory, Scripted, arrive, sender_of, step, subscribed

ITEMS = numbered(40)
DAILY = {"at": ["daily"]}


@pytest.fixture(scope="module")
def catalogs(tmp_path_factory: pytest.TempPathFactory) -> Catalogs:
    return Catalogs(tmp_path_factory.mktemp("catalogs"))


class Work:
    """Steps of the database's machine, in tens."""

    tens = 0


@contextmanager
def counted(catalog: Catalog) -> Iterator[Work]:
    """Counts the steps that SQLite makes, on whichever connection."""
    work = Work()
    engine = catalog.database._reading

    def count() -> int:
        work.tens += 1
        return 0

    def begin(connection: object) -> None:
        connection.connection.driver_connection.set_progress_handler(count, 10)  # type: ignore[attr-defined]

    event.listen(engine, "begin", begin)
    try:
        yield work
    finally:
        event.remove(engine, "begin", begin)


def look_with_waiting(catalogs: Catalogs, waiting: int) -> int:
    """The work of a step that sends one message, beside so many entries that wait for tomorrow."""
    clock, channel = Clock(), Scripted()
    with catalogs.new() as catalog:
        sleepers = [subscribed(catalog, schedule=DAILY) for _ in range(20)]
        entries = [
            NewEntry(sleepers[n % 20], f"News\ni{n}", {"feed": 1, "seq": 1 + n % 40}, clock.now)
            for n in range(waiting)
        ]
        catalog.outbox.insert(entries, clock.now)
        sender = sender_of(catalog, Memory(ITEMS), {"hook": channel}, clock)
        assert step(sender) == 0, "all of them wait for their time"
        awake = subscribed(catalog)
        arrive(catalog, awake, [1], clock.now)
        with counted(catalog) as work:
            assert step(sender) == 1
        return work.tens


def test_a_look_costs_the_same_however_much_waits(catalogs: Catalogs) -> None:
    few, many = (look_with_waiting(catalogs, waiting) for waiting in (200, 20_000))
    assert few > 20, "the counter counts"
    assert many <= 1.3 * few


def test_what_arrives_for_a_subscription_that_only_time_can_move_does_not_wake_it(catalogs: Catalogs) -> None:
    clock = Clock()
    with catalogs.new() as catalog:
        id_ = subscribed(catalog, schedule=DAILY)
        arrive(catalog, id_, [1], clock.now)
        sender = sender_of(catalog, Memory(ITEMS), {"hook": Scripted()}, clock)
        assert step(sender) == 0
        due_at = catalog.subscriptions.rhythm(id_).next_due_at
        arrive(catalog, id_, [2, 3], clock.now)
        assert (
            catalog.subscriptions.rhythm(id_).next_due_at
            == due_at
            == NOON.replace(hour=0) + timedelta(days=1)
        )


def test_a_changed_schedule_is_noticed_at_once(catalogs: Catalogs) -> None:
    clock, channel = Clock(), Scripted()
    with catalogs.new() as catalog:
        id_ = subscribed(catalog, schedule=DAILY)
        arrive(catalog, id_, [1], clock.now)
        sender = sender_of(catalog, Memory(ITEMS), {"hook": channel}, clock)
        assert step(sender) == 0
        changed = NewSubscription(feed="News", statement="", channel="hook", target="x", created_at=clock.now)
        catalog.subscriptions.replace(id_, changed)
        assert step(sender) == 1


SCHEDULES = (
    {},
    DAILY,
    {"every_s": 600},
    {"count": 3},
    {"count": 5, "longest_wait_s": 900},
    {"cap": [1, 300]},
)
happenings = st.one_of(
    st.tuples(st.just("arrive"), st.integers(0, 5), st.integers(1, 4)),
    st.tuples(st.just("wait"), st.sampled_from([1, 299, 900, 40_000]), st.just(0)),
    st.tuples(st.sampled_from(["pause", "resume", "send"]), st.integers(0, 5), st.just(0)),
)


@given(st.lists(happenings, max_size=16))
@settings(max_examples=5, deadline=None)
def test_whoever_is_not_due_has_nothing_that_could_go(
    catalogs: Catalogs, script: list[tuple[str, int, int]]
) -> None:
    """Waking everybody by hand, as a sender that looks at all would, finds nothing more to send."""
    clock, channel = Clock(), Scripted()
    with catalogs.new() as catalog:
        ids = [subscribed(catalog, schedule=schedule) for schedule in SCHEDULES]
        sender = sender_of(catalog, Memory(ITEMS), {"hook": channel}, clock)
        seen = dict.fromkeys(ids, 0)
        for what, number, count in script:
            if what == "wait":
                clock.advance(number)
            elif what == "arrive":
                id_ = ids[number]
                arrive(catalog, id_, range(seen[id_] + 1, min(40, seen[id_] + count) + 1), clock.now)
                seen[id_] = min(40, seen[id_] + count)
            elif what == "send":
                step(sender)
            else:
                status = "paused" if what == "pause" else "active"
                catalog.subscriptions.set_status(ids[number], status, clock.now)  # type: ignore[arg-type]
        step(sender)
        for id_ in ids:
            if catalog.subscriptions.with_id(id_).status == "active":
                catalog.subscriptions.set_status(id_, "active", clock.now)
        assert step(sender) == 0
