"""OPML over HTTP: the sources as they were imported, our own feeds as a list to subscribe to, and imports."""

from __future__ import annotations

from dataclasses import asdict

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response

from feedweir.deliver.opml import render_opml
from feedweir.deliver.view import FeedKind
from feedweir.web.admission import read_body
from feedweir.web.door import Door
from feedweir.web.respond import body_response, json_response

MAX_OUTLINE_BYTES = 16 << 20


def outline_routes(door: Door) -> APIRouter:
    """`/feeds.opml`: what `feedweir export` and `import` do."""
    router = APIRouter()
    library = door.library

    @router.get("/feeds.opml")
    def export(request: Request, kind: FeedKind = "source") -> Response:
        """The sources, in the outline that they were imported in; or our virtual feeds."""
        is_ours = kind == "virtual"
        body = render_opml(library.feeds(kind=kind), door.address(request)) if is_ours else library.outline()
        return body_response(request, body, "text/x-opml", now=door.clock())

    @router.post("/feeds.opml")
    async def import_(request: Request) -> Response:
        body = await read_body(request, MAX_OUTLINE_BYTES)
        done = await run_in_threadpool(library.import_outline, body)
        refused = [{"name": name, "reason": reason} for name, reason in done.refused]
        return json_response({**asdict(done), "refused": refused})

    return router
