"""Routes for quarantined documents: list them, read one, retry or drop it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict

from fastapi import APIRouter, HTTPException
from fastapi.responses import Response

from feedweir.errors import LandingError
from feedweir.web.door import Door
from feedweir.web.responses import json_response


def quarantine_routes(door: Door) -> APIRouter:
    router = APIRouter()
    backend = door.backend

    @router.get("/v1/quarantine")
    def waiting() -> Response:
        """Documents that await a decision, oldest first."""
        return json_response({"documents": [asdict(one) for one in backend.quarantined()]})

    @router.get("/v1/quarantine/{number}")
    def document(number: int) -> Response:
        """The document as it was received, to be saved and never shown by a browser."""
        with _missing_is_404():
            body = backend.quarantined_document(number).body
        headers = {"Content-Disposition": f'attachment; filename="document-{number}"'}
        return Response(body, media_type="application/octet-stream", headers=headers)

    @router.post("/v1/quarantine/{number}/retry")
    def retry(number: int) -> Response:
        """Land the document again, after everything that has landed so far."""
        with _missing_is_404():
            return json_response({"landed": backend.retry_quarantined(number)}, status=202)

    @router.post("/v1/quarantine/{number}/drop")
    def drop(number: int) -> Response:
        """Remove the document from the list; it stays in the landing log and is never read."""
        with _missing_is_404():
            backend.drop_quarantined(number)
        return Response(status_code=204)

    return router


@contextmanager
def _missing_is_404() -> Iterator[None]:
    try:
        yield
    except LandingError as error:
        raise HTTPException(404, str(error)) from error
