"""What senders hold while they decide: rhythms, and certain entries."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime

from feedweir.catalog import Catalog, NewEntry, NewFeed, NewSubscription

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)


def subscribed(catalog: Catalog) -> int:
    if catalog.feeds.find("news") is None:
        catalog.feeds.add([NewFeed(name="news", kind="source", statement="register", created_at=NOW)])
    new = NewSubscription(feed="news", statement="", channel="mail", target="a@b.example", created_at=NOW)
    return catalog.subscriptions.add(new)


def test_a_rhythm_that_was_never_saved_is_held_as_one_that_has_not_begun(catalog: Catalog) -> None:
    one, gone = subscribed(catalog), subscribed(catalog)
    catalog.subscriptions.set_status(gone, "dropped", NOW)
    assert catalog.subscriptions.hold_rhythms([one, gone, 99_999]) == {one: catalog.subscriptions.rhythm(one)}
    assert catalog.subscriptions.hold_rhythms([]) == {}


def test_who_holds_a_rhythm_is_waited_for(catalog: Catalog) -> None:
    id_ = subscribed(catalog)

    def add_one() -> None:
        for _ in range(10):
            with catalog.transaction():
                rhythm = catalog.subscriptions.hold_rhythms([id_])[id_]
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
