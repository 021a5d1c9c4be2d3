"""Deliveries of a batch are written some at a time: all of them, each once, also when the process dies in between."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence
from pathlib import Path

import pytest

from feedweir.catalog import NewEntry, NewSubscription
from feedweir.catalog.outbox import Outbox
from feedweir.pipeline import commit
from feedweir.pipeline.local_runner import LocalRunner
from feedweir.service.installation import Weir
from tests.engines import NOON, land, open_weir
from tests.join.stories import STATEMENTS, Shown

SHOWN = [Shown("Post", ((1, "river"), (2, "flood"))), Shown("Notes", ((3, "music"),))]
FEEDS = ("Water", "Calm", "Post")


class Crash(BaseException):
    """The process is gone."""


def subscribe(weir: Weir, feed: str, count: int, channel: str = "webhook") -> None:
    for number in range(count):
        target = f"http://example.org/{feed}/{number}"
        weir.catalog.subscriptions.add(
            NewSubscription(
                feed=feed,
                statement="",
                channel=channel,
                target=target,
                options={"backlog": True},
                created_at=NOON,
            )
        )


def delivered(weir: Weir) -> list[tuple[str, int]]:
    """(target, seq), in the order of the outbox."""
    targets = {one.id: one.target for one in weir.catalog.subscriptions.all()}
    entries = weir.catalog.outbox.entries(limit=None)
    return [(targets[entry.subscription_id], entry.payload["seq"]) for entry in entries]


def wanted(weir: Weir) -> list[tuple[str, int]]:
    feeds = {one.id: one for one in weir.catalog.feeds.all()}
    return sorted(
        (one.target, seq)
        for one in weir.catalog.subscriptions.all()
        for seq in weir.store.seqs(feeds[one.feed_id].id).tolist()
        if one.channel != "stream"
    )


@pytest.mark.parametrize("at_once", [1, 4, 1_000])
def test_each_reader_gets_each_element_once_in_the_order_of_the_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(commit, "DELIVERIES_AT_ONCE", at_once)
    with open_weir(tmp_path, STATEMENTS) as weir:
        for feed in FEEDS:
            subscribe(weir, feed, 3)
        subscribe(weir, "Water", 1, "stream")
        weir.refresh_set()
        land(weir, SHOWN)
        LocalRunner(weir.directory, weir.commit, tasks=2).run_available()
        found = delivered(weir)
        assert sorted(found) == wanted(weir)
        for target in {target for target, _ in found}:
            seqs = [seq for one, seq in found if one == target]
            assert seqs == sorted(seqs)


@pytest.mark.parametrize("portion", [0, 1, 2])
@pytest.mark.parametrize("happens_first", [False, True])
def test_a_crash_between_two_portions_loses_and_doubles_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, portion: int, happens_first: bool
) -> None:
    monkeypatch.setattr(commit, "DELIVERIES_AT_ONCE", 4)
    whole = Outbox.insert
    written = []

    def insert(outbox: Outbox, entries: Sequence[NewEntry], now: object) -> int:
        if len(written) == portion and happens_first:
            whole(outbox, entries, NOON)
        if len(written) == portion:
            raise Crash
        written.append(entries)
        return whole(outbox, entries, NOON)

    with open_weir(tmp_path, STATEMENTS) as weir:
        for feed in FEEDS:
            subscribe(weir, feed, 3)
        weir.refresh_set()
        land(weir, SHOWN)
        with monkeypatch.context() as dying:
            dying.setattr(Outbox, "insert", insert)
            with pytest.raises(Crash):
                LocalRunner(weir.directory, weir.commit).run_available()
        first = weir.catalog.outbox.claim(2, worker="w", now=NOON, lease_s=60)
    with Weir.open(tmp_path, clock=lambda: NOON) as weir:
        LocalRunner(weir.directory, weir.commit).run_available()
        assert sorted(delivered(weir)) == wanted(weir)
        ids = {entry.id for entry in weir.catalog.outbox.entries(state="claimed")}
        assert ids == {entry.id for entry in first}, "what a sender holds is left to it"


def test_what_is_held_does_not_grow_with_the_deliveries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit, "DELIVERIES_AT_ONCE", 500)
    peaks = []
    with open_weir(tmp_path, STATEMENTS) as weir:
        subscribe(weir, "Post", 100)
        weir.refresh_set()
        for first, count in ((0, 40), (1_000, 400)):
            land(weir, [Shown("Post", tuple((first + n, "river") for n in range(count)))])
            manifests = []
            LocalRunner(weir.directory, manifests.append).run_batch()
            tracemalloc.start()
            commit.commit_batch(weir.catalog, weir.store, manifests[-1], NOON)
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        assert sum(weir.catalog.outbox.counts().values()) == 44_000
    assert peaks[1] < 1.5 * peaks[0]


def test_an_edit_is_not_sent_again_but_written_to_files(tmp_path: Path) -> None:
    first, edited = Shown("Post", ((1, "river"),)), Shown("Post", ((1, "river again"),))
    with open_weir(tmp_path, STATEMENTS) as weir:
        subscribe(weir, "Post", 1)
        subscribe(weir, "Post", 1, "file")
        for shown in (first, edited):
            land(weir, [shown])
            weir.run()
        channels = {one.id: one.channel for one in weir.catalog.subscriptions.all()}
        entries = weir.catalog.outbox.entries()
    assert sorted(channels[entry.subscription_id] for entry in entries) == ["file", "file", "webhook"]
