"""Real receivers on loopback: an SMTP server, and an HTTP server whose answers are chosen by the test."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default as MAIL_POLICY
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from aiosmtpd.smtp import SMTP


@dataclass
class Mailbox:
    """Takes mail; `refuse` maps a recipient to the SMTP answer it gets instead."""

    refuse: dict[str, str] = field(default_factory=dict)
    refuse_data: list[str] = field(default_factory=list)
    """Answers to the next messages, whoever they are for."""
    messages: list[EmailMessage] = field(default_factory=list)
    envelopes: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    port: int = 0
    arrived: threading.Event = field(default_factory=threading.Event)
    """Set by the first message."""

    async def handle_RCPT(self, server: Any, session: Any, envelope: Any, address: str, options: Any) -> str:
        if address in self.refuse:
            return self.refuse[address]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        if self.refuse_data:
            return self.refuse_data.pop(0)
        message = message_from_bytes(envelope.content, policy=MAIL_POLICY)
        assert isinstance(message, EmailMessage)
        self.messages.append(message)
        self.envelopes.append((envelope.mail_from, tuple(envelope.rcpt_tos)))
        self.arrived.set()
        return "250 OK"


@contextmanager
def mail_server() -> Iterator[Mailbox]:
    mailbox = Mailbox()
    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(
        loop.create_server(lambda: SMTP(mailbox, loop=loop, hostname="localhost"), "127.0.0.1", 0)
    )
    mailbox.port = server.sockets[0].getsockname()[1]
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield mailbox
    finally:
        loop.call_soon_threadsafe(server.close)
        loop.call_soon_threadsafe(_hang_up, loop)
        thread.join()
        loop.close()


def _hang_up(loop: asyncio.AbstractEventLoop) -> None:
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.call_later(0.01, loop.stop)


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """Remembers every request; `answer` chooses the status, headers and body."""

    answer: Callable[[Request], tuple[int, dict[str, str], bytes]] = lambda _: (204, {}, b"")
    requests: list[Request] = field(default_factory=list)
    url: str = ""


@contextmanager
def http_receiver() -> Iterator[Receiver]:
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _take(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Request(self.command, self.path, headers, body)
            receiver.requests.append(request)
            status, extra, content = receiver.answer(request)
            self.send_response(status)
            for name, value in extra.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = _take

        def log_message(self, format: str, *args: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    receiver.url = f"http://127.0.0.1:{server.server_port}/hook"
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
