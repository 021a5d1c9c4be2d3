"""The sender: takes due parcels, renders and sends them, and settles what became of them, over and over.

Any number of senders may run on one catalog, on one machine or many, and each may die at any moment: the entries it
held come free when its lease ends, and another sends the same parcels under the same keys.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from feedweir.catalog import Catalog
from feedweir.deliver.address import Address
from feedweir.deliver.parcel import Channel, Destination, Parcel
from feedweir.deliver.stylesheets import Stylesheets
from feedweir.deliver.threads import Threads
from feedweir.deliver.transform import Transformed, Transformer
from feedweir.deliver.view import EntryView, FeedView
from feedweir.errors import DeliveryError, FeedweirError
from feedweir.keeper.entry_views import EntryViews, Key, key_of
from feedweir.keeper.looping import Loop, Standing
from feedweir.keeper.parcels import OpenParcel, Parcels, Sent

_log = logging.getLogger(__name__)

_GATHER_S = 0.02
_QUEUED = 2
"""Parcels that are opened for each one that may be on its way, so that a channel never waits for the catalog."""
_MOST_AT_STYLESHEETS = 256
"""Parcels of a channel that wait for their stylesheets and take no room from others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SenderOptions:
    """How one sender works."""

    lease_s: float = 120.0
    """How long entries are ours; a sender that died is followed after this."""
    timeout_s: float = 45.0
    """For one parcel."""
    most_at_once: int = 64
    """Parcels of a channel on their way, but for those of `at_once`."""
    at_once: Mapping[str, int] = field(default_factory=lambda: {"mail": 8, "file": 2, "notify": 2})
    look_s: float = 1.0
    """How often to look for what is due when nothing is."""


