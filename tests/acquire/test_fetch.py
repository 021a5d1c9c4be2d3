"""Fetching from a real origin on loopback, a friendly one and a hostile one. Every outcome is a value."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from ipaddress import ip_network

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from feedweir.acquire.fetch.addresses import PUBLIC_ONLY, AddressRule
from feedweir.acquire.fetch.aiohttp_transport import AiohttpTransport
from feedweir.acquire.fetch.fetcher import Fetcher, request_headers
from feedweir.acquire.fetch.transport import (
    Agent,
    Changed,
    Failed,
    FetchLimits,
    FetchRequest,
    FetchResult,
    Gone,
    Reason,
    Unchanged,
    Validators,
)

from .origin import Asked, Origin, an_origin, answer

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)
ANYWHERE = AddressRule(allow_private=True)
TIGHT = FetchLimits(max_bytes=10_000, max_wire_bytes=5_000, max_redirects=3)


class Names(AbstractResolver):
    """A resolver that answers what it is told, in turn."""

    def __init__(self, *addresses: str) -> None:
        self.addresses = list(addresses)

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        address = self.addresses.pop(0) if len(self.addresses) > 1 else self.addresses[0]
        return [ResolveResult(hostname=host, host=address, port=port, family=2, proto=0, flags=0)]

    async def close(self) -> None:
        pass


def fetch(
    prepare: Callable[[Origin], object],
    path: str = "/feed",
    *,
    limits: FetchLimits = TIGHT,
    rule: AddressRule = ANYWHERE,
    validators: Validators | None = None,
    resolver: AbstractResolver | None = None,
    host: str = "",
) -> tuple[FetchResult, Origin]:
    """One fetch of `path` from an origin that `prepare` has scripted."""

    async def run() -> tuple[FetchResult, Origin]:
        async with an_origin() as origin, AiohttpTransport(rule=rule, resolver=resolver) as transport:
            prepare(origin)
            url = origin.url(path).replace("127.0.0.1", host or "127.0.0.1")
            known = validators or Validators()
            if known.url == "":
                known = Validators(
                    url=url, etag=known.etag, last_modified=known.last_modified, body_hash=known.body_hash
                )
            agent = Agent(version="1.2", contact="https://example.org/bot")
            fetcher = Fetcher(transport=transport, clock=lambda: NOW, limits=limits, agent=agent)
            result = await fetcher.fetch(FetchRequest(source="s", url=url, validators=known, subscribers=7))
            return result, origin

    return asyncio.run(run())


def reason(result: FetchResult) -> Reason:
    assert isinstance(result.outcome, Failed), result
    return result.outcome.reason


def stream(
    *chunks: bytes, then: Callable[[], Awaitable[object]] | None = None
) -> Callable[..., Awaitable[None]]:
    """A handler that sends chunks and then waits for something that may never come."""

    async def handler(asked: Asked, writer: asyncio.StreamWriter) -> None:
        for chunk in chunks:
            writer.write(chunk)
            await writer.drain()
        if then is not None:
            await then()

    return handler


@pytest.mark.parametrize("bad", ['"a\x01b"', '"a\x7f"', '"a\tb"'])
def test_validators_that_no_request_can_carry_are_neither_kept_nor_sent(bad: str) -> None:
    headers = (("ETag", bad), ("Last-Modified", bad))
    result, _ = fetch(lambda o: o.answers("/feed", answer(200, b"<rss/>", *headers)))
    if isinstance(result.outcome, Changed):
        assert (result.outcome.validators.etag, result.outcome.validators.last_modified) == ("", "")
    kept = Validators(etag=bad, last_modified=bad)
    again, origin = fetch(lambda o: o.answers("/feed", answer(200, b"<rss/>")), validators=kept)
    assert isinstance(again.outcome, Changed)
    assert origin.asked[0].header("If-None-Match") is None


def test_a_document_comes_with_everything_that_is_needed_next_time() -> None:
    headers = (
        ("ETag", 'W/"ä"'.encode().decode("latin-1")),
        ("Last-Modified", "yesterday, about noon"),
        ("Cache-Control", "max-age=600"),
    )
    result, origin = fetch(lambda o: o.answers("/feed", answer(200, b"<rss/>", *headers)))
    assert isinstance(result.outcome, Changed)
    assert result.outcome.document.body == b"<rss/>"
    assert result.outcome.document.media_type == "application/rss+xml"
    assert result.outcome.document.url == origin.url("/feed")
    assert result.outcome.validators.etag == 'W/"ä"'
    assert result.outcome.validators.last_modified == "yesterday, about noon"
    assert result.fresh_s == 600


def test_we_say_who_we_are_and_send_no_cookie_and_no_referrer() -> None:
    _, origin = fetch(lambda o: o.answers("/feed", answer(200, b"x", ("Set-Cookie", "a=b"))))
    (asked,) = origin.asked
    assert asked.header("User-Agent") == "Feedweir/1.2 (+https://example.org/bot; 7 subscribers)"
    assert asked.header("Cookie") is None
    assert asked.header("Referer") is None
    assert asked.header("Accept-Encoding") == "gzip, deflate, br, zstd"


def test_validators_go_back_byte_for_byte() -> None:
    known = Validators(etag='W/"  x\'"', last_modified="Tue,  01 Jan 2019")
    result, origin = fetch(
        lambda o: o.answers("/feed", answer(304, b"", ("ETag", '"new"'))), validators=known
    )
    assert origin.asked[0].header("If-None-Match") == known.etag
    assert origin.asked[0].header("If-Modified-Since") == known.last_modified
    assert isinstance(result.outcome, Unchanged)
    assert result.outcome.validators.etag == '"new"'
    assert result.outcome.validators.last_modified == known.last_modified


def test_validators_of_another_address_are_not_sent() -> None:
    _, origin = fetch(
        lambda o: o.answers("/feed", answer(200, b"x")),
        validators=Validators(url="http://other/", etag='"e"'),
    )
    assert origin.asked[0].header("If-None-Match") is None


def test_the_same_bytes_again_are_unchanged_and_bring_fresh_validators() -> None:
    first, _ = fetch(lambda o: o.answers("/feed", answer(200, b"<rss/>")))
    assert isinstance(first.outcome, Changed)
    known = Validators(body_hash=first.outcome.validators.body_hash)
    again, _ = fetch(lambda o: o.answers("/feed", answer(200, b"<rss/>", ("ETag", '"2"'))), validators=known)
    assert isinstance(again.outcome, Unchanged)
    assert again.outcome.validators.etag == '"2"'


@pytest.mark.parametrize("status", [301, 308])
def test_a_permanent_redirect_is_followed_and_reported(status: int) -> None:
    def prepare(origin: Origin) -> None:
        origin.answers("/feed", answer(status, b"", ("Location", "/new")))
        origin.answers("/new", answer(200, b"<rss/>"))

    result, origin = fetch(prepare)
    assert isinstance(result.outcome, Changed)
    assert result.moved_to == origin.url("/new")


def test_only_an_unbroken_chain_of_permanent_redirects_says_where_a_feed_lives() -> None:
    def prepare(origin: Origin) -> None:
        origin.answers("/feed", answer(301, b"", ("Location", "/a")))
        origin.answers("/a", answer(302, b"", ("Location", "/b")))
        origin.answers("/b", answer(301, b"", ("Location", "/c")))
        origin.answers("/c", answer(200, b"<rss/>"))

    result, origin = fetch(prepare)
    assert result.moved_to == origin.url("/a")


def test_a_redirect_that_ends_badly_moves_nothing() -> None:
    result, _ = fetch(lambda o: o.answers("/feed", answer(301, b"", ("Location", "/missing"))))
    assert result.moved_to == ""
    assert result.status == 404


def test_gone_is_gone() -> None:
    result, _ = fetch(lambda o: o.answers("/feed", answer(410)))
    assert isinstance(result.outcome, Gone)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 418, 429, 500, 503, 204, 206, 304, 999])
def test_any_other_status_is_one_failure(status: int) -> None:
    known = Validators(url="http://other/")
    result, _ = fetch(
        lambda o: o.answers("/feed", answer(status, b"", ("Retry-After", "120"))), validators=known
    )
    assert reason(result) is Reason.STATUS
    assert result.status == status
    assert result.retry_after_s == 120


def test_the_hub_of_a_link_header_is_reported() -> None:
    result, origin = fetch(
        lambda o: o.answers("/feed", answer(200, b"x", ("Link", '<http://hub/>; rel=hub, </t>; rel="self"')))
    )
    assert (result.hub, result.topic) == ("http://hub/", origin.url("/t"))


def test_credentials_in_the_address_go_to_its_host_only() -> None:
    result, origin = fetch(lambda o: o.answers("/feed", answer(200, b"x")), host="me:pa%20ss@127.0.0.1")
    assert isinstance(result.outcome, Changed)
    assert origin.asked[0].header("Authorization") == "Basic bWU6cGEgc3M="
    assert "@" not in result.outcome.document.url


# The hostile origin.


def test_redirects_in_a_circle_are_followed_round_once() -> None:
    def prepare(origin: Origin) -> None:
        origin.answers("/feed", answer(302, b"", ("Location", "/there")))
        origin.answers("/there", answer(302, b"", ("Location", "/feed")))

    result, origin = fetch(prepare)
    assert reason(result) is Reason.REDIRECTS
    assert "in a loop" in str(result.outcome)
    assert [asked.path for asked in origin.asked] == ["/feed", "/there"]


def test_a_chain_of_redirects_is_left_at_the_limit() -> None:
    def prepare(origin: Origin) -> None:
        for place in range(9):
            origin.answers(f"/{place}", answer(302, b"", ("Location", f"/{place + 1}")))

    result, origin = fetch(prepare, "/0")
    assert reason(result) is Reason.REDIRECTS
    assert len(origin.asked) == TIGHT.max_redirects + 1


@pytest.mark.parametrize("location", ["", "ftp://x/", "http://a b/", "javascript:alert(1)"])
def test_a_redirect_to_nowhere_is_a_failure(location: str) -> None:
    result, _ = fetch(lambda o: o.answers("/feed", answer(301, b"", ("Location", location))))
    assert reason(result) is Reason.PROTOCOL


def test_a_server_that_never_answers_is_left() -> None:
    never = asyncio.Event
    result, _ = fetch(
        lambda o: o.handlers.update({"/feed": stream(then=lambda: never().wait())}),
        limits=replace(TIGHT, first_byte_s=0.2),
    )
    assert reason(result) is Reason.SLOW
    assert "no response within 0.2 s" in str(result.outcome)


def test_a_body_that_drips_for_ever_is_left() -> None:
    async def drip(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        for _ in range(20):
            writer.write(b"x")
            await writer.drain()
        await asyncio.Event().wait()

    result, _ = fetch(lambda o: o.handlers.update({"/feed": drip}), limits=replace(TIGHT, total_s=0.5))
    assert reason(result) is Reason.SLOW
    assert "no document within 0.5 s" in str(result.outcome)


def test_an_endless_body_is_left_at_the_limit() -> None:
    async def endless(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            writer.write(b"400\r\n" + b"x" * 1024 + b"\r\n")
            await writer.drain()

    result, _ = fetch(lambda o: o.handlers.update({"/feed": endless}))
    assert reason(result) is Reason.TOO_LARGE


def test_a_body_that_announces_too_much_is_not_even_read() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n\r\n"
    result, _ = fetch(
        lambda o: o.handlers.update({"/feed": stream(head, then=lambda: asyncio.Event().wait())})
    )
    assert reason(result) is Reason.TOO_LARGE


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_bomb_does_not_explode(encoding: str) -> None:
    body = b"\0" * (3 << 20)
    packed = gzip.compress(body) if encoding == "gzip" else zlib.compress(body)
    assert len(packed) < TIGHT.max_wire_bytes
    result, _ = fetch(lambda o: o.answers("/feed", answer(200, packed, ("Content-Encoding", encoding))))
    assert reason(result) is Reason.BOMB


@pytest.mark.parametrize(
    ("bytes_sent", "expected"),
    [
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", Reason.PROTOCOL),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", Reason.PROTOCOL),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000 + b"\r\n\r\n", Reason.PROTOCOL),
        (b"", Reason.CONNECTION),
    ],
)
def test_what_is_not_http_is_a_failure(bytes_sent: bytes, expected: Reason) -> None:
    async def handler(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(bytes_sent)
        await writer.drain()
        writer.close()

    result, _ = fetch(lambda o: o.handlers.update({"/feed": handler}))
    assert reason(result) is expected


def test_an_unknown_compression_and_an_empty_body_are_failures() -> None:
    result, _ = fetch(lambda o: o.answers("/feed", answer(200, b"x", ("Content-Encoding", "rot13"))))
    assert reason(result) is Reason.ENCODING
    result, _ = fetch(lambda o: o.answers("/feed", answer(200, b" \n")))
    assert reason(result) is Reason.EMPTY


def test_a_page_for_people_is_a_document_like_any_other_here() -> None:
    result, _ = fetch(lambda o: o.answers("/feed", answer(200, b"<html>", content_type="text/html")))
    assert isinstance(result.outcome, Changed)
    assert result.outcome.document.media_type == "text/html"


# Addresses that are not for us.


def test_a_private_address_is_not_asked() -> None:
    result, origin = fetch(lambda o: o.answers("/feed", answer(200, b"x")), rule=PUBLIC_ONLY)
    assert reason(result) is Reason.FORBIDDEN_ADDRESS
    assert origin.asked == []


def test_a_name_that_resolves_to_a_private_address_is_not_asked() -> None:
    result, origin = fetch(
        lambda o: o.answers("/feed", answer(200, b"x")),
        rule=PUBLIC_ONLY,
        resolver=Names("127.0.0.1"),
        host="innocent.example",
    )
    assert isinstance(result.outcome, Failed)
    assert result.outcome.reason is Reason.FORBIDDEN_ADDRESS
    assert result.outcome.detail == "127.0.0.1"
    assert origin.asked == []


@pytest.mark.parametrize(
    "target",
    ["http://127.0.0.2/", "http://169.254.169.254/latest/meta-data", "http://[::1]/", "http://2130706434/"],
)
def test_a_redirect_does_not_lead_inside(target: str) -> None:
    only_origin = AddressRule(allowed=(ip_network("127.0.0.1/32"),))
    redirect = answer(302, b"", ("Location", target))
    result, origin = fetch(lambda o: o.answers("/feed", redirect), rule=only_origin)
    assert reason(result) in (Reason.FORBIDDEN_ADDRESS, Reason.BAD_URL)
    assert len(origin.asked) == 1


def test_a_name_that_changes_its_address_is_checked_at_every_connection() -> None:
    """The name first leads to an allowed address and, once trusted, to a forbidden one."""

    async def run() -> list[FetchResult]:
        rule = AddressRule(allowed=(ip_network("127.0.0.1/32"),))
        names = Names("127.0.0.1", "127.0.0.2")
        async with an_origin() as origin:
            origin.answers("/feed", answer(200, b"x", ("Connection", "close")))
            results = []
            for _ in range(2):
                async with AiohttpTransport(rule=rule, resolver=names) as transport:
                    fetcher = Fetcher(transport=transport, clock=lambda: NOW, limits=TIGHT)
                    url = f"http://rebinding.example:{origin.port}/feed"
                    results.append(await fetcher.fetch(FetchRequest(source="s", url=url)))
            return results

    first, second = asyncio.run(run())
    assert isinstance(first.outcome, Changed)
    assert reason(second) is Reason.FORBIDDEN_ADDRESS


@pytest.mark.parametrize("url", ["", "nonsense", "ftp://example.org/", "http://"])
def test_what_is_no_address_is_a_failure(url: str) -> None:
    async def run() -> FetchResult:
        async with AiohttpTransport() as transport:
            return await Fetcher(transport=transport, clock=lambda: NOW).fetch(
                FetchRequest(source="s", url=url)
            )

    assert reason(asyncio.run(run())) is Reason.BAD_URL


def test_a_closed_port_is_a_failed_connection() -> None:
    async def run() -> FetchResult:
        async with an_origin() as origin:
            url = origin.url("/feed")
        async with AiohttpTransport(rule=ANYWHERE) as transport:
            return await Fetcher(transport=transport, clock=lambda: NOW).fetch(
                FetchRequest(source="s", url=url)
            )

    assert str(asyncio.run(run()).outcome) == "the connection failed: Connection refused"


def test_credentials_do_not_leave_an_encrypted_connection() -> None:
    request = FetchRequest(source="s", url="https://me:pass@a.example/feed")
    for url, is_sent in (
        ("https://a.example/x", True),
        ("http://a.example/x", False),
        ("https://b.example/", False),
    ):
        sent = dict(request_headers(request, url, Agent()))
        assert ("Authorization" in sent) == is_sent, url
    plain = FetchRequest(source="s", url="http://me:pass@a.example/feed")
    assert "Authorization" in dict(request_headers(plain, "http://a.example/feed", Agent()))


def test_a_poll_costs_no_more_than_the_documentation_says() -> None:
    assert FetchLimits() == FetchLimits(
        max_bytes=16 << 20, max_wire_bytes=8 << 20, total_s=30.0, first_byte_s=15.0, max_redirects=5
    )
