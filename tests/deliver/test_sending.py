"""The sender: nothing is lost, nothing is sent twice under two names, whoever dies and whenever."""

from __future__ import annotations

import asyncio
import itertools
import re
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from feedweir.catalog import Catalog, NewSubscription
from feedweir.deliver.channels.channel_types import retry_policies
from feedweir.deliver.channels.mail import MailChannel
from feedweir.deliver.channels.notify import NotifyChannel
from feedweir.deliver.send.parcel_store import ClaimedParcel, Parcels, SendResult
from feedweir.deliver.send.retry import RetryPolicy, next_try
from feedweir.deliver.send.sender import Sender, SenderOptions
from feedweir.deliver.transforms.transformer import Transformed, Transformer
from feedweir.errors import CatalogError, DeliveryError
from tests.deliver.musical import NOON, numbered
from tests.deliver.outgoing import (
    Catalogs,
    Clock,
    Crash,
    Memory,
    Scripted,
    arrive,
    sender_of,
    step,
    subscribed,
)

DOCS = Path(__file__).parents[2] / "docs" / "delivery.md"
ITEMS = numbered(60)
BIRTHS = itertools.count()


@pytest.fixture(scope="module")
def catalogs(tmp_path_factory: pytest.TempPathFactory) -> Catalogs:
    return Catalogs(tmp_path_factory.mktemp("catalogs"))


@pytest.fixture
def catalog(catalogs: Catalogs) -> Iterator[Catalog]:
    with catalogs.new() as opened:
        yield opened


LUCK = ["ok", "busy", "lost answer", "die before", "die after"]
rounds = st.tuples(
    st.tuples(*[st.integers(0, 3)] * 3),
    st.integers(0, 1),
    st.sampled_from([1, 20, 61, 700, 4_000]),
)
"""What arrives for each subscription, which sender sends, how much time passes."""
SCHEDULES = ({}, {"count": 3, "longest_wait_s": 600, "per_message": 4}, {"every_s": 3_600, "cap": [1, 60]})


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(rounds, min_size=3, max_size=8), st.lists(st.sampled_from(LUCK), min_size=3, max_size=12))
def test_whatever_happens_every_entry_arrives_under_one_key(
    catalogs: Catalogs, script: list[tuple[tuple[int, ...], int, int]], luck: list[str]
) -> None:
    clock, channel, expected = Clock(), Scripted(list(luck)), set[tuple[int, int]]()
    with catalogs.new() as catalog:
        ids = [subscribed(catalog, schedule=schedule) for schedule in SCHEDULES]
        senders = [new_sender(catalog, channel, clock, number) for number in range(2)]
        for arrivals, which, wait_s in script:
            for id_, count in zip(ids, arrivals, strict=True):
                first = 1 + sum(1 for subscription, _ in expected if subscription == id_)
                arrive(catalog, id_, range(first, first + count), clock.now)
                expected.update((id_, seq) for seq in range(first, first + count))
            try:
                step(senders[which])
            except Crash:  # another takes its place, and knows nothing of it
                senders[which] = new_sender(catalog, channel, clock, which)
            clock.advance(wait_s)
        channel.script.clear()
        for _ in range(40):
            if set(catalog.outbox.counts()) <= {"sent"}:
                break
            clock.advance(4_000)
            step(senders[0])
        assert set(catalog.outbox.counts()) <= {"sent"}
    assert channel.once_each() == sorted(expected)
    contents: dict[str, tuple[int, ...]] = {}
    for key, _, seqs in channel.received:
        assert contents.setdefault(key, seqs) == seqs


def new_sender(catalog: Catalog, channel: Scripted, clock: Clock, number: int) -> Sender:
    return sender_of(catalog, Memory(ITEMS), {"hook": channel}, clock, f"{number}.{next(BIRTHS)}")


