"""Parcels in the catalog: claimed when they are due, settled when their sending has succeeded or failed.

Both are one transaction each. What a parcel holds is recorded before it is sent. Whoever takes over from a sender that
died finds it there and sends the same entries under the same key, so a receiver that knows the key sees no duplicate.

Senders call `claim_due`, perhaps `renew`, then `settle`; the functions below stand in this order.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from feedweir.catalog import AGAIN, Catalog, Entry, EntryOutcome, Failure, Rhythm, SubscriptionRecord, Waiting
from feedweir.channel_kinds import SENT_CHANNELS
from feedweir.deliver.channels.channel_types import channel_type, retry_policies
from feedweir.deliver.send.due import Pace, Queue, decide, opens_at, sent
from feedweir.deliver.send.parcel import parcel_key
from feedweir.deliver.send.retry import RetryPolicy, next_try
from feedweir.errors import DeliveryError, FeedweirError, SettingsError
from feedweir.schedules import AT_ONCE, Schedule, schedule_from_json

_log = logging.getLogger(__name__)

_BAD_SCHEDULE_S = 3_600
"""How soon to report an unreadable schedule again."""


@dataclass(frozen=True, slots=True)
class ClaimedParcel:
    """Entries of one subscription that this sender has claimed and that are sent together."""

    key: str
    made_at: datetime
    entries: tuple[Entry, ...]
    subscription: SubscriptionRecord

    @property
    def attempt(self) -> int:
        return max(entry.attempts for entry in self.entries)


@dataclass(frozen=True, slots=True)
class SendResult:
    """The outcome of a parcel; without an error it was sent."""

    parcel: ClaimedParcel
    error: DeliveryError | None = None


@dataclass(frozen=True, slots=True)
class RecordedParcel:
    """A parcel as the catalog remembers it while it is not settled."""

    key: str
    made_at: datetime
    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryState:
    """What the catalog keeps with a subscription's rhythm (its JSON member `state`)."""

    parcels: tuple[RecordedParcel, ...] = ()
    recent: tuple[datetime, ...] = ()
    """When messages were sent that the rate cap still counts."""
    has_more: bool = False
    """Whether more entries were due than the parcels took."""

    @classmethod
    def from_json(cls, state: Mapping[str, Any]) -> DeliveryState:
        return cls(
            parcels=tuple(
                RecordedParcel(key, datetime.fromisoformat(made_at), tuple(ids))
                for key, made_at, ids in state.get("parcels", ())
            ),
            recent=tuple(datetime.fromisoformat(text) for text in state.get("recent", ())),
            has_more=bool(state.get("more")),
        )

    def to_json(self) -> dict[str, Any]:
        """Without the members that say nothing."""
        state = {
            "parcels": [[each.key, each.made_at.isoformat(), list(each.ids)] for each in self.parcels],
            "recent": [at.isoformat() for at in self.recent],
            "more": self.has_more,
        }
        return {name: value for name, value in state.items() if value}


HeldSubscription: TypeAlias = tuple[SubscriptionRecord, Rhythm]
"""Locked until the transaction ends."""


