from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.catalog import (
    Catalog,
    EntryOutcome,
    NewEntry,
    NewFeed,
    NewSubscription,
    Rhythm,
    Waiting,
    open_catalog,
)
from feedweir.catalog.column_types import storable_key
from feedweir.errors import CatalogError

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)


def later(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def subscribed(catalog: Catalog, channel: str = "mail") -> int:
    if catalog.feeds.find("news") is None:
        catalog.feeds.add([NewFeed(name="news", kind="source", statement="register", created_at=NOW)])
    return catalog.subscriptions.add(subscription(channel))


def subscription(channel: str = "mail") -> NewSubscription:
    return NewSubscription(
        feed="news",
        statement=f"subscribe to news output {channel}",
        channel=channel,
        target="ann@example.org",
        schedule={"every_s": 10_800},
        options={"secret": "s"},
        owner="ann",
        created_at=NOW,
    )


def entry(subscription_id: int, key: str, not_before: datetime = NOW) -> NewEntry:
    return NewEntry(
        subscription_id, key, {"seq": 7, "identity": "tag:\x00\ud800", "partners": []}, not_before
    )


def test_an_entry_that_is_there_is_ignored(catalog: Catalog) -> None:
    id_ = subscribed(catalog)
    assert catalog.outbox.insert([entry(id_, "a"), entry(id_, "b"), entry(id_, "a")], NOW) == 2
    assert catalog.outbox.insert([entry(id_, "b"), entry(id_, "c")], NOW) == 1
    assert [kept.element_key for kept in catalog.outbox.entries()] == ["a", "b", "c"]
    assert catalog.outbox.entries()[0].payload == entry(id_, "a").payload


def test_an_entry_stays_ignored_after_it_was_sent(catalog: Catalog) -> None:
    id_ = subscribed(catalog)
    catalog.outbox.insert([entry(id_, "a")], NOW)
    (claimed,) = catalog.outbox.claim(1, worker="w", now=NOW, lease_s=60)
    catalog.outbox.settle([EntryOutcome(id=claimed.id, state="sent")], worker="w", now=NOW)
    assert catalog.outbox.insert([entry(id_, "a")], NOW) == 0
    assert catalog.outbox.claim(1, worker="w", now=later(1e6), lease_s=60) == ()


@pytest.mark.parametrize("key", ["x" * 10_000, "a\x00b", "\ud800", ""])
def test_any_text_can_be_a_key(catalog: Catalog, key: str) -> None:
    id_ = subscribed(catalog)
    assert catalog.outbox.insert([entry(id_, key), entry(id_, key + "!")], NOW) == 2
    assert catalog.outbox.insert([entry(id_, key), entry(id_, key + "!")], NOW) == 0


def test_an_entry_for_no_subscription_is_left_out(catalog: Catalog) -> None:
    id_ = subscribed(catalog)
    assert catalog.outbox.insert([entry(id_, "a"), entry(id_ + 1, "a")], NOW) == 1


def test_claims_come_in_order_when_due_and_only_to_one_worker(catalog: Catalog) -> None:
    id_ = subscribed(catalog)
    catalog.outbox.insert(
        [entry(id_, "late", later(10)), entry(id_, "a"), entry(id_, "b"), entry(id_, "c")], NOW
    )
    first = catalog.outbox.claim(2, worker="one", now=NOW, lease_s=60)
    second = catalog.outbox.claim(5, worker="two", now=NOW, lease_s=60)
    assert [claimed.element_key for claimed in first + second] == ["a", "b", "c"]
    assert {(claimed.state, claimed.attempts, claimed.due_at) for claimed in first} == {
        ("claimed", 1, later(60))
    }
    assert catalog.outbox.entries(state="claimed") == first + second
    assert catalog.outbox.next_due_at() == later(10)


def test_a_lease_that_ended_lets_another_worker_in_and_the_first_one_learns_of_it(catalog: Catalog) -> None:
    id_ = subscribed(catalog)
    catalog.outbox.insert([entry(id_, "a"), entry(id_, "b")], NOW)
    first, second = catalog.outbox.claim(2, worker="one", now=NOW, lease_s=60)
    assert catalog.outbox.renew([second.id], worker="one", now=later(50), lease_s=60) == (second.id,)
    (taken,) = catalog.outbox.claim(5, worker="two", now=later(60), lease_s=60)
    assert (taken.id, taken.attempts) == (first.id, 2)
    assert catalog.outbox.renew([first.id, second.id], worker="one", now=later(61), lease_s=60) == (
        second.id,
    )


def test_a_failure_counts_only_from_the_holder_but_what_was_sent_was_sent(catalog: Catalog) -> None:
    id_ = subscribed(catalog)
    catalog.outbox.insert([entry(id_, "a")], NOW)
    (first,) = catalog.outbox.claim(1, worker="one", now=NOW, lease_s=60)
    catalog.outbox.claim(1, worker="two", now=later(60), lease_s=60)
    dead = EntryOutcome(id=first.id, state="dead", reason="refused")
    assert catalog.outbox.settle([dead], worker="one", now=later(61)) == ()
    sent = EntryOutcome(id=first.id, state="sent")
    assert catalog.outbox.settle([sent], worker="one", now=later(62)) == (first.id,)
    assert catalog.outbox.renew([first.id], worker="two", now=later(63), lease_s=60) == ()
    assert catalog.outbox.settle([sent], worker="two", now=later(64)) == ()
    assert catalog.outbox.counts() == {"sent": 1}


def test_what_failed_is_due_again_at_its_time(catalog: Catalog) -> None:
    id_ = subscribed(catalog)
    catalog.outbox.insert([entry(id_, "a")], NOW)
    (claimed,) = catalog.outbox.claim(1, worker="w", now=NOW, lease_s=60)
    failed = EntryOutcome(id=claimed.id, state="failed", retry_at=later(300), reason="451 later \x00")
    catalog.outbox.settle([failed], worker="w", now=later(1))
    assert catalog.outbox.claim(1, worker="w", now=later(299), lease_s=60) == ()
    (again,) = catalog.outbox.claim(1, worker="w", now=later(300), lease_s=60)
    assert (again.attempts, again.reason) == (2, "451 later \ufffd")


def test_dead_letters_can_be_replayed_and_the_log_tells_everything(catalog: Catalog) -> None:
    one, two = subscribed(catalog), subscribed(catalog)
    catalog.outbox.insert([entry(one, "a"), entry(two, "b"), entry(two, "c")], NOW)
    claimed = catalog.outbox.claim(9, worker="w", now=NOW, lease_s=60)
    outcomes = [EntryOutcome(id=each.id, state="dead", reason="550 no such user") for each in claimed]
    catalog.outbox.settle(outcomes, worker="w", now=later(1))
    assert catalog.outbox.claim(9, worker="w", now=later(1e6), lease_s=60) == ()
    assert catalog.outbox.replay(now=later(2), subscription_id=two, ids=[claimed[0].id, claimed[1].id]) == 1
    (again,) = catalog.outbox.claim(9, worker="w", now=later(2), lease_s=60)
    assert (again.element_key, again.attempts) == ("b", 1)
    catalog.outbox.settle([EntryOutcome(id=again.id, state="sent")], worker="w", now=later(3))
    log = catalog.deliveries.of(two)
    assert [(line.element_key, line.outcome, line.at) for line in log] == [
        ("b", "sent", later(3)),
        ("b", "replayed", later(2)),
        ("c", "dead", later(1)),
        ("b", "dead", later(1)),
    ]
    assert catalog.deliveries.of(two, before=log[1].id, limit=1) == (log[2],)
    assert catalog.outbox.replay(now=later(4)) == 2


def test_released_entries_are_due_at_once_and_untried(catalog: Catalog) -> None:
    id_ = subscribed(catalog)
    catalog.outbox.insert([entry(id_, "a")], NOW)
    (claimed,) = catalog.outbox.claim(1, worker="w", now=NOW, lease_s=60)
    catalog.outbox.release([claimed.id], worker="other", now=NOW)
    assert catalog.outbox.counts() == {"claimed": 1}
    catalog.outbox.release([claimed.id], worker="w", now=NOW)
    (again,) = catalog.outbox.claim(1, worker="x", now=NOW, lease_s=60)
    assert again.attempts == 1


def test_claims_can_be_for_a_channel_or_a_subscription(catalog: Catalog) -> None:
    mail, hook = subscribed(catalog, "mail"), subscribed(catalog, "webhook")
    catalog.outbox.insert([entry(mail, "a"), entry(hook, "a"), entry(mail, "b")], NOW)
    (by_channel,) = catalog.outbox.claim(9, worker="w", now=NOW, lease_s=1, channel="webhook")
    assert by_channel.subscription_id == hook
    assert len(catalog.outbox.claim(9, worker="w", now=NOW, lease_s=1, subscription_id=mail)) == 2


def test_what_waits_is_counted_for_digests(catalog: Catalog) -> None:
    one, two = subscribed(catalog), subscribed(catalog)
    catalog.outbox.insert([entry(one, "a"), entry(two, "a", later(99))], NOW)
    catalog.outbox.insert([entry(one, "b")], later(5))
    assert catalog.outbox.waiting([one, two], later(6)) == {one: Waiting(one, 2, NOW)}


def test_what_waits_for_a_paused_subscription_waits_and_for_a_dropped_one_is_dead(catalog: Catalog) -> None:
    id_ = subscribed(catalog)
    catalog.outbox.insert([entry(id_, "a")], NOW)
    catalog.subscriptions.set_status(id_, "paused", NOW)
    assert catalog.outbox.claim(9, worker="w", now=NOW, lease_s=60) == ()
    assert catalog.outbox.insert([entry(id_, "b")], NOW) == 1
    catalog.subscriptions.set_status(id_, "active", NOW)
    assert len(catalog.outbox.claim(1, worker="w", now=NOW, lease_s=60)) == 1
    catalog.subscriptions.set_status(id_, "dropped", NOW)
    assert catalog.outbox.counts() == {"dead": 2}
    assert catalog.outbox.insert([entry(id_, "c")], NOW) == 0
    assert catalog.outbox.replay(now=NOW) == 0
    with pytest.raises(CatalogError, match="was dropped"):
        catalog.subscriptions.set_status(id_, "active", NOW)


def test_sent_entries_can_be_forgotten(catalog: Catalog) -> None:
    id_ = subscribed(catalog)
    catalog.outbox.insert([entry(id_, "a"), entry(id_, "b")], NOW)
    first, _ = catalog.outbox.claim(2, worker="w", now=NOW, lease_s=60)
    catalog.outbox.settle([EntryOutcome(id=first.id, state="sent")], worker="w", now=later(1))
    assert catalog.outbox.forget_sent(later(1)) == 0
    assert catalog.outbox.forget_sent(later(2)) == 1
    assert catalog.outbox.counts() == {"claimed": 1}
    assert catalog.deliveries.forget(later(2)) == 1


def test_what_was_sent_and_forgotten_is_not_taken_again(catalog: Catalog) -> None:
    ids = [subscribed(catalog), subscribed(catalog)]
    catalog.outbox.insert([entry(id_, key) for id_ in ids for key in ("a", "b")], NOW)
    claimed = catalog.outbox.claim(4, worker="w", now=NOW, lease_s=60, subscription_id=ids[0])
    catalog.outbox.settle(
        [EntryOutcome(id=each.id, state="sent") for each in claimed], worker="w", now=later(1)
    )
    assert catalog.outbox.forget_sent(later(2)) == 2
    assert catalog.outbox.counts() == {"pending": 2}
    again = [entry(id_, key) for id_ in ids for key in ("a", "b", "c")]
    assert catalog.outbox.insert(again, later(3)) == 2, "only what is new to each"
    assert [each.element_key for each in catalog.outbox.entries(subscription_id=ids[0])] == ["c"]
    assert catalog.outbox.forget_dropped() == 0
    catalog.subscriptions.set_status(ids[0], "dropped", later(4))
    assert catalog.outbox.forget_dropped() == 2


KEYS = st.sampled_from(["a", "b", "c", "x" * 10_000, "a\x00b", "\ud800", ""])


@given(st.lists(st.tuples(st.integers(0, 1), KEYS, st.booleans()), max_size=25))
@settings(max_examples=20)
def test_forgetting_changes_nothing_of_what_is_sent(steps: list[tuple[int, str, bool]]) -> None:
    """Offers, in any order, some after everything so far was sent and forgotten: each element goes once."""
    with TemporaryDirectory() as folder, open_catalog(f"sqlite:///{folder}/c.sqlite") as catalog:
        ids = [subscribed(catalog), subscribed(catalog)]
        sent: list[tuple[int, str]] = []
        for place, key, forgets in steps:
            catalog.outbox.insert([entry(ids[place], key)], NOW)
            claimed = catalog.outbox.claim(9, worker="w", now=NOW, lease_s=60)
            sent += [(each.subscription_id, each.element_key) for each in claimed]
            outcomes = [EntryOutcome(id=each.id, state="sent") for each in claimed]
            catalog.outbox.settle(outcomes, worker="w", now=NOW)
            if forgets:
                catalog.outbox.forget_sent(later(1))
        assert sorted(sent) == sorted({(ids[place], storable_key(key)) for place, key, _ in steps})


def test_each_change_of_a_subscription_is_a_version_too(catalog: Catalog) -> None:
    id_ = subscribed(catalog)
    made = catalog.subscriptions.with_id(id_)
    catalog.subscriptions.replace(id_, subscription("webhook"))
    catalog.subscriptions.set_status(id_, "paused", NOW)
    paused = catalog.subscriptions.with_id(id_)
    catalog.subscriptions.set_status(id_, "dropped", NOW)
    assert (made.version, paused.version, paused.channel, paused.status) == (2, 4, "webhook", "paused")
    assert catalog.subscriptions.all() == ()
    assert [record.status for record in catalog.subscriptions.all(with_dropped=True)] == ["dropped"]


def test_subscriptions_are_listed_by_feed_and_owner(catalog: Catalog) -> None:
    id_ = subscribed(catalog)
    assert [record.id for record in catalog.subscriptions.all(feed="news", owner="ann")] == [id_]
    assert catalog.subscriptions.all(owner="bob") == ()
    with pytest.raises(CatalogError, match="did you mean `news`"):
        catalog.subscriptions.all(feed="new")
    with pytest.raises(CatalogError, match="no subscription 99"):
        catalog.subscriptions.with_id(99)


def test_the_next_time_of_a_subscription_survives_and_is_no_version(catalog: Catalog) -> None:
    id_ = subscribed(catalog)
    version = catalog.feeds.version()
    begun = Rhythm(subscription_id=id_, channel="mail")
    assert catalog.subscriptions.rhythm(id_) == begun
    rhythm = replace(begun, next_due_at=later(5), last_sent_at=NOW, state={"thread": "<1@x>"}, hears=False)
    catalog.subscriptions.save_rhythms([begun])
    catalog.subscriptions.save_rhythms([begun, rhythm])
    assert catalog.subscriptions.rhythm(id_) == rhythm
    assert catalog.subscriptions.due(later(4), {"mail": 10}) == ()
    assert catalog.subscriptions.due(later(5), {"mail": 10}) == (id_,)
    assert catalog.feeds.version() == version


def test_readers_are_told_by_feed_however_many_pages_they_take(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("feedweir.catalog.subscriptions.CHUNK", 3)
    catalog.feeds.add(
        [
            NewFeed(name=name, kind="source", statement="register", created_at=NOW)
            for name in ("a", "b", "c", "news")
        ]
    )
    new = [replace(subscription(), feed=feed) for feed in (*"abab", *"aaac", "news")]
    ids = [catalog.subscriptions.add(one) for one in new]
    catalog.subscriptions.add(replace(subscription("stream"), feed="a"))
    feeds = {name: catalog.feeds.named(name).id for name in "abc"}
    found = list(catalog.subscriptions.to_deliver([*feeds.values(), 99]))
    pairs = zip(new, ids, strict=True)
    told = [(feeds[one.feed], id_, one.channel, False) for one, id_ in pairs if one.feed in feeds]
    assert found == sorted(told)
