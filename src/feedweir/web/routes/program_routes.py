"""Routes for programs: statements, the list of feeds as JSON, health, metrics."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response
from prometheus_client import CONTENT_TYPE_LATEST

from feedweir.ask.outcome import Outcome
from feedweir.deliver.address import Address
from feedweir.deliver.render.plain import rfc3339
from feedweir.deliver.render.view import FeedKind, FeedSummary
from feedweir.web.admission import owner_in, read_body
from feedweir.web.backend import Health
from feedweir.web.door import Door
from feedweir.web.metrics import Meter
from feedweir.web.responses import json_response
from feedweir.web.routes.quarantine_routes import quarantine_routes
from feedweir.web.routes.question_routes import plan_routes, question_routes


def program_routes(door: Door, meter: Meter) -> APIRouter:
    """What programs and operators request."""
    router = APIRouter()
    router.include_router(plan_routes(door))
    router.include_router(question_routes(door))
    router.include_router(quarantine_routes(door))
    backend = door.backend

    @router.post("/v1/statements")
    async def execute(request: Request, owner: str = "") -> Response:
        text = _text_of(await read_body(request, door.options.max_statement_bytes), request)
        outcomes = await run_in_threadpool(backend.execute, text, owner=owner_in(owner))
        return json_response({"results": [_result(outcome) for outcome in outcomes]})

    @router.get("/v1/feeds")
    def feeds(
        request: Request,
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
        cursor: str = "",
        kind: FeedKind | None = None,
        owner: str = "",
    ) -> Response:
        after = decode_cursor(cursor)
        found = backend.feed_views.feeds(
            kind=kind, after=after, limit=limit + 1, owner=owner_in(owner) or None
        )
        shown = found[:limit]
        following = encode_cursor(shown[-1].name) if len(found) > limit else None
        address = door.address(request)
        return json_response({"feeds": [_feed(feed, address) for feed in shown], "next_cursor": following})

    @router.get("/healthz")
    def health() -> Response:
        found = backend.health()
        return _health(found, is_good=found.is_healthy)

    @router.get("/readyz")
    def readiness() -> Response:
        found = backend.health()
        return _health(found, is_good=found.is_ready)

    @router.get("/metrics")
    def metrics() -> Response:
        return Response(meter.exposition(), headers={"Content-Type": CONTENT_TYPE_LATEST})

    return router


def _result(outcome: Outcome) -> dict[str, object]:
    """Rows and advice only if there are any."""
    result: dict[str, object] = {"message": outcome.message, "name": outcome.name}
    if outcome.advice:
        result["advice"] = list(outcome.advice)
    return {**result, "rows": list(map(_row, outcome.rows))} if outcome.rows else result


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    """JSON has no times: they are written out."""
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in row.items()}


def _text_of(body: bytes, request: Request) -> str:
    """The statements: the body, or the member `statements` of a JSON body."""
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
    times = {name: getattr(feed, name) for name in ("last_item", "last_hit")}
    shown = {name: rfc3339(time) if time else None for name, time in times.items()}
    return {**asdict(feed), **shown, "links": {"page": address.page(feed.name), **links}}


def _health(health: Health, *, is_good: bool) -> Response:
    status = "ok" if is_good else "failing"
    reasons = {"reasons": list(health.reasons)} if health.reasons else {}
    body = {"status": status, **reasons, **dict(health.facts)}
    return json_response(body, status=200 if is_good else 503, headers={"Cache-Control": "no-store"})


def encode_cursor(name: str) -> str:
    """Opaque on purpose: clients return it unchanged."""
    return base64.urlsafe_b64encode(name.encode()).decode().rstrip("=")


def decode_cursor(cursor: str) -> str:
    try:
        return base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        raise HTTPException(400, "This cursor was not created by this server.") from None