class Parcels:
    """Claims and settles parcels for one sender, `worker`."""

    def __init__(
        self,
        catalog: Catalog,
        *,
        worker: str,
        lease_s: float,
        most_per_claim: int = 8,
        retries: Mapping[str, RetryPolicy] | None = None,
    ) -> None:
        self._catalog = catalog
        self._worker = worker
        self._lease_s = lease_s
        self._most = most_per_claim
        self._retries = retry_policies() if retries is None else retries

    # Claiming

    def claim_due(self, ids: Sequence[int], now: datetime) -> tuple[ClaimedParcel, ...]:
        """Claim what is due of these subscriptions; those that another sender has claimed meanwhile are left to it."""
        with self._catalog.transaction():
            held = self._catalog.subscriptions.hold(ids, due_at=now)
            again, waiting, free = self._reclaim(list(held.values()), now)
            new, decided = self._claim_new(free, now)
            self._catalog.subscriptions.save_rhythms([*waiting, *decided])
        return (*again, *new)

    def _reclaim(
        self, held: Sequence[HeldSubscription], now: datetime
    ) -> tuple[list[ClaimedParcel], list[Rhythm], list[HeldSubscription]]:
        """Claim recorded parcels that are due again: for a retry, or because their sender died.

        Also returns the rhythms of subscriptions with recorded parcels, and the subscriptions without any.
        """
        states = {record.id: DeliveryState.from_json(rhythm.state) for record, rhythm in held}
        ids = [id_ for state in states.values() for parcel in state.parcels for id_ in parcel.ids]
        entries = {entry.id: entry for entry in self._catalog.outbox.with_ids(ids)}
        open_at = {
            record.id: opens_at(_schedule_or_at_once(record), states[record.id].recent, now)
            for record, _ in held
        }
        due = [
            entry.id
            for entry in entries.values()
            if entry.due_at is not None and max(entry.due_at, open_at[entry.subscription_id]) <= now
        ]
        entries.update((entry.id, entry) for entry in self._claim_entries(due, now))
        claimed: list[ClaimedParcel] = []
        waiting: list[Rhythm] = []
        free: list[HeldSubscription] = []
        for record, rhythm in held:
            state = states[record.id]
            unsettled = tuple(parcel for parcel in state.parcels if _due_times(parcel, entries))
            if not unsettled:
                emptied = DeliveryState(recent=state.recent)
                free.append((record, replace(rhythm, state=emptied.to_json())))
                continue
            claimed += _parcels_with_claimed_entries(record, unsettled, entries, frozenset(due))
            first_at = min(time for parcel in unsettled for time in _due_times(parcel, entries))
            kept = DeliveryState(parcels=unsettled, recent=state.recent, has_more=True)
            next_due_at = max(first_at, open_at[record.id])
            waiting.append(replace(rhythm, next_due_at=next_due_at, state=kept.to_json(), hears=False))
        return claimed, waiting, free

    def _claim_entries(self, ids: Sequence[int], now: datetime) -> tuple[Entry, ...]:
        if not ids:
            return ()
        return self._catalog.outbox.claim(
            len(ids), worker=self._worker, now=now, lease_s=self._lease_s, ids=ids
        )

    def _claim_new(
        self, free: Sequence[HeldSubscription], now: datetime
    ) -> tuple[list[ClaimedParcel], list[Rhythm]]:
        """Make parcels of the waiting entries that the schedules let go now; also the rhythms that follow."""
        waiting = self._catalog.outbox.waiting([record.id for record, _ in free], now)
        decided = [
            (record, *self._message_sizes(record, rhythm, waiting.get(record.id), now))
            for record, rhythm in free
        ]
        most = {record.id: sum(sizes) for record, _, sizes in decided if sizes}
        claimed = self._catalog.outbox.claim_first(most, worker=self._worker, now=now, lease_s=self._lease_s)
        parcels: list[ClaimedParcel] = []
        rhythms: list[Rhythm] = []
        for record, rhythm, sizes in decided:
            made = _split(record, claimed.get(record.id, ()), sizes, now)
            parcels += made
            until = now + timedelta(seconds=self._lease_s)
            has_more = bool(made) and most[record.id] < waiting[record.id].entries
            rhythms.append(_rhythm_while_sending(rhythm, made, until, has_more) if made else rhythm)
        return parcels, rhythms

    def _message_sizes(
        self, record: SubscriptionRecord, rhythm: Rhythm, waiting: Waiting | None, now: datetime
    ) -> tuple[Rhythm, Sequence[int]]:
        """How many entries each message takes that may go now, and when to look at the subscription again."""
        try:
            schedule = schedule_from_json(record.schedule)
        except SettingsError as error:
            _log.warning("subscription %s: %s", record.id, error)
            self._catalog.failures.record([_failure(record, now, str(error))])
            # A changed schedule makes the subscription due at once.
            return replace(rhythm, next_due_at=now + timedelta(seconds=_BAD_SCHEDULE_S), hears=False), ()
        queue = Queue(waiting.entries, waiting.oldest_at) if waiting else None
        pace = Pace(since=record.created_at, recent=DeliveryState.from_json(rhythm.state).recent)
        decision = decide(schedule, queue, pace, now)
        hears = decision.decide_again_at is None or (queue is not None and queue.count < schedule.count)
        return replace(rhythm, next_due_at=decision.decide_again_at, hears=hears), decision.messages[
            : self._most
        ]

    # While parcels are on their way

    def renew(self, parcel: ClaimedParcel, now: datetime) -> bool:
        """Extend the lease; False when another sender has claimed the parcel, and it must not be sent here."""
        ids = [entry.id for entry in parcel.entries]
        renewed = self._catalog.outbox.renew(ids, worker=self._worker, now=now, lease_s=self._lease_s)
        return len(renewed) == len(ids)

    def release(self, parcels: Sequence[ClaimedParcel], now: datetime) -> None:
        """Give parcels back without an attempt; they stay recorded as they are."""
        ids = [entry.id for parcel in parcels for entry in parcel.entries]
        self._catalog.outbox.release(ids, worker=self._worker, now=now)

    # Settling

    def settle(self, results: Sequence[SendResult], now: datetime) -> None:
        """Record the outcome of parcels: entries, delivery log, rhythms and failures in one transaction."""
        outcomes = {result.parcel.key: self._entry_outcomes(result, now) for result in results}
        with self._catalog.transaction():
            held = self._catalog.subscriptions.hold(result.parcel.subscription.id for result in results)
            flat = [outcome for result in results for outcome in outcomes[result.parcel.key]]
            accepted = set(self._catalog.outbox.settle(flat, worker=self._worker, now=now))
            rhythms = {id_: rhythm for id_, (record, rhythm) in held.items() if record.status == "active"}
            for result in results:
                id_ = result.parcel.subscription.id
                if id_ in rhythms:
                    settled = outcomes[result.parcel.key]
                    rhythms[id_] = _rhythm_after(rhythms[id_], result, settled, accepted, now)
            self._catalog.subscriptions.save_rhythms(list(rhythms.values()))
            failed = [result for result in results if result.error is not None]
            self._catalog.failures.record(
                [_failure(result.parcel.subscription, now, str(result.error)) for result in failed]
            )
            for result in failed:
                if result.error is not None and result.error.is_gone:
                    self._stop(result.parcel.subscription, now)

    def _entry_outcomes(self, result: SendResult, now: datetime) -> list[EntryOutcome]:
        """The same outcome for each entry of a parcel: sent, to be tried again, or given up."""
        parcel, error = result.parcel, result.error
        if error is None:
            return [EntryOutcome(id=entry.id, state="sent") for entry in parcel.entries]
        policy = self._retries.get(parcel.subscription.channel, RetryPolicy())
        retry_at = next_try(policy, parcel.key, parcel.attempt, error, now)
        reason = str(error)
        if retry_at is None:
            why = reason if error.is_final else f"given up after {parcel.attempt} attempts: {reason}"
            return [EntryOutcome(id=entry.id, state="dead", reason=why) for entry in parcel.entries]
        return [
            EntryOutcome(id=entry.id, state="failed", retry_at=retry_at, reason=reason)
            for entry in parcel.entries
        ]

    def _stop(self, record: SubscriptionRecord, now: datetime) -> None:
        """A receiver that is gone for good gets nothing more; only a person can resume the subscription."""
        if self._catalog.subscriptions.with_id(record.id).status == "active":
            is_known = record.channel in SENT_CHANNELS
            status = channel_type(record.channel).when_gone if is_known else "paused"
            self._catalog.subscriptions.set_status(record.id, status, now)


