"""Administering deliveries: subscriptions, their logs and dead letters, event streams, bounces, the WebSub hub."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime
from functools import cached_property

from feedweir.acquire.fetch.addresses import AddressRule
from feedweir.acquire.fetch.aiohttp_transport import AiohttpTransport
from feedweir.catalog import Catalog, Delivery, Entry, SubscriptionRecord
from feedweir.deliver.feed_views import FeedViews
from feedweir.deliver.hub import HubRequest, carry_out
from feedweir.deliver.pages.page_subscription import LogLine, SubscriptionView
from feedweir.deliver.publish_signal import PublishSignal
from feedweir.deliver.render.events import Resumption, resumption
from feedweir.deliver.render.view import FeedView
from feedweir.deliver.schedule_changes import schedule_text
from feedweir.deliver.send.bounces import record_bounce
from feedweir.deliver.send.poster import GuardedPoster
from feedweir.deliver.signed_links import Purpose, link_token, new_link_secret, subscription_of
from feedweir.deliver.transforms.stylesheets import Stylesheets
from feedweir.deliver.transforms.transformer import Transformed, Transformer
from feedweir.errors import CatalogError, near
from feedweir.items.schema import items_of
from feedweir.logs.store import Store
from feedweir.text.redact import without_secrets

LINK_SECRET = "links"


def link_secret(catalog: Catalog, given: str = "") -> str:
    """Signs the links in messages: the operator's secret, or one that is made once and kept in the catalog."""
    return given or catalog.secrets.of(LINK_SECRET, new_link_secret)


