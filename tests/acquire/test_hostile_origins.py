"""The real system against origins that misbehave: every item that could be seen arrives once, nothing else happens."""

from __future__ import annotations

import gzip
import itertools
import random
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from feedweir.acquire.fetch.crawl import Crawler, CrawlOptions
from feedweir.acquire.fetch.fetch_loop import FetchLoop, rules_of
from feedweir.acquire.fetch.hosts import HostRules
from feedweir.acquire.fetch.transport import Agent
from feedweir.acquire.refresh.request_budget import Budget
from feedweir.logs.batches import Manifest
from feedweir.pipeline.local_runner import LocalRunner
from feedweir.service.installation import Weir

from .scripted_origin import Behaviour, ScriptedOrigin, rss, send

START = datetime(2026, 6, 1, 12, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


class House:
    def __init__(self, root: Path, clock: Clock) -> None:
        self.clock = clock
        self.weir = Weir.open(root, clock=clock)
        self.start()

    def start(self) -> None:
        """A loop as after a restart: all that it knows is on disk."""
        self.loop = FetchLoop(
            self.weir.catalog,
            self.weir.log,
            options=CrawlOptions(rules=rules_of(floor_s=60, interval_s=60), budget=Budget(per_second=1e6)),
            hosts=HostRules(max_concurrent=100, spacing_s=0),
            agent=Agent(),
            allow_private=True,
            clock=self.clock,
            notes=self.weir.directory.root / "fetching.json",
        )

    def fetch(self) -> None:
        while self.loop.fetch_once():
            self.clock.now += timedelta(milliseconds=1)

    def digest(self) -> None:
        def commit(manifest: Manifest) -> None:
            self.weir.commit(manifest)
            self.loop.learn(manifest.sources)

        self.weir.refresh_set()
        LocalRunner(self.weir.directory, commit).run_available()

    def identities(self, feed: str) -> list[str]:
        return sorted(item.identity for item in self.weir.items(feed, limit=10_000))

    def failure(self, name: str) -> str:
        failures = self.weir.catalog.failures.of("source", name)
        return failures[0].reason if failures else ""


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path, Clock())
    yield house
    house.weir.close()


@pytest.fixture
def origin() -> Iterator[ScriptedOrigin]:
    with ScriptedOrigin() as origin:
        yield origin


