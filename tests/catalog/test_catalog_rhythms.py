"""What senders hold while they decide: rhythms, and certain entries."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from feedweir.catalog import Catalog, NewEntry, NewFeed, NewSubscription, Rhythm

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)


def subscribed(catalog: Catalog) -> int:
    if catalog.feeds.find("news") is None:
        catalog.feeds.add([NewFeed(name="news", kind="source", statement="register", created_at=NOW)])
    new = NewSubscription(feed="news", statement="", channel="mail", target="a@b.example", created_at=NOW)
    return catalog.subscriptions.add(new)


def test_living_subscriptions_are_held_with_their_rhythms(catalog: Catalog) -> None:
    one, gone = subscribed(catalog), subscribed(catalog)
    catalog.subscriptions.set_status(gone, "dropped", NOW)
    held = catalog.subscriptions.hold([one, gone, 99_999])
    assert held == {one: (catalog.subscriptions.with_id(one), catalog.subscriptions.rhythm(one))}
    assert catalog.subscriptions.hold([]) == {}


def test_a_subscription_is_due_when_something_arrives_unless_only_time_can_make_it_so(
    catalog: Catalog,
) -> None:
    one, two = subscribed(catalog), subscribed(catalog)
    tomorrow = NOW + timedelta(days=1)
    catalog.subscriptions.save_rhythms([Rhythm(subscription_id=two, next_due_at=tomorrow, hears=False)])
    catalog.outbox.insert([NewEntry(id_, "a", {"seq": 1}, NOW) for id_ in (one, two)], NOW)
    assert due(catalog, NOW) == (one,)
    assert catalog.subscriptions.due(NOW, {"webhook": 9, "mail": 0}) == ()
    catalog.subscriptions.set_status(two, "paused", NOW)
    assert due(catalog, tomorrow) == (one,)
    catalog.subscriptions.set_status(two, "active", NOW)
    assert due(catalog, NOW) == (one, two)
    assert list(catalog.subscriptions.hold([one, two], due_at=NOW)) == [one, two]
    assert catalog.subscriptions.hold([one, two], due_at=NOW - timedelta(seconds=1)) == {}


def test_the_oldest_entries_of_many_subscriptions_are_claimed_at_once(catalog: Catalog) -> None:
    one, two = subscribed(catalog), subscribed(catalog)
    catalog.outbox.insert([NewEntry(id_, key, {"seq": 1}, NOW) for key in "abcd" for id_ in (one, two)], NOW)
    claimed = catalog.outbox.claim_first({one: 3, two: 1}, worker="w", now=NOW, lease_s=60)
    assert {id_: [entry.element_key for entry in entries] for id_, entries in claimed.items()} == {
        one: ["a", "b", "c"],
        two: ["a"],
    }
    again = catalog.outbox.claim_first({one: 9, two: 9}, worker="w", now=NOW, lease_s=60)
    assert {id_: [entry.element_key for entry in entries] for id_, entries in again.items()} == {
        one: ["d"],
        two: ["b", "c", "d"],
    }


def due(catalog: Catalog, now: datetime) -> tuple[int, ...]:
    return catalog.subscriptions.due(now, {"mail": 9})


def test_who_holds_a_rhythm_is_waited_for(catalog: Catalog) -> None:
    id_ = subscribed(catalog)

    def add_one() -> None:
        for _ in range(10):
            with catalog.transaction():
                _, rhythm = catalog.subscriptions.hold([id_])[id_]
                count = rhythm.state.get("count", 0)
                catalog.subscriptions.save_rhythms([replace(rhythm, state={"count": count + 1})])

    threads = [threading.Thread(target=add_one) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert catalog.subscriptions.rhythm(id_).state == {"count": 30}


def test_only_the_entries_that_are_named_are_claimed(catalog: Catalog) -> None:
    id_ = subscribed(catalog)
    catalog.outbox.insert([NewEntry(id_, key, {"seq": 1}, NOW) for key in "abcd"], NOW)
    ids = [entry.id for entry in catalog.outbox.entries()]
    claimed = catalog.outbox.claim(9, worker="w", now=NOW, lease_s=60, ids=ids[1:3])
    assert [entry.element_key for entry in claimed] == ["b", "c"]
    assert catalog.outbox.claim(9, worker="w", now=NOW, lease_s=60, ids=ids[1:3]) == ()
    assert catalog.outbox.claim(9, worker="w", now=NOW, lease_s=60, ids=[]) == ()
