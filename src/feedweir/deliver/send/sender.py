"""The sender: claims due parcels, renders and sends them, and settles the results, over and over.

Any number of senders may run on one catalog, on one machine or many, and each may die at any moment: its entries come
free when its lease ends, and another sender sends the same parcels under the same keys.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Protocol

from feedweir.catalog import Catalog, Entry
from feedweir.deliver.address import Address
from feedweir.deliver.channels.channel_types import channel_types
from feedweir.deliver.feed_views import EntryKey
from feedweir.deliver.render.view import EntryView, FeedView
from feedweir.deliver.send.parcel import Channel, Destination, Parcel
from feedweir.deliver.send.parcel_store import ClaimedParcel, Parcels, SendResult
from feedweir.deliver.send.threads import Threads
from feedweir.deliver.transforms.stylesheets import Stylesheets
from feedweir.deliver.transforms.transformer import Transformed, Transformer
from feedweir.errors import DeliveryError, FeedweirError
from feedweir.health.item_log import hand_over, is_followed
from feedweir.health.loop import Loop, LoopHealth

_log = logging.getLogger(__name__)

_SETTLE_TOGETHER_S = 0.02
_CLAIMED_PER_PLACE = 2
"""Parcels claimed for each that a channel may send at a time, so that a channel never waits for the catalog."""
_MOST_WAITING_FOR_STYLESHEETS = 256
"""Parcels of a channel that wait for their stylesheets without taking places from others."""


class EntrySource(Protocol):
    """What a sender reads of feeds and items; `FeedViews` is the one of an installation."""

    def with_id(self, feed_id: int, limit: int = 0) -> FeedView:
        """A feed with its newest `limit` entries."""

    def entries(self, keys: Iterable[EntryKey]) -> Mapping[EntryKey, tuple[EntryView, ...]]:
        """Elements as entries; those that have been deleted are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SenderOptions:
    """How one sender works."""

    lease_s: float = 120.0
    """How long claimed entries are ours; when a sender dies, others take over after this time."""
    timeout_s: float = 45.0
    """For one parcel."""
    most_at_once: int = 64
    """Parcels of a channel that are sent at a time, for channels without a number in `at_once`."""
    at_once: Mapping[str, int] = field(
        default_factory=lambda: {name: type_.at_once for name, type_ in channel_types().items()}
    )
    poll_s: float = 1.0
    """How often to poll the catalog when nothing is due."""


