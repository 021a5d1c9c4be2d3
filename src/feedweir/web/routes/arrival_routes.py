"""Routes for incoming documents: pushed by programs, or by WebSub hubs that we subscribed at."""

from __future__ import annotations

from asyncio import Semaphore

from fastapi import APIRouter, HTTPException, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import PlainTextResponse, Response

from feedweir.acquire.intake import Intake
from feedweir.errors import CatalogError
from feedweir.web.admission import read_body
from feedweir.web.door import Door
from feedweir.web.responses import json_response

MAX_DOCUMENT_BYTES = 16 << 20
_READ_AT_ONCE = 8


def arrival_routes(door: Door, intake: Intake) -> APIRouter:
    """`POST /push/NAME` and the callbacks of our WebSub subscriptions."""
    router = APIRouter()
    # Few documents are parsed at a time: those that wait leave the threads to other requests.
    turns = Semaphore(_READ_AT_ONCE)

    @router.post("/push/{name:path}")
    async def push(name: str, request: Request) -> Response:
        try:
            await run_in_threadpool(intake.check_source, name)
        except CatalogError as error:
            raise HTTPException(404, str(error)) from error
        await run_in_threadpool(_refuse_if_full, intake)
        body = await read_body(request, MAX_DOCUMENT_BYTES)
        media_type = request.headers.get("content-type", "")
        async with turns:
            segment = await run_in_threadpool(intake.push, name, body, media_type)
        return json_response({"landed": segment}, status=202)

    @router.get("/websub/{name:path}/{token}")
    def verify(name: str, token: str, request: Request) -> Response:
        answer = intake.verify(name, token, dict(request.query_params))
        if answer is None or answer.status != 200:
            raise HTTPException(404, "We did not request this.")
        return PlainTextResponse(answer.body)

    @router.post("/websub/{name:path}/{token}")
    async def receive(name: str, token: str, request: Request) -> Response:
        await run_in_threadpool(_refuse_if_full, intake)
        body = await read_body(request, MAX_DOCUMENT_BYTES)
        headers = tuple(request.headers.items())
        media_type = request.headers.get("content-type", "")
        if not await run_in_threadpool(intake.receive, name, token, body, headers, media_type):
            # 410 tells a hub that the subscription has ended.
            raise HTTPException(410, "This subscription has ended.")
        return Response(status_code=202)

    return router


def _refuse_if_full(intake: Intake) -> None:
    """Tell the sender to come back when too much waits to be published; nothing of the document has been read."""
    wait_s = intake.wait_s()
    if wait_s:
        detail = f"Too many documents wait to be published; send this again in {wait_s} s."
        raise HTTPException(429, detail, headers={"Retry-After": str(wait_s)})