def test_without_trouble_nothing_is_sent_twice(catalog: Catalog) -> None:
    clock, channel = Clock(), Scripted()
    id_ = subscribed(catalog)
    arrive(catalog, id_, range(1, 6), clock.now)
    one, two = (sender_of(catalog, Memory(ITEMS), {"hook": channel}, clock, name) for name in ("one", "two"))
    assert step(one) == 1
    assert step(two) == 0
    clock.advance(1_000)
    assert step(one) == step(two) == 0
    assert [seqs for _, _, seqs in channel.received] == [(1, 2, 3, 4, 5)]


def test_a_sender_that_died_after_sending_is_repeated_under_the_same_key(catalog: Catalog) -> None:
    clock, channel = Clock(), Scripted(["die after"])
    id_ = subscribed(catalog)
    arrive(catalog, id_, [1, 2], clock.now)
    with pytest.raises(Crash):
        step(sender_of(catalog, Memory(ITEMS), {"hook": channel}, clock, "one"))
    arrive(catalog, id_, [3], clock.now)
    two = sender_of(catalog, Memory(ITEMS), {"hook": channel}, clock, "two")
    assert step(two) == 0, "the lease has not ended"
    clock.advance(61)
    assert step(two) == 2
    first, again, new = channel.received
    assert first == again
    assert first[0] != new[0]
    assert new[2] == (3,)


def test_what_was_sent_counts_as_sent_even_when_the_lease_had_ended(catalog: Catalog) -> None:
    clock = Clock()
    id_ = subscribed(catalog)
    arrive(catalog, id_, [1], clock.now)

    class Slow(Scripted):
        async def send(self, parcel):  # type: ignore[no-untyped-def]
            await super().send(parcel)
            clock.advance(500)

    slow = Slow()
    assert step(sender_of(catalog, Memory(ITEMS), {"hook": slow}, clock, "one")) == 1
    assert step(sender_of(catalog, Memory(ITEMS), {"hook": slow}, clock, "two")) == 0
    assert len(slow.received) == 1


class Troubled(Parcels):
    """The catalog cannot be written to, or the disk not be read, so many times."""

    troubles = 0
    error: Exception = CatalogError("the catalog's database refused: locked")

    def settle(self, results: Sequence[SendResult], now: datetime) -> None:
        if self.troubles:
            self.troubles -= 1
            raise self.error
        super().settle(results, now)


@pytest.mark.parametrize("error", [Troubled.error, OSError("No space left on device")])
def test_what_is_known_to_be_sent_is_not_sent_again_however_long_it_cannot_be_written_down(
    catalog: Catalog, error: Exception
) -> None:
    clock, channel = Clock(), Scripted()
    arrive(catalog, subscribed(catalog), [1], clock.now)
    parcels = Troubled(catalog, worker="one", lease_s=60)
    parcels.troubles, parcels.error = 5, error
    sender = sender_of(catalog, Memory(ITEMS), {"hook": channel}, clock, parcels=parcels)

    def is_stopping() -> bool:
        return catalog.outbox.counts() == {"sent": 1}

    asyncio.run(sender.run(is_stopping, lambda _: clock.advance(61)))
    assert len(channel.received) == 1


def test_a_failure_is_tried_again_later_and_later(catalog: Catalog) -> None:
    clock, channel = Clock(), Scripted(["busy"] * 5)
    id_ = subscribed(catalog, channel="webhook")
    arrive(catalog, id_, [1], clock.now)
    sender = sender_of(catalog, Memory(ITEMS), {"webhook": channel}, clock)
    tries = []
    while not channel.received:
        step(sender)
        tries.append(clock.now)
        due_at = catalog.outbox.entries()[0].due_at
        clock.now = due_at or clock.now
    waits = [(later - sooner).total_seconds() for sooner, later in pairwise(tries)]
    assert waits == sorted(waits)
    assert 3 <= waits[0] <= 6
    assert 300 <= waits[-1] <= 410
    outcomes = [line.outcome for line in catalog.deliveries.of(id_)]
    assert outcomes == ["sent"] + ["failed"] * 5


