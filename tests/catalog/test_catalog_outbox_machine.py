"""The outbox against a list of plain values: whatever senders, people and the clock do, both say the same."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.catalog import Catalog, EntryOutcome, NewEntry, NewFeed, NewSubscription, open_catalog

START = datetime(2024, 5, 1, 12, tzinfo=UTC)
LEASE_S = 60.0


@dataclass(frozen=True)
class Kept:
    """An entry as the model keeps it."""

    id: int
    subscription: int
    key: str
    state: str = "pending"
    attempts: int = 0
    due_at: datetime | None = None
    worker: str = ""
    settled_at: datetime | None = None
    again: int = 0


class OutboxMachine:
    """Does each step to the catalog and to the model."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.now = START
        self.entries: dict[int, Kept] = {}
        self.log: list[tuple[int, str, datetime]] = []
        self.catalog.feeds.add([NewFeed(name="news", kind="source", statement="r", created_at=START)])
        new = NewSubscription(feed="news", statement="", channel="mail", target="a@b.c", created_at=START)
        self.status: dict[int, str] = {self.catalog.subscriptions.add(new): "active" for _ in range(3)}

    def number(self, place: int) -> int:
        return sorted(self.status)[place]

    def offer(self, place: int, key: str, delay_s: int) -> None:
        id_, at = self.number(place), self.now + timedelta(seconds=delay_s)
        added = self.catalog.outbox.insert([NewEntry(id_, key, {"seq": 1}, at)], self.now)
        is_known = any((kept.subscription, kept.key) == (id_, key) for kept in self.entries.values())
        assert added == (not is_known and self.status[id_] != "dropped")
        if added:
            (row,) = [one for one in self.catalog.outbox.entries() if one.id not in self.entries]
            self.entries[row.id] = Kept(row.id, id_, key, due_at=at)

    def claim(self, worker: str, limit: int) -> None:
        due = [one for one in self.entries.values() if one.due_at and one.due_at <= self.now]
        active = [one for one in due if self.status[one.subscription] == "active"]
        expected = sorted(active, key=lambda one: (one.due_at, one.id))[:limit]
        claimed = self.catalog.outbox.claim(limit, worker=worker, now=self.now, lease_s=LEASE_S)
        assert [one.id for one in claimed] == [one.id for one in expected]
        until = self.now + timedelta(seconds=LEASE_S)
        for one in expected:
            self.change(one, state="claimed", attempts=one.attempts + 1, due_at=until, worker=worker)

    def renew(self, worker: str) -> None:
        held = self.held_by(worker)
        renewed = self.catalog.outbox.renew(
            sorted(self.entries), worker=worker, now=self.now, lease_s=LEASE_S
        )
        assert list(renewed) == [one.id for one in held]
        for one in held:
            self.change(one, due_at=self.now + timedelta(seconds=LEASE_S))

    def release(self, worker: str) -> None:
        self.catalog.outbox.release(sorted(self.entries), worker=worker, now=self.now)
        for one in self.held_by(worker):
            self.change(one, state="pending", attempts=one.attempts - 1, due_at=self.now, worker="")

    def settle(self, worker: str, state: Any, turn: int) -> None:
        ids = sorted(self.entries)
        one = self.entries[ids[turn % len(ids)]] if ids else None
        if one is None:
            return
        retry_at = self.now + timedelta(seconds=45) if state == "failed" else None
        outcome = EntryOutcome(id=one.id, state=state, retry_at=retry_at, reason="why")
        is_holder = (one.state, one.worker) == ("claimed", worker)
        is_accepted = one.state != "sent" and (state == "sent" or is_holder)
        accepted = self.catalog.outbox.settle([outcome], worker=worker, now=self.now)
        assert accepted == ((one.id,) if is_accepted else ())
        if is_accepted:
            settled_at = None if state == "failed" else self.now
            self.change(one, state=state, due_at=retry_at, worker=worker, settled_at=settled_at)
            self.log.append((one.id, state, self.now))

    def replay_dead(self, place: int) -> None:
        id_ = self.number(place)
        self.replay([one for one in self.of(id_) if one.state == "dead"], id_)

    def replay_what_was_settled_since(self, place: int, ago_s: int) -> None:
        id_, since = self.number(place), self.now - timedelta(seconds=ago_s)
        settled = [one for one in self.of(id_) if one.state in ("dead", "sent")]
        self.replay([one for one in settled if one.settled_at and one.settled_at >= since], id_, since=since)

    def replay(self, wanted: list[Kept], id_: int, **chosen: datetime) -> None:
        expected = wanted if self.status[id_] != "dropped" else []
        assert self.catalog.outbox.replay(now=self.now, subscription_id=id_, **chosen) == len(expected)
        for one in sorted(expected, key=lambda one: one.id):
            again = one.again + (one.state == "sent")
            self.change(
                one, state="pending", attempts=0, due_at=self.now, worker="", settled_at=None, again=again
            )
            self.log.append((one.id, "replayed", self.now))

    def set_status(self, place: int, status: Any) -> None:
        id_ = self.number(place)
        if self.status[id_] == "dropped":
            return
        self.catalog.subscriptions.set_status(id_, status, self.now)
        self.status[id_] = status
        for one in [one for one in self.of(id_) if status == "dropped" and one.due_at]:
            self.change(one, state="dead", due_at=None, worker="", settled_at=self.now)

    def wait(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)

    def of(self, id_: int) -> list[Kept]:
        return [one for one in self.entries.values() if one.subscription == id_]

    def held_by(self, worker: str) -> list[Kept]:
        held = [one for one in self.entries.values() if (one.state, one.worker) == ("claimed", worker)]
        return sorted(held, key=lambda one: one.id)

    def change(self, one: Kept, **values: Any) -> None:
        self.entries[one.id] = replace(one, **values)

    def the_outbox_is_what_the_model_says(self) -> None:
        found = [
            Kept(
                one.id,
                one.subscription_id,
                one.element_key,
                one.state,
                one.attempts,
                one.due_at,
                one.worker,
                one.settled_at,
                one.payload.get("again", 0),
            )
            for one in self.catalog.outbox.entries()
        ]
        assert found == [self.entries[id_] for id_ in sorted(self.entries)]

    def the_log_has_a_line_for_everything_that_happened(self) -> None:
        lines = [line for id_ in self.status for line in self.catalog.deliveries.of(id_)]
        lines.sort(key=lambda line: line.id)
        assert [(line.outbox_id, line.outcome, line.at) for line in lines] == self.log

    def no_subscription_with_work_to_do_is_overlooked(self) -> None:
        due = set(self.catalog.subscriptions.due(self.now, {"mail": 99}))
        for id_, status in self.status.items():
            works = [one for one in self.of(id_) if one.due_at is not None and one.due_at <= self.now]
            assert not works or status != "active" or id_ in due


