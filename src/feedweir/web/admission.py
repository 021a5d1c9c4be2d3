"""Who may ask for what, and how much they may say."""

from __future__ import annotations

import hmac

from fastapi import HTTPException, Request

from feedweir.items.owners import is_owner
from feedweir.web.door import Door
from feedweir.web.negotiate import is_same_site


def admit(door: Door, request: Request) -> None:
    """Statements change things: not for other people's pages, and only with the token when there is one."""
    headers = request.headers
    if not is_same_site(headers.get("origin"), headers.get("host"), headers.get("sec-fetch-site")):
        raise HTTPException(403, "Statements are not taken from pages of other sites.")
    token = door.options.statement_token
    given = headers.get("authorization", "")
    if token and not hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
        raise HTTPException(401, "Statements need the token.", headers={"WWW-Authenticate": "Bearer"})


async def read_body(request: Request, max_bytes: int) -> bytes:
    """The body, never more than the limit, whatever the request promised."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > max_bytes:
            raise HTTPException(413, f"More than {max_bytes} bytes are not taken at a time.")
    return bytes(body)


def owner_in(owner: str) -> str:
    """An owner as a request names it; empty is everyone."""
    if owner and not is_owner(owner):
        raise HTTPException(400, f"{owner!r} is not an owner: a name, or groups and a name, as in acme/ann.")
    return owner
