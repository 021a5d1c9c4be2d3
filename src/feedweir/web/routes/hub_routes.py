"""Routes for other servers: the WebSub hub, and reports of undeliverable mail."""

from __future__ import annotations

from urllib.parse import parse_qsl, unquote, urlsplit

from fastapi import APIRouter, BackgroundTasks, HTTPException, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response

from feedweir.deliver.delivery_admin import DeliveryAdmin
from feedweir.deliver.hub import requested
from feedweir.errors import DeliveryError
from feedweir.web.admission import read_body
from feedweir.web.door import Door
from feedweir.web.responses import json_response

_MAX_FORM_BYTES = 65_536
_SUFFIXES = (".rss", ".atom", ".json")


def returning_routes(door: Door, deliveries: DeliveryAdmin) -> APIRouter:
    router = APIRouter()

    @router.post("/hub")
    async def hub(request: Request, background: BackgroundTasks) -> Response:
        """Accept at once, verify afterwards, as WebSub requires."""
        form = (await read_body(request, _MAX_FORM_BYTES)).decode("utf-8", "replace")
        try:
            wanted = requested(dict(parse_qsl(form, keep_blank_values=True)))
        except DeliveryError as error:
            raise HTTPException(400, f"{error}.") from None
        feed = _feed_of(wanted.topic, door)
        if feed is None or await run_in_threadpool(door.backend.feed_views.feed, feed, 0) is None:
            raise HTTPException(404, "hub.topic is not a feed of this server.")
        background.add_task(deliveries.hub, wanted, feed)
        return Response(status_code=202)

    @router.post("/v1/bounces")
    async def bounce(request: Request) -> Response:
        """Accept a mail server's report as it is (`message/rfc822`)."""
        report = await read_body(request, door.options.max_message_bytes)
        subscription = await run_in_threadpool(deliveries.bounce, report)
        return json_response({"subscription": subscription}, status=202)

    return router


def _feed_of(topic: str, door: Door) -> str | None:
    """The feed at this address; the hub serves only our own feeds, at the address that they announce."""
    base = door.options.public_url.rstrip("/")
    page = urlsplit(topic)._replace(query="", fragment="").geturl()
    if not base or not page.startswith(f"{base}/feeds/"):
        return None
    name = page.removeprefix(f"{base}/feeds/")
    suffix = next((each for each in _SUFFIXES if name.endswith(each)), "")
    return unquote(name.removesuffix(suffix)) if "/" not in name else None
