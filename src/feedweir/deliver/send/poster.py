"""HTTP requests of channels, what their responses mean, and a poster that refuses private addresses."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Protocol

from feedweir.acquire.fetch.http_rules import wire_url
from feedweir.acquire.fetch.transport import Reason, Request, Transport, TransportError
from feedweir.errors import DeliveryError

_EXCERPT = 200


@dataclass(frozen=True, slots=True)
class Post:
    """One request. Redirects are not followed: the operator must give the new address."""

    url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    method: str = "POST"


@dataclass(frozen=True, slots=True)
class Answer:
    """`headers` by lower-case name; `body` is only the beginning, for error messages."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


class Poster(Protocol):
    """Sends requests to permitted addresses; raises DeliveryError when there is no response."""

    async def __call__(self, post: Post) -> Answer: ...


def check(answer: Answer, now: datetime) -> None:
    """Return on success (any 2xx); otherwise raise the DeliveryError that says whether and when to retry."""
    if 200 <= answer.status < 300:
        return
    detail = " ".join(answer.body[:_EXCERPT].decode("utf-8", "replace").split())
    raise DeliveryError(
        f"the receiver responded with HTTP {answer.status}" + (f": {detail}" if detail else ""),
        is_final=is_final(answer.status),
        is_gone=answer.status == 410,
        retry_after_s=retry_after_s(answer.headers.get("retry-after", ""), now),
        hint="change the target to the new address" if 300 <= answer.status < 400 else "",
    )


def is_final(status: int) -> bool:
    """Whether the same request can never succeed: refusals, except those that may be temporary.

    A receiver whose credentials or routes are being fixed (401, 403, 404) is retried like any other failure.
    """
    return 300 <= status < 500 and status not in (401, 403, 404, 408, 409, 421, 423, 425, 429)


def retry_after_s(value: str, now: datetime) -> float | None:
    """A Retry-After header, in seconds from now."""
    text = value.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        until = parsedate_to_datetime(text)
    except ValueError:
        return None
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(0.0, (until - now).total_seconds())


_MAX_BODY_BYTES = 4_096
_FINAL = (Reason.BAD_URL, Reason.FORBIDDEN_ADDRESS)


class GuardedPoster:
    """Reads only the beginning of a response."""

    def __init__(self, transport: Transport, *, timeout_s: float = 20.0) -> None:
        self._transport = transport
        self._timeout_s = timeout_s

    async def __call__(self, post: Post) -> Answer:
        url = wire_url(post.url)
        if url is None:
            raise DeliveryError(f"{post.url!r} is not an http or https address", is_final=True)
        try:
            return await asyncio.wait_for(self._exchange(post, url), self._timeout_s)
        except TimeoutError:
            raise DeliveryError(f"no response within {self._timeout_s:g} seconds") from None
        except TransportError as error:
            detail = f": {error.detail}" if error.detail else ""
            raise DeliveryError(f"{error.reason.value}{detail}", is_final=error.reason in _FINAL) from error

    async def _exchange(self, post: Post, url: str) -> Answer:
        async with self._transport.open(Request(url, post.headers, post.method, post.body)) as response:
            body = b""
            async for chunk in response.chunks:
                body += chunk
                if len(body) >= _MAX_BODY_BYTES:
                    break
            return Answer(
                response.status,
                {name.lower(): value for name, value in response.headers},
                body[:_MAX_BODY_BYTES],
            )
