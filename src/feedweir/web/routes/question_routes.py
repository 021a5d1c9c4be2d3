"""Routes for questions: search stored items, which feeds match an item, why an item is or is not in a feed, how the
filters of sources are evaluated together."""

from __future__ import annotations

from asyncio import Semaphore
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response

from feedweir.ask.matching_feeds import MatchingFeeds
from feedweir.deliver.address import Address
from feedweir.deliver.render.plain import rfc3339
from feedweir.errors import CatalogError
from feedweir.items.model import Item
from feedweir.match.lookback import LookBack
from feedweir.optimize.filter_plans.plan_report import ExplainedPlan, as_dot, as_text, as_value
from feedweir.web.admission import owner_in, read_body
from feedweir.web.door import Door
from feedweir.web.responses import body_response, json_response

MAX_FOUND = 1000
_READ_AT_ONCE = 8


def question_routes(door: Door) -> APIRouter:
    router = APIRouter()
    backend = door.backend
    # A document that takes long to parse delays other documents, but no other question.
    turns = Semaphore(_READ_AT_ONCE)

    @router.get("/v1/search")
    def search(
        request: Request,
        q: Annotated[str, Query(min_length=1, description="As in a search box: flood -market intitle:river")],
        limit: Annotated[int, Query(ge=1, le=MAX_FOUND)] = 50,
        owner: str = "",
    ) -> Response:
        """Stored items, newest first, with counts of all matches; for an owner, only those in their feeds."""
        found = backend.ask.search(q, limit, owner=owner_in(owner) or None)
        return json_response(_found(found, door.address(request)))

    @router.get("/v1/why")
    def why(request: Request, item: str, feed: str, format: Literal["json", "text"] = "json") -> Response:
        """Which clauses hold, which atom made the item a candidate, which clause excluded it."""
        with _missing_is_404():
            told = backend.ask.why(int(item) if item.isascii() and item.isdigit() else item, feed)
        if format == "json":
            return json_response(told.to_json())
        return body_response(request, "\n".join(told.lines()).encode(), "text/plain", now=door.clock())

    @router.get("/v1/items/{seq}/feeds")
    def wanting(request: Request, seq: int, owner: str = "") -> Response:
        """The feeds that match a stored item; for an owner, only theirs."""
        with _missing_is_404():
            found = backend.ask.matching_feeds(seq, owner=owner_in(owner) or None)
        return json_response(_wanting(found, door.address(request)))

    @router.post("/v1/match")
    async def match(request: Request, source: str = "", owner: str = "") -> Response:
        """The feeds that would match the items of a document; nothing is stored."""
        body = await read_body(request, door.options.max_statement_bytes)
        asked = {"source": source, "media_type": request.headers.get("content-type", "")}
        whose = owner_in(owner) or None
        async with turns:
            found = await run_in_threadpool(
                lambda: backend.ask.matching_feeds_of_document(body, **asked, owner=whose)
            )
        return json_response(_wanting(found, door.address(request)))

    return router


@contextmanager
def _missing_is_404() -> Iterator[None]:
    """A missing item or feed is 404, not 409."""
    try:
        yield
    except CatalogError as error:
        raise HTTPException(404, str(error)) from error


def _found(found: LookBack, address: Address) -> dict[str, Any]:
    return {
        "searched": found.searched,
        "hits": found.found,
        "per_day": {day.isoformat(): count for day, count in found.per_day},
        "items": [_item(item, address) for item in found.items],
        "skipped": list(found.skipped),
    }


def _wanting(found: MatchingFeeds, address: Address) -> dict[str, Any]:
    return {
        "asked": found.asked,
        "candidates": found.candidates,
        "items": [
            {
                **_item(one.item, address),
                "feeds": list(one.feeds),
                "joins": [part.to_json() for part in one.joins],
            }
            for one in found.items
        ],
    }


def _item(item: Item, address: Address) -> dict[str, Any]:
    return {
        "seq": item.seq,
        "time": rfc3339(item.time),
        "source": item.source,
        "title": item.title,
        "link": item.link,
        "guid": item.identity,
        "revision": item.revision,
        "page": address.item(item.seq),
    }


_DRAWN: Mapping[str, tuple[Callable[[ExplainedPlan], str], str]] = MappingProxyType(
    {
        "text": (as_text, "text/plain"),
        "dot": (as_dot, "text/vnd.graphviz"),
    }
)


def plan_routes(door: Door) -> APIRouter:
    router = APIRouter()

    @router.get("/v1/plan")
    def plan(request: Request, source: str = "", format: Literal["json", "text", "dot"] = "json") -> Response:
        """The current plan of a source, or of all sources."""
        plans = door.backend.ask.plans(source)
        if format == "json":
            return json_response({"plans": [as_value(one) for one in plans]})
        draw, media_type = _DRAWN[format]
        body = "\n\n".join(map(draw, plans)).encode()
        return body_response(request, body, media_type, now=door.clock())

    return router
