"""Subscriptions are found by name or number, changed without losing what they are, and listed page by page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from feedweir.catalog import Catalog, NewEntry, NewFeed, NewSubscription, Rhythm
from feedweir.catalog.subscriptions import Reader, Subscriptions
from feedweir.errors import CatalogError

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)


@pytest.fixture(autouse=True)
def feeds(catalog: Catalog) -> None:
    catalog.feeds.add(
        [NewFeed(name=name, kind="source", statement="r", created_at=NOW) for name in ("news", "sports")]
    )


def new(name: str = "", **changes: Any) -> NewSubscription:
    made = NewSubscription(feed="news", statement="s", channel="mail", target="a@b.example", created_at=NOW)
    return replace(made, options={"name": name} if name else {}, **changes)


def test_a_subscription_is_found_by_its_name_and_by_its_number(catalog: Catalog) -> None:
    id_ = catalog.subscriptions.add(new("morning"))
    unnamed = catalog.subscriptions.add(new())
    for asked, found in (("morning", id_), (str(id_), id_), (str(unnamed), unnamed)):
        record = catalog.subscriptions.named(asked)
        assert record is not None
        assert record.id == found
    for asked in ("Morning", "mornin", "", "99999", "0", "-1", "½", "9" * 30):
        assert catalog.subscriptions.named(asked) is None


@pytest.mark.parametrize("name", ['a"b', "a\\b", "100 %", "a_b", "東京", "\ud800", "x" * 3_000, "'; drop --"])
def test_any_name_is_found_and_no_other(catalog: Catalog, name: str) -> None:
    catalog.subscriptions.add(new("aXb"))
    catalog.subscriptions.add(new("100 x"))
    id_ = catalog.subscriptions.add(new(name))
    found = catalog.subscriptions.named(name)
    assert found is not None
    assert found.id == id_
    assert catalog.subscriptions.named(name + "!") is None


def test_a_name_that_stands_in_another_option_is_no_name(catalog: Catalog) -> None:
    catalog.subscriptions.add(replace(new(), options={"inner": {"name": "morning"}}))
    assert catalog.subscriptions.named("morning") is None


def test_a_number_that_is_a_name_means_the_name(catalog: Catalog) -> None:
    first = catalog.subscriptions.add(new())
    second = catalog.subscriptions.add(new(str(first)))
    found = catalog.subscriptions.named(str(first))
    assert found is not None
    assert found.id == second


def test_of_dropped_ones_the_last_is_found_on_request(catalog: Catalog) -> None:
    for hour in range(2):
        dropped = catalog.subscriptions.add(new("morning"))
        catalog.subscriptions.set_status(dropped, "dropped", NOW + timedelta(hours=hour))
    assert catalog.subscriptions.named("morning") is None
    found = catalog.subscriptions.named("morning", with_dropped=True)
    assert found is not None
    assert (found.id, found.status) == (dropped, "dropped")
    living = catalog.subscriptions.add(new("morning"))
    found = catalog.subscriptions.named("morning", with_dropped=True)
    assert found is not None
    assert found.id == living


def test_a_replaced_subscription_keeps_its_number_its_age_and_what_waits(catalog: Catalog) -> None:
    id_ = catalog.subscriptions.add(new("morning"))
    catalog.outbox.insert([NewEntry(id_, "a", {"seq": 1}, NOW)], NOW)
    catalog.subscriptions.set_status(id_, "paused", NOW)
    catalog.subscriptions.replace(
        id_, new("evening", feed="sports", channel="file", target="x.rss", created_at=LATER)
    )
    record = catalog.subscriptions.with_id(id_)
    sports = catalog.feeds.named("sports").id
    assert (record.feed_id, record.channel, record.target, record.status) == (
        sports,
        "file",
        "x.rss",
        "paused",
    )
    assert record.created_at == NOW
    assert catalog.outbox.counts(subscription_id=id_) == {"pending": 1}
    assert catalog.subscriptions.rhythm(id_).channel == "file"


def test_a_replaced_subscription_is_looked_at_at_once(catalog: Catalog) -> None:
    id_ = catalog.subscriptions.add(new())
    tomorrow = Rhythm(subscription_id=id_, channel="mail", next_due_at=NOW + timedelta(days=1), hears=False)
    catalog.subscriptions.save_rhythms([tomorrow])
    catalog.subscriptions.replace(id_, new(created_at=LATER))
    assert catalog.subscriptions.due(LATER, {"mail": 1}) == (id_,)


def test_a_subscription_to_a_feed_that_is_not_there_is_refused_and_leaves_nothing(catalog: Catalog) -> None:
    version = catalog.feeds.version()
    with pytest.raises(CatalogError, match="there is no feed 'newz'") as error:
        catalog.subscriptions.add(new(feed="newz"))
    assert error.value.hint == "did you mean `news`?"
    assert catalog.subscriptions.all(with_dropped=True) == ()
    assert catalog.feeds.version() == version


@pytest.mark.parametrize("what", ["statement", "channel", "target", "owner"])
def test_text_that_cannot_be_stored_is_refused_by_name(catalog: Catalog, what: str) -> None:
    with pytest.raises(CatalogError, match=f"the subscription's {what} has a character"):
        catalog.subscriptions.add(replace(new(), **{what: "a\x00b"}))


def test_a_dropped_subscription_can_be_neither_changed_nor_resumed(catalog: Catalog) -> None:
    id_ = catalog.subscriptions.add(new())
    catalog.subscriptions.set_status(id_, "dropped", NOW)
    with pytest.raises(CatalogError, match="was dropped") as error:
        catalog.subscriptions.replace(id_, new())
    assert error.value.hint == "subscribe again"
    with pytest.raises(CatalogError, match="was dropped"):
        catalog.subscriptions.set_status(id_, "dropped", NOW)


def test_the_log_of_definitions_tells_what_became_of_a_subscription(catalog: Catalog) -> None:
    before = catalog.feeds.version()
    id_ = catalog.subscriptions.add(new("morning", schedule={"count": 3}))
    catalog.subscriptions.set_status(id_, "paused", NOW)
    catalog.subscriptions.set_status(id_, "dropped", NOW)
    changes = catalog.feeds.changes_since(before)
    assert [(one.id, one.kind, one.action) for one in changes] == [
        (id_, "subscription", action) for action in ("create", "replace", "drop")
    ]
    assert [one.detail["status"] for one in changes] == ["active", "paused", "dropped"]
    assert changes[0].detail["schedule"] == {"count": 3}
    assert all(one.name == "" and one.statement == "s" for one in changes)


def test_subscriptions_are_listed_page_by_page(catalog: Catalog) -> None:
    ids = [catalog.subscriptions.add(new()) for _ in range(7)]
    pages: list[int] = []
    while page := catalog.subscriptions.all(after=pages[-1] if pages else 0, limit=3):
        pages += [one.id for one in page]
    assert pages == ids


@pytest.mark.parametrize(
    ("asker", "theirs"),
    [
        ("", ["", ""]),
        ("acme", ["", "", "acme", "acme/ann", "acme/ann/deputy"]),
        ("acme/ann", ["", "", "acme", "acme/ann", "acme/ann/deputy"]),
        ("acme/bob", ["", "", "acme"]),
        ("acmes", ["", "", "acmes"]),
        ("ACME", ["", ""]),
    ],
)
def test_an_owner_sees_their_own_their_groups_their_members_and_everyones(
    catalog: Catalog, asker: str, theirs: list[str]
) -> None:
    for owner in ("", "acme", "acme/ann", "acme/ann/deputy", "acmes", ""):
        catalog.subscriptions.add(new(owner=owner))
    assert sorted(one.owner for one in catalog.subscriptions.all(owner=asker)) == sorted(theirs)


def test_only_active_subscriptions_that_something_is_sent_to_are_readers(catalog: Catalog) -> None:
    wanting = catalog.subscriptions.add(replace(new(), options={"backlog": True}))
    paused = catalog.subscriptions.add(new())
    catalog.subscriptions.set_status(paused, "paused", NOW)
    catalog.subscriptions.set_status(catalog.subscriptions.add(new()), "dropped", NOW)
    catalog.subscriptions.add(new(channel="stream"))
    other = catalog.subscriptions.add(new(feed="sports", channel="file"))
    news, sports = catalog.feeds.named("news").id, catalog.feeds.named("sports").id
    assert list(catalog.subscriptions.to_deliver([sports, news, news])) == [
        Reader(news, wanting, "mail", True),
        Reader(sports, other, "file", False),
    ]


def test_feeds_that_nobody_subscribes_to_are_not_looked_up_one_by_one(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [NewFeed(name=f"f{n}", kind="source", statement="r", created_at=NOW) for n in range(200)]
    ids = catalog.feeds.add(made)
    subscribed = [catalog.subscriptions.add(new(feed=f"f{n}")) for n in (7, 150)]
    asked: list[int] = []
    real = Subscriptions._readers

    def counted(self: Subscriptions, feed_ids: Sequence[int], after: tuple[int, int]) -> list[Reader]:
        asked.extend(feed_ids)
        return real(self, feed_ids, after)

    monkeypatch.setattr(Subscriptions, "_readers", counted)
    found = list(catalog.subscriptions.to_deliver(ids))
    assert [(one.feed, one.subscription) for one in found] == list(
        zip((ids[7], ids[150]), subscribed, strict=True)
    )
    assert asked == [ids[7], ids[150]]


def test_due_subscriptions_come_oldest_first_and_each_channel_has_room_of_its_own(catalog: Catalog) -> None:
    ids = [catalog.subscriptions.add(new(channel=channel)) for channel in ("mail", "file", "mail", "mail")]
    times = [NOW, NOW, NOW - timedelta(hours=2), NOW - timedelta(hours=1)]
    rhythms = [
        Rhythm(subscription_id=id_, next_due_at=at, channel="") for id_, at in zip(ids, times, strict=True)
    ]
    catalog.subscriptions.save_rhythms(rhythms)
    assert catalog.subscriptions.due(NOW, {"mail": 2, "file": 2}) == (ids[2], ids[3], ids[1])
    assert catalog.subscriptions.due(NOW, {"mail": 9}) == (ids[2], ids[3], ids[0])
    assert catalog.subscriptions.due(NOW, {"file": 0}) == ()
    assert catalog.subscriptions.due(NOW - timedelta(hours=1), {"mail": 9}) == (ids[2], ids[3])


def test_a_subscription_that_another_holds_is_passed_over_by_who_looks_for_work(catalog: Catalog) -> None:
    id_ = catalog.subscriptions.add(new())
    catalog.outbox.insert([NewEntry(id_, "a", {"seq": 1}, NOW)], NOW)
    assert list(catalog.subscriptions.hold([id_], due_at=NOW)) == [id_]
    catalog.subscriptions.set_status(id_, "paused", NOW)
    assert catalog.subscriptions.hold([id_], due_at=NOW) == {}
    assert list(catalog.subscriptions.hold([id_])) == [id_]


def test_what_is_given_up_of_a_dropped_subscription_is_forgotten_and_of_others_kept(catalog: Catalog) -> None:
    gone, living = (catalog.subscriptions.add(new()) for _ in range(2))
    entries = [NewEntry(id_, key, {"seq": 1}, NOW) for id_ in (gone, living) for key in "ab"]
    catalog.outbox.insert(entries, NOW)
    catalog.subscriptions.set_status(gone, "dropped", NOW)
    assert catalog.outbox.forget_given_up(NOW) == 0
    assert catalog.outbox.forget_given_up(LATER) == 2
    assert catalog.outbox.counts() == {"pending": 2}


def test_the_oldest_item_that_is_still_to_be_sent_is_known(catalog: Catalog) -> None:
    assert catalog.outbox.oldest_unsent() == 0
    id_ = catalog.subscriptions.add(new())
    catalog.outbox.insert([NewEntry(id_, str(seq), {"seq": seq}, NOW) for seq in (9, 4, 7)], NOW)
    assert catalog.outbox.oldest_unsent() == 4
    catalog.subscriptions.set_status(id_, "dropped", NOW)
    assert catalog.outbox.oldest_unsent() == 0
