"""Delivery: digests and webhooks a second through the outbox, and what random kills of senders lose or double.

The SMTP server and the HTTP receiver are processes of their own on loopback; so are the senders that are killed. The
receivers are idempotent as a careful receiver would be: what comes again under a known key is not counted again.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import random
import signal
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from email import message_from_bytes
from email.policy import default as MAIL_POLICY
from multiprocessing.connection import Connection
from typing import Any

from feedweir.acquire.fetch.addresses import AddressRule
from feedweir.acquire.fetch.aiohttp_transport import AiohttpTransport
from feedweir.catalog import Catalog, NewEntry, NewFeed, NewSubscription, open_catalog
from feedweir.deliver.channels.mail import MailChannel
from feedweir.deliver.channels.smtp import SmtpPool, SmtpServer
from feedweir.deliver.channels.webhook import WebhookChannel
from feedweir.deliver.feed_views import EntryKey
from feedweir.deliver.render.view import EntryView, FeedView
from feedweir.deliver.send.parcel_store import Parcels
from feedweir.deliver.send.poster import GuardedPoster
from feedweir.deliver.send.retry import RetryPolicy
from feedweir.deliver.send.sender import Sender, SenderOptions
from feedweir.deliver.transforms.transformer import Transformer
from feedweir.items.model import Item

_START = datetime(2024, 5, 1, tzinfo=UTC)
_PARALLEL = multiprocessing.get_context("fork")
_QUICK = {
    name: RetryPolicy(first_s=0.2, factor=1.5, most_s=1, attempts=1_000) for name in ("mail", "webhook")
}
_SHORT = SenderOptions(lease_s=4, timeout_s=2, poll_s=0.1)
"""So that what a killed sender held comes free soon."""
_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--subscriptions", type=int, default=200, help="of each channel")
    parser.add_argument("--entries", type=int, default=10, help="for each subscription")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--senders", type=int, default=2, help="processes that are killed in turn")
    parser.add_argument("--seed", type=int, default=1)


def run(options: argparse.Namespace) -> dict[str, object]:
    scale = 5 if options.full else 1
    count, entries = options.subscriptions * scale, options.entries
    with tempfile.TemporaryDirectory() as directory:
        result: dict[str, object] = {"subscriptions": count, "entries_each": entries}
        result["digests_per_s"] = _rate(directory, "mail", count, entries, per_message=100)
        result["webhooks_per_s"] = _rate(directory, "webhook", count, entries, per_message=1)
        result |= _killed(directory, options, count // 2, entries, options.kills * scale)
        return result


class Made:
    """Items that are made from their numbers, the same in every process."""

    def with_id(self, feed_id: int, limit: int = 0) -> FeedView:
        return FeedView(name="News", updated=_START)

    def entries(self, keys: Iterable[EntryKey]) -> Mapping[EntryKey, tuple[EntryView, ...]]:
        return {key: (EntryView(item=_item(key[1])),) for key in keys}


def _item(seq: int) -> Item:
    return Item(
        source="News",
        identity=f"http://news.example/{seq}",
        seq=seq,
        title=f"Story {seq}",
        summary="<p>A few sentences about what happened, with a <a href='http://x.example/'>link</a>.</p>"
        * 3,
        link=f"http://news.example/{seq}",
        arrived=_START,
    )


def _rate(directory: str, channel: str, count: int, entries: int, *, per_message: int) -> float:
    """Messages a second by one sender, from the outbox until they are settled."""
    url = f"sqlite:///{directory}/{channel}.db"
    with _receiving(failing=0.0, seed=0) as (ports, _):
        with open_catalog(url) as catalog:
            _fill(catalog, {channel: count}, ports, entries, per_message)
        start = time.perf_counter()
        sent = asyncio.run(_drained(url, ports))
        return round(sent / (time.perf_counter() - start), 1)


def _killed(
    directory: str, options: argparse.Namespace, count: int, entries: int, kills: int
) -> dict[str, object]:
    """Senders killed at random while they work; then one is left to finish."""
    url, luck = f"sqlite:///{directory}/killed.db", random.Random(options.seed)
    with _receiving(failing=0.1, seed=options.seed) as (ports, ask):
        with open_catalog(url) as catalog:
            expected = _fill(catalog, {"mail": count, "webhook": count}, ports, entries, per_message=3)
        senders = [_born(url, ports) for _ in range(options.senders)]
        for _ in range(kills):
            time.sleep(luck.uniform(0.05, 0.4))
            place = luck.randrange(len(senders))
            _kill(senders[place])
            senders[place] = _born(url, ports)
        is_drained = _wait_until_settled(url, limit_s=90)
        for sender in senders:
            _kill(sender)
        return {"kills": kills, "drained": is_drained, **_judged(expected, ask())}


def _judged(
    expected: set[tuple[str, int, int]], received: Sequence[tuple[str, str, int, tuple[int, ...]]]
) -> dict[str, object]:
    """`lost` and `doubled` elements for receivers that remember keys; `repeats` are messages they recognised."""
    once = {(channel, key): (subscription, seqs) for channel, key, subscription, seqs in received}
    arrived = [
        (channel, subscription, seq) for (channel, _), (subscription, seqs) in once.items() for seq in seqs
    ]
    return {
        "lost": len(expected - set(arrived)),
        "doubled": len(arrived) - len(set(arrived)),
        "elements": len(expected),
        "messages": len(once),
        "repeats": len(received) - len(once),
    }


def _fill(
    catalog: Catalog, channels: Mapping[str, int], ports: tuple[int, int], entries: int, per_message: int
) -> set[tuple[str, int, int]]:
    catalog.feeds.add([NewFeed(name="News", kind="source", statement="register", created_at=_START)])
    targets = {"mail": "reader@example.org", "webhook": f"http://127.0.0.1:{ports[1]}/hook"}
    waiting, expected = [], set()
    with catalog.transaction():
        for channel, count in channels.items():
            for _ in range(count):
                id_ = catalog.subscriptions.add(
                    NewSubscription(
                        feed="News",
                        statement="",
                        channel=channel,
                        target=targets[channel],
                        schedule={"per_message": per_message},
                        options={"secret": _SECRET} if channel == "webhook" else {},
                        created_at=_START,
                    )
                )
                for seq in range(1, entries + 1):
                    waiting.append(NewEntry(id_, f"News\n{seq}", {"feed": 1, "seq": seq}, _START))
                    expected.add((channel, id_, seq))
        catalog.outbox.insert(waiting, _START)
    return expected


# Senders


@contextmanager
def _opened(
    catalog: Catalog, transport: AiohttpTransport, ports: tuple[int, int], options: SenderOptions
) -> Iterator[Sender]:
    pool = SmtpPool(SmtpServer(host="127.0.0.1", port=ports[0], timeout_s=5))
    worker = f"{os.getpid()}:{os.urandom(3).hex()}"
    with Transformer() as transformer:
        yield Sender(
            catalog,
            Made(),
            {
                "mail": MailChannel(pool),
                "webhook": WebhookChannel(GuardedPoster(transport), _now),
            },
            worker=worker,
            clock=_now,
            transformer=transformer,
            options=options,
            parcels=Parcels(catalog, worker=worker, lease_s=options.lease_s, retries=_QUICK),
        )


def _transport() -> AiohttpTransport:
    return AiohttpTransport(rule=AddressRule(allow_private=True), max_connections_per_host=32)


async def _drained(url: str, ports: tuple[int, int]) -> int:
    with open_catalog(url) as catalog:
        async with _transport() as transport:
            with _opened(catalog, transport, ports, SenderOptions()) as sender:
                while await sender.step():
                    pass
                return sender.sent


async def _for_ever(url: str, ports: tuple[int, int]) -> None:
    with open_catalog(url) as catalog:
        async with _transport() as transport:
            with _opened(catalog, transport, ports, _SHORT) as sender:
                await sender.run(lambda: False, time.sleep)


def _sender(url: str, ports: tuple[int, int]) -> None:
    asyncio.run(_for_ever(url, ports))


def _born(url: str, ports: tuple[int, int]) -> Any:
    process = _PARALLEL.Process(target=_sender, args=(url, ports), daemon=True)
    process.start()
    return process


def _kill(process: Any) -> None:
    os.kill(process.pid, signal.SIGKILL)
    process.join()


def _wait_until_settled(url: str, limit_s: float) -> bool:
    until = time.monotonic() + limit_s
    with open_catalog(url) as catalog:
        while time.monotonic() < until:
            if set(catalog.outbox.counts()) <= {"sent"}:
                return True
            time.sleep(0.25)
    return False


def _now() -> datetime:
    return datetime.now(UTC)


# Receivers


@contextmanager
def _receiving(*, failing: float, seed: int) -> Iterator[tuple[tuple[int, int], Callable[[], Any]]]:
    """An SMTP server and an HTTP receiver; yields their ports, and what asks for all they received."""
    ours, theirs = _PARALLEL.Pipe()
    process = _PARALLEL.Process(target=_receivers, args=(theirs, failing, seed), daemon=True)
    process.start()

    def ask() -> Any:
        ours.send("all")
        return ours.recv()

    try:
        yield ours.recv(), ask
    finally:
        process.kill()
        process.join()


def _receivers(pipe: Connection, failing: float, seed: int) -> None:
    asyncio.run(_receive(pipe, failing, random.Random(seed)))


async def _receive(pipe: Connection, failing: float, luck: random.Random) -> None:
    from aiohttp import web
    from aiosmtpd.smtp import SMTP

    received: list[tuple[str, str, int, tuple[int, ...]]] = []

    def is_bad() -> bool:
        return luck.random() < failing

    async def hook(request: web.Request) -> web.Response:
        body = await request.read()
        if is_bad():
            return web.Response(status=503)
        data = json.loads(body)["data"]
        seqs = tuple(int(item["title"].split()[1]) for item in data["feed"]["items"])
        received.append(("webhook", request.headers["webhook-id"], data["subscription"], seqs))
        # The answer that is lost after all was taken: the sender must come again, under the same id.
        return web.Response(status=500 if is_bad() else 204)

    class Mailbox:
        async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
            if is_bad():
                return "451 later"
            received.append(_read(envelope.content))
            return "451 lost" if is_bad() else "250 OK"

    loop = asyncio.get_running_loop()
    smtp = await loop.create_server(lambda: SMTP(Mailbox(), loop=loop, hostname="localhost"), "127.0.0.1", 0)
    app = web.Application()
    app.router.add_post("/hook", hook)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    http_port = runner.addresses[0][1]
    pipe.send((smtp.sockets[0].getsockname()[1], http_port))
    while await asyncio.to_thread(pipe.recv):
        pipe.send(received)


def _read(content: bytes) -> tuple[str, str, int, tuple[int, ...]]:
    message: Any = message_from_bytes(content, policy=MAIL_POLICY)
    text = message.get_body(("plain",)).get_content()
    seqs = tuple(int(line.split()[1]) for line in text.splitlines() if line.startswith("Story "))
    subscription = int(message["List-Id"].split("-")[1].split(".")[0])
    return "mail", message["Message-ID"], subscription, seqs
