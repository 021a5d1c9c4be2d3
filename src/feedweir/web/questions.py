"""Routes that ask: look back over what is stored, which feeds want an item, and why one is or is not in a feed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response

from feedweir.deliver.address import Address
from feedweir.deliver.plain import rfc3339
from feedweir.engine.wanting import Wanting
from feedweir.errors import CatalogError
from feedweir.items.model import Item
from feedweir.match.history import LookBack
from feedweir.web.admission import owner_in, read_body
from feedweir.web.door import Door
from feedweir.web.respond import body_response, json_response

MAX_FOUND = 1000


def question_routes(door: Door) -> APIRouter:
    router = APIRouter()
    library = door.library

    @router.get("/v1/search")
    def search(
        request: Request,
        q: Annotated[str, Query(min_length=1, description="As in a search box: flood -market intitle:river")],
        limit: Annotated[int, Query(ge=1, le=MAX_FOUND)] = 50,
        owner: str = "",
    ) -> Response:
        """Stored items, newest first, with counts of all that there are; of an owner, those in their feeds."""
        found = library.search(q, limit, owner=owner_in(owner) or None)
        return json_response(_found(found, door.address(request)))

    @router.get("/v1/why")
    def why(request: Request, item: str, feed: str, format: Literal["json", "text"] = "json") -> Response:
        """Which clauses hold, by which atom it became a candidate, which clause refused it."""
        with _missing_is_404():
            told = library.why(int(item) if item.isascii() and item.isdigit() else item, feed)
        if format == "json":
            return json_response(told.to_json())
        return body_response(request, "\n".join(told.lines()).encode(), "text/plain", now=door.clock())

    @router.get("/v1/items/{seq}/feeds")
    def wanting(request: Request, seq: int, owner: str = "") -> Response:
        """The feeds that want a stored item; of an owner, only theirs are looked at."""
        with _missing_is_404():
            found = library.wanting(seq, owner=owner_in(owner) or None)
        return json_response(_wanting(found, door.address(request)))

    @router.post("/v1/match")
    async def match(request: Request, source: str = "", owner: str = "") -> Response:
        """The feeds that would want the items of a document; nothing of it is kept."""
        body = await read_body(request, door.options.max_statement_bytes)
        asked = {"source": source, "media_type": request.headers.get("content-type", "")}
        whose = owner_in(owner) or None
        found = await run_in_threadpool(lambda: library.wanting_document(body, **asked, owner=whose))
        return json_response(_wanting(found, door.address(request)))

    return router


@contextmanager
def _missing_is_404() -> Iterator[None]:
    """What a question is about and is not there is no conflict."""
    try:
        yield
    except CatalogError as error:
        raise HTTPException(404, str(error)) from error


def _found(found: LookBack, address: Address) -> dict[str, Any]:
    return {
        "searched": found.searched,
        "hits": found.found,
        "per_day": {day.isoformat(): count for day, count in found.per_day},
        "items": [_item(item, address) for item in found.items],
        "skipped": list(found.skipped),
    }


def _wanting(found: Wanting, address: Address) -> dict[str, Any]:
    return {
        "asked": found.asked,
        "candidates": found.candidates,
        "items": [
            {
                **_item(one.item, address),
                "feeds": list(one.feeds),
                "joins": [part.to_json() for part in one.joins],
            }
            for one in found.items
        ],
    }


def _item(item: Item, address: Address) -> dict[str, Any]:
    return {
        "seq": item.seq,
        "time": rfc3339(item.time),
        "source": item.source,
        "title": item.title,
        "link": item.link,
        "guid": item.identity,
        "revision": item.revision,
        "page": address.item(item.seq),
    }
