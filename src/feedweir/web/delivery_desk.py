"""What the delivery routes need from the house behind them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol

from feedweir.deliver.events import Resumption
from feedweir.deliver.hub import HubRequest
from feedweir.deliver.page_subscription import LogLine, SubscriptionView
from feedweir.deliver.unsubscribe import Purpose
from feedweir.deliver.view import FeedView


class DeliveryDesk(Protocol):
    """Called from many threads at once; `hub`, `event_data` and `publications` in the event loop."""

    def subscriptions(self, *, after: int = 0, limit: int = 100) -> Sequence[SubscriptionView]:
        """Living subscriptions by number, from the one after `after`."""

    def subscription(self, id_: int) -> SubscriptionView | None:
        """Also one that was dropped."""

    def named(self, name: str, *, with_dropped: bool = False) -> SubscriptionView | None:
        """The living subscription of a name or number; where none lives, perhaps the one that was dropped last."""

    def of_token(self, token: str, purpose: Purpose) -> SubscriptionView | None:
        """The subscription that a signed link is for."""

    def log(self, id_: int, *, before: int | None, limit: int) -> Sequence[LogLine]:
        """A subscription's delivery log, the latest first."""

    def dead(self, id_: int, *, after: int, limit: int) -> Sequence[LogLine]:
        """A subscription's dead letters, by their numbers in the outbox."""

    def replay(
        self,
        id_: int,
        entries: Sequence[int] | None = None,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> int:
        """Send all dead letters after all; or what these entries are, or what was sent or given up in this time."""

    def unsubscribe(self, id_: int) -> None:
        """End a subscription; nothing happens to one that is over."""

    def bounce(self, report: bytes) -> int | None:
        """Take in a mail server's report; the subscription it is about."""

    def resume(self, feed: str, last_event_id: str, *, subscription: int = 0) -> Resumption | None:
        """Where a client goes on with a stream; None when there is no such feed."""

    def following(self, feed: str, after: int, limit: int) -> FeedView:
        """A feed with the first entries after a sequence number, newest first."""

    def stylesheet(self, subscription: int) -> str:
        """The stylesheet that a subscription's events go through; empty where there is none."""

    async def event_data(self, stylesheet: str, view: FeedView) -> str:
        """What a stylesheet makes of an entry; whoever waits for a slow one keeps no thread from others."""

    def publications(self) -> AbstractContextManager[asyncio.Event]:
        """An event that is set whenever something was published, as long as the context lasts."""

    async def hub(self, request: HubRequest, feed: str) -> bool:
        """Verify and carry out what a WebSub subscriber asked for."""
