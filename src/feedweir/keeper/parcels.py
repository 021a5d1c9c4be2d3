"""From waiting entries to parcels, and from what became of parcels back to the outbox: two transactions.

What a parcel holds is written down before it is sent. Whoever takes over from a sender that died finds it there, and
sends the same entries under the same key: a receiver that knows the key sees no double.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from feedweir.catalog import AGAIN, Catalog, Entry, Failure, Outcome, Rhythm, SubscriptionRecord, Waiting
from feedweir.deliver.parcel import parcel_key
from feedweir.deliver.policy import Policy, policy_of
from feedweir.deliver.retry import RETRIES, RetryPolicy, next_try
from feedweir.deliver.schedule import Pace, Queue, decide, opens_at, sent
from feedweir.errors import DeliveryError, FeedweirError, SettingsError

_log = logging.getLogger(__name__)

_BAD_SCHEDULE_S = 3_600
"""When to complain again about a schedule that cannot be read."""


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


_Held: TypeAlias = tuple[SubscriptionRecord, Rhythm]


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

    def open(self, ids: Sequence[int], now: datetime) -> tuple[OpenParcel, ...]:
        """Take what is due of these subscriptions; those that another sender took meanwhile are left to it."""
        with self._catalog.transaction():
            held = self._catalog.subscriptions.hold(ids, due_at=now)
            again, changed, fresh = self._taken_up(list(held.values()), now)
            new, begun = self._begun(fresh, now)
            self._catalog.subscriptions.save_rhythms([*changed, *begun])
        return (*again, *new)

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
            held = self._catalog.subscriptions.hold(result.parcel.subscription.id for result in results)
            flat = [outcome for result in results for outcome in outcomes[result.parcel.key]]
            accepted = set(self._catalog.outbox.settle(flat, worker=self._worker, now=now))
            rhythms = {id_: rhythm for id_, (record, rhythm) in held.items() if record.status == "active"}
            for result in results:
                id_ = result.parcel.subscription.id
                if id_ in rhythms:
                    rhythms[id_] = _after(rhythms[id_], result, outcomes[result.parcel.key], accepted, now)
            self._catalog.subscriptions.save_rhythms(list(rhythms.values()))
            self._catalog.failures.record([_failure(result, now) for result in results if result.error])
            for result in results:
                if result.error is not None and result.error.is_gone:
                    self._end(result.parcel.subscription, now)

    def _taken_up(
        self, held: Sequence[_Held], now: datetime
    ) -> tuple[list[OpenParcel], list[Rhythm], list[_Held]]:
        """The parcels of before that are due again, unless a bar is down: a retry, or the lease of a sender that died.

        Also the rhythms of their subscriptions, and the subscriptions of which no parcel is open.
        """
        kept = {record.id: _kept_in(rhythm.state) for record, rhythm in held}
        ids = [id_ for parcels in kept.values() for parcel in parcels for id_ in parcel.ids]
        entries = {entry.id: entry for entry in self._catalog.outbox.with_ids(ids)}
        open_at = {
            record.id: opens_at(_policy_or_usual(record), _recent_in(rhythm.state), now)
            for record, rhythm in held
        }
        due = [
            entry.id
            for entry in entries.values()
            if entry.due_at is not None and max(entry.due_at, open_at[entry.subscription_id]) <= now
        ]
        entries.update((entry.id, entry) for entry in self._claimed(due, now))
        parcels: list[OpenParcel] = []
        changed: list[Rhythm] = []
        fresh: list[_Held] = []
        for record, rhythm in held:
            living = [parcel for parcel in kept[record.id] if _open_times(parcel, entries)]
            if not living:
                fresh.append((record, replace(rhythm, state=_state([], _recent_in(rhythm.state)))))
                continue
            parcels += _held_parcels(record, living, entries, frozenset(due))
            first_at = min(time for parcel in living for time in _open_times(parcel, entries))
            look_at = max(first_at, open_at[record.id])
            state = _state(living, _recent_in(rhythm.state), has_more=True)
            changed.append(replace(rhythm, next_due_at=look_at, state=state, hears=False))
        return parcels, changed, fresh

    def _claimed(self, ids: Sequence[int], now: datetime) -> tuple[Entry, ...]:
        if not ids:
            return ()
        return self._catalog.outbox.claim(
            len(ids), worker=self._worker, now=now, lease_s=self._lease_s, ids=ids
        )

    def _begun(self, fresh: Sequence[_Held], now: datetime) -> tuple[list[OpenParcel], list[Rhythm]]:
        """New parcels of what the schedules let go now, and where that leaves the subscriptions."""
        waiting = self._catalog.outbox.waiting([record.id for record, _ in fresh], now)
        decided = [(record, *self._decided(record, rhythm, waiting, now)) for record, rhythm in fresh]
        most = {record.id: sum(sizes) for record, _, sizes in decided if sizes}
        claimed = self._catalog.outbox.claim_first(most, worker=self._worker, now=now, lease_s=self._lease_s)
        parcels: list[OpenParcel] = []
        rhythms: list[Rhythm] = []
        for record, rhythm, sizes in decided:
            made = _made(record, sizes, claimed.get(record.id, ()), now)
            parcels += made
            until = now + timedelta(seconds=self._lease_s)
            has_more = bool(made) and most[record.id] < waiting[record.id].entries
            rhythms.append(_with(rhythm, made, until, has_more=has_more) if made else rhythm)
        return parcels, rhythms

    def _decided(
        self, record: SubscriptionRecord, rhythm: Rhythm, waiting: Mapping[int, Waiting], now: datetime
    ) -> tuple[Rhythm, Sequence[int]]:
        """How many entries each message takes that goes now; when none goes, the rhythm says when to look again."""
        try:
            policy = policy_of(record.schedule)
        except SettingsError as error:
            _log.warning("subscription %s: %s", record.id, error)
            self._catalog.failures.record(
                [Failure(kind="subscription", resource=str(record.id), at=now, reason=str(error))]
            )
            # Whoever mends the schedule wakes it.
            return replace(rhythm, next_due_at=now + timedelta(seconds=_BAD_SCHEDULE_S), hears=False), ()
        found = waiting.get(record.id)
        queue = Queue(found.entries, found.oldest_at) if found else None
        pace = Pace(since=record.created_at, recent=_recent_in(rhythm.state))
        decision = decide(policy, queue, pace, now)
        hears = decision.look_at is None or (queue is not None and queue.count < policy.count)
        return replace(rhythm, next_due_at=decision.look_at, hears=hears), decision.messages[: self._most]

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


def _made(
    record: SubscriptionRecord, sizes: Sequence[int], entries: Sequence[Entry], now: datetime
) -> list[OpenParcel]:
    parcels, start = [], 0
    for size in sizes:
        group = tuple(entries[start : start + size])
        start += size
        if group:
            key = parcel_key(record.id, map(_name, group))
            parcels.append(OpenParcel(key, now, group, record))
    return parcels


def _name(entry: Entry) -> str:
    """What a parcel's key knows an entry by: one that was sent and is wanted again is something new."""
    again = entry.payload.get(AGAIN, 0)
    return f"{entry.element_key}\0{again}" if again else entry.element_key