def test_a_refusal_is_a_dead_letter_with_its_reason_and_can_be_replayed(catalog: Catalog) -> None:
    clock, channel = Clock(), Scripted(["refused"])
    id_ = subscribed(catalog)
    arrive(catalog, id_, [1, 2], clock.now)
    sender = sender_of(catalog, Memory(ITEMS), {"hook": channel}, clock)
    step(sender)
    dead = catalog.outbox.entries(state="dead")
    assert [entry.reason for entry in dead] == ["not for me"] * 2
    arrive(catalog, id_, [3], clock.now)
    assert step(sender) == 1, "the dead do not hold up the living"
    assert catalog.outbox.replay(now=clock.now, subscription_id=id_) == 2
    assert step(sender) == 1
    assert channel.once_each() == [(id_, 1), (id_, 2), (id_, 3)]
    assert [line.outcome for line in catalog.deliveries.of(id_)][:4] == [
        "sent",
        "sent",
        "replayed",
        "replayed",
    ]


def test_what_was_sent_in_some_time_is_sent_again_on_request_under_a_new_key(catalog: Catalog) -> None:
    clock, channel = Clock(), Scripted()
    id_ = subscribed(catalog)
    sender = sender_of(catalog, Memory(ITEMS), {"hook": channel}, clock)
    times = []
    for seq in (1, 2, 3):
        arrive(catalog, id_, [seq], clock.now)
        times.append(clock.now)
        assert step(sender) == 1
        clock.advance(60)
    assert catalog.outbox.replay(now=clock.now, subscription_id=id_) == 0, "nothing is dead"
    again = catalog.outbox.replay(now=clock.now, subscription_id=id_, since=times[1], until=times[2])
    assert again == 1
    assert step(sender) == 1
    keys = [received[0] for received in channel.received]
    assert len(set(keys)) == 4, "a receiver that remembers keys must not take it for a repeat"
    first = catalog.outbox.entries()[0].id
    for _ in range(2):
        assert catalog.outbox.replay(now=clock.now, subscription_id=id_, ids=[first]) == 1
        assert step(sender) == 1
    assert len({received[0] for received in channel.received}) == 6
    assert step(sender) == 0


def test_a_parcel_that_must_wait_is_looked_at_when_its_time_has_come_and_not_before(catalog: Catalog) -> None:
    clock, channel = Clock(), Scripted(["busy"] * 9)
    id_ = subscribed(catalog, channel="webhook")
    arrive(catalog, id_, [1], clock.now)
    sender = sender_of(catalog, Memory(ITEMS), {"webhook": channel}, clock)
    for _ in range(8):
        step(sender)
        due_at = catalog.outbox.entries()[0].due_at
        assert due_at is not None
        assert catalog.subscriptions.rhythm(id_).next_due_at == due_at
        clock.now = due_at


def test_a_target_that_is_gone_is_left_alone(catalog: Catalog) -> None:
    clock, channel = Clock(), Scripted(["gone"])
    id_ = subscribed(catalog)
    arrive(catalog, id_, [1], clock.now)
    sender = sender_of(catalog, Memory(ITEMS), {"hook": channel}, clock)
    step(sender)
    assert catalog.subscriptions.with_id(id_).status == "paused"
    arrive(catalog, id_, [2], clock.now)
    clock.advance(100_000)
    assert step(sender) == 0


def test_one_bad_subscription_does_not_stop_the_others(catalog: Catalog) -> None:
    clock, channel = Clock(), Scripted()
    bad = subscribed(catalog, schedule={"every_s": "often"})
    sheet = subscribed(catalog, options={"apply": "NoSuchSheet"})
    good = subscribed(catalog)
    for id_ in (bad, sheet, good):
        arrive(catalog, id_, [1], clock.now)
    with Transformer() as transformer:
        sender = sender_of(catalog, Memory(ITEMS), {"hook": channel}, clock, transformer=transformer)
        assert step(sender) == 1
    assert channel.once_each() == [(good, 1)]
    assert "every_s" in catalog.failures.of("subscription", str(bad))[0].reason
    assert "NoSuchSheet" in catalog.outbox.entries(subscription_id=sheet)[0].reason
    assert catalog.outbox.entries(subscription_id=bad)[0].state == "pending"


