"""Routes for readers: the list of feeds, every feed in every format, items, assets."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.responses import Response

from feedweir.deliver.pages.assets import MEDIA_TYPES, asset
from feedweir.deliver.pages.page_feeds import FeedSection, render_feeds_page
from feedweir.deliver.pages.page_item import render_item_page
from feedweir.deliver.pages.page_links import own_address, page_links
from feedweir.deliver.render.formats import Format, render
from feedweir.deliver.render.view import FeedKind
from feedweir.web.backend import Backend
from feedweir.web.door import Door
from feedweir.web.negotiation import preferred
from feedweir.web.responses import body_response, problem

MAX_ENTRIES = 1000
_PAGE_OF_FEEDS = 200

Limit = Annotated[
    int | None, Query(ge=1, le=MAX_ENTRIES, description="How many entries, newest first. [default: 50]")
]
Before = Annotated[
    int, Query(ge=0, le=(1 << 63) - 1, description="An older page: entries before this number.")
]

# Clients request feeds under many media types; the first is the one for browsers and `*/*`.
_NEGOTIABLE = {
    "text/html": Format.PAGE,
    "application/rss+xml": Format.RSS,
    "application/atom+xml": Format.ATOM,
    "application/feed+json": Format.JSON,
    "application/json": Format.JSON,
    "application/xml": Format.RSS,
    "text/xml": Format.RSS,
}


def reader_routes(door: Door) -> APIRouter:
    """What people and feed readers request. Plain functions, which run in threads beside the event loop."""
    router = APIRouter()
    backend = door.backend

    @router.get("/")
    def home(request: Request, kind: FeedKind | None = None, after: str = "") -> Response:
        kinds: tuple[FeedKind, ...] = (kind,) if kind else ("virtual", "source")
        sections = [section(backend, each, after) for each in kinds]
        body = render_feeds_page(sections, door.path(), backend.health().reasons)
        return body_response(request, body, "text/html", now=door.clock())

    @router.get("/feeds/{name:path}.rss")
    def rss(request: Request, name: str, limit: Limit = None, before: Before = 0) -> Response:
        return _feed(door, request, name, Format.RSS, limit, before)

    @router.get("/feeds/{name:path}.atom")
    def atom(request: Request, name: str, limit: Limit = None, before: Before = 0) -> Response:
        return _feed(door, request, name, Format.ATOM, limit, before)

    @router.get("/feeds/{name:path}.json")
    def json_feed(request: Request, name: str, limit: Limit = None, before: Before = 0) -> Response:
        return _feed(door, request, name, Format.JSON, limit, before)

    @router.get("/feeds/{name:path}.html")
    def page(request: Request, name: str, limit: Limit = None, before: Before = 0) -> Response:
        return _feed(door, request, name, Format.PAGE, limit, before)

    @router.get("/feeds/{name:path}")
    def negotiated(request: Request, name: str, limit: Limit = None, before: Before = 0) -> Response:
        wanted = preferred(request.headers.get("accept", ""), tuple(_NEGOTIABLE))
        return _feed(door, request, name, _NEGOTIABLE[wanted], limit, before)

    @router.get("/items/{seq}")
    def item(request: Request, seq: int) -> Response:
        entry = backend.feed_views.item(seq)
        if entry is None:
            raise HTTPException(404, "There is no such item.")
        return body_response(request, render_item_page(entry, door.path()), "text/html", now=door.clock())

    @router.get("/assets/{file_name}", include_in_schema=False)
    def assets(request: Request, file_name: str) -> Response:
        if file_name not in MEDIA_TYPES:
            raise HTTPException(404, "There is no such file.")
        forever = "public, max-age=31536000, immutable"
        now = door.clock()
        return body_response(request, asset(file_name), MEDIA_TYPES[file_name], now=now, cache=forever)

    return router


def _feed(
    door: Door, request: Request, name: str, format: Format, limit: int | None, before: int
) -> Response:
    view = door.backend.feed_views.page(name, limit or 0, before=before)
    if view is None:
        near = tuple(door.backend.feed_views.near_names(name))
        return problem(request, 404, f"There is no feed named {name}.", near=near)
    address = door.path() if format is Format.PAGE else door.address(request)
    view = replace(view, hub=view.hub or door.hub()) if door.has_hub else view
    body = render(view, format, address)
    now: datetime = door.clock()
    response = body_response(request, body, format.media_type, now=now, modified=view.updated)
    if format is not Format.PAGE:
        response.headers["Link"] = f'<{own_address(view, address, format.value)}>; rel="self"'
        for relation, href in page_links(view, address, format.value):
            response.headers.append("Link", f'<{href}>; rel="{relation}"')
        if view.hub.isascii() and view.hub.isprintable() and view.hub:
            response.headers.append("Link", f'<{view.hub}>; rel="hub"')
    return response


def section(backend: Backend, kind: FeedKind, after: str) -> FeedSection:
    """Some feeds of a kind. One more than is shown is read, to know whether there are more."""
    feeds = tuple(backend.feed_views.feeds(kind=kind, after=after, limit=_PAGE_OF_FEEDS + 1))
    shown = feeds[:_PAGE_OF_FEEDS]
    next_after = shown[-1].name if len(feeds) > len(shown) else ""
    return FeedSection(kind=kind, feeds=shown, total=backend.feed_views.count(kind), next_after=next_after)