def endless(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Type", "application/rss+xml")
    handler.end_headers()
    while True:
        handler.wfile.write(b"<item/>" * 10_000)


def bomb(handler: BaseHTTPRequestHandler) -> None:
    packed = gzip.compress(b"\0" * (64 << 20), compresslevel=1)
    send(handler, 200, gzip.compress(packed), Content_Encoding="gzip, gzip")


def loop_of_redirects(handler: BaseHTTPRequestHandler) -> None:
    send(handler, 302, Location="/loop")


def cut_off(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b"<rss>")
    handler.close_connection = True


def nonsense(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"\0\xff\r\n\r\n")
    handler.close_connection = True


def of_type(media_type: str, body: bytes) -> Behaviour:
    return lambda handler: send(handler, 200, body, Content_Type=media_type)


HOSTILE: dict[str, tuple[Behaviour, str]] = {
    "endless": (endless, "too large"),
    "bomb": (bomb, "too large when decompressed"),
    "loop": (loop_of_redirects, "too many redirects"),
    "cut": (cut_off, "connection failed|not valid HTTP"),
    "nonsense": (nonsense, "not valid HTTP"),
    "picture": (of_type("image/png", b"\x89PNG\r\n\x1a\n" + bytes(200)), ""),
    "page": (of_type("text/html", b"<html><body>Nothing here</body></html>"), "page"),
    "limit": (lambda handler: send(handler, 429, Retry_After="30"), "429"),
    "error": (lambda handler: send(handler, 500), "500"),
    "empty": (lambda handler: send(handler, 200), "empty"),
    "bad_gzip": (lambda h: send(h, 200, b"\x1f\x8bnot gzip", Content_Encoding="gzip"), "compression"),
}


def test_hostile_sources_are_recorded_each_and_hold_up_nobody(house: House, origin: ScriptedOrigin) -> None:
    for name, (behaviour, _) in HOSTILE.items():
        origin.behave(f"/{name}", behaviour)
    # Names of one's own: a host that asks for peace has it for all of its sources.
    statements = [
        f"register feed {origin.url(f'/{name}', host=f'127.0.1.{n}')} as H{name}"
        for n, name in enumerate(HOSTILE, 1)
    ]
    statements += [f"register feed {origin.shows(f'/good{n}', rss(f'g{n}'))} as Good{n}" for n in range(4)]
    house.weir.execute(";".join(statements))
    house.fetch()
    house.digest()
    for n in range(4):
        assert house.identities(f"Good{n}") == [f"g{n}"]
    for name, (_, told) in HOSTILE.items():
        reason = house.failure(f"H{name}")
        assert reason, name
        assert any(part in reason for part in told.split("|")), (name, reason)
        assert house.weir.catalog.sources.named(f"H{name}").state.next_check_at > house.clock.now


def test_a_slow_source_does_not_delay_the_others(house: House, origin: ScriptedOrigin) -> None:
    release = threading.Event()

    def slow(handler: BaseHTTPRequestHandler) -> None:
        release.wait(20)
        send(handler, 200, rss("late"))

    house.weir.execute(
        f"register feed {origin.behave('/slow', slow)} as Slow;"
        f"register feed {origin.url('/quick').replace('127.0.0.1', '127.0.1.9')} as Quick"
    )
    origin.shows("/quick", rss("soon"))
    house.loop.start()
    try:
        wait_until(lambda: bool(house.weir.log.latest()))
        assert not release.is_set()
        release.set()
        wait_until(lambda: house.weir.log.latest() == 2)
    finally:
        release.set()
        house.loop.stop()
    house.digest()
    assert house.identities("Quick") == ["soon"]
    assert house.identities("Slow") == ["late"]


def wait_until(is_done: object) -> None:
    """Look again and again, without a clock of our own, for at most a while."""
    pause = threading.Event()
    for _ in range(2_000):
        if is_done():  # type: ignore[operator]
            return
        pause.wait(0.01)
    raise AssertionError("it did not happen")


def test_a_page_leads_to_the_feed_that_it_names(house: House, origin: ScriptedOrigin) -> None:
    page = b"<html><head><link rel=alternate type='application/rss+xml' href='/the.rss'></head></html>"
    url = origin.behave("/", of_type("text/html", page))
    origin.shows("/the.rss", rss("1"))
    house.weir.execute(f"register feed {url} as Site")
    for _ in range(2):
        house.fetch()
        house.clock.now += timedelta(seconds=60)
    house.digest()
    assert house.identities("Site") == ["1"]
    assert house.weir.catalog.sources.named("Site").state.url == origin.url("/the.rss")
    assert house.failure("Site") == ""


@pytest.mark.parametrize("seed", range(3))
def test_everything_that_was_shown_between_two_allowed_polls_arrives_once_whatever_dies(
    house: House, origin: ScriptedOrigin, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Origins that publish, flap with 500s, and ask for peace; a loop that dies between landing and remembering."""
    draw = random.Random(seed)
    published = {f"S{n}": itertools.count() for n in range(6)}
    shown: dict[str, list[str]] = {name: [] for name in published}
    expected: dict[str, set[str]] = {name: set() for name in published}

    def behaviour(name: str) -> Behaviour:
        def answer(handler: BaseHTTPRequestHandler) -> None:
            luck = draw.random()
            if luck < 0.2:
                send(handler, draw.choice((500, 502, 503)))
            elif luck < 0.25:
                send(handler, 429, Retry_After="61")
            else:
                expected[name].update(shown[name])
                send(handler, 200, rss(*shown[name]))

        return answer

    statements = [
        f"register feed {origin.behave(f'/{name}', behaviour(name)).replace('0.0.1', f'0.2.{n}')} as {name}"
        for n, name in enumerate(published, 1)
    ]
    house.weir.execute(";".join(statements))
    original = Crawler.poll
    for _ in range(25):
        for name, numbers in published.items():
            if draw.random() < 0.6:
                shown[name] = [f"{name}-{next(numbers)}", *shown[name]][:5]
        dies = draw.random() < 0.3

        async def dying(self: Crawler, due: object, *, linger_s: float | None = None) -> object:
            report = await original(self, due, linger_s=linger_s)  # type: ignore[arg-type]
            if report.results and dies:  # noqa: B023
                raise KeyboardInterrupt
            return report

        monkeypatch.setattr(Crawler, "poll", dying)
        try:
            house.fetch()
        except KeyboardInterrupt:
            house.start()
        monkeypatch.setattr(Crawler, "poll", original)
        if draw.random() < 0.5:
            house.digest()
        house.clock.now += timedelta(seconds=70)
    house.digest()
    for name in published:
        assert house.identities(name) == sorted(expected[name])
    assert sum(map(len, expected.values())) > 30


@pytest.mark.nightly
def test_ten_thousand_sources_are_all_read_and_none_twice_too_soon(
    house: House, origin: ScriptedOrigin
) -> None:
    for n in range(10_000):
        origin.shows(f"/{n}", rss(f"i{n}"))
    house.weir.execute(
        ";".join(
            f"register feed {origin.url(f'/{n}', host=f'127.1.{n // 250}.{n % 250 + 1}')} as S{n}"
            for n in range(10_000)
        )
    )
    house.fetch()
    house.digest()
    counts = [len(house.weir.store.seqs(feed.id)) for feed in house.weir.catalog.feeds.all(kind="source")]
    assert counts == [1] * 10_000
    assert len(origin.asked) == 10_000
