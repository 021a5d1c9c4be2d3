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
from feedweir.config import Settings
from feedweir.deliver.delivery_admin import DeliveryAdmin
from feedweir.deliver.send.open_channels import SendingOptions, opened_sender
from feedweir.service.composition import Installation, Variations, sending_options
from tests.web.web_client import Client


@dataclass
class House:
    weir: Weir
    deliveries: DeliveryAdmin
    client: Client
    url: str
    outlets: SendingOptions

    def publish(self, *numbers: int) -> None:
        """New items of the source Post, through the pipeline into the outbox."""
        self.weir.push("Post", document(*numbers))
        self.weir.run()

    def send(self) -> int:
        return asyncio.run(self._send())

    async def _send(self) -> int:
        async with opened_sender(
            self.weir.catalog, self.weir.feed_views, self.outlets, clock=self.weir.clock
        ) as sender:
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
    settings = Settings(
        data=directory / "data",
        port=port,
        public_url=url,
        token=token,
        allow_private=True,
        fetch=False,
        send=False,
        mail_from="weir@example.org",
        smtp_host="127.0.0.1" if smtp_port else "",
        smtp_port=smtp_port,
    )
    variations = Variations(keep_alive_s=keep_alive_s)
    with Weir.configured(settings) as weir:
        weir.execute("register feed http://post.example/rss as Post; create feed Stories from Post")
        installation = Installation(weir, settings, variations)
        outlets = sending_options(weir, settings, variations)
        with installation.server:
            yield House(weir, installation.deliveries, Client(port), url, outlets)
        installation.deliveries.close()


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
