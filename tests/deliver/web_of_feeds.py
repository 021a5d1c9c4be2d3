"""A web of many feeds and all kinds of readers on loopback, in one event loop of its own thread.

The origin serves `/good/N` for any N: as many items as were published so far, with validators; some of them flap
between 500 and 200, some say 429 at first. Under `/bad/` everything that a hostile server does. The readers take mail,
webhooks and WebSub pushes, fail at random, before or after they have taken a message, and remember what they took under
its key.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import random
import re
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default as MAIL_POLICY
from functools import cache
from typing import Any

from aiohttp import web
from aiosmtpd.smtp import SMTP

HOSTILE = ("slow", "endless", "bomb", "loop", "page", "picture", "broken", "cut", "away")
"""What is served under `/bad/`."""
_STORY = re.compile(r"story (\d+/\d+)\b")


@dataclass
class WebOfFeeds:
    luck: random.Random
    failing: float = 0.15
    published: int = 1
    """Items that each good source has shown so far; raised by the test."""
    polls: Counter[str] = field(default_factory=Counter)
    taken: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=lambda: defaultdict(dict))
    """By reader: what came under each key."""
    repeats: int = 0
    """Messages that a reader recognised by their key."""
    contradictions: list[str] = field(default_factory=list)
    """Keys that came with other content."""
    url: str = ""
    smtp_port: int = 0

    # The origin

    async def good(self, request: web.Request) -> web.StreamResponse:
        number = int(request.match_info["number"])
        self.polls[request.path] += 1
        if number % 10 == 7 and self.polls[request.path] % 2:
            return web.Response(status=500, text="down")
        if number % 10 == 3 and self.polls[request.path] == 1:
            return web.Response(status=429, headers={"Retry-After": "1"})
        etag = f'"{self.published}"'
        if request.headers.get("If-None-Match") == etag:
            return web.Response(status=304, headers={"ETag": etag})
        body = feed(number, self.published)
        return web.Response(body=body, content_type="application/rss+xml", headers={"ETag": etag})

    async def bad(self, request: web.Request) -> web.StreamResponse:
        kind = request.match_info["kind"]
        self.polls[request.path] += 1
        if kind in ("slow", "endless"):
            return await self._drip(request, b"" if kind == "slow" else b"<item>x</item>" * 4_000)
        if kind == "loop":
            raise web.HTTPFound("/bad/loop")
        if kind == "bomb":
            return web.Response(
                body=_bomb(), headers={"Content-Encoding": "gzip", "Content-Type": "text/xml"}
            )
        if kind == "cut":
            return web.Response(body=feed(1, 3)[:120], headers={"Content-Type": "application/rss+xml"})
        bodies = {"page": b"<html><body>hello", "picture": b"\x89PNG\r\n\x1a\n" * 99, "broken": b"<rss><chan"}
        return web.Response(status=410 if kind == "away" else 200, body=bodies.get(kind, b""))

    async def _drip(self, request: web.Request, chunk: bytes) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/rss+xml"})
        await response.prepare(request)
        await response.write(b'<rss version="2.0"><channel>')
        with suppress(ConnectionError):
            while True:
                await response.write(chunk or b" ")
                await asyncio.sleep(0.5 if not chunk else 0)
        return response

    # The readers

    def take(self, reader: str, key: str, text: str) -> None:
        stories = tuple(sorted(set(_STORY.findall(text))))
        known = self.taken[reader].setdefault(key, stories)
        if known != stories:
            self.contradictions.append(f"{reader}: {key}")
        self.repeats += known is not stories

    def is_bad(self) -> bool:
        return self.luck.random() < self.failing

    async def hook(self, request: web.Request) -> web.Response:
        body = await request.text()
        if self.is_bad():
            return web.Response(status=503)
        self.take(request.path, request.headers["webhook-id"], json.dumps(json.loads(body)["data"]))
        return web.Response(status=500 if self.is_bad() else 204)

    async def pushed(self, request: web.Request) -> web.Response:
        if self.is_bad():
            return web.Response(status=503)
        self.take(request.path, request.headers["Idempotency-Key"], await request.text())
        return web.Response(status=500 if self.is_bad() else 204)

    async def verify(self, request: web.Request) -> web.Response:
        return web.Response(text=request.query["hub.challenge"])

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        if self.is_bad():
            return "451 later"
        message = message_from_bytes(envelope.content, policy=MAIL_POLICY)
        assert isinstance(message, EmailMessage)
        body = message.get_body(("plain",))
        assert body is not None
        self.take(envelope.rcpt_tos[0], message["Message-ID"], body.get_content())
        return "451 lost" if self.is_bad() else "250 OK"

    def stories_of(self, reader: str) -> list[str]:
        """What a reader that remembers keys has, as often as it has it."""
        return sorted(story for stories in list(self.taken[reader].values()) for story in stories)


@cache
def _bomb() -> bytes:
    return gzip.compress(b"<rss><channel>" + b" " * 60_000_000)


def feed(number: int, published: int) -> bytes:
    items = "".join(
        f"<item><guid>{number}/{count}</guid><title>story {number}/{count}</title>"
        f"<link>http://feeds.example/{number}/{count}</link></item>"
        for count in range(published, 0, -1)
    )
    return f'<rss version="2.0"><channel><title>Feed {number}</title>{items}</channel></rss>'.encode()


@contextmanager
def web_of_feeds(seed: int, *, failing: float = 0.15) -> Iterator[WebOfFeeds]:
    made = WebOfFeeds(random.Random(seed), failing)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    closing = asyncio.run_coroutine_threadsafe(_open(made, loop), loop).result(30)
    try:
        yield made
    finally:
        asyncio.run_coroutine_threadsafe(closing(), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _open(made: WebOfFeeds, loop: asyncio.AbstractEventLoop) -> Any:
    app = web.Application(client_max_size=16 << 20)
    app.router.add_get("/good/{number}", made.good)
    app.router.add_get("/bad/{kind}", made.bad)
    app.router.add_post("/hook/{reader}", made.hook)
    app.router.add_post("/push/{reader}", made.pushed)
    app.router.add_get("/push/{reader}", made.verify)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    smtp = await loop.create_server(lambda: SMTP(made, loop=loop, hostname="localhost"), "127.0.0.1", 0)
    made.smtp_port = smtp.sockets[0].getsockname()[1]

    async def close() -> None:
        smtp.close()
        await runner.cleanup()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await asyncio.sleep(0)

    return close
