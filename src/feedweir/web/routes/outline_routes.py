"""OPML over HTTP: export of the sources or of the virtual feeds, and import."""

from __future__ import annotations

from dataclasses import asdict

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response

from feedweir.deliver.render.opml_format import render_opml
from feedweir.deliver.render.view import FeedKind
from feedweir.web.admission import read_body
from feedweir.web.door import Door
from feedweir.web.responses import body_response, json_response

MAX_OUTLINE_BYTES = 16 << 20


def outline_routes(door: Door) -> APIRouter:
    """`/feeds.opml`: what `feedweir export` and `import` do."""
    router = APIRouter()
    backend = door.backend

    @router.get("/feeds.opml")
    def export(request: Request, kind: FeedKind = "source") -> Response:
        """The sources, in the outline from which they were imported; or the virtual feeds."""
        is_ours = kind == "virtual"
        body = (
            render_opml(backend.feed_views.feeds(kind=kind), door.address(request))
            if is_ours
            else backend.outline()
        )
        return body_response(request, body, "text/x-opml", now=door.clock())

    @router.post("/feeds.opml")
    async def import_(request: Request) -> Response:
        body = await read_body(request, MAX_OUTLINE_BYTES)
        done = await run_in_threadpool(backend.import_outline, body)
        refused = [{"name": name, "reason": reason} for name, reason in done.refused]
        return json_response({**asdict(done), "refused": refused})

    return router