class DeliveryAdmin:
    """What the web and the command line ask about deliveries and change of them.

    Called from many threads at once; `event_data`, `publications` and `hub` in the event loop.
    """

    def __init__(
        self,
        catalog: Catalog,
        store: Store,
        *,
        clock: Callable[[], datetime],
        publish_signal: PublishSignal,
        secret: str = "",
        allow_private: bool = False,
        stylesheets: Stylesheets | None = None,
    ) -> None:
        self._catalog = catalog
        self._store = store
        self._feed_views = FeedViews(catalog, store)
        self._clock = clock
        self._publish_signal = publish_signal
        self._given_secret = secret
        self._allow_private = allow_private
        self._stylesheets = stylesheets or Stylesheets()
        self._transformer = Transformer()

    @cached_property
    def _secret(self) -> str:
        return link_secret(self._catalog, self._given_secret)

    # Subscriptions

    def subscriptions(self, *, after: int = 0, limit: int = 100) -> Sequence[SubscriptionView]:
        """Active and paused subscriptions by number, from the one after `after`."""
        records = self._catalog.subscriptions.all(after=after, limit=limit)
        return [self._view(record) for record in records]

    def subscription(self, id_: int) -> SubscriptionView | None:
        """Also one that was dropped."""
        try:
            return self._view(self._catalog.subscriptions.with_id(id_))
        except CatalogError:
            return None

    def named(self, name: str, *, with_dropped: bool = False) -> SubscriptionView | None:
        """The subscription of a name or number; with `with_dropped`, the last one dropped if there is no other."""
        record = self._catalog.subscriptions.named(name, with_dropped=with_dropped)
        return self._view(record) if record else None

    def of_token(self, token: str, purpose: Purpose) -> SubscriptionView | None:
        """The subscription that a signed link is for."""
        id_ = subscription_of(self._secret, token, purpose)
        return self.subscription(id_) if id_ is not None else None

    def unsubscribe(self, id_: int) -> None:
        """End a subscription; one that has ended stays as it is."""
        record = self._catalog.subscriptions.with_id(id_)
        if record.status != "dropped":
            self._catalog.subscriptions.set_status(id_, "dropped", self._clock())

    def _view(self, record: SubscriptionRecord) -> SubscriptionView:
        feed = self._catalog.feeds.with_id(record.feed_id)
        counts = self._catalog.outbox.counts(subscription_id=record.id)
        return SubscriptionView(
            id=record.id,
            name=str(record.options.get("name") or record.id),
            feed=feed.name if feed else "",
            channel=record.channel,
            target=without_secrets(record.target),
            schedule=schedule_text(record.schedule),
            status=record.status,
            statement=without_secrets(record.statement),
            created=record.created_at,
            last_sent=self._catalog.subscriptions.rhythm(record.id).last_sent_at,
            waiting=sum(counts.get(state, 0) for state in ("pending", "claimed", "failed")),
            dead=counts.get("dead", 0),
            token=link_token(self._secret, record.id, "log"),
            unsubscribe_token=link_token(self._secret, record.id, "unsubscribe"),
        )

    # The delivery log

    def log(self, id_: int, *, before: int | None = None, limit: int = 100) -> Sequence[LogLine]:
        """A subscription's delivery log, the latest first."""
        lines = self._catalog.deliveries.of(id_, before=before, limit=limit)
        entries = {
            entry.id: entry for entry in self._catalog.outbox.with_ids([each.outbox_id for each in lines])
        }
        titles = self._titles([entries[line.outbox_id] for line in lines if line.outbox_id in entries])
        return [_line(line, titles.get(line.outbox_id, ("", 0))) for line in lines]

    def dead(self, id_: int, *, after: int = 0, limit: int = 100) -> Sequence[LogLine]:
        """A subscription's dead letters, by their numbers in the outbox."""
        entries = self._catalog.outbox.entries(subscription_id=id_, state="dead", after=after, limit=limit)
        titles = self._titles(entries)
        return [_letter(entry, titles.get(entry.id, ("", 0))) for entry in entries]

    def replay(
        self,
        id_: int,
        entries: Sequence[int] | None = None,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> int:
        """Queue dead letters again: all of them, these entries, or what was sent or given up in this time."""
        return self._catalog.outbox.replay(
            now=self._clock(), subscription_id=id_, ids=entries, since=since, until=until
        )

    def _titles(self, entries: Sequence[Entry]) -> dict[int, tuple[str, int]]:
        """By entry, its item's title and number; items that have been deleted are left out."""
        seqs = sorted({entry.payload["seq"] for entry in entries})
        items = {item.seq: item for item in items_of(self._store.items(seqs))} if seqs else {}
        found = ((entry.id, items.get(entry.payload["seq"])) for entry in entries)
        return {id_: (item.title or item.link, item.seq) for id_, item in found if item is not None}

    # Streams

    def resume(self, feed: str, last_event_id: str, *, subscription: int = 0) -> Resumption | None:
        """Where a client continues a stream; None when there is no such feed.

        Without an id of ours it starts after the newest entry, or where the subscription began.
        """
        record = self._catalog.feeds.find(feed)
        if record is None:
            return None
        seqs = self._store.seqs(record.id)
        newest = int(seqs[0]) if len(seqs) else 0
        if last_event_id or not subscription:
            return resumption(last_event_id, newest=newest)
        since = self._catalog.subscriptions.with_id(subscription).created_at
        later = self._store.items(seqs.tolist(), arrived_after=since).column("seq").to_pylist()
        return Resumption(min(later) - 1 if later else newest)

    def following(self, feed: str, after: int, limit: int) -> FeedView:
        """A feed with its first entries after a sequence number, newest first."""
        view = self._feed_views.feed(feed, 0)
        record = self._catalog.feeds.find(feed)
        if view is None or record is None:
            raise CatalogError(f"there is no feed {feed!r}", hint=near(feed, self._catalog.feeds.near(feed)))
        seqs = self._store.seqs(record.id)
        next_ones = seqs[seqs > after][::-1][:limit].tolist()
        found = self._feed_views.elements(record.id, next_ones)
        return replace(
            view, entries=tuple(entry for seq in sorted(found, reverse=True) for entry in found[seq])
        )

    def stylesheet(self, subscription: int) -> str:
        """The stylesheet that a subscription's events go through; empty when there is none."""
        return str(self._catalog.subscriptions.with_id(subscription).options.get("apply", ""))

    async def event_data(self, stylesheet: str, view: FeedView) -> str:
        """What a stylesheet makes of an entry. Waiting for a slow one occupies no thread."""
        text = await asyncio.to_thread(self._stylesheets.text, stylesheet)
        made: Transformed = await asyncio.wrap_future(self._transformer.begin(text, view))
        return made.text

    def publications(self) -> AbstractContextManager[asyncio.Event]:
        """An event that is set whenever something is published, until the context ends."""
        return self._publish_signal.listening()

    # Bounces and the hub

    def bounce(self, report: bytes) -> int | None:
        """Record a mail server's report; returns the subscription it is about."""
        return record_bounce(self._catalog, report, self._clock())

    async def hub(self, request: HubRequest, feed: str) -> bool:
        """Verify and carry out what a WebSub subscriber asked for."""
        rule = AddressRule(allow_private=self._allow_private)
        async with AiohttpTransport(rule=rule) as transport:
            return await carry_out(
                self._catalog,
                request,
                feed,
                post=GuardedPoster(transport),
                new_challenge=lambda: secrets.token_urlsafe(24),
                now=self._clock(),
            )

    def close(self) -> None:
        self._transformer.close()


def _line(line: Delivery, shown: tuple[str, int]) -> LogLine:
    return LogLine(
        id=line.id,
        at=line.at,
        outcome=line.outcome,
        attempt=line.attempt,
        reason=without_secrets(line.reason),
        entry=line.outbox_id,
        source=_source(line.element_key),
        title=shown[0],
        seq=shown[1],
    )


def _letter(entry: Entry, shown: tuple[str, int]) -> LogLine:
    return LogLine(
        id=entry.id,
        at=entry.settled_at or entry.created_at,
        outcome="dead",
        attempt=entry.attempts,
        reason=without_secrets(entry.reason),
        entry=entry.id,
        source=_source(entry.element_key),
        title=shown[0],
        seq=shown[1],
    )


def _source(element_key: str) -> str:
    source, separator, _ = element_key.partition("\n")
    return source if separator else ""
