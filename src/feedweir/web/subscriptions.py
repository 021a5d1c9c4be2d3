"""Routes for subscribers: the delivery log, dead letters and their replay, the way out."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.responses import RedirectResponse, Response

from feedweir.deliver.page_subscription import (
    LogLine,
    SubscriptionView,
    render_subscription_page,
    render_subscriptions_page,
    render_unsubscribe_page,
    render_unsubscribed_page,
    told_of_replay,
)
from feedweir.deliver.plain import rfc3339
from feedweir.deliver.unsubscribe import Purpose
from feedweir.web.delivery_desk import DeliveryDesk
from feedweir.web.door import Door
from feedweir.web.respond import json_response

_PAGE = 100
_FORMS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}
"""These pages show no foreign HTML, and have a button."""

Limit = Annotated[int, Query(ge=1, le=1000)]


def subscription_routes(door: Door, desk: DeliveryDesk) -> APIRouter:
    """Pages by signed links, for readers; the same as JSON by the token, for programs."""
    router = APIRouter()

    @router.get("/unsubscribe/{token}")
    def ask(token: str) -> Response:
        view = _signed(desk, token, "unsubscribe")
        render = render_unsubscribed_page if view.status == "dropped" else render_unsubscribe_page
        return _page(render(view, door.path()))

    @router.post("/unsubscribe/{token}")
    def unsubscribe(token: str) -> Response:
        """One click, as RFC 8058 has it: from a mail program, without a page before or a cookie. The body says nothing
        that the token does not."""
        view = _signed(desk, token, "unsubscribe")
        desk.unsubscribe(view.id)
        return _page(render_unsubscribed_page(view, door.path()))

    @router.get("/subscriptions")
    def listed(request: Request, after: int = 0) -> Response:
        found = desk.subscriptions(after=after, limit=_PAGE + 1)
        following = found[_PAGE - 1].id if len(found) > _PAGE else 0
        return _page(render_subscriptions_page(found[:_PAGE], following, door.path()))

    @router.get("/subscriptions/{token}")
    def log_page(token: str, before: int | None = None, replayed: int | None = None) -> Response:
        view = _signed(desk, token, "log")
        lines = desk.log(view.id, before=before, limit=_PAGE + 1)
        earlier = lines[_PAGE - 1].id if len(lines) > _PAGE else 0
        told = "" if replayed is None else told_of_replay(replayed, view)
        return _page(render_subscription_page(view, lines[:_PAGE], earlier, door.path(), told=told))

    @router.post("/subscriptions/{token}/replay")
    def replay_page(token: str) -> Response:
        view = _signed(desk, token, "log")
        count = desk.replay(view.id)
        page = f"{door.path().subscription(token)}?replayed={count}"
        return RedirectResponse(page, status_code=303)

    @router.get("/v1/subscriptions")
    def subscriptions(request: Request, limit: Limit = 100, after: int = 0) -> Response:
        found = desk.subscriptions(after=after, limit=limit + 1)
        following = found[limit - 1].id if len(found) > limit else None
        shown = [_told(view, door, request) for view in found[:limit]]
        return json_response({"subscriptions": shown, "next_after": following})

    @router.get("/v1/subscriptions/{name:path}/log")
    def log(request: Request, name: str, limit: Limit = 100, before: int | None = None) -> Response:
        lines = desk.log(_known(desk, name).id, before=before, limit=limit)
        return json_response({"log": [_line(line) for line in lines]})

    @router.get("/v1/subscriptions/{name:path}/dead")
    def dead(request: Request, name: str, limit: Limit = 100, after: int = 0) -> Response:
        letters = desk.dead(_known(desk, name).id, after=after, limit=limit)
        return json_response({"dead": [_line(line) for line in letters]})

    @router.post("/v1/subscriptions/{name:path}/replay")
    def replay(
        request: Request,
        name: str,
        entry: Annotated[list[int] | None, Query()] = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> Response:
        count = desk.replay(_living(desk, name).id, entry, since=_utc(since), until=_utc(until))
        return json_response({"replayed": count})

    # Last: names may contain slashes.
    @router.get("/v1/subscriptions/{name:path}")
    def subscription(request: Request, name: str) -> Response:
        return json_response(_told(_known(desk, name), door, request))

    return router


def _signed(desk: DeliveryDesk, token: str, purpose: Purpose) -> SubscriptionView:
    view = desk.of_token(token, purpose)
    if view is None:
        raise HTTPException(404, "This link was not made by this server, or is cut short.")
    return view


def _known(desk: DeliveryDesk, name: str) -> SubscriptionView:
    """Also one that was dropped: what it was sent can be read as long as it is kept."""
    view = desk.named(name, with_dropped=True)
    if view is None:
        raise HTTPException(404, f"There is no subscription {name}.")
    return view


def _living(desk: DeliveryDesk, name: str) -> SubscriptionView:
    view = _known(desk, name)
    if view.status == "dropped":
        raise HTTPException(409, f"The subscription {name} was dropped: nothing is sent to it any more.")
    return view


def _utc(moment: datetime | None) -> datetime | None:
    return None if moment is None else moment.replace(tzinfo=moment.tzinfo or UTC)


def _page(body: bytes) -> Response:
    return Response(body, headers=_FORMS, media_type="text/html; charset=utf-8")


def _told(view: SubscriptionView, door: Door, request: Request) -> dict[str, Any]:
    values = asdict(view)
    address = door.address(request)
    values["links"] = {
        "log": address.subscription(values.pop("token")),
        "unsubscribe": address.unsubscribe(values.pop("unsubscribe_token")),
    }
    last = rfc3339(view.last_sent) if view.last_sent else None
    return {**values, "created": rfc3339(view.created), "last_sent": last}


def _line(line: LogLine) -> dict[str, Any]:
    return {**asdict(line), "at": rfc3339(line.at)}
