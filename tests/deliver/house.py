"""An installation with its HTTP door open on a port, fed by hand and sending when told."""

from __future__ import annotations

import asyncio
import http.client
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from feedweir import Weir
from feedweir.cli.door import LocalLibrary
from feedweir.deliver.channels.mail import MailOptions
from feedweir.deliver.channels.smtp import SmtpServer
from feedweir.deliver.stylesheets import Stylesheets
from feedweir.keeper.desk import Desk, link_secret
from feedweir.keeper.entry_views import StoredViews
from feedweir.keeper.outlets import OutletOptions, opened_sender
from feedweir.keeper.service import RunningQuery, Service
from feedweir.web.app import create_app
from feedweir.web.door import WebOptions
from feedweir.web.serve import WebServer
from tests.web.web_client import Client


@dataclass
class House:
    weir: Weir
    desk: Desk
    client: Client
    url: str
    outlets: OutletOptions

    def publish(self, *numbers: int) -> None:
        """New items of the source Post, through the pipeline into the outbox."""
        self.weir.push("Post", document(*numbers))
        self.weir.run()

    def send(self) -> int:
        return asyncio.run(self._send())

    async def _send(self) -> int:
        views = StoredViews(self.weir.catalog, self.weir.store)
        async with opened_sender(self.weir.catalog, views, self.outlets, clock=self.weir.clock) as sender:
            return await sender.step()


def document(*numbers: int) -> bytes:
    items = "".join(
        f"<item><guid>{number}</guid><title>Story {number}</title><link>http://post.example/{number}</link></item>"
        for number in sorted(numbers, reverse=True)
    )
    return f'<rss version="2.0"><channel><title>The Post</title>{items}</channel></rss>'.encode()


@contextmanager
def house(
    directory: Path, *, token: str = "", smtp_port: int = 0, keep_alive_s: float = 0.05
) -> Iterator[House]:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with Weir.open(directory / "data") as weir:
        desk = Desk(
            weir.catalog,
            weir.store,
            clock=weir.clock,
            bell=weir.bell,
            allow_private=True,
            stylesheets=Stylesheets(weir.directory.root / "stylesheets"),
        )
        library = LocalLibrary(weir, Service(weir, _no_query, None))
        options = WebOptions(public_url=url, token=token, keep_alive_s=keep_alive_s)
        outlets = OutletOptions(
            outputs=directory / "out",
            smtp=SmtpServer(host="127.0.0.1", port=smtp_port) if smtp_port else None,
            mail=MailOptions(sender="weir@example.org", secret=link_secret(weir.catalog)),
            base_url=url,
            allow_private=True,
        )
        weir.execute("register feed http://post.example/rss as Post; create feed Stories from Post")
        with WebServer(create_app(library, options=options, desk=desk), port=port):
            yield House(weir, desk, Client(port), url, outlets)
        desk.close()


def _no_query(commit: object) -> RunningQuery:
    raise AssertionError("nothing is started here")


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def listening(port: int, path: str, **headers: str) -> Iterator[http.client.HTTPResponse]:
    """An open event stream."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request(
            "GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()}
        )
        yield connection.getresponse()
    finally:
        connection.close()


def next_event(stream: http.client.HTTPResponse) -> dict[str, str]:
    """The next event that has data."""
    fields: dict[str, str] = {}
    while True:
        received = stream.readline()
        if not received:
            raise EOFError("the stream was cut")
        line = received.decode().rstrip("\n")
        if not line and "data" in fields:
            return fields
        name, _, value = line.partition(": ")
        if name and not line.startswith(":"):
            fields[name] = f"{fields[name]}\n{value}" if name == "data" and name in fields else value