class Sender:
    """Everything between the outbox and the channels, for one event loop."""

    def __init__(
        self,
        catalog: Catalog,
        views: EntryViews,
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
        self._views = views
        self._channels = dict(channels)
        self._clock = clock
        self._transformer = transformer
        self._transforming = Threads(1, "transform")
        self._stylesheets = stylesheets or Stylesheets()
        self._address = address or Address()
        self._parcels = parcels or Parcels(catalog, worker=worker, lease_s=self._options.lease_s)
        self._gates: dict[str, asyncio.Semaphore] = {}
        self._running: dict[asyncio.Task[Sent | None], OpenParcel] = {}
        """Parcels on their way."""
        self._at_stylesheets: set[str] = set()
        """The keys of those that wait for what their stylesheets make."""
        self._renewed: dict[str, datetime] = {}
        """Until when those are ours, by key, whose lease was not enough."""
        self._arrived: list[Sent] = []
        """What became of parcels, until it is written down: what we know to be sent is never sent again."""
        self.sent = 0
        """Parcels, since the start."""

    async def step(self) -> int:
        """Send all that is due now and settle it; returns how many parcels were sent."""
        before = self.sent
        try:
            while await self._start() or self._is_busy:
                await self._settle_some(None)
        finally:
            self._abandon()
        return self.sent - before

    async def run(
        self,
        is_stopping: Callable[[], bool],
        pause: Callable[[float], object],
        standing: Standing | None = None,
    ) -> None:
        """Send until told to stop; `pause` waits in a thread of its own, and returns early when stopping.

        A receiver that takes its time holds up nobody: what else is due is looked for while its parcel is on its way.
        """
        standing = standing or Standing("sending fails")
        try:
            while not is_stopping():
                try:
                    is_idle = not await self._start() and not self._is_busy
                    await self._settle_some(self._options.look_s)
                    standing.well()
                except Exception as error:  # a locked database, a full disk: whatever it is, it may pass
                    standing.failed(error)
                    _log.exception("the next look will try again")
                    is_idle = True
                if is_idle:
                    await asyncio.to_thread(pause, self._options.look_s)
            await self._give_back()
            while self._is_busy:
                await self._settle_some(None)
        finally:
            self._abandon()

    async def _give_back(self) -> None:
        """What still waits for its stylesheet has not left: the next sender sends it, and nobody waits for it here."""
        waiting = [task for task, open_ in self._running.items() if open_.key in self._at_stylesheets]
        for task in waiting:
            task.cancel()
        parcels = [self._running.pop(task) for task in waiting]
        if not parcels:
            return
        try:
            await asyncio.to_thread(self._parcels.release, parcels, self._clock())
        except Exception:  # what is on its way must still be settled
            _log.exception("%d parcels come free when their lease ends", len(parcels))

    @property
    def _is_busy(self) -> bool:
        return bool(self._running or self._arrived)

    async def _start(self) -> int:
        """Put on their way as many due parcels as there is room for; how many subscriptions were looked at."""
        await self._hold_on()
        rooms = {} if self._arrived else self._rooms()
        if max(rooms.values(), default=0) <= 0:
            return 0
        ids, parcels = await asyncio.to_thread(self._opened, rooms)
        # One that was lost to another sender and came back is still on its way: whoever carries it now holds it again.
        on_their_way = {open_.key for open_ in self._running.values()}
        for filled in parcels:
            if filled[0].key not in on_their_way:
                self._running[asyncio.create_task(self._carried(filled))] = filled[0]
        return len(ids)

    async def _hold_on(self) -> None:
        """Renew leases that come to their end, before anything is opened: a parcel that still waits for its stylesheet
        or its channel would be opened once more, and sent twice."""
        if old := [open_ for open_ in self._running.values() if self._is_old(open_)]:
            await asyncio.to_thread(lambda: [self._renew(open_) for open_ in old])

    def _renew(self, open_: OpenParcel) -> bool:
        """Hold a parcel longer; False when another has it, and it must not be sent."""
        now = self._clock()
        is_ours = self._parcels.renew(open_, now)
        if is_ours:
            self._renewed[open_.key] = now + timedelta(seconds=self._options.lease_s)
        return is_ours

    def _rooms(self) -> dict[str, int]:
        """How many more subscriptions each channel takes: the slow ones must not take the place of the quick.

        Nothing before half of the room is free, so that many are opened in one transaction.
        """
        busy: Counter[str] = Counter()
        waiting: Counter[str] = Counter()
        for open_ in self._running.values():
            (waiting if open_.key in self._at_stylesheets else busy)[open_.subscription.channel] += 1
        for channel, count in waiting.items():
            busy[channel] += max(0, count - _MOST_AT_STYLESHEETS)
        rooms = {channel: self._most(channel) - busy[channel] for channel in self._channels}
        return {channel: room for channel, room in rooms.items() if 2 * room >= self._most(channel)}

    def _most(self, channel: str) -> int:
        return _QUEUED * self._options.at_once.get(channel, self._options.most_at_once)

    def _opened(
        self, rooms: Mapping[str, int]
    ) -> tuple[Sequence[int], Sequence[tuple[OpenParcel, Parcel | DeliveryError]]]:
        now = self._clock()
        ids = self._catalog.subscriptions.due(now, rooms)
        return ids, self._filled(self._parcels.open(ids, now)) if ids else ()

    async def _settle_some(self, patience_s: float | None) -> None:
        """Wait until something has arrived (or patience ends), and write down what became of it."""
        if self._running and not self._arrived:
            await asyncio.wait(self._running, timeout=patience_s, return_when=asyncio.FIRST_COMPLETED)
        if self._running:
            # Those that end close together are settled together.
            await asyncio.wait(self._running, timeout=_GATHER_S)
        for task in [task for task in self._running if task.done()]:
            self._renewed.pop(self._running.pop(task).key, None)
            if (result := task.result()) is not None:
                self._arrived.append(result)
        if self._arrived:
            await asyncio.to_thread(self._settle)

    def _abandon(self) -> None:
        for task in self._running:
            task.cancel()
        self._running.clear()
        self._renewed.clear()
        self._arrived.clear()

    def _filled(self, parcels: Sequence[OpenParcel]) -> Sequence[tuple[OpenParcel, Parcel | DeliveryError]]:
        """Parcels with what they carry, read for all of them at once."""
        payloads = [entry.payload for parcel in parcels for entry in parcel.entries]
        entries = self._views.entries(payloads) if payloads else {}
        feeds: dict[int, FeedView] = {}
        return [(parcel, self._filled_one(parcel, entries, feeds)) for parcel in parcels]

    def _filled_one(
        self,
        open_: OpenParcel,
        entries: Mapping[Key, tuple[EntryView, ...]],
        feeds: dict[int, FeedView],
    ) -> Parcel | DeliveryError:
        record = open_.subscription
        wanted = {key_of(entry.payload) for entry in open_.entries} & set(entries)
        shown = tuple(entry for key in sorted(wanted, reverse=True) for entry in entries[key])
        if not shown:
            return DeliveryError("the items are kept no more", is_final=True)
        try:
            newest = self._channels[record.channel].newest
            if record.feed_id not in feeds:
                feeds[record.feed_id] = self._views.feed(record.feed_id)
            view = (
                self._views.newest(record.feed_id, newest)
                if newest
                else replace(feeds[record.feed_id], entries=shown, updated=_latest(shown))
            )
        except FeedweirError as error:
            return DeliveryError(str(error))
        return Parcel(
            key=open_.key,
            destination=Destination(
                subscription=record.id,
                target=record.target,
                options=record.options,
                address=self._address,
                zone=str(record.schedule.get("zone") or "UTC"),
            ),
            made_at=open_.made_at,
            view=view,
        )

    async def _carried(self, filled: tuple[OpenParcel, Parcel | DeliveryError]) -> Sent | None:
        """Send one parcel; None when it was lost to another sender before it left."""
        open_, parcel = filled
        if isinstance(parcel, DeliveryError):
            return Sent(open_, parcel)
        try:
            # Before the gate: a stylesheet that takes its time keeps no channel busy.
            parcel = await self._transformed(open_, parcel)
            async with self._gate(open_.subscription.channel):
                if self._is_old(open_) and not self._renew(open_):
                    return None
                channel = self._channels[open_.subscription.channel]
                await asyncio.wait_for(channel.send(parcel), self._options.timeout_s)
        except DeliveryError as error:
            return Sent(open_, error)
        except TimeoutError:
            return Sent(open_, DeliveryError(f"not delivered within {self._options.timeout_s:g} seconds"))
        except Exception as error:  # one bad message must not stop the others
            _log.exception("subscription %s could not be served", open_.subscription.id)
            return Sent(open_, DeliveryError(f"{type(error).__name__}: {error}"[:300]))
        return Sent(open_)

    async def _transformed(self, open_: OpenParcel, parcel: Parcel) -> Parcel:
        name = str(open_.subscription.options.get("apply", ""))
        if not name:
            return parcel
        self._at_stylesheets.add(open_.key)
        try:
            begun = await self._transforming.run(self._begun, name, parcel.view)
            made: Transformed = await asyncio.wrap_future(begun)
            return replace(parcel, transformed=made)
        finally:
            self._at_stylesheets.discard(open_.key)

    def _begun(self, name: str, view: FeedView) -> Future[Transformed]:
        return self._transformer.begin(self._stylesheets.text(name), view)

    def _is_old(self, open_: OpenParcel) -> bool:
        opened_until = min(entry.due_at for entry in open_.entries if entry.due_at is not None)
        until = self._renewed.get(open_.key, opened_until)
        return until - self._clock() < timedelta(seconds=self._options.timeout_s + self._options.lease_s / 4)

    def _gate(self, channel: str) -> asyncio.Semaphore:
        most = self._options.at_once.get(channel, self._options.most_at_once)
        return self._gates.setdefault(channel, asyncio.Semaphore(most))

    def _settle(self) -> None:
        self._parcels.settle(self._arrived, self._clock())
        self.sent += sum(1 for result in self._arrived if result.error is None)
        self._arrived.clear()


def _latest(entries: Sequence[EntryView]) -> datetime:
    return max(entry.item.arrived for entry in entries)


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
