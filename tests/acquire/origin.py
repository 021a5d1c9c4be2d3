"""A real HTTP origin on loopback whose behaviour a test scripts, path by path."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

Handler = Callable[["Asked", asyncio.StreamWriter], Awaitable[None]]


@dataclass(frozen=True)
class Asked:
    """A request as it arrived."""

    path: str
    headers: tuple[tuple[str, str], ...]

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)


@dataclass
class Origin:
    """Answers each path by its handler; remembers every request."""

    port: int = 0
    handlers: dict[str, Handler] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def answers(self, path: str, *answers: bytes) -> None:
        """The answers in turn; the last one again and again."""
        left = list(answers)

        async def handler(asked: Asked, writer: asyncio.StreamWriter) -> None:
            writer.write(left.pop(0) if len(left) > 1 else left[0])

        self.handlers[path] = handler

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (asked := await _read(reader)) is not None:
                self.asked.append(asked)
                handler = self.handlers.get(asked.path)
                if handler is None:
                    writer.write(answer(404))
                else:
                    await handler(asked, writer)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def an_origin() -> AsyncIterator[Origin]:
    origin = Origin()
    server = await asyncio.start_server(origin.serve, "127.0.0.1", 0)
    origin.port = server.sockets[0].getsockname()[1]
    try:
        yield origin
    finally:
        server.close()


def answer(
    status: int, body: bytes = b"", *headers: tuple[str, str], content_type: str = "application/rss+xml"
) -> bytes:
    """A whole answer as bytes."""
    lines = [f"HTTP/1.1 {status} Reason", f"Content-Length: {len(body)}", f"Content-Type: {content_type}"]
    lines += [f"{name}: {value}" for name, value in headers]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def as_handler(whole: bytes) -> Handler:
    """A handler that always answers the same."""

    async def handler(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(whole)

    return handler


async def _read(reader: asyncio.StreamReader) -> Asked | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.strip().split("\r\n")
    headers = tuple((line.partition(":")[0], line.partition(":")[2].strip()) for line in lines)
    return Asked(first.split(" ")[1], headers)