class Hanging:
    """Whatever is asked of it takes until somebody frees it."""

    def __init__(self) -> None:
        self.freed = threading.Event()
        self.was_freed: list[bool] = []

    def __call__(self, *_: object) -> Any:
        self.was_freed.append(self.freed.wait(10))
        raise DeliveryError("it took its time")

    send = begin = __call__


@pytest.mark.parametrize("what", ["mail", "notify", "stylesheet"])
def test_what_hangs_in_one_channel_holds_up_no_other(catalog: Catalog, what: str) -> None:
    clock, hook, hanging = Clock(), Scripted(), Hanging()
    channels = {"hook": hook, "mail": MailChannel(cast(Any, hanging)), "notify": NotifyChannel(hanging)}
    slow = {"options": {"apply": "Title"}} if what == "stylesheet" else {"channel": what}
    for _ in range(9):
        arrive(catalog, subscribed(catalog, target="ann@example.org", **slow), [1], clock.now)
    quick = subscribed(catalog)
    arrive(catalog, quick, [1], clock.now)
    sender = sender_of(catalog, Memory(ITEMS), channels, clock, transformer=cast(Any, hanging))

    def is_stopping() -> bool:
        if catalog.outbox.counts(subscription_id=quick) == {"sent": 1}:
            hanging.freed.set()
        return hanging.freed.is_set()

    async def run() -> None:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        await sender.run(is_stopping, hanging.freed.wait)

    asyncio.run(run())
    assert set(hanging.was_freed) == {True}


class Unhurried:
    """Stylesheets that are done when the test says so."""

    def __init__(self) -> None:
        self.begun: list[Future[Transformed]] = []

    def begin(self, *_: object) -> Future[Transformed]:
        self.begun.append(Future())
        return self.begun[-1]

    def finish(self) -> None:
        for each in self.begun:
            if not each.done():
                each.set_result(Transformed("", "text/plain"))


def test_what_waits_for_its_stylesheet_for_longer_than_a_lease_is_sent_once(catalog: Catalog) -> None:
    clock, channel, sheets = Clock(), Scripted(), Unhurried()
    id_ = subscribed(catalog, options={"apply": "Title"})
    arrive(catalog, id_, [1], clock.now)
    options = SenderOptions(lease_s=60, timeout_s=10, poll_s=0.001)
    sender = sender_of(
        catalog, Memory(ITEMS), {"hook": channel}, clock, transformer=cast(Any, sheets), options=options
    )
    looks = 0

    def is_stopping() -> bool:
        nonlocal looks
        if sheets.begun:
            looks += 1
            clock.advance(20)
        if looks == 20:
            sheets.finish()
        return looks >= 25 and bool(channel.received)

    asyncio.run(sender.run(is_stopping, lambda _: None))
    assert [seqs for _, _, seqs in channel.received] == [(1,)]
    (entry,) = catalog.outbox.entries(subscription_id=id_)
    assert (entry.state, entry.attempts) == ("sent", 1)


def test_what_was_lost_to_another_sender_and_comes_back_is_sent_once(catalog: Catalog) -> None:
    clock, channel, sheets = Clock(), Scripted(["busy"]), Unhurried()
    id_ = subscribed(catalog, options={"apply": "Title"})
    arrive(catalog, id_, [1], clock.now)
    options = SenderOptions(lease_s=60, timeout_s=10, poll_s=0.001)
    waiting = sender_of(
        catalog, Memory(ITEMS), {"hook": channel}, clock, transformer=cast(Any, sheets), options=options
    )
    other = sender_of(catalog, Memory(ITEMS), {"hook": channel}, clock, "two")
    looks = 0

    def is_stopping() -> bool:
        nonlocal looks
        looks += bool(sheets.begun)
        if looks == 1:  # the machine slept, and the other sender tries and fails meanwhile
            clock.advance(600)
            with ThreadPoolExecutor(1) as thread:
                thread.submit(step, other).result()
            clock.advance(600)
        if looks == 5:
            sheets.finish()
        return looks >= 10 and bool(channel.received)

    asyncio.run(waiting.run(is_stopping, lambda _: None))
    assert channel.script == []
    assert [seqs for _, _, seqs in channel.received] == [(1,)]
    assert catalog.outbox.counts(subscription_id=id_) == {"sent": 1}


