"""Responses: bodies with validators and compression, errors as JSON or as a page."""

from __future__ import annotations

import gzip
import hashlib
import json
from datetime import datetime
from http import HTTPStatus

from fastapi import Request
from fastapi.responses import Response

from feedweir.deliver.address import Address
from feedweir.deliver.pages.page import render_problem
from feedweir.deliver.render.plain import rfc822
from feedweir.text.redact import without_secrets
from feedweir.web.negotiation import is_unchanged, preferred, settled, takes_gzip

_GZIP_FROM_BYTES = 1024

PROBLEM = "application/problem+json"


def body_response(
    request: Request,
    body: bytes,
    media_type: str,
    *,
    now: datetime,
    modified: datetime | None = None,
    cache: str = "no-cache",
) -> Response:
    """The body, or 304 if the client has it. `no-cache` means: store it, but revalidate before using it."""
    digest = hashlib.blake2b(body, digest_size=16).hexdigest()
    modified = settled(modified, now)
    headers = {"Cache-Control": cache, "Vary": "Accept, Accept-Encoding"}
    if modified is not None:
        headers["Last-Modified"] = rfc822(modified)
    is_zipped = len(body) >= _GZIP_FROM_BYTES and takes_gzip(request.headers.get("accept-encoding", ""))
    # A strong tag identifies exact bytes, so the compressed body has its own.
    plain, zipped = f'"{digest}"', f'"{digest}-gzip"'
    headers["ETag"] = zipped if is_zipped else plain
    if _has_it(request, (plain, zipped), modified):
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    if is_zipped:
        headers["Content-Encoding"] = "gzip"
        body = gzip.compress(body, 6, mtime=0)
    return Response(body, media_type=charset_of(media_type), headers=headers)


def _has_it(request: Request, etags: tuple[str, ...], modified: datetime | None) -> bool:
    headers = request.headers
    return is_unchanged(headers.get("if-none-match"), headers.get("if-modified-since"), etags, modified)


def charset_of(media_type: str) -> str:
    """JSON is UTF-8 by definition; other types must declare it."""
    return media_type if media_type.endswith("json") else f"{media_type}; charset=utf-8"


def problem(
    request: Request,
    status: int,
    detail: str,
    *,
    near: tuple[str, ...] = (),
    headers: dict[str, str] | None = None,
    **extra: object,
) -> Response:
    """An error (RFC 9457), as a page for clients that prefer one."""
    title, detail = HTTPStatus(status).phrase, without_secrets(detail)
    headers = {"Vary": "Accept", **(headers or {})}
    wanted = preferred(request.headers.get("accept", ""), (PROBLEM, "application/json", "text/html"))
    if wanted == "text/html":
        page = render_problem(Address(), title, detail, near)
        return Response(page, status, headers, media_type="text/html; charset=utf-8")
    fields = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    fields |= {"near": list(near)} if near else {}
    return json_response({**fields, **extra}, status=status, media_type=PROBLEM, headers=headers)


def json_response(
    value: object,
    *,
    status: int = 200,
    media_type: str = "application/json",
    headers: dict[str, str] | None = None,
) -> Response:
    # Without an indent: Python's encoder writes that by itself, and takes longer than matching for long answers.
    body = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
    return Response(body, status, headers, media_type=media_type)
