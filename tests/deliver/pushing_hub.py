"""A WebSub hub as publishers use one: it verifies subscribers, signs what it pushes, and tries until it is taken."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlencode

import aiohttp
from aiohttp import web

_LEASE_S = 86_400
_AT_ONCE = 16
_AGAIN_S = 0.5


@dataclass(frozen=True)
class Listener:
    """Who asked for a topic."""

    callback: str
    secret: str
    number: int


class PushingHub:
    """Pushes one new story at a time, and only that: what came before a lease has to be polled."""

    def __init__(self, feed: Callable[[int, int, int], bytes]) -> None:
        self._feed = feed
        self._listeners: dict[str, Listener] = {}
        self._published = 1
        self._queue: asyncio.Queue[tuple[Listener, int]] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopped = asyncio.Event()
        self.pushes = 0

    @property
    def leases(self) -> int:
        return len(self._listeners)

    async def open(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10))
        self._tasks = {asyncio.create_task(self._work()) for _ in range(_AT_ONCE)}

    async def close(self) -> None:
        self._stopped.set()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._session.close()

    def publish(self, count: int) -> None:
        """Tell the hub, from any thread, that every source has so many stories now."""
        self._loop.call_soon_threadsafe(self._publish, count)

    def _publish(self, count: int) -> None:
        for story in range(self._published + 1, count + 1):
            for listener in self._listeners.values():
                self._queue.put_nowait((listener, story))
        self._published = count

    async def asked(self, request: web.Request) -> web.Response:
        form = await request.post()
        topic = str(form["hub.topic"])
        number = int(topic.rpartition("/")[2])
        listener = Listener(str(form["hub.callback"]), str(form["hub.secret"]), number)
        self._tasks.add(asyncio.create_task(self._verify(topic, listener)))
        return web.Response(status=202)

    async def _verify(self, topic: str, listener: Listener) -> None:
        challenge = secrets.token_hex(8)
        asked = {
            "hub.mode": "subscribe",
            "hub.topic": topic,
            "hub.challenge": challenge,
            "hub.lease_seconds": str(_LEASE_S),
        }
        url = f"{listener.callback}?{urlencode(asked)}"
        while not (await self._answered(url, challenge, listener) or self._stopped.is_set()):
            await self._pause()

    async def _answered(self, url: str, challenge: str, listener: Listener) -> bool:
        """Whether the subscriber said anything: one that died half-way is asked again, or it would wait in vain."""
        try:
            async with self._session.get(url) as response:
                if response.status == 200 and await response.text() == challenge:
                    self._listeners[listener.callback] = listener
                return True
        except (aiohttp.ClientError, TimeoutError):
            return False

    async def _work(self) -> None:
        while True:
            listener, story = await self._queue.get()
            while not (await self._pushed(listener, story) or self._stopped.is_set()):
                await self._pause()

    async def _pushed(self, listener: Listener, story: int) -> bool:
        body = self._feed(listener.number, story, story)
        signature = hmac.new(listener.secret.encode(), body, hashlib.sha256).hexdigest()
        headers = {"Content-Type": "application/rss+xml", "X-Hub-Signature": f"sha256={signature}"}
        try:
            async with self._session.post(listener.callback, data=body, headers=headers) as response:
                self.pushes += response.ok
                return response.ok
        except (aiohttp.ClientError, TimeoutError):
            return False

    async def _pause(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_AGAIN_S):
                await self._stopped.wait()