def test_a_sender_that_stops_gives_back_what_waits_for_its_stylesheet(catalog: Catalog) -> None:
    clock, channel, sheets = Clock(), Scripted(), Unhurried()
    id_ = subscribed(catalog, options={"apply": "Title"})
    arrive(catalog, id_, [1], clock.now)
    one = sender_of(catalog, Memory(ITEMS), {"hook": channel}, clock, transformer=cast(Any, sheets))
    asyncio.run(one.run(lambda: bool(sheets.begun), lambda _: None))
    assert [each.cancelled() for each in sheets.begun] == [True]
    (entry,) = catalog.outbox.entries(subscription_id=id_)
    assert (entry.state, entry.attempts) == ("pending", 0)
    assert step(sender_of(catalog, Memory(ITEMS), {"hook": channel}, clock, "two")) == 1


def test_a_sender_that_cannot_give_back_still_settles_what_it_sent(catalog: Catalog) -> None:
    class Troubled(Parcels):
        def release(self, parcels: Sequence[ClaimedParcel], now: datetime) -> None:
            raise CatalogError("the database is locked")

    clock, channel, sheets = Clock(), Scripted(), Unhurried()
    slow, quick = subscribed(catalog, options={"apply": "Title"}), subscribed(catalog)
    for id_ in (slow, quick):
        arrive(catalog, id_, [1], clock.now)
    parcels = Troubled(catalog, worker="one", lease_s=60)
    one = sender_of(
        catalog,
        Memory(ITEMS),
        {"hook": channel},
        clock,
        transformer=cast(Any, sheets),
        parcels=parcels,
    )
    asyncio.run(one.run(lambda: bool(sheets.begun), lambda _: None))
    assert catalog.outbox.counts(subscription_id=quick) == {"sent": 1}
    clock.advance(61)
    assert step(sender_of(catalog, Memory(ITEMS), {"hook": channel}, clock, "two")) == 1
    assert catalog.outbox.counts() == {"sent": 2}


def test_many_that_wait_for_one_stylesheet_leave_room_in_their_channel(catalog: Catalog) -> None:
    clock, channel, sheets = Clock(), Scripted(), Unhurried()
    for _ in range(9):
        arrive(catalog, subscribed(catalog, options={"apply": "Title"}), [1], clock.now)
    quick = subscribed(catalog)
    arrive(catalog, quick, [1], clock.now)
    options = SenderOptions(lease_s=60, timeout_s=10, poll_s=0.001, most_at_once=2)
    sender = sender_of(
        catalog, Memory(ITEMS), {"hook": channel}, clock, transformer=cast(Any, sheets), options=options
    )
    looks = itertools.count()

    def is_stopping() -> bool:
        if channel.received or next(looks) == 1_000:
            sheets.finish()
        return len(channel.received) == 10

    asyncio.run(sender.run(is_stopping, lambda _: None))
    assert channel.received[0][1] == quick


def test_entries_of_a_channel_that_this_sender_does_not_carry_wait(catalog: Catalog) -> None:
    clock, channel = Clock(), Scripted()
    id_ = subscribed(catalog, channel="pigeon")
    arrive(catalog, id_, [1], clock.now)
    assert step(sender_of(catalog, Memory(ITEMS), {"hook": channel}, clock)) == 0
    assert step(sender_of(catalog, Memory(ITEMS), {"pigeon": channel}, clock)) == 1


def test_an_item_that_is_kept_no_more_is_a_dead_letter(catalog: Catalog) -> None:
    clock = Clock()
    arrive(catalog, subscribed(catalog), [1], clock.now)
    step(sender_of(catalog, Memory(), {"hook": Scripted()}, clock))
    assert "have been deleted" in catalog.outbox.entries(state="dead")[0].reason


