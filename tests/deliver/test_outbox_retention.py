"""Deliveries are kept for a while; what was sent stays known for ever."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from feedweir import Weir
from feedweir.catalog import EntryOutcome
from feedweir.deliver.send.outbox_retention import Forgetting

START = datetime(2026, 6, 1, 12, tzinfo=UTC)
KEEP = timedelta(days=90)


class Clock:
    now = START

    def __call__(self) -> datetime:
        return self.now


def document(*items: tuple[int, str]) -> bytes:
    shown = "".join(f"<item><guid>{guid}</guid><title>{title}</title></item>" for guid, title in items)
    return f"<rss version='2.0'><channel><title>Post</title>{shown}</channel></rss>".encode()


def sent(weir: Weir) -> list[str]:
    """Send everything that is due, as a sender would; the elements that went."""
    now = weir.clock()
    entries = weir.catalog.outbox.claim(100, worker="w", now=now, lease_s=60)
    outcomes = [EntryOutcome(id=entry.id, state="sent") for entry in entries]
    weir.catalog.outbox.settle(outcomes, worker="w", now=now)
    return [entry.element_key.partition("\n")[2] for entry in entries]


def test_an_edit_is_not_sent_again_even_when_the_delivery_is_forgotten(tmp_path: Path) -> None:
    clock = Clock()
    with Weir.open(tmp_path, clock=clock) as weir:
        weir.execute(
            "register feed http://post.example/ as Post; subscribe to Post as Ann output mail 'a@b.org' with backlog"
        )
        weir.push("Post", document((1, "One"), (2, "Two")))
        weir.run()
        assert sorted(sent(weir)) == ["1", "2"]
        clock.now += timedelta(days=91)
        assert Forgetting(KEEP).tend(weir.catalog, clock.now) == 4, "two entries and two lines"
        assert weir.catalog.outbox.counts() == {}
        (record,) = weir.catalog.subscriptions.all()
        assert weir.catalog.deliveries.of(record.id) == ()
        weir.push("Post", document((1, "One, corrected"), (3, "Three")))
        weir.run()
        assert sent(weir) == ["3"]
        assert [item.title for item in weir.items("Post")] == ["One, corrected", "Three", "Two"]


def test_it_is_done_once_a_day_and_not_at_all_when_everything_is_to_be_kept(tmp_path: Path) -> None:
    clock = Clock()
    with Weir.open(tmp_path, clock=clock) as weir:
        weir.execute(
            "register feed http://post.example/ as Post; subscribe to Post as Ann output file 'a.rss' with backlog"
        )
        forgetting = Forgetting(KEEP)
        assert forgetting.tend(weir.catalog, clock.now) == 0
        weir.push("Post", document((1, "One")))
        weir.run()
        sent(weir)
        next_year = clock.now + timedelta(days=365)
        assert forgetting.tend(weir.catalog, clock.now + timedelta(hours=23)) == 0
        assert Forgetting(None).tend(weir.catalog, next_year) == 0
        assert [forgetting.tend(weir.catalog, next_year) for _ in range(2)] == [2, 0]


def test_what_was_given_up_for_a_dropped_subscription_is_forgotten_in_time(tmp_path: Path) -> None:
    clock = Clock()
    with Weir.open(tmp_path, clock=clock) as weir:
        weir.execute("register feed http://post.example/ as Post")
        for name in ("Ann", "Bob"):
            weir.execute(f"subscribe to Post as {name} output file 'a.rss' with backlog")
        weir.push("Post", document((1, "One")))
        weir.run()
        entries = weir.catalog.outbox.claim(2, worker="w", now=clock.now, lease_s=60)
        outcomes = [EntryOutcome(id=entry.id, state="dead", reason="no") for entry in entries]
        weir.catalog.outbox.settle(outcomes, worker="w", now=clock.now)
        weir.execute("drop subscription Bob")
        Forgetting(KEEP).tend(weir.catalog, clock.now + KEEP)
        assert weir.catalog.outbox.counts() == {"dead": 2}, "as long as what was sent"
        Forgetting(KEEP).tend(weir.catalog, clock.now + KEEP + timedelta(days=1))
        ann = weir.catalog.subscriptions.named("Ann")
        assert ann is not None
        assert [entry.subscription_id for entry in weir.catalog.outbox.entries()] == [ann.id]