def _due_times(parcel: RecordedParcel, entries: Mapping[int, Entry]) -> list[datetime]:
    """When the entries of a parcel that are not settled are due."""
    found = (entries[id_].due_at for id_ in parcel.ids if id_ in entries)
    return [due_at for due_at in found if due_at is not None]


def _parcels_with_claimed_entries(
    record: SubscriptionRecord,
    recorded: Sequence[RecordedParcel],
    entries: Mapping[int, Entry],
    claimed: frozenset[int],
) -> list[ClaimedParcel]:
    parcels = [
        ClaimedParcel(
            each.key, each.made_at, tuple(entries[id_] for id_ in each.ids if id_ in claimed), record
        )
        for each in recorded
    ]
    return [parcel for parcel in parcels if parcel.entries]


def _split(
    record: SubscriptionRecord, entries: Sequence[Entry], sizes: Sequence[int], now: datetime
) -> list[ClaimedParcel]:
    """Claimed entries as parcels of these sizes; fewer where fewer could be claimed."""
    parcels, start = [], 0
    for size in sizes:
        group = tuple(entries[start : start + size])
        start += size
        if group:
            key = parcel_key(record.id, map(_key_in_parcel, group))
            parcels.append(ClaimedParcel(key, now, group, record))
    return parcels


def _key_in_parcel(entry: Entry) -> str:
    """An entry that was sent and is wanted again counts as a new one, so that its parcel has another key."""
    again = entry.payload.get(AGAIN, 0)
    return f"{entry.element_key}\0{again}" if again else entry.element_key