def test_a_digest_goes_by_count_or_longest_wait(catalog: Catalog) -> None:
    clock, channel = Clock(), Scripted()
    id_ = subscribed(catalog, schedule={"count": 3, "longest_wait_s": 600})
    sender = sender_of(catalog, Memory(ITEMS), {"hook": channel}, clock)
    arrive(catalog, id_, [1, 2], clock.now)
    assert step(sender) == 0
    arrive(catalog, id_, [3], clock.now)
    assert step(sender) == 1
    arrive(catalog, id_, [4], clock.now)
    clock.advance(599)
    assert step(sender) == 0
    clock.advance(1)
    assert step(sender) == 1
    assert [seqs for _, _, seqs in channel.received] == [(1, 2, 3), (4,)]


def test_a_muted_subscription_is_served_as_soon_as_it_is_unmuted(catalog: Catalog) -> None:
    clock, channel = Clock(), Scripted()
    until = (NOON + timedelta(hours=3)).isoformat()
    id_ = subscribed(catalog, schedule={"mute_until": until})
    arrive(catalog, id_, [1], clock.now)
    sender = sender_of(catalog, Memory(ITEMS), {"hook": channel}, clock)
    for _ in range(3):
        assert step(sender) == 0
        clock.advance(3_600)
    assert step(sender) == 1


BARS = {"mute": {"mute_until": "2024-05-01T15:00:00"}, "quiet": {"quiet": ["11:30-15:00"]}}


@pytest.mark.parametrize("bar", sorted(BARS))
def test_a_retry_waits_for_the_same_bars_as_a_first_try(catalog: Catalog, bar: str) -> None:
    clock, channel = Clock(), Scripted(["ok", "busy"])
    id_ = subscribed(catalog, schedule={"per_message": 1})
    arrive(catalog, id_, [1, 2], clock.now)
    sender = sender_of(catalog, Memory(ITEMS), {"hook": channel}, clock)
    step(sender)
    changed = NewSubscription(
        feed="News", channel="hook", target="x", statement="", created_at=clock.now, schedule=BARS[bar]
    )
    catalog.subscriptions.replace(id_, changed)
    clock.advance(3_600)
    assert step(sender) == 0
    assert catalog.subscriptions.rhythm(id_).next_due_at == NOON + timedelta(hours=3)
    clock.advance(7_200)
    assert step(sender) == 1
    assert channel.once_each() == [(id_, 1), (id_, 2)]


@given(st.integers(1, 30), st.sampled_from(sorted(retry_policies())), st.one_of(st.none(), st.floats(0, 1e9)))
@settings(max_examples=40, deadline=None)
def test_waits_between_tries_stay_within_their_bounds(
    attempt: int, channel: str, asked: float | None
) -> None:
    policy = retry_policies()[channel]
    at = next_try(policy, "key", attempt, DeliveryError("x", retry_after_s=asked), NOON)
    if attempt >= policy.attempts:
        assert at is None
        return
    assert at is not None
    wait_s = (at - NOON).total_seconds()
    assert wait_s <= max(policy.most_s, 86_400)
    assert wait_s >= min(asked or 0, 86_400) - 1e-3
    assert wait_s >= policy.first_s * (1 - policy.jitter) - 1e-3
    assert at == next_try(policy, "key", attempt, DeliveryError("x", retry_after_s=asked), NOON)


def test_different_messages_are_not_retried_in_step() -> None:
    policy = RetryPolicy()
    times = {next_try(policy, f"key {number}", 3, DeliveryError("x"), NOON) for number in range(50)}
    assert len(times) == 50


def test_a_final_failure_is_never_tried_again() -> None:
    assert next_try(RetryPolicy(), "key", 1, DeliveryError("x", is_final=True), NOON) is None
    assert DeliveryError("x", is_gone=True).is_final


@pytest.mark.parametrize("channel", ["mail", "webhook"])
def test_a_receiver_that_stays_away_is_given_up_in_about_two_days(channel: str) -> None:
    attempt, at = 1, NOON
    while (later := next_try(retry_policies()[channel], "key", attempt, DeliveryError("x"), at)) is not None:
        attempt, at = attempt + 1, later
    assert timedelta(days=1.5) <= at - NOON <= timedelta(days=2.5)
    named = re.findall(r"after (\d+)", DOCS.read_text(encoding="utf-8"))
    assert str(attempt) in named
