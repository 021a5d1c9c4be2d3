"""The guarded transport of acquisition, lent to the channels that post."""

from __future__ import annotations

import asyncio

from feedweir.acquire.exchange import Reason, Request, Transport, TransportError
from feedweir.acquire.http_rules import wire_url
from feedweir.deliver.posting import Answer, Post
from feedweir.errors import DeliveryError

_MAX_BODY_BYTES = 4_096
_FINAL = (Reason.BAD_URL, Reason.FORBIDDEN_ADDRESS)


class GuardedPoster:
    """Posts through a transport that refuses forbidden addresses; reads only the beginning of an answer."""

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
            raise DeliveryError(f"no answer came within {self._timeout_s:g} seconds") from None
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
