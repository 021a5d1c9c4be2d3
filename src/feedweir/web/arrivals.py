"""Routes by which documents come in: pushed by programs, and by the WebSub hubs that we subscribed at."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import PlainTextResponse, Response

from feedweir.errors import CatalogError
from feedweir.web.admission import read_body
from feedweir.web.door import Door
from feedweir.web.intake import Intake
from feedweir.web.respond import json_response

MAX_DOCUMENT_BYTES = 16 << 20


def arrival_routes(door: Door, intake: Intake) -> APIRouter:
    """`POST /push/NAME` and the callbacks of our WebSub subscriptions."""
    router = APIRouter()

    @router.post("/push/{name:path}")
    async def push(name: str, request: Request) -> Response:
        try:
            await run_in_threadpool(intake.check_source, name)
        except CatalogError as error:
            raise HTTPException(404, str(error)) from error
        body = await read_body(request, MAX_DOCUMENT_BYTES)
        media_type = request.headers.get("content-type", "")
        segment = await run_in_threadpool(intake.push, name, body, media_type)
        return json_response({"landed": segment}, status=202)

    @router.get("/websub/{name:path}/{token}")
    def verify(name: str, token: str, request: Request) -> Response:
        answer = intake.verify(name, token, dict(request.query_params))
        if answer is None or answer.status != 200:
            raise HTTPException(404, "This was not asked for.")
        return PlainTextResponse(answer.body)

    @router.post("/websub/{name:path}/{token}")
    async def receive(name: str, token: str, request: Request) -> Response:
        body = await read_body(request, MAX_DOCUMENT_BYTES)
        headers = tuple(request.headers.items())
        media_type = request.headers.get("content-type", "")
        if not await run_in_threadpool(intake.receive, name, token, body, headers, media_type):
            # 410 tells a hub that nobody listens here any more.
            raise HTTPException(410, "This subscription is over.")
        return Response(status_code=202)

    return router