class Sender:
    """Everything between the outbox and the channels, for one event loop.

    One turn: `_claim_and_start` → `_deliver`, for each parcel → `_settle_finished`.
    """

    def __init__(
        self,
        catalog: Catalog,
        entries: EntrySource,
        channels: Mapping[str, Channel],
        *,
        worker: str,
        clock: Callable[[], datetime],
        transformer: Transformer,
        stylesheets: Stylesheets | None = None,
        address: Address | None = None,
        options: SenderOptions | None = None,
        parcels: Parcels | None = None,
    ) -> None:
        self._options = options or SenderOptions()
        self._catalog = catalog
        self._entries = entries
        self._channels = dict(channels)
        self._clock = clock
        self._transformer = transformer
        self._transform_threads = Threads(1, "transform")
        self._stylesheets = stylesheets or Stylesheets()
        self._address = address or Address()
        self._parcels = parcels or Parcels(catalog, worker=worker, lease_s=self._options.lease_s)
        self._places: dict[str, asyncio.Semaphore] = {}
        """By channel, how many parcels may be sent at a time."""
        self._tasks: dict[asyncio.Task[SendResult | None], ClaimedParcel] = {}
        """Parcels on their way."""
        self._waiting_for_stylesheet: set[str] = set()
        """The keys of those whose stylesheet has not finished."""
        self._lease_ends: dict[str, datetime] = {}
        """By key, when a renewed lease ends."""
        self._finished: list[SendResult] = []
        """Results that are not in the catalog yet: what we know to be sent is never sent again."""
        self.sent = 0
        """Parcels, since the start."""

    async def step(self) -> int:
        """Send all that is due now and settle it; returns how many parcels were sent."""
        before = self.sent
        try:
            while await self._claim_and_start() or self._is_busy:
                await self._settle_finished(None)
        finally:
            self._abandon()
        return self.sent - before

    async def run(
        self,
        is_stopping: Callable[[], bool],
        pause: Callable[[float], object],
        standing: LoopHealth | None = None,
    ) -> None:
        """Send until asked to stop; `pause` waits in a thread of its own, and returns early when stopping.

        A slow receiver delays nobody else: while its parcel is on its way, other due parcels are claimed and sent.
        """
        standing = standing or LoopHealth("sending fails")
        try:
            while not is_stopping():
                try:
                    is_idle = not await self._claim_and_start() and not self._is_busy
                    await self._settle_finished(self._options.poll_s)
                    standing.well()
                except Exception as error:  # a locked database, a full disk: whatever it is, it may pass
                    standing.failed(error)
                    _log.exception("sending failed; retrying")
                    is_idle = True
                if is_idle:
                    await asyncio.to_thread(pause, self._options.poll_s)
            await self._release_untransformed()
            while self._is_busy:
                await self._settle_finished(None)
        finally:
            self._abandon()

    @property
    def _is_busy(self) -> bool:
        return bool(self._tasks or self._finished)

    def _abandon(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._tasks.clear()
        self._lease_ends.clear()
        self._finished.clear()

    async def _release_untransformed(self) -> None:
        """When stopping: give back parcels that wait for their stylesheets, so that the next sender sends them."""
        waiting = [task for task, parcel in self._tasks.items() if parcel.key in self._waiting_for_stylesheet]
        for task in waiting:
            task.cancel()
        parcels = [self._tasks.pop(task) for task in waiting]
        if not parcels:
            return
        try:
            await asyncio.to_thread(self._parcels.release, parcels, self._clock())
        except Exception:  # what is on its way must still be settled
            _log.exception("%d parcels can be sent by others when their lease ends", len(parcels))

    # Claiming

    async def _claim_and_start(self) -> int:
        """Start as many due parcels as there are places for; returns how many subscriptions were due."""
        await self._renew_ending_leases()
        free = {} if self._finished else self._free_places()
        if max(free.values(), default=0) <= 0:
            return 0
        ids, parcels = await asyncio.to_thread(self._claim, free)
        # A parcel that was lost to another sender and came back is still on its way here: that task holds it again.
        on_their_way = {claimed.key for claimed in self._tasks.values()}
        for claimed, content in parcels:
            if claimed.key not in on_their_way:
                self._tasks[asyncio.create_task(self._deliver(claimed, content))] = claimed
                _log_parcel("sending", claimed)
        return len(ids)

    async def _renew_ending_leases(self) -> None:
        """Before anything is claimed: a parcel that still waits for its stylesheet or its channel would otherwise be
        claimed once more, and sent twice."""
        if ending := [parcel for parcel in self._tasks.values() if self._lease_ends_soon(parcel)]:
            await asyncio.to_thread(lambda: [self._renew(parcel) for parcel in ending])

    def _lease_ends_soon(self, parcel: ClaimedParcel) -> bool:
        first_end = min(entry.due_at for entry in parcel.entries if entry.due_at is not None)
        end = self._lease_ends.get(parcel.key, first_end)
        return end - self._clock() < timedelta(seconds=self._options.timeout_s + self._options.lease_s / 4)

    def _renew(self, parcel: ClaimedParcel) -> bool:
        """Extend the lease; False when another sender has the parcel, and it must not be sent here."""
        now = self._clock()
        is_ours = self._parcels.renew(parcel, now)
        if is_ours:
            self._lease_ends[parcel.key] = now + timedelta(seconds=self._options.lease_s)
        return is_ours

    def _free_places(self) -> dict[str, int]:
        """By channel how many more subscriptions it takes, so that slow channels take no places from quick ones.

        A channel is left out until half of its places are free: then many are claimed in one transaction.
        """
        sending: Counter[str] = Counter()
        waiting: Counter[str] = Counter()
        for parcel in self._tasks.values():
            is_waiting = parcel.key in self._waiting_for_stylesheet
            (waiting if is_waiting else sending)[parcel.subscription.channel] += 1
        for channel, count in waiting.items():
            sending[channel] += max(0, count - _MOST_WAITING_FOR_STYLESHEETS)
        most = {channel: _CLAIMED_PER_PLACE * self._at_once(channel) for channel in self._channels}
        free = {channel: most[channel] - sending[channel] for channel in self._channels}
        return {channel: count for channel, count in free.items() if 2 * count >= most[channel]}

    def _at_once(self, channel: str) -> int:
        return self._options.at_once.get(channel, self._options.most_at_once)

    def _claim(
        self, free: Mapping[str, int]
    ) -> tuple[Sequence[int], Sequence[tuple[ClaimedParcel, Parcel | DeliveryError]]]:
        """Claim due parcels and read what they hold, for all of them at once."""
        now = self._clock()
        ids = self._catalog.subscriptions.due(now, free)
        claimed = self._parcels.claim_due(ids, now) if ids else ()
        wanted = [_entry_key(entry) for parcel in claimed for entry in parcel.entries]
        entries = self._entries.entries(wanted) if wanted else {}
        feeds: dict[int, FeedView] = {}
        return ids, [(parcel, self._content_of(parcel, entries, feeds)) for parcel in claimed]

    def _content_of(
        self,
        claimed: ClaimedParcel,
        entries: Mapping[EntryKey, tuple[EntryView, ...]],
        feeds: dict[int, FeedView],
    ) -> Parcel | DeliveryError:
        """What is sent; `feeds` remembers those that were read for other parcels."""
        record = claimed.subscription
        found = {_entry_key(entry) for entry in claimed.entries} & set(entries)
        shown = tuple(entry for key in sorted(found, reverse=True) for entry in entries[key])
        if not shown:
            return DeliveryError("the items have been deleted", is_final=True)
        try:
            newest = self._channels[record.channel].newest
            if newest:
                view = self._entries.with_id(record.feed_id, newest)
            else:
                if record.feed_id not in feeds:
                    feeds[record.feed_id] = self._entries.with_id(record.feed_id)
                updated = max(entry.item.arrived for entry in shown)
                view = replace(feeds[record.feed_id], entries=shown, updated=updated)
        except FeedweirError as error:
            return DeliveryError(str(error))
        return Parcel(
            key=claimed.key,
            destination=Destination(
                subscription=record.id,
                target=record.target,
                options=record.options,
                address=self._address,
                zone=str(record.schedule.get("zone") or "UTC"),
            ),
            made_at=claimed.made_at,
            view=view,
        )

    # Delivering

    async def _deliver(self, claimed: ClaimedParcel, content: Parcel | DeliveryError) -> SendResult | None:
        """Send one parcel; None when it was lost to another sender before it left."""
        if isinstance(content, DeliveryError):
            return SendResult(claimed, content)
        channel = claimed.subscription.channel
        try:
            # Before a place is taken: a slow stylesheet keeps no channel busy.
            content = await self._apply_stylesheet(claimed, content)
            async with self._places.setdefault(channel, asyncio.Semaphore(self._at_once(channel))):
                if self._lease_ends_soon(claimed) and not self._renew(claimed):
                    return None
                await asyncio.wait_for(self._channels[channel].send(content), self._options.timeout_s)
        except DeliveryError as error:
            return SendResult(claimed, error)
        except TimeoutError:
            seconds = f"{self._options.timeout_s:g} seconds"
            return SendResult(claimed, DeliveryError(f"not delivered within {seconds}"))
        except Exception as error:  # one bad message must not stop the others
            _log.exception("sending to subscription %s failed", claimed.subscription.id)
            return SendResult(claimed, DeliveryError(f"{type(error).__name__}: {error}"[:300]))
        return SendResult(claimed)

    async def _apply_stylesheet(self, claimed: ClaimedParcel, content: Parcel) -> Parcel:
        """The parcel with the result of the subscription's stylesheet, if it has one."""
        name = str(claimed.subscription.options.get("apply", ""))
        if not name:
            return content
        self._waiting_for_stylesheet.add(claimed.key)
        try:
            begun = await self._transform_threads.run(self._begin_transform, name, content.view)
            transformed: Transformed = await asyncio.wrap_future(begun)
            return replace(content, transformed=transformed)
        finally:
            self._waiting_for_stylesheet.discard(claimed.key)

    def _begin_transform(self, name: str, view: FeedView) -> Future[Transformed]:
        return self._transformer.begin(self._stylesheets.text(name), view)

    # Settling

    async def _settle_finished(self, timeout_s: float | None) -> None:
        """Wait until a parcel is finished (or the time is over), and record the results."""
        if self._tasks and not self._finished:
            await asyncio.wait(self._tasks, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        if self._tasks:
            # Those that finish close together are settled in one transaction.
            await asyncio.wait(self._tasks, timeout=_SETTLE_TOGETHER_S)
        for task in [task for task in self._tasks if task.done()]:
            self._lease_ends.pop(self._tasks.pop(task).key, None)
            if (result := task.result()) is not None:
                self._finished.append(result)
        if self._finished:
            await asyncio.to_thread(self._settle)

    def _settle(self) -> None:
        self._parcels.settle(self._finished, self._clock())
        for result in self._finished:
            _log_parcel("settled", result.parcel, result.error)
        self.sent += sum(1 for result in self._finished if result.error is None)
        self._finished.clear()


def _log_parcel(event: str, parcel: ClaimedParcel, error: DeliveryError | None = None) -> None:
    """A parcel on its way, or its outcome, with the entries and items that it carries."""
    if is_followed():
        hand_over(
            event,
            subscription=parcel.subscription.id,
            parcel=parcel.key,
            attempt=parcel.attempt,
            entries=[entry.id for entry in parcel.entries],
            item=[entry.payload["seq"] for entry in parcel.entries],
            error=str(error) if error else None,
        )


def _entry_key(entry: Entry) -> EntryKey:
    return entry.payload.get("feed", 0), entry.payload["seq"]


class SendLoop(Loop):
    """A sender in a thread. `opened` makes it inside the thread's event loop, where its connections live."""

    def __init__(self, opened: Callable[[], AbstractAsyncContextManager[Sender]]) -> None:
        super().__init__("send", "sending fails")
        self._opened = opened

    def _run(self) -> None:
        asyncio.run(self._send_until_stopped())

    async def _send_until_stopped(self) -> None:
        async with self._opened() as sender:
            await sender.run(self._stopping.is_set, self._stopping.wait, self._standing)
