"""Routes for programs: statements, the list of feeds as JSON, health and metrics."""

from __future__ import annotations

import base64
import binascii
import hmac
import json
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response
from prometheus_client import CONTENT_TYPE_LATEST

from feedweir.deliver.address import Address
from feedweir.deliver.plain import rfc3339
from feedweir.deliver.view import FeedKind, FeedSummary
from feedweir.web.door import Door
from feedweir.web.library import Health, Outcome
from feedweir.web.measuring import Meter
from feedweir.web.negotiate import is_same_site
from feedweir.web.plans import plan_routes
from feedweir.web.respond import json_response


def program_routes(door: Door, meter: Meter) -> APIRouter:
    """Everything that programs and operators ask for."""
    router = APIRouter()
    router.include_router(plan_routes(door))
    library = door.library

    @router.post("/v1/statements")
    async def execute(request: Request) -> Response:
        admit(door, request)
        text = _text_of(await read_body(request, door.options.max_statement_bytes), request)
        outcomes = await run_in_threadpool(library.execute, text)
        return json_response({"results": [_result(outcome) for outcome in outcomes]})

    @router.get("/v1/feeds")
    def feeds(
        request: Request,
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
        cursor: str = "",
        kind: FeedKind | None = None,
    ) -> Response:
        after = decode_cursor(cursor)
        found = library.feeds(kind=kind, after=after, limit=limit + 1)
        shown = found[:limit]
        following = encode_cursor(shown[-1].name) if len(found) > limit else None
        address = door.address(request)
        return json_response({"feeds": [_feed(feed, address) for feed in shown], "next_cursor": following})

    @router.get("/healthz")
    def health() -> Response:
        found = library.health()
        return _health(found, is_good=found.is_healthy)

    @router.get("/readyz")
    def readiness() -> Response:
        found = library.health()
        return _health(found, is_good=found.is_ready)

    @router.get("/metrics")
    def metrics() -> Response:
        return Response(meter.exposition(), headers={"Content-Type": CONTENT_TYPE_LATEST})

    return router


def _result(outcome: Outcome) -> dict[str, object]:
    """Rows only where something was asked, advice only where there is any."""
    told: dict[str, object] = {"message": outcome.message, "name": outcome.name}
    if outcome.advice:
        told["advice"] = list(outcome.advice)
    return {**told, "rows": list(outcome.rows)} if outcome.rows else told


def admit(door: Door, request: Request) -> None:
    """Statements change things: not for other people's pages, and only with the token when there is one."""
    headers = request.headers
    if not is_same_site(headers.get("origin"), headers.get("host"), headers.get("sec-fetch-site")):
        raise HTTPException(403, "Statements are not taken from pages of other sites.")
    token = door.options.statement_token
    given = headers.get("authorization", "")
    if token and not hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
        raise HTTPException(401, "Statements need the token.", headers={"WWW-Authenticate": "Bearer"})


async def read_body(request: Request, max_bytes: int) -> bytes:
    """The body, never more than the limit, whatever the request promised."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > max_bytes:
            raise HTTPException(413, f"Statements may take {max_bytes} bytes at a time.")
    return bytes(body)


def _text_of(body: bytes, request: Request) -> str:
    """The statements: the body itself, or the member `statements` of a JSON body."""
    try:
        text = body.decode("utf-8")
        if not request.headers.get("content-type", "").startswith("application/json"):
            return text
        value = json.loads(text)["statements"]
    except UnicodeDecodeError:
        raise HTTPException(400, "The body is not UTF-8 text.") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise HTTPException(400, 'The body is not JSON of the form {"statements": "..."}.') from None
    if not isinstance(value, str):
        raise HTTPException(400, "The member `statements` is not a string.")
    return value


def _feed(feed: FeedSummary, address: Address) -> dict[str, Any]:
    links = {suffix: address.feed(feed.name, suffix) for suffix in ("rss", "atom", "json")}
    last_item = rfc3339(feed.last_item) if feed.last_item else None
    return {**asdict(feed), "last_item": last_item, "links": {"page": address.page(feed.name), **links}}


def _health(health: Health, *, is_good: bool) -> Response:
    status = "ok" if is_good else "failing"
    body = {"status": status, **dict(health.facts)}
    return json_response(body, status=200 if is_good else 503, headers={"Cache-Control": "no-store"})


def encode_cursor(name: str) -> str:
    """Opaque on purpose: clients hand it back, they do not make it."""
    return base64.urlsafe_b64encode(name.encode()).decode().rstrip("=")


def decode_cursor(cursor: str) -> str:
    try:
        return base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        raise HTTPException(400, "This cursor was not given out by this server.") from None
