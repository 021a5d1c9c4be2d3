"""Routes for feeds and subscriptions as server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

from fastapi import APIRouter, HTTPException, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response, StreamingResponse

from feedweir.deliver.address import Address
from feedweir.deliver.delivery_admin import DeliveryAdmin
from feedweir.deliver.render.events import KEEP_ALIVE, MEDIA_TYPE, Resumption, event, events, opening
from feedweir.deliver.render.view import FeedView
from feedweir.errors import DeliveryError
from feedweir.web.admission import admit
from feedweir.web.door import Door
from feedweir.web.responses import problem

_AT_ONCE = 100
"""Entries read at a time."""


def stream_routes(door: Door, deliveries: DeliveryAdmin) -> APIRouter:
    router = APIRouter()

    @router.get("/feeds/{name:path}/events")
    async def feed_events(request: Request, name: str) -> Response:
        return await _stream(door, deliveries, request, name, 0)

    @router.get("/subscriptions/{name:path}/events")
    async def subscription_events(request: Request, name: str) -> Response:
        """By a signed link, or with the token by the subscription's name."""
        view = await run_in_threadpool(deliveries.of_token, name, "log")
        if view is None:
            admit(door, request)
            view = await run_in_threadpool(deliveries.named, name)
        if view is None or view.status != "active":
            raise HTTPException(404, f"There is no subscription {name}.")
        return await _stream(door, deliveries, request, view.feed, view.id)

    return router


async def _stream(
    door: Door, deliveries: DeliveryAdmin, request: Request, feed: str, subscription: int
) -> Response:
    asked = request.headers.get("last-event-id") or request.query_params.get("last_event_id", "")
    found = await run_in_threadpool(deliveries.resume, feed, asked, subscription=subscription)
    if found is None:
        near = tuple(await run_in_threadpool(door.backend.feed_views.near_names, feed))
        return problem(request, 404, f"There is no feed named {feed}.", near=near)
    body = _written(door, deliveries, feed, subscription, found, door.address(request))
    # Proxies must not buffer the stream.
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(body, media_type=MEDIA_TYPE, headers=headers)


async def _written(
    door: Door, deliveries: DeliveryAdmin, feed: str, subscription: int, start: Resumption, address: Address
) -> AsyncIterator[bytes]:
    """Everything after the start, then what is published, until the client disconnects."""
    yield opening(start)
    at = start.after
    with deliveries.publications() as published:
        while True:
            # Cleared before reading: what is published meanwhile is read in the next round.
            published.clear()
            view = await run_in_threadpool(deliveries.following, feed, at, _AT_ONCE)
            try:
                async for part in _events(deliveries, view, subscription, address):
                    yield part
            except DeliveryError:
                return  # temporary: the client reconnects with the last id it saw
            if view.entries:
                at = max(entry.item.seq for entry in view.entries)
            elif not await _happens(published, door.options.keep_alive_s):
                yield KEEP_ALIVE


async def _happens(published: asyncio.Event, within_s: float) -> bool:
    try:
        async with asyncio.timeout(within_s):
            return await published.wait()
    except TimeoutError:
        return False


async def _events(
    deliveries: DeliveryAdmin, view: FeedView, subscription: int, address: Address
) -> AsyncIterator[bytes]:
    """The entries in the order of the stream, as JSON or as the output of the subscription's stylesheet."""
    ordered = sorted(view.entries, key=lambda entry: entry.item.seq)
    stylesheet = (
        await run_in_threadpool(deliveries.stylesheet, subscription) if subscription and ordered else ""
    )
    if stylesheet:
        for entry in ordered:
            yield await _transformed(deliveries, stylesheet, replace(view, entries=(entry,)))
        return
    for part in await run_in_threadpool(lambda: list(events(view, ordered, address))):
        yield part


async def _transformed(deliveries: DeliveryAdmin, stylesheet: str, single: FeedView) -> bytes:
    """The stylesheet's output for an entry. On a permanent failure, report it and go on with the next entry."""
    seq = str(single.entries[0].item.seq)
    try:
        return event(seq, "item", await deliveries.event_data(stylesheet, single))
    except DeliveryError as error:
        if not error.is_final:
            raise
        return event(seq, "failure", str(error))