def _rhythm_while_sending(
    rhythm: Rhythm, parcels: Sequence[ClaimedParcel], until: datetime, has_more: bool
) -> Rhythm:
    """Due again when our lease ends; entries that arrive meanwhile are considered when these parcels are settled."""
    recorded = tuple(
        RecordedParcel(each.key, each.made_at, tuple(entry.id for entry in each.entries)) for each in parcels
    )
    recent = DeliveryState.from_json(rhythm.state).recent
    state = DeliveryState(parcels=recorded, recent=recent, has_more=has_more)
    return replace(rhythm, next_due_at=until, state=state.to_json(), hears=not has_more)


def _rhythm_after(
    rhythm: Rhythm, result: SendResult, outcomes: Sequence[EntryOutcome], accepted: set[int], now: datetime
) -> Rhythm:
    """A subscription's rhythm once one of its parcels is settled."""
    state = DeliveryState.from_json(rhythm.state)
    if _is_finished(outcomes, accepted):
        others = tuple(each for each in state.parcels if each.key != result.parcel.key)
        state = replace(state, parcels=others)
    if result.error is None:
        schedule = _schedule_or_at_once(result.parcel.subscription)
        state = replace(state, recent=sent(schedule, state.recent, now))
        rhythm = replace(rhythm, last_sent_at=now)
    if state.parcels:
        next_due_at = _next_due_at(rhythm, state, result, outcomes, accepted) or now
        return replace(rhythm, next_due_at=next_due_at, state=state.to_json())
    was_woken = rhythm.next_due_at is not None and rhythm.next_due_at <= now
    due_at_once = now if state.has_more or was_woken else None
    emptied = DeliveryState(recent=state.recent)
    return replace(rhythm, next_due_at=due_at_once, state=emptied.to_json(), hears=True)


def _is_finished(outcomes: Sequence[EntryOutcome], accepted: set[int]) -> bool:
    """Whether a parcel will not be sent again. That it was sent is a fact; that it is dead only its holder can say."""
    state = outcomes[0].state
    return state == "sent" or (state == "dead" and any(outcome.id in accepted for outcome in outcomes))


def _next_due_at(
    rhythm: Rhythm,
    state: DeliveryState,
    result: SendResult,
    outcomes: Sequence[EntryOutcome],
    accepted: set[int],
) -> datetime | None:
    """The first retry, or the end of our lease while other parcels are still on their way."""
    retries = [each.retry_at for each in outcomes if each.id in accepted and each.retry_at is not None]
    is_only_one = bool(retries) and all(each.key == result.parcel.key for each in state.parcels)
    leases = [rhythm.next_due_at] if rhythm.next_due_at is not None and not is_only_one else []
    return min([*leases, *retries], default=None)


def _schedule_or_at_once(record: SubscriptionRecord) -> Schedule:
    try:
        return schedule_from_json(record.schedule)
    except FeedweirError:
        return AT_ONCE


def _failure(record: SubscriptionRecord, now: datetime, reason: str) -> Failure:
    return Failure(kind="subscription", resource=str(record.id), at=now, reason=reason)
