"""What is kept no more is gone, and nothing else changes: not what is seen, joined, counted or sent."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.catalog import NewSubscription
from feedweir.catalog.records import EntryOutcome
from feedweir.errors import CatalogError, LandingError, SettingsError
from feedweir.join.history_floor import oldest_remembered
from feedweir.pipeline.retention import KEEP_ALL, Bound, Piece, Retention, bound_of, surplus
from feedweir.service.installation import Weir

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
STATEMENTS = """
register feed push://Post as Post;
register feed push://Wire as Wire;
create feed Water from (Post | Wire) as $r where $r[title contains 'river'];
"""
JOINED = """
create feed Pairs from Post as $p join last 1 day on Wire with $p[title = window.title];
create feed StoryPairs from distinct last 1 day (Post | Wire);
Post//item[title->a] FOLLOWED BY{a=b, 1 day} Wire//item[title->b] PUBLISH Answers;
"""
WEEK = Retention(*[bound_of("7 days")] * 3)
TIMED = Retention(items=bound_of("3 days"), elements=bound_of("2 days"), landing=bound_of("1 day"))
SIZED = Retention(*[bound_of("9 kb")] * 3)


def test_bounds_are_days_or_bytes() -> None:
    assert bound_of("90 days") == Bound("90 days", age=timedelta(days=90))
    assert bound_of("1 day").age == timedelta(days=1)
    assert bound_of(" 20 GB ").size == 20 << 30
    assert bound_of("1.5 MiB").size == 3 << 19
    assert not bound_of("")
    for wrong in ("90", "days", "-1 days", "9 weeks", "20 G"):
        with pytest.raises(SettingsError, match="setting retain_items"):
            bound_of(wrong, "retain_items")


def test_what_lies_beyond_a_bound_begins_with_the_oldest() -> None:
    pieces = [Piece(upto, NOON + timedelta(days=upto), 10) for upto in (1, 2, 3)] + [Piece(4, None, 0)]
    assert surplus(pieces, Bound(), NOON + timedelta(days=99)) == 0
    assert surplus(pieces, bound_of("1 day"), NOON + timedelta(days=3)) == 1
    assert surplus(pieces, bound_of("1 day"), NOON + timedelta(days=99)) == 4
    assert surplus(pieces, Bound(size=30), NOON) == 0
    assert surplus(pieces, Bound(size=29), NOON) == 1
    assert surplus(pieces, Bound(size=0), NOON) == 3


class Clock:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now


class House:
    """An installation to which a document a day comes."""

    def __init__(self, directory: Path, retention: Retention, statements: str = STATEMENTS) -> None:
        self.directory = directory
        self.retention = retention
        self.clock = Clock()
        with self.open() as weir:
            weir.execute(statements)
            weir.catalog.subscriptions.add(
                NewSubscription(
                    feed="Water",
                    statement="",
                    channel="mail",
                    target="ann@example.org",
                    created_at=NOON,
                )
            )

    def open(self) -> Weir:
        return Weir.open(self.directory, clock=self.clock, retention=self.retention)

    def live(self, history: list[list[int]], *, sends: bool = True) -> None:
        for day, numbers in enumerate(history):
            self.clock.now = NOON + timedelta(days=day)
            with self.open() as weir:
                self.day(weir, day, numbers, sends=sends)

    def day(self, weir: Weir, day: int, numbers: list[int], *, sends: bool = True) -> None:
        """A day may begin again: what has landed is not landed twice."""
        for place, source in enumerate(("Post", "Wire"), start=1):
            if weir.log.latest() < 2 * day + place:
                weir.push(source, document(numbers))
                touched = weir.log.path(weir.log.latest())
                os.utime(touched, (self.clock.now.timestamp(),) * 2)
        if sends:
            weir.refresh_set()
        weir.run()
        if sends:
            send_all(weir, self.clock.now)
        weir.tidy()


def send_all(weir: Weir, now: datetime) -> None:
    entries = weir.catalog.outbox.claim(1_000, worker="test", now=now, lease_s=60)
    outcomes = [EntryOutcome(id=entry.id, state="sent") for entry in entries]
    weir.catalog.outbox.settle(outcomes, worker="test", now=now)


def document(numbers: list[int]) -> bytes:
    items = "".join(
        f"<item><guid>{number}</guid><title>The river at {number}</title></item>" for number in numbers
    )
    return f"<rss version='2.0'><channel><title>Post</title>{items}</channel></rss>".encode()


def elements(weir: Weir) -> dict[str, list[int]]:
    return {one.name: weir.store.seqs(one.id).tolist() for one in weir.catalog.feeds.all()}


def sent(weir: Weir) -> list[str]:
    return sorted(entry.element_key for entry in weir.catalog.outbox.entries())


Histories = st.lists(st.lists(st.integers(0, 9), max_size=4), min_size=6, max_size=10)


@settings(max_examples=6, deadline=None)
@given(Histories, st.sampled_from([TIMED, WEEK, SIZED]))
def test_only_what_is_old_is_gone_and_nothing_is_new_again(
    history: list[list[int]], retention: Retention
) -> None:
    with TemporaryDirectory() as first, TemporaryDirectory() as second:
        whole, bounded = House(Path(first), KEEP_ALL), House(Path(second), retention)
        for house in (whole, bounded):
            house.live(history)
        compare(whole, bounded)


def compare(whole: House, bounded: House) -> None:
    with whole.open() as all_of_it, bounded.open() as kept:
        assert sent(kept) == sent(all_of_it)
        assert kept.damages() == {}
        first = first_kept(kept)
        expected = {name: [seq for seq in seqs if seq >= first] for name, seqs in elements(all_of_it).items()}
        assert elements(kept) == expected
        for feed in kept.catalog.feeds.all():
            page = kept.feed_views.page(feed.name)
            assert page is not None
            assert len(kept.items(feed.name, 1_000)) <= len(all_of_it.items(feed.name, 1_000))


def first_kept(weir: Weir) -> int:
    gone = [one.upto for one in weir.store.manifests() if one.elements_removed]
    return (max(gone, default=0) + 1) << 32


DAYS = [[day, day + 1, day % 3] for day in range(30)]


def test_files_go_and_are_few(tmp_path: Path) -> None:
    house = House(tmp_path, TIMED)
    house.live(DAYS)
    with house.open() as weir:
        assert weir.log.removed() == 56
        with pytest.raises(LandingError, match="landing segment 1 has been deleted"):
            weir.log.read(1)
        assert len(list(tmp_path.glob("landing/*.parquet"))) == 4
        weir.store.remove_leftovers(datetime.now(UTC) + timedelta(hours=2))
        assert len(list(tmp_path.glob("items/*.parquet"))) <= 5
        assert len(list(tmp_path.glob("elements/*.parquet"))) <= 4
        assert len(weir.store.manifests()) < 15
        assert weir.damages() == {}
        assert weir.store.size_of(weir.store.manifests()[-1]) == (0, 0)
        facts = weir.retained()
        assert facts["retained documents"] == "1 day; deleted up to segment 56"
        assert "3 days; " in facts["retained items"]
        item = weir.items("Water", 1)[0]
        assert weir.ask.why(item.seq, "Water")
        with pytest.raises(CatalogError, match="has been deleted"):
            weir.ask.why(1 << 32, "Water")


def test_an_item_that_was_removed_is_not_new_when_it_comes_again(tmp_path: Path) -> None:
    house = House(tmp_path, TIMED)
    house.live([[1], *([] for _ in range(12)), [1]])
    with house.open() as weir:
        assert weir.items("Water") == []
        assert sent(weir) == ["Post\n1", "Wire\n1"]


def test_what_was_not_sent_is_kept(tmp_path: Path) -> None:
    house = House(tmp_path, TIMED)
    house.live(DAYS[:12], sends=False)
    with house.open() as weir:
        assert not any(one.items_removed for one in weir.store.manifests())
        assert "deliveries prevent more from being deleted" in weir.retained()["retained items"]
        send_all(weir, house.clock.now)
        weir.tidy()
        assert any(one.items_removed for one in weir.store.manifests())


def test_a_document_that_waits_for_a_person_is_kept(tmp_path: Path) -> None:
    from feedweir.acquire.parse.parse_process import Stopped
    from feedweir.items.numbering import document_number

    house = House(tmp_path, TIMED)
    with house.open() as weir:
        number = document_number(5, 0)
        weir.quarantine.put(Stopped(number=number, source="Post", size=1, reason="too much", attempts=1))
    house.live(DAYS[:12])
    with house.open() as weir:
        assert weir.log.removed() == 4
        weir.quarantine.settle(number, "dropped")
        weir.tidy()
        assert weir.log.removed() > 4


def test_what_joins_remember_is_kept_and_they_give_the_same(tmp_path: Path) -> None:
    history = [[day % 5, day] for day in range(34)]
    whole = House(tmp_path / "whole", KEEP_ALL, STATEMENTS + JOINED)
    bounded = House(tmp_path / "bounded", TIMED, STATEMENTS + JOINED)
    for house in (whole, bounded):
        house.live(history)
    compare(whole, bounded)
    with bounded.open() as weir:
        removed = [one.upto for one in weir.store.manifests() if one.items_removed]
        oldest = oldest_remembered(weir.directory.joins)
        assert removed
        assert max(removed) < oldest >> 32
        # Three days are behind: joins remember more.
        assert oldest >> 32 < 2 * (len(history) - 3)
        assert "joins prevent more from being deleted" in weir.retained()["retained items"]


class Crash(BaseException):
    """The process is gone."""


def crashing(patch: pytest.MonkeyPatch, left: list[int]) -> None:
    """Files appear and go as often as `left` says; then the process is gone, and the next has the next number."""

    def around(step: Callable[..., Any]) -> Callable[..., Any]:
        def stepping(*arguments: Any, **named: Any) -> Any:
            if left:
                left[0] -= 1
                if left[0] < 0:
                    left.pop(0)
                    raise Crash
            return step(*arguments, **named)

        return stepping

    for owner, name in ((os, "rename"), (os, "replace"), (Path, "replace"), (Path, "unlink")):
        patch.setattr(owner, name, around(getattr(owner, name)))


@settings(max_examples=6, deadline=None)
@given(st.lists(st.integers(0, 60), max_size=6), st.sampled_from([TIMED, SIZED]))
def test_a_crash_in_the_middle_of_removing_leaves_all_that_is_kept(
    crashes: list[int], retention: Retention
) -> None:
    with TemporaryDirectory() as first, TemporaryDirectory() as second:
        whole, bounded = House(Path(first), KEEP_ALL), House(Path(second), retention)
        history = DAYS[:8]
        whole.live(history)
        for day, numbers in enumerate(history):
            bounded.clock.now = NOON + timedelta(days=day)
            with pytest.MonkeyPatch.context() as patch:
                crashing(patch, crashes)
                live_through(bounded, day, numbers)
        compare(whole, bounded)
        assert not leftovers(bounded)


def live_through(house: House, day: int, numbers: list[int]) -> None:
    while True:
        try:
            with house.open() as weir:
                house.day(weir, day, numbers)
            return
        except Crash:
            continue


def leftovers(house: House) -> list[Path]:
    """Files below what was removed that nobody names, when whoever was reading them has had the time."""
    with house.open() as weir:
        weir.store.remove_leftovers(datetime.now(UTC) + timedelta(hours=2))
        manifests = weir.store.manifests()
        gone = max((one.upto for one in manifests if one.elements_removed), default=0)
        named = {path for one in manifests for path in weir.store.files_of(one)}
        found = [path for name in ("items", "elements") for path in files_in(house.directory / name)]
        landed = [
            path for path in files_in(house.directory / "landing") if int(path.stem) <= weir.log.removed()
        ]
        return [*landed, *(path for path in found if int(path.name[:12]) <= gone and path not in named)]


def files_in(directory: Path) -> Iterator[Path]:
    return directory.glob("[0-9]*")


def test_what_can_be_made_again_no_more_is_told_and_left(tmp_path: Path) -> None:
    house = House(tmp_path, Retention(landing=bound_of("1 day")))
    house.live(DAYS[:6])
    with house.open() as weir:
        (name, *_) = weir.store.manifests()[-1].element_files
        (tmp_path / "elements" / name).write_bytes(b"damaged")
        repaired = weir.repair_logs()
        assert repaired.made == ()
        assert list(repaired.left or {}) == [f"elements/{name}"]


def test_without_items_that_tell_it_what_was_seen_is_not_guessed(tmp_path: Path) -> None:
    house = House(tmp_path, TIMED)
    house.live(DAYS[:8])
    for path in (tmp_path / "seen").glob("*.arrow"):
        path.unlink()
    with house.open() as weir:
        weir.push("Post", document([0]))
        with pytest.raises(Exception, match="have been deleted"):
            weir.run()
