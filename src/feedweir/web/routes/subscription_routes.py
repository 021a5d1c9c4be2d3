"""Routes for subscribers: delivery log, dead letters, replay, unsubscribing."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.responses import RedirectResponse, Response

from feedweir.deliver.delivery_admin import DeliveryAdmin
from feedweir.deliver.pages.page_subscription import (
    LogLine,
    SubscriptionView,
    render_subscription_page,
    render_subscriptions_page,
    render_unsubscribe_page,
    render_unsubscribed_page,
    replay_message,
)
from feedweir.deliver.render.plain import rfc3339
from feedweir.deliver.signed_links import Purpose
from feedweir.web.door import Door
from feedweir.web.responses import json_response

_PAGE = 100
_FORMS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}
"""These pages contain no foreign HTML, and have a form."""

Limit = Annotated[int, Query(ge=1, le=1000)]


def subscription_routes(door: Door, deliveries: DeliveryAdmin) -> APIRouter:
    """Pages for readers, by signed links; JSON for programs, with the token."""
    router = APIRouter()

    @router.get("/unsubscribe/{token}")
    def ask(token: str) -> Response:
        view = _signed(deliveries, token, "unsubscribe")
        render = render_unsubscribed_page if view.status == "dropped" else render_unsubscribe_page
        return _page(render(view, door.path()))

    @router.post("/unsubscribe/{token}")
    def unsubscribe(token: str) -> Response:
        """One-click unsubscribing (RFC 8058), straight from a mail program. The request's body is ignored."""
        view = _signed(deliveries, token, "unsubscribe")
        deliveries.unsubscribe(view.id)
        return _page(render_unsubscribed_page(view, door.path()))

    @router.get("/subscriptions")
    def listed(request: Request, after: int = 0) -> Response:
        found = deliveries.subscriptions(after=after, limit=_PAGE + 1)
        following = found[_PAGE - 1].id if len(found) > _PAGE else 0
        return _page(render_subscriptions_page(found[:_PAGE], following, door.path()))

    @router.get("/subscriptions/{token}")
    def log_page(token: str, before: int | None = None, replayed: int | None = None) -> Response:
        view = _signed(deliveries, token, "log")
        lines = deliveries.log(view.id, before=before, limit=_PAGE + 1)
        earlier = lines[_PAGE - 1].id if len(lines) > _PAGE else 0
        message = "" if replayed is None else replay_message(replayed, view)
        return _page(render_subscription_page(view, lines[:_PAGE], earlier, door.path(), message=message))

    @router.post("/subscriptions/{token}/replay")
    def replay_page(token: str) -> Response:
        view = _signed(deliveries, token, "log")
        count = deliveries.replay(view.id)
        page = f"{door.path().subscription(token)}?replayed={count}"
        return RedirectResponse(page, status_code=303)

    @router.get("/v1/subscriptions")
    def subscriptions(request: Request, limit: Limit = 100, after: int = 0) -> Response:
        found = deliveries.subscriptions(after=after, limit=limit + 1)
        following = found[limit - 1].id if len(found) > limit else None
        shown = [_subscription_json(view, door, request) for view in found[:limit]]
        return json_response({"subscriptions": shown, "next_after": following})

    @router.get("/v1/subscriptions/{name:path}/log")
    def log(request: Request, name: str, limit: Limit = 100, before: int | None = None) -> Response:
        lines = deliveries.log(_known(deliveries, name).id, before=before, limit=limit)
        return json_response({"log": [_line_json(line) for line in lines]})

    @router.get("/v1/subscriptions/{name:path}/dead")
    def dead(request: Request, name: str, limit: Limit = 100, after: int = 0) -> Response:
        letters = deliveries.dead(_known(deliveries, name).id, after=after, limit=limit)
        return json_response({"dead": [_line_json(line) for line in letters]})

    @router.post("/v1/subscriptions/{name:path}/replay")
    def replay(
        request: Request,
        name: str,
        entry: Annotated[list[int] | None, Query()] = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> Response:
        count = deliveries.replay(_living(deliveries, name).id, entry, since=_utc(since), until=_utc(until))
        return json_response({"replayed": count})

    # Last: names may contain slashes.
    @router.get("/v1/subscriptions/{name:path}")
    def subscription(request: Request, name: str) -> Response:
        return json_response(_subscription_json(_known(deliveries, name), door, request))

    return router


def _signed(deliveries: DeliveryAdmin, token: str, purpose: Purpose) -> SubscriptionView:
    view = deliveries.of_token(token, purpose)
    if view is None:
        raise HTTPException(404, "This link is incomplete, or was not created by this server.")
    return view


def _known(deliveries: DeliveryAdmin, name: str) -> SubscriptionView:
    """Also one that was dropped: its log can be read while it is kept."""
    view = deliveries.named(name, with_dropped=True)
    if view is None:
        raise HTTPException(404, f"There is no subscription {name}.")
    return view


def _living(deliveries: DeliveryAdmin, name: str) -> SubscriptionView:
    view = _known(deliveries, name)
    if view.status == "dropped":
        raise HTTPException(409, f"The subscription {name} was dropped; nothing can be sent to it.")
    return view


def _utc(moment: datetime | None) -> datetime | None:
    return None if moment is None else moment.replace(tzinfo=moment.tzinfo or UTC)


def _page(body: bytes) -> Response:
    return Response(body, headers=_FORMS, media_type="text/html; charset=utf-8")


def _subscription_json(view: SubscriptionView, door: Door, request: Request) -> dict[str, Any]:
    values = asdict(view)
    address = door.address(request)
    values["links"] = {
        "log": address.subscription(values.pop("token")),
        "unsubscribe": address.unsubscribe(values.pop("unsubscribe_token")),
    }
    last = rfc3339(view.last_sent) if view.last_sent else None
    return {**values, "created": rfc3339(view.created), "last_sent": last}


def _line_json(line: LogLine) -> dict[str, Any]:
    return {**asdict(line), "at": rfc3339(line.at)}
