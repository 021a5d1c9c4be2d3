"""Routes for readers: the list of feeds, each feed in every format, items, assets."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.responses import Response

from feedweir.deliver.assets import MEDIA_TYPES, asset
from feedweir.deliver.page_feeds import Shelf, render_feeds_page
from feedweir.deliver.page_item import render_item_page
from feedweir.deliver.render import Format, render
from feedweir.deliver.view import FeedKind
from feedweir.web.door import Door
from feedweir.web.library import Library
from feedweir.web.negotiate import preferred
from feedweir.web.respond import body_response, problem

MAX_ENTRIES = 1000
_PAGE_OF_FEEDS = 200

Limit = Annotated[int, Query(ge=1, le=MAX_ENTRIES, description="How many entries, newest first.")]

# Programs ask for feeds by many names; the first media type is what a browser or `*/*` gets.
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
    """Everything that people and feed readers ask for. Plain functions: they run beside the event loop."""
    router = APIRouter()
    library = door.library

    @router.get("/")
    def home(request: Request, kind: FeedKind | None = None, after: str = "") -> Response:
        kinds: tuple[FeedKind, ...] = (kind,) if kind else ("virtual", "source")
        shelves = [shelf(library, each, after) for each in kinds]
        body = render_feeds_page(shelves, door.path(), library.health().reasons)
        return body_response(request, body, "text/html", now=door.clock())

    @router.get("/feeds/{name:path}.rss")
    def rss(request: Request, name: str, limit: Limit = 50) -> Response:
        return _feed(door, request, name, Format.RSS, limit)

    @router.get("/feeds/{name:path}.atom")
    def atom(request: Request, name: str, limit: Limit = 50) -> Response:
        return _feed(door, request, name, Format.ATOM, limit)

    @router.get("/feeds/{name:path}.json")
    def json_feed(request: Request, name: str, limit: Limit = 50) -> Response:
        return _feed(door, request, name, Format.JSON, limit)

    @router.get("/feeds/{name:path}.html")
    def page(request: Request, name: str, limit: Limit = 50) -> Response:
        return _feed(door, request, name, Format.PAGE, limit)

    @router.get("/feeds/{name:path}")
    def negotiated(request: Request, name: str, limit: Limit = 50) -> Response:
        wanted = preferred(request.headers.get("accept", ""), tuple(_NEGOTIABLE))
        return _feed(door, request, name, _NEGOTIABLE[wanted], limit)

    @router.get("/items/{seq}")
    def item(request: Request, seq: int) -> Response:
        entry = library.item(seq)
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


def _feed(door: Door, request: Request, name: str, format: Format, limit: int) -> Response:
    view = door.library.feed(name, limit)
    if view is None:
        near = tuple(door.library.near_names(name))
        return problem(request, 404, f"There is no feed named {name}.", near=near)
    address = door.path() if format is Format.PAGE else door.address(request)
    view = replace(view, hub=view.hub or door.hub()) if door.has_hub else view
    body = render(view, format, address)
    now: datetime = door.clock()
    response = body_response(request, body, format.media_type, now=now, modified=view.updated)
    if format is not Format.PAGE:
        response.headers["Link"] = f'<{address.feed(view.name, format.value)}>; rel="self"'
        if view.hub.isascii() and view.hub.isprintable() and view.hub:
            response.headers.append("Link", f'<{view.hub}>; rel="hub"')
    return response


def shelf(library: Library, kind: FeedKind, after: str) -> Shelf:
    """Some feeds of a kind: one more is asked for than is shown, to know whether there are more."""
    feeds = tuple(library.feeds(kind=kind, after=after, limit=_PAGE_OF_FEEDS + 1))
    shown = feeds[:_PAGE_OF_FEEDS]
    next_after = shown[-1].name if len(feeds) > len(shown) else ""
    return Shelf(kind=kind, feeds=shown, total=library.count(kind), next_after=next_after)
