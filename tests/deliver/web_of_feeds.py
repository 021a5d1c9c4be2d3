"""A web of many feeds, a hub and all kinds of readers on loopback, in one event loop of its own thread.

Every source has an address of its own (127.x.y.z), as publishers have. `/good/N` shows what was published and not yet
acknowledged by a validator: whoever remembers a validator and not its document loses items for ever. Some flap between
500 and 200, some say 429 at first, some are pushed by a hub. Under `/bad/` is everything that a hostile server does.
"""

from __future__ import annotations

import asyncio
import gzip
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from aiohttp import web
from aiosmtpd.smtp import SMTP

from tests.deliver.pushing_hub import PushingHub
from tests.deliver.readers import Readers

HOSTILE = ("slow", "endless", "bomb", "loop", "page", "picture", "broken", "cut", "away")
"""What is served under `/bad/`."""
SPACING_S = 1.0
"""Requests to one address that come closer together than this are impolite."""
_PUSHED_EVERY = 20
_DRIP_S = 0.5


@dataclass
class WebOfFeeds:
    readers: Readers
    hub: PushingHub
    published: int = 1
    """Items that each good source has published so far."""
    polls: Counter[str] = field(default_factory=Counter)
    requests: int = 0
    impolite: list[str] = field(default_factory=list)
    """Requests that came too soon after another one to the same address."""
    port: int = 0
    smtp_port: int = 0
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    _acknowledged: Counter[int] = field(default_factory=Counter)
    _asked_at: dict[str, float] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def good_url(self, number: int) -> str:
        return f"http://127.{1 + number // 62_500}.{number // 250 % 250}.{number % 250 + 1}:{self.port}/good/{number}"

    def bad_url(self, kind: str) -> str:
        return f"http://127.200.0.{HOSTILE.index(kind) + 1}:{self.port}/bad/{kind}"

    def publish(self, count: int) -> None:
        """Every source has so many items from now on; the hub pushes the new ones."""
        self.published = count
        self.hub.publish(count)

    def forget_times(self) -> None:
        """A process that was killed could not remember whom it had just asked."""
        self._asked_at.clear()

    # The origin

    async def good(self, request: web.Request) -> web.StreamResponse:
        number = int(request.match_info["number"])
        self._note(request)
        if number % 10 == 7 and self.polls[request.path] % 2:
            return web.Response(status=500, text="down")
        if number % 10 == 3 and self.polls[request.path] == 1:
            return web.Response(status=429, headers={"Retry-After": "1"})
        known = request.headers.get("If-None-Match", "")
        if known:
            self._acknowledged[number] = int(known.strip('"'))
        headers = {"ETag": f'"{self.published}"', **self._links(number)}
        if self._acknowledged[number] == self.published and known:
            return web.Response(status=304, headers=headers)
        first = max(self._acknowledged[number], 1)
        body = feed(number, first, self.published)
        return web.Response(body=body, content_type="application/rss+xml", headers=headers)

    def _links(self, number: int) -> dict[str, str]:
        if number % _PUSHED_EVERY != 5:
            return {}
        return {"Link": f'<{self.url}/hub>; rel="hub", <{self.good_url(number)}>; rel="self"'}

    def _note(self, request: web.Request) -> None:
        now, host = time.monotonic(), request.host
        self.requests += 1
        self.polls[request.path] += 1
        # The process measures from when it asked; the way here may shorten the pause by a little.
        if now - self._asked_at.get(host, 0.0) < 0.9 * SPACING_S:
            self.impolite.append(request.path)
        self._asked_at[host] = now

    async def bad(self, request: web.Request) -> web.StreamResponse:
        kind = request.match_info["kind"]
        self.polls[request.path] += 1
        if kind in ("slow", "endless"):
            return await self._drip(request, b"" if kind == "slow" else b"<item>x</item>" * 4_000)
        if kind == "loop":
            raise web.HTTPFound("/bad/loop")
        if kind == "bomb":
            headers = {"Content-Encoding": "gzip", "Content-Type": "text/xml"}
            return web.Response(body=_bomb(), headers=headers)
        if kind == "cut":
            return web.Response(body=feed(1, 1, 3)[:120], headers={"Content-Type": "application/rss+xml"})
        bodies = {"page": b"<html><body>hello", "picture": b"\x89PNG\r\n\x1a\n" * 99, "broken": b"<rss><chan"}
        return web.Response(status=410 if kind == "away" else 200, body=bodies.get(kind, b""))

    async def _drip(self, request: web.Request, chunk: bytes) -> web.StreamResponse:
        """A space now and then, or as much as goes down the line, until the other side has enough."""
        response = web.StreamResponse(headers={"Content-Type": "application/rss+xml"})
        await response.prepare(request)
        await response.write(b'<rss version="2.0"><channel>')
        with suppress(ConnectionError):
            while not self.closing.is_set():
                await response.write(chunk or b" ")
                with suppress(TimeoutError):
                    async with asyncio.timeout(0 if chunk else _DRIP_S):
                        await self.closing.wait()
        return response


@cache
def _bomb() -> bytes:
    return gzip.compress(b"<rss><channel>" + b" " * 60_000_000)


def feed(number: int, first: int, last: int) -> bytes:
    """The stories of a source from the first to the last, newest first."""
    items = "".join(
        f"<item><guid>{number}/{count}</guid><title>story {number}/{count}</title>"
        f"<link>http://feeds.example/{number}/{count}</link></item>"
        for count in range(last, first - 1, -1)
    )
    return f'<rss version="2.0"><channel><title>Feed {number}</title>{items}</channel></rss>'.encode()


@contextmanager
def web_of_feeds(seed: int, *, failing: float = 0.15) -> Iterator[WebOfFeeds]:
    made = WebOfFeeds(Readers(random.Random(seed), failing), PushingHub(feed))
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
    app.router.add_post("/hub", made.hub.asked)
    app.router.add_post("/hook/{reader}", made.readers.hook)
    app.router.add_post("/push/{reader}", made.readers.pushed)
    app.router.add_get("/push/{reader}", made.readers.verify)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    # Every address of the loopback network, and that needs all.
    await web.TCPSite(runner, "0.0.0.0", 0, backlog=1024).start()
    made.port = runner.addresses[0][1]
    server = await loop.create_server(
        lambda: SMTP(made.readers, loop=loop, hostname="localhost"), "127.0.0.1", 0
    )
    made.smtp_port = server.sockets[0].getsockname()[1]
    await made.hub.open()

    async def close() -> None:
        made.closing.set()
        await made.hub.close()
        server.close()
        await runner.cleanup()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await asyncio.sleep(0)

    return close