def _held_parcels(
    record: SubscriptionRecord, kept: Sequence[_Kept], entries: Mapping[int, Entry], ours: frozenset[int]
) -> list[OpenParcel]:
    parcels = [
        OpenParcel(each.key, each.made_at, tuple(entries[id_] for id_ in each.ids if id_ in ours), record)
        for each in kept
    ]
    return [parcel for parcel in parcels if parcel.entries]


def _open_times(parcel: _Kept, entries: Mapping[int, Entry]) -> list[datetime]:
    """When the entries of a parcel are due, of those that nobody has settled."""
    found = (entries[id_].due_at for id_ in parcel.ids if id_ in entries)
    return [due_at for due_at in found if due_at is not None]


def _with(rhythm: Rhythm, parcels: Sequence[OpenParcel], until: datetime, *, has_more: bool) -> Rhythm:
    """Ours until then; what arrives meanwhile is looked at when these are settled."""
    kept = [_Kept(each.key, each.made_at, tuple(entry.id for entry in each.entries)) for each in parcels]
    state = _state(kept, _recent_in(rhythm.state), has_more=has_more)
    return replace(rhythm, next_due_at=until, state=state, hears=not has_more)


def _after(
    rhythm: Rhythm, result: Sent, outcomes: Sequence[Outcome], accepted: set[int], now: datetime
) -> Rhythm:
    """Where a subscription stands once we know what became of one of its parcels."""
    kept, recent = _kept_in(rhythm.state), _recent_in(rhythm.state)
    has_more = bool(rhythm.state.get("more"))
    if _is_over(outcomes, accepted):
        kept = [each for each in kept if each.key != result.parcel.key]
    if result.error is None:
        recent = sent(_policy_or_usual(result.parcel.subscription), recent, now)
        rhythm = replace(rhythm, last_sent_at=now)
    if kept:
        retries = [each.retry_at for each in outcomes if each.id in accepted and each.retry_at is not None]
        # Until now there was our lease to look after; when nothing else is on its way, that is over.
        is_last = bool(retries) and all(each.key == result.parcel.key for each in kept)
        leases = [rhythm.next_due_at] if rhythm.next_due_at is not None and not is_last else []
        look_at = min([*leases, *retries], default=now)
        return replace(rhythm, next_due_at=look_at, state=_state(kept, recent, has_more=has_more))
    was_woken = rhythm.next_due_at is not None and rhythm.next_due_at <= now
    look_at_once = now if has_more or was_woken else None
    return replace(rhythm, next_due_at=look_at_once, state=_state([], recent), hears=True)


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


def _state(kept: Sequence[_Kept], recent: Sequence[datetime], *, has_more: bool = False) -> dict[str, Any]:
    """What a rhythm keeps: open parcels, messages that the rate cap counts, and whether to look beyond the parcels."""
    state = {
        "parcels": [[each.key, each.made_at.isoformat(), list(each.ids)] for each in kept],
        "recent": [at.isoformat() for at in recent],
        "more": has_more,
    }
    return {name: value for name, value in state.items() if value}
