"""From waiting entries to parcels, and from what became of parcels back to the outbox: two transactions.

What a parcel holds is written down before it is sent. Whoever takes over from a sender that died finds it there, and
sends the same entries under the same key: a receiver that knows the key sees no double.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from feedweir.catalog import Catalog, Entry, Failure, Outcome, Rhythm, SubscriptionRecord, Waiting
from feedweir.deliver.parcel import parcel_key
from feedweir.deliver.policy import Policy, policy_of
from feedweir.deliver.retry import RETRIES, RetryPolicy, next_try
from feedweir.deliver.schedule import Pace, Queue, decide, sent
from feedweir.errors import DeliveryError, FeedweirError, SettingsError

_log = logging.getLogger(__name__)

_HELD_BACK_S = 60
"""When to look again at a subscription that cannot go on: another sender has it, or its schedule is bad."""


@dataclass(frozen=True, slots=True)
class OpenParcel:
    """Entries that we hold and that go together."""

    key: str
    made_at: datetime
    entries: tuple[Entry, ...]
    subscription: SubscriptionRecord

    @property
    def attempt(self) -> int:
        return max(entry.attempts for entry in self.entries)


@dataclass(frozen=True, slots=True)
class Opened:
    """What is ours to send, and when to look again at subscriptions of which nothing more goes now."""

    parcels: tuple[OpenParcel, ...] = ()
    look_at: Mapping[int, datetime | None] | None = None


@dataclass(frozen=True, slots=True)
class Sent:
    """What became of a parcel; no error is success."""

    parcel: OpenParcel
    error: DeliveryError | None = None


@dataclass(frozen=True, slots=True)
class _Kept:
    """A parcel as a rhythm's state keeps it."""

    key: str
    made_at: datetime
    ids: tuple[int, ...]


class Parcels:
    """Opens and settles parcels for one sender, `worker`."""

    def __init__(
        self,
        catalog: Catalog,
        *,
        worker: str,
        lease_s: float,
        most_per_opening: int = 8,
        retries: Mapping[str, RetryPolicy] = RETRIES,
    ) -> None:
        self._catalog = catalog
        self._worker = worker
        self._lease_s = lease_s
        self._most = most_per_opening
        self._retries = retries

    def open(self, waiting: Sequence[Waiting], channels: frozenset[str], now: datetime) -> Opened:
        """Take what is due of these subscriptions, as far as we carry their channels."""
        parcels: list[OpenParcel] = []
        look_at: dict[int, datetime | None] = {}
        changed: list[Rhythm] = []
        with self._catalog.transaction():
            rhythms = self._catalog.subscriptions.hold_rhythms([each.subscription_id for each in waiting])
            for each in sorted(waiting):
                rhythm = rhythms.get(each.subscription_id)
                if rhythm is None:
                    continue
                record = self._catalog.subscriptions.with_id(each.subscription_id)
                if record.channel not in channels:
                    look_at[record.id] = now + timedelta(seconds=_HELD_BACK_S)
                    continue
                found, look_at[record.id] = self._open_one(record, each, rhythm, now, changed)
                parcels += found
            self._catalog.subscriptions.save_rhythms(changed)
        return Opened(tuple(parcels), look_at)

    def renew(self, parcel: OpenParcel, now: datetime) -> bool:
        """Hold a parcel longer; False when it is no longer ours and must not be sent."""
        ids = [entry.id for entry in parcel.entries]
        held = self._catalog.outbox.renew(ids, worker=self._worker, now=now, lease_s=self._lease_s)
        return len(held) == len(ids)

    def release(self, parcels: Sequence[OpenParcel], now: datetime) -> None:
        """Give parcels back untried; they stay as they are."""
        ids = [entry.id for parcel in parcels for entry in parcel.entries]
        self._catalog.outbox.release(ids, worker=self._worker, now=now)

    def settle(self, results: Sequence[Sent], now: datetime) -> None:
        """Write down what became of parcels: entries, delivery log, rhythm and failures at once."""
        outcomes = {result.parcel.key: self._outcomes(result, now) for result in results}
        with self._catalog.transaction():
            ids = [result.parcel.subscription.id for result in results]
            rhythms = self._catalog.subscriptions.hold_rhythms(ids)
            flat = [outcome for result in results for outcome in outcomes[result.parcel.key]]
            accepted = set(self._catalog.outbox.settle(flat, worker=self._worker, now=now))
            for result in results:
                id_ = result.parcel.subscription.id
                if id_ in rhythms and _is_over(outcomes[result.parcel.key], accepted):
                    rhythms[id_] = _after(rhythms[id_], result, now)
            self._catalog.subscriptions.save_rhythms(list(rhythms.values()))
            self._catalog.failures.record([_failure(result, now) for result in results if result.error])
            for result in results:
                if result.error is not None and result.error.is_gone:
                    self._end(result.parcel.subscription, now)

    def _open_one(
        self,
        record: SubscriptionRecord,
        waiting: Waiting,
        rhythm: Rhythm,
        now: datetime,
        changed: list[Rhythm],
    ) -> tuple[list[OpenParcel], datetime | None]:
        """A subscription's parcels and its next look; rhythms that are to be saved join `changed`."""
        kept = _kept_in(rhythm.state)
        if kept:
            found = self._taken_up(record, kept, now)
            changed += [] if found else self._without_settled(record, kept, rhythm)
            return found, now + timedelta(seconds=_HELD_BACK_S)
        try:
            policy = policy_of(record.schedule)
        except SettingsError as error:
            _log.warning("subscription %s: %s", record.id, error)
            self._catalog.failures.record(
                [Failure(kind="subscription", resource=str(record.id), at=now, reason=str(error))]
            )
            return [], now + timedelta(seconds=_HELD_BACK_S)
        pace = Pace(since=record.created_at, recent=_recent_in(rhythm.state))
        decision = decide(policy, Queue(waiting.entries, waiting.oldest_at), pace, now)
        if not decision.messages:
            return [], decision.look_at
        sizes = decision.messages[: self._most]
        parcels = self._made(record, sizes, now)
        changed.append(_with(rhythm, parcels))
        return parcels, now if len(sizes) < len(decision.messages) else decision.look_at

    def _made(self, record: SubscriptionRecord, sizes: Sequence[int], now: datetime) -> list[OpenParcel]:
        entries = self._catalog.outbox.claim(
            sum(sizes), worker=self._worker, now=now, lease_s=self._lease_s, subscription_id=record.id
        )
        parcels, start = [], 0
        for size in sizes:
            group = entries[start : start + size]
            start += size
            if group:
                key = parcel_key(record.id, (entry.element_key for entry in group))
                parcels.append(OpenParcel(key, now, group, record))
        return parcels

    def _taken_up(self, record: SubscriptionRecord, kept: Sequence[_Kept], now: datetime) -> list[OpenParcel]:
        """The parcels of before whose entries are due again: a retry, or the lease of a sender that died."""
        ids = [id_ for parcel in kept for id_ in parcel.ids]
        claimed = self._catalog.outbox.claim(
            len(ids), worker=self._worker, now=now, lease_s=self._lease_s, subscription_id=record.id, ids=ids
        )
        by_id = {entry.id: entry for entry in claimed}
        parcels = [
            OpenParcel(each.key, each.made_at, tuple(by_id[id_] for id_ in each.ids if id_ in by_id), record)
            for each in kept
        ]
        return [parcel for parcel in parcels if parcel.entries]

    def _without_settled(
        self, record: SubscriptionRecord, kept: Sequence[_Kept], rhythm: Rhythm
    ) -> list[Rhythm]:
        """Parcels whose entries were settled by other hands must not hold up the rest."""
        ids = {id_ for parcel in kept for id_ in parcel.ids}
        first, last = min(ids), max(ids)
        entries = self._catalog.outbox.entries(
            subscription_id=record.id, after=first - 1, limit=last - first + 1
        )
        open_ids = {entry.id for entry in entries if entry.due_at is not None}
        living = [parcel for parcel in kept if open_ids.intersection(parcel.ids)]
        is_changed = len(living) < len(kept)
        return [replace(rhythm, state=_state(living, _recent_in(rhythm.state)))] if is_changed else []

    def _outcomes(self, result: Sent, now: datetime) -> list[Outcome]:
        parcel, error = result.parcel, result.error
        if error is None:
            return [Outcome(id=entry.id, state="sent") for entry in parcel.entries]
        policy = self._retries.get(parcel.subscription.channel, RetryPolicy())
        retry_at = next_try(policy, parcel.key, parcel.attempt, error, now)
        reason = str(error)
        if retry_at is None:
            why = reason if error.is_final else f"given up after {parcel.attempt} attempts: {reason}"
            return [Outcome(id=entry.id, state="dead", reason=why) for entry in parcel.entries]
        return [
            Outcome(id=entry.id, state="failed", retry_at=retry_at, reason=reason) for entry in parcel.entries
        ]

    def _end(self, record: SubscriptionRecord, now: datetime) -> None:
        """A target that is gone for good is not bothered again; only a person can resume the subscription."""
        status = self._catalog.subscriptions.with_id(record.id).status
        if status == "active":
            ended = "dropped" if record.channel == "websub" else "paused"
            self._catalog.subscriptions.set_status(record.id, ended, now)  # type: ignore[arg-type]


