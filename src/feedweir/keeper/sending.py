"""The sender: takes due parcels, renders and sends them, and settles what became of them, over and over.

Any number of senders may run on one catalog, on one machine or many, and each may die at any moment: the entries it
held come free when its lease ends, and another sends the same parcels under the same keys.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from feedweir.catalog import Catalog, Waiting
from feedweir.deliver.address import Address
from feedweir.deliver.parcel import Channel, Destination, Parcel
from feedweir.deliver.stylesheets import Stylesheets
from feedweir.deliver.transform import Transformed, Transformer
from feedweir.deliver.view import EntryView, FeedView
from feedweir.errors import CatalogError, DeliveryError, FeedweirError
from feedweir.keeper.entry_views import EntryViews
from feedweir.keeper.parcels import OpenParcel, Parcels, Sent

_log = logging.getLogger(__name__)

_SETTLE_ATTEMPTS = 3
_GATHER_S = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class SenderOptions:
    """How one sender works."""

    lease_s: float = 120.0
    """How long entries are ours; a sender that died is followed after this."""
    timeout_s: float = 45.0
    """For one parcel."""
    most_at_once: int = 64
    """Parcels on their way."""
    at_once: Mapping[str, int] = field(default_factory=lambda: {"mail": 8, "file": 2, "notify": 2})
    """The same for single channels."""
    look_s: float = 1.0
    """How often to look for what is due when nothing is."""
    look_again_s: float = 60.0
    """How soon a change of a subscription's schedule is noticed."""


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
        self._stylesheets = stylesheets or Stylesheets()
        self._address = address or Address()
        self._parcels = parcels or Parcels(catalog, worker=worker, lease_s=self._options.lease_s)
        self._due: deque[Waiting] = deque()
        self._seen: dict[int, tuple[int, datetime]] = {}
        """By subscription: how much waited when we last looked, and when to look again if that stays so."""
        self._gates: dict[str, asyncio.Semaphore] = {}
        self.sent = 0
        """Parcels, since the start."""

    async def step(self) -> int:
        """Send all that is due now and settle it; returns how many parcels were sent."""
        before = self.sent
        self._look()
        await self.pump(lambda: not self._due)
        return self.sent - before

    async def run(self, is_stopping: Callable[[], bool], pause: Callable[[float], object]) -> None:
        """Send until told to stop; `pause` waits in a thread of its own, and returns early when stopping."""
        while not is_stopping():
            try:
                self._look()
                if self._due:
                    await self.pump(lambda: is_stopping() or not self._due)
                    continue
            except CatalogError:
                _log.exception("the next look will try again")
            await asyncio.to_thread(pause, self._options.look_s)

    async def pump(self, is_done: Callable[[], bool]) -> None:
        """Keep parcels on their way until `is_done`; then wait for those that are."""
        running: set[asyncio.Task[Sent | None]] = set()
        try:
            while running or not is_done():
                if not is_done() and len(running) <= self._options.most_at_once // 2:
                    parcels = self._open(self._options.most_at_once - len(running))
                    running |= {asyncio.create_task(self._carried(parcel)) for parcel in parcels}
                if running:
                    done, running = await _some_done(running)
                    self._settle([result for task in done if (result := task.result()) is not None])
        finally:
            for task in running:
                task.cancel()

    def _look(self) -> None:
        """Which subscriptions have something to decide: more waits than before, or the time has come."""
        now = self._clock()
        waiting = self._catalog.outbox.waiting(now)
        self._due = deque(sorted(filter(lambda each: self._is_news(each, now), waiting), key=_longest_first))
        ids = {each.subscription_id for each in waiting}
        self._seen = {id_: seen for id_, seen in self._seen.items() if id_ in ids}

    def _is_news(self, waiting: Waiting, now: datetime) -> bool:
        count, look_at = self._seen.get(waiting.subscription_id, (0, now))
        return count != waiting.entries or look_at <= now

    def _open(self, room: int) -> Sequence[tuple[OpenParcel, Parcel | DeliveryError]]:
        group = [self._due.popleft() for _ in range(min(room, len(self._due)))]
        if not group:
            return ()
        now = self._clock()
        opened = self._parcels.open(group, frozenset(self._channels), now)
        latest = now + timedelta(seconds=self._options.look_again_s)
        for each in group:
            look_at = (opened.look_at or {}).get(each.subscription_id) or latest
            self._seen[each.subscription_id] = (each.entries, min(look_at, latest))
        return self._filled(opened.parcels)

    def _filled(self, parcels: Sequence[OpenParcel]) -> Sequence[tuple[OpenParcel, Parcel | DeliveryError]]:
        """Parcels with what they carry, read for all of them at once."""
        payloads = [entry.payload for parcel in parcels for entry in parcel.entries]
        entries = self._views.entries(payloads) if payloads else {}
        feeds: dict[int, FeedView] = {}
        return [(parcel, self._filled_one(parcel, entries, feeds)) for parcel in parcels]

    def _filled_one(
        self, open_: OpenParcel, entries: Mapping[int, EntryView], feeds: dict[int, FeedView]
    ) -> Parcel | DeliveryError:
        record = open_.subscription
        seqs = sorted({entry.payload["seq"] for entry in open_.entries} & set(entries), reverse=True)
        if not seqs:
            return DeliveryError("the items are kept no more", is_final=True)
        try:
            newest = self._channels[record.channel].newest
            if record.feed_id not in feeds:
                feeds[record.feed_id] = self._views.feed(record.feed_id)
            view = (
                self._views.newest(record.feed_id, newest)
                if newest
                else replace(feeds[record.feed_id], entries=tuple(entries[seq] for seq in seqs))
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
            ),
            made_at=open_.made_at,
            view=view,
        )

    async def _carried(self, filled: tuple[OpenParcel, Parcel | DeliveryError]) -> Sent | None:
        """Send one parcel; None when it was lost to another sender before it left."""
        open_, parcel = filled
        if isinstance(parcel, DeliveryError):
            return Sent(open_, parcel)
        async with self._gate(open_.subscription.channel):
            if self._is_old(open_) and not self._parcels.renew(open_, self._clock()):
                return None
            try:
                await asyncio.wait_for(self._send(open_, parcel), self._options.timeout_s)
            except DeliveryError as error:
                return Sent(open_, error)
            except TimeoutError:
                return Sent(open_, DeliveryError(f"not delivered within {self._options.timeout_s:g} seconds"))
            except Exception as error:  # one bad message must not stop the others
                _log.exception("subscription %s could not be served", open_.subscription.id)
                return Sent(open_, DeliveryError(f"{type(error).__name__}: {error}"[:300]))
        return Sent(open_)

    async def _send(self, open_: OpenParcel, parcel: Parcel) -> None:
        name = str(open_.subscription.options.get("apply", ""))
        if name:
            transformed = await asyncio.to_thread(self._transformed, name, parcel.view)
            parcel = replace(parcel, transformed=transformed)
        await self._channels[open_.subscription.channel].send(parcel)

    def _transformed(self, name: str, view: FeedView) -> Transformed:
        return self._transformer.apply(self._stylesheets.text(name), view)

    def _is_old(self, open_: OpenParcel) -> bool:
        until = min(entry.due_at for entry in open_.entries if entry.due_at is not None)
        return until - self._clock() < timedelta(seconds=self._options.timeout_s + self._options.lease_s / 4)

    def _gate(self, channel: str) -> asyncio.Semaphore:
        most = self._options.at_once.get(channel, self._options.most_at_once)
        return self._gates.setdefault(channel, asyncio.Semaphore(most))

    def _settle(self, results: Sequence[Sent]) -> None:
        if not results:
            return
        for attempt in range(_SETTLE_ATTEMPTS):
            try:
                self._parcels.settle(results, self._clock())
                break
            except CatalogError:
                # What was sent and is not written down is sent again: worth another try.
                if attempt + 1 == _SETTLE_ATTEMPTS:
                    raise
        for result in results:
            self._seen.pop(result.parcel.subscription.id, None)
        self.sent += sum(1 for result in results if result.error is None)


async def _some_done(
    running: set[asyncio.Task[Sent | None]],
) -> tuple[set[asyncio.Task[Sent | None]], set[asyncio.Task[Sent | None]]]:
    """What is done, and what is not: those that end close together are settled together."""
    await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
    return await asyncio.wait(running, timeout=_GATHER_S)


def _longest_first(waiting: Waiting) -> tuple[datetime, int]:
    return waiting.oldest_at, waiting.subscription_id


class SendLoop:
    """A sender in a thread. `opened` makes it inside the thread's event loop, where its connections live."""

    def __init__(self, opened: Callable[[], AbstractAsyncContextManager[Sender]]) -> None:
        self._opened = opened
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="feedweir-send", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End and settle what is on its way, and stop."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        asyncio.run(self._send_until_stopped())

    async def _send_until_stopped(self) -> None:
        async with self._opened() as sender:
            await sender.run(self._stopping.is_set, self._stopping.wait)
