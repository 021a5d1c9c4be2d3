"""A real browser, spoken to over the DevTools protocol."""

from __future__ import annotations

import asyncio
import subprocess
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import aiohttp

_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--remote-debugging-port=0",
)


class Tab:
    """One page. Events that arrive while an answer is awaited are kept in `events`."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, session: str) -> None:
        self._socket = socket
        self._session = session
        self._numbers = count(1)
        self.events: list[dict[str, Any]] = []

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        await self._socket.send_json({**message, "sessionId": self._session} if self._session else message)
        while True:
            reply = await self._socket.receive_json(timeout=60)
            if reply.get("id") == number:
                assert "error" not in reply, reply["error"]
                return dict(reply["result"])
            self.events.append(reply)

    async def open(self, url: str) -> None:
        """Go there, and wait until the page and all it needs is loaded."""
        self.events.clear()
        await self.call("Page.navigate", url=url)
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(await self._socket.receive_json(timeout=60))

    async def evaluate(self, expression: str) -> Any:
        """The value of the expression in the page; the page's own policy does not bind the tester."""
        found = await self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    async def be(self, *, width: int = 1100, is_dark: bool = False) -> None:
        """A screen of this width, in this light."""
        await self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
        await self.call("Emulation.setEmulatedMedia", features=[scheme])

    def complaints(self) -> list[str]:
        """What the browser said against the page: refused scripts, missing files."""
        return [
            event["params"]["entry"]["text"]
            for event in self.events
            if event.get("method") == "Log.entryAdded"
        ]


def browse(chromium: str, visit: Callable[[Tab], Coroutine[Any, Any, None]]) -> None:
    """Run a visit in a fresh browser."""

    async def run() -> None:
        async with _tab(chromium) as tab:
            await visit(tab)

    asyncio.run(run())


@asynccontextmanager
async def _tab(chromium: str) -> AsyncIterator[Tab]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [chromium, *_FLAGS, f"--user-data-dir={profile}", "about:blank"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            address = _address_of(process)
            async with aiohttp.ClientSession() as http, http.ws_connect(address, max_msg_size=0) as socket:
                yield await _attach(socket)
        finally:
            process.kill()
            process.wait()


def _address_of(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    for line in process.stderr:
        if "DevTools listening on " in line:
            return line.rpartition(" ")[2].strip()
    raise AssertionError("the browser did not start")


async def _attach(socket: aiohttp.ClientWebSocketResponse) -> Tab:
    browser = Tab(socket, "")
    target = await browser.call("Target.createTarget", url="about:blank")
    session = await browser.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
    tab = Tab(socket, session["sessionId"])
    for domain in ("Page", "Runtime", "Log"):
        await tab.call(f"{domain}.enable")
    return tab