def _is_over(outcomes: Sequence[Outcome], accepted: set[int]) -> bool:
    """Whether a parcel will not be sent again. That it was sent is a fact; that it is dead only its holder can say."""
    state = outcomes[0].state
    return state == "sent" or (state == "dead" and any(outcome.id in accepted for outcome in outcomes))


def _with(rhythm: Rhythm, parcels: Sequence[OpenParcel]) -> Rhythm:
    kept = [_Kept(each.key, each.made_at, tuple(entry.id for entry in each.entries)) for each in parcels]
    return replace(rhythm, state=_state(kept, _recent_in(rhythm.state)))


def _after(rhythm: Rhythm, result: Sent, now: datetime) -> Rhythm:
    kept = [each for each in _kept_in(rhythm.state) if each.key != result.parcel.key]
    recent = _recent_in(rhythm.state)
    if result.error is not None:
        return replace(rhythm, state=_state(kept, recent))
    recent = sent(_policy_or_usual(result.parcel.subscription), recent, now)
    return replace(rhythm, last_sent_at=now, state=_state(kept, recent))


def _policy_or_usual(record: SubscriptionRecord) -> Policy:
    try:
        return policy_of(record.schedule)
    except FeedweirError:
        return Policy()


def _failure(result: Sent, now: datetime) -> Failure:
    return Failure(
        kind="subscription", resource=str(result.parcel.subscription.id), at=now, reason=str(result.error)
    )


def _kept_in(state: Mapping[str, Any]) -> list[_Kept]:
    return [
        _Kept(key, datetime.fromisoformat(made_at), tuple(ids))
        for key, made_at, ids in state.get("parcels", ())
    ]


def _recent_in(state: Mapping[str, Any]) -> tuple[datetime, ...]:
    return tuple(datetime.fromisoformat(text) for text in state.get("recent", ()))


def _state(kept: Sequence[_Kept], recent: Sequence[datetime]) -> dict[str, Any]:
    return {
        "parcels": [[each.key, each.made_at.isoformat(), list(each.ids)] for each in kept],
        "recent": [at.isoformat() for at in recent],
    }