WORKERS = st.sampled_from(["one", "two"])
PLACES = st.integers(0, 2)
STEPS = st.one_of(
    st.tuples(st.just("offer"), PLACES, st.sampled_from("abcde"), st.sampled_from([0, 0, 30])),
    st.tuples(st.just("claim"), WORKERS, st.integers(1, 4)),
    st.tuples(st.just("renew"), WORKERS),
    st.tuples(st.just("release"), WORKERS),
    st.tuples(st.just("settle"), WORKERS, st.sampled_from(["sent", "failed", "dead"]), st.integers(0, 99)),
    st.tuples(st.just("replay_dead"), PLACES),
    st.tuples(st.just("replay_what_was_settled_since"), PLACES, st.sampled_from([0, 20, 100])),
    st.tuples(st.just("set_status"), PLACES, st.sampled_from(["active", "active", "paused", "dropped"])),
    st.tuples(st.just("wait"), st.sampled_from([1, 29, 61])),
)


@settings(max_examples=12, deadline=None)
@given(st.lists(STEPS, min_size=60, max_size=60))
def test_the_outbox_does_what_a_list_of_entries_would(steps: list[tuple[Any, ...]]) -> None:
    with TemporaryDirectory() as folder, open_catalog(f"sqlite:///{folder}/catalog.sqlite") as catalog:
        machine = OutboxMachine(catalog)
        for name, *arguments in steps:
            getattr(machine, name)(*arguments)
            machine.the_outbox_is_what_the_model_says()
            machine.the_log_has_a_line_for_everything_that_happened()
            machine.no_subscription_with_work_to_do_is_overlooked()
