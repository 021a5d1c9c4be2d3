"""An item's way from landing to each delivery, put together from the logs and the catalog."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from feedweir import CatalogError, Weir
from feedweir.ask.trace import RevisionTrace, Trace
from feedweir.config import Settings
from feedweir.deliver.send.open_channels import opened_sender
from feedweir.service.composition import sending_options
from tests.deliver.receivers import Receiver, http_receiver

STATEMENTS = """
register feed push://post as Post;
register feed push://crier as Crier;
create feed Water from Post where title contains 'river';
create feed Echo from Post as $p join last 10 days on Crier as $c with $p[title similar window.title];
subscribe to Water as Desk output file 'water.rss';
"""
LINK = "http://example.org/1"


@dataclass
class Clock:
    now: datetime = datetime(2026, 6, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with http_receiver() as opened:
        yield opened


@pytest.fixture
def weir(tmp_path: Path, receiver: Receiver) -> Iterator[Weir]:
    with Weir.open(tmp_path / "data", clock=Clock()) as opened:
        opened.execute(STATEMENTS)
        opened.execute(f"subscribe to Water as Hook output webhook {receiver.url}")
        yield opened


def rss(title: str, guid: str = "g-1") -> bytes:
    item = f"<item><guid>{guid}</guid><title>{title}</title><link>{LINK}</link></item>"
    return f"<rss version='2.0'><channel>{item}</channel></rss>".encode()


def publish(weir: Weir, title: str, *, source: str = "Post", guid: str = "g-1") -> None:
    weir.push(source, rss(title, guid), media_type="application/rss+xml")
    weir.run()


def send(weir: Weir) -> None:
    async def step() -> None:
        options = sending_options(weir, Settings(allow_private=True))
        async with opened_sender(weir.catalog, weir.feed_views, options, clock=weir.clock) as sender:
            await sender.step()

    asyncio.run(step())


def only(trace: Trace) -> RevisionTrace:
    (revision,) = trace.revisions
    return revision


def test_an_item_is_found_by_number_guid_or_link(weir: Weir) -> None:
    publish(weir, "river rises")
    found = weir.ask.trace("g-1")
    assert found == weir.ask.trace(LINK) == weir.ask.trace(only(found).item.seq)
    assert (found.source, found.guid, found.link) == ("Post", "g-1", LINK)
    with pytest.raises(CatalogError, match="there is no item 'g-2'"):
        weir.ask.trace("g-2")


def test_a_trace_begins_with_the_document_that_landed(weir: Weir) -> None:
    publish(weir, "river rises")
    landing = only(weir.ask.trace("g-1")).landing
    assert (landing.source, landing.segment, landing.document) == ("Post", 1, 1 << 16)
    assert (landing.size, landing.media_type) == (len(rss("river rises")), "application/rss+xml")
    assert datetime(2026, 6, 1, 12, tzinfo=UTC) < landing.at <= weir.clock()


def test_its_batch_is_told_with_when_it_was_committed(weir: Weir) -> None:
    publish(weir, "market day", guid="g-0")
    publish(weir, "river rises")
    revision = only(weir.ask.trace("g-1"))
    assert revision.batch is not None
    assert (revision.batch.after, revision.batch.upto) == (1, 2)
    assert revision.batch.version == weir.version_in_force()
    assert revision.batch.at is not None
    assert revision.landing.at < revision.batch.at <= weir.clock()


def test_a_compacted_batch_tells_the_time_of_the_batch_that_published_the_item(weir: Weir) -> None:
    publish(weir, "river rises")
    before = only(weir.ask.trace("g-1")).batch
    for number in range(20):
        publish(weir, f"market {number}", guid=f"m-{number}")
    after = only(weir.ask.trace("g-1")).batch
    assert before is not None
    assert after is not None
    assert after.batches > 1
    assert (after.at, after.version) == (before.at, before.version)


def test_the_feeds_of_an_item_are_named_with_its_partners(weir: Weir) -> None:
    publish(weir, "river rises near the old bridge", source="Crier", guid="c-1")
    publish(weir, "river rises near the old bridge")
    crier = only(weir.ask.trace("c-1")).item.seq
    feeds = only(weir.ask.trace("g-1")).feeds
    assert [(feed.name, feed.partners) for feed in feeds] == [
        ("Echo", (crier,)),
        ("Post", ()),
        ("Water", ()),
    ]


def test_a_feed_that_was_dropped_is_told_as_dropped(weir: Weir) -> None:
    publish(weir, "river rises near the old bridge")
    weir.execute("create feed Wet from Post where title contains 'river'")
    publish(weir, "river falls", guid="g-2")
    weir.execute("drop feed Wet")
    assert "(dropped)" in [feed.name for feed in only(weir.ask.trace("g-2")).feeds][-1]


def test_a_delivery_is_queued_and_then_sent(weir: Weir, receiver: Receiver) -> None:
    publish(weir, "river rises")
    waiting = {one.subscription: one for one in only(weir.ask.trace("g-1")).deliveries}
    assert {name: one.state for name, one in waiting.items()} == {"Desk": "pending", "Hook": "pending"}
    assert waiting["Hook"].attempts == ()
    assert waiting["Hook"].due_at is not None

    send(weir)
    sent = {one.subscription: one for one in only(weir.ask.trace("g-1")).deliveries}
    (attempt,) = sent["Hook"].attempts
    assert (sent["Hook"].state, attempt.outcome, attempt.attempt, attempt.reason) == ("sent", "sent", 1, "")
    assert sent["Hook"].queued_at == waiting["Hook"].queued_at
    assert sent["Hook"].queued_at is not None
    assert sent["Hook"].queued_at < attempt.at
    assert (sent["Desk"].channel, sent["Desk"].target, sent["Desk"].feed) == ("file", "water.rss", "Water")


def test_what_was_refused_is_told_with_the_reason_and_when_it_is_tried_again(
    weir: Weir, receiver: Receiver
) -> None:
    receiver.answer = lambda _: (503, {}, b"")
    publish(weir, "river rises")
    send(weir)
    (hook,) = (one for one in only(weir.ask.trace("g-1")).deliveries if one.subscription == "Hook")
    (attempt,) = hook.attempts
    assert (hook.state, attempt.outcome) == ("failed", "failed")
    assert "503" in attempt.reason
    assert hook.due_at is not None
    assert hook.due_at > attempt.at


def test_entries_of_one_parcel_are_counted_together(weir: Weir, receiver: Receiver) -> None:
    publish(weir, "river rises")
    publish(weir, "river falls", guid="g-2")
    send(weir)
    (hook,) = (one for one in only(weir.ask.trace("g-1")).deliveries if one.subscription == "Hook")
    assert [one.together for one in hook.attempts] == [2]


def test_each_revision_has_a_way_of_its_own(weir: Weir) -> None:
    publish(weir, "river rises")
    publish(weir, "river rises fast")
    first, second = weir.ask.trace("g-1").revisions
    assert (first.item.revision, second.item.revision) == (0, 1)
    assert (first.landing.segment, second.landing.segment) == (1, 2)
    names = [[one.subscription for one in each.deliveries] for each in (first, second)]
    assert names == [["Desk", "Hook"], ["Desk"]], "an edit is sent again only to files"


def test_what_was_sent_long_ago_is_known_as_sent(weir: Weir, receiver: Receiver) -> None:
    publish(weir, "river rises")
    send(weir)
    weir.catalog.outbox.forget_sent(weir.clock() + timedelta(days=1))
    deliveries = only(weir.ask.trace("g-1")).deliveries
    assert [(one.subscription, one.state, one.entry, one.attempts) for one in deliveries] == [
        ("Desk", "sent", None, ()),
        ("Hook", "sent", None, ()),
    ]


def test_a_document_that_is_no_longer_stored_leaves_the_rest_of_the_trace(weir: Weir) -> None:
    publish(weir, "river rises")
    weir.log.path(1).unlink()
    revision = only(weir.ask.trace("g-1"))
    assert revision.landing.size is None
    assert revision.batch is not None
    assert [feed.name for feed in revision.feeds] == ["Post", "Water"]


def test_deliveries_beyond_the_limit_are_counted(weir: Weir) -> None:
    publish(weir, "river rises")
    revision = only(weir.ask.trace("g-1", limit=1))
    assert (len(revision.deliveries), revision.delivery_count) == (1, 2)
    assert list(weir.ask.trace("g-1", limit=1).lines())[-1].endswith("and 1 more deliveries: see --limit")


def test_lines_are_in_the_order_in_which_it_happened(weir: Weir, receiver: Receiver) -> None:
    publish(weir, "river rises")
    send(weir)
    lines = list(weir.ask.trace("g-1").lines())
    assert lines[0] == "river rises  [Post, guid g-1]"
    assert lines[1].startswith("revision 0, item 4294967296")
    words = ["landed in segment 1", "published in batch 1", "in Post", "in Water", "queued for Desk", "sent"]
    found = [next(number for number, line in enumerate(lines) if word in line) for word in words]
    assert found == sorted(found)
    assert any("queued for Hook (webhook http://127.0.0.1:" in line for line in lines)


def test_a_trace_as_json_has_all_that_the_value_has(weir: Weir) -> None:
    publish(weir, "river rises")
    (value,) = weir.ask.trace("g-1").to_json()["revisions"]
    assert value["landing"]["segment"] == 1
    assert value["batch"]["upto"] == 1
    assert [feed["name"] for feed in value["feeds"]] == ["Post", "Water"]
    assert [one["subscription"] for one in value["deliveries"]] == ["Desk", "Hook"]
    assert value["delivery_count"] == 2


def test_the_log_follows_an_item_through_every_hand_over(
    weir: Weir, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, logger="feedweir.items"):
        publish(weir, "river rises near the old bridge", source="Crier", guid="c-1")
        publish(weir, "river rises near the old bridge")
        send(weir)
    item = only(weir.ask.trace("g-1")).item.seq
    document = only(weir.ask.trace("g-1")).landing.document

    def ids(event: str) -> list[dict[str, Any]]:
        found = (vars(record) for record in caplog.records if vars(record).get("event") == event)
        return [one["ids"] for one in found]

    named = [vars(one)["event"] for one in caplog.records if _is_about(vars(one)["ids"], item, document)]
    assert list(dict.fromkeys(named)) == [
        "landed",
        "parsed",
        "new",
        "matched",
        "joined",
        "queued",
        "sending",
        "settled",
    ]
    echo = weir.catalog.feeds.named("Echo").id
    assert [one["feeds"] for one in ids("joined") if one["item"] == item] == [[echo]]
    assert [one["batch"] for one in ids("published")] == [1, 2]
    assert {one["subscription"] for one in ids("settled")} == {
        record.id for record in weir.catalog.subscriptions.all()
    }


def _is_about(ids: dict[str, Any], item: int, document: int) -> bool:
    named = ids.get("item")
    return item == named or (isinstance(named, list) and item in named) or ids.get("document") == document


def test_what_was_seen_before_is_parsed_and_not_new(weir: Weir, caplog: pytest.LogCaptureFixture) -> None:
    publish(weir, "river rises")
    with caplog.at_level(logging.DEBUG, logger="feedweir.items"):
        publish(weir, "river rises")
        weir.push("Post", b"this is no feed")
        weir.run()
    events = [(vars(one)["event"], vars(one)["ids"].get("new")) for one in caplog.records]
    assert ("parsed", 0) in events
    assert "new" not in [event for event, _ in events]
    assert "refused" in [event for event, _ in events]
