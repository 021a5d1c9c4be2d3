"""WebSub as a subscriber: the life of a lease, signatures, and polling as the fall-back."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs

import pytest

from feedweir.acquire.fetch.addresses import AddressRule
from feedweir.acquire.fetch.aiohttp_transport import AiohttpTransport
from feedweir.acquire.websub.subscriber import (
    Hub,
    Lease,
    LeaseStatus,
    NamedBy,
    answered,
    confirmed_by,
    distrusted,
    given_up,
    is_active,
    is_due,
    is_over,
    is_signed,
    is_silent,
    names_another,
    new_lease,
    pushed,
    pushed_until,
    received,
    request_for,
    send,
    verified,
)

from .origin import Asked, an_origin, answer

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)
HUB = Hub(url="https://hub.example/", topic="https://example.org/feed")
CALLBACK = "https://me.example/websub/token"


def a_lease(**changes: object) -> Lease:
    return replace(new_lease("source", HUB, NOW, lambda size: "s" * size), **changes)  # type: ignore[arg-type]


def an_active_lease() -> Lease:
    _, pending = request_for(a_lease(), CALLBACK, NOW)
    query = {
        "hub.mode": "subscribe",
        "hub.topic": HUB.topic,
        "hub.challenge": "c",
        "hub.lease_seconds": "1000",
    }
    return verified(pending, query, NOW).lease


def signed(body: bytes, method: str = "sha256", secret: str = "s" * 32) -> list[tuple[str, str]]:
    digest = hmac.new(secret.encode(), body, getattr(hashlib, method)).hexdigest()
    return [("X-Hub-Signature", f"{method}={digest}")]


def test_headers_win_over_the_document_and_a_change_of_hub_is_noticed() -> None:
    other = Hub(url="https://other.example/", topic=HUB.topic)
    lease = a_lease(is_from_headers=True)
    assert not names_another(lease, other, NamedBy.DOCUMENT)
    assert names_another(lease, other, NamedBy.HEADERS)
    assert not names_another(lease, HUB, NamedBy.HEADERS)
    assert names_another(a_lease(), other, NamedBy.DOCUMENT)
    assert names_another(None, other, NamedBy.DOCUMENT)


def test_a_hub_that_is_set_by_hand_is_not_changed_by_what_the_source_says() -> None:
    other = Hub(url="https://other.example/", topic=HUB.topic)
    lease = new_lease("S", HUB, NOW, lambda count: "s" * count, NamedBy.HAND)
    assert not names_another(lease, other, NamedBy.HEADERS)
    assert names_another(lease, other, NamedBy.HAND)
    said = new_lease("S", HUB, NOW, lambda count: "s" * count, NamedBy.DOCUMENT)
    assert names_another(said, other, NamedBy.HEADERS)
    confirmed = confirmed_by(said, HUB, NamedBy.HAND)
    assert not names_another(confirmed, other, NamedBy.HEADERS)
    assert confirmed_by(confirmed, HUB, NamedBy.DOCUMENT) is confirmed


def test_a_hub_that_does_not_push_what_was_published_is_distrusted_longer_and_longer() -> None:
    lease = replace(an_active_lease(), pushed_at=NOW - timedelta(hours=1))
    assert is_silent(lease, NOW, NOW)
    assert not is_silent(lease, NOW - timedelta(hours=2), NOW)
    once = distrusted(lease, NOW)
    assert pushed_until(once, NOW) is None
    twice = distrusted(once, NOW)
    assert twice.next_at > once.next_at > NOW
    assert received(twice, NOW).silences == 0


def test_the_request_asks_with_a_secret_and_expects_a_verification() -> None:
    request, pending = request_for(a_lease(), CALLBACK, NOW, lease_s=5000)
    form = parse_qs(request.body.decode())
    assert (request.method, request.url) == ("POST", HUB.url)
    assert form["hub.mode"] == ["subscribe"]
    assert form["hub.topic"] == [HUB.topic]
    assert form["hub.callback"] == [CALLBACK]
    assert form["hub.secret"] == ["s" * 32]
    assert form["hub.lease_seconds"] == ["5000"]
    assert pending.status is LeaseStatus.PENDING
    assert not is_active(pending, NOW)


def test_a_verification_we_asked_for_is_echoed_and_the_lease_runs() -> None:
    lease = an_active_lease()
    assert lease.status is LeaseStatus.ACTIVE
    assert is_active(lease, NOW + timedelta(seconds=999))
    assert not is_active(lease, NOW + timedelta(seconds=1000))


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"hub.mode": "subscribe", "hub.topic": "https://other/", "hub.challenge": "c"},
        {"hub.mode": "unsubscribe", "hub.topic": HUB.topic, "hub.challenge": "c"},
        {"hub.mode": "subscribe", "hub.topic": HUB.topic},
    ],
)
def test_a_verification_nobody_asked_for_is_refused(query: dict[str, str]) -> None:
    _, pending = request_for(a_lease(), CALLBACK, NOW)
    verdict = verified(pending, query, NOW)
    assert (verdict.status, verdict.lease) == (404, pending)


def test_a_lease_is_renewed_before_a_tenth_of_it_remains_and_stays_active_meanwhile() -> None:
    lease = an_active_lease()
    assert not is_due(lease, NOW + timedelta(seconds=700))
    assert is_due(lease, NOW + timedelta(seconds=900))
    later = NOW + timedelta(seconds=900)
    _, renewing = request_for(lease, CALLBACK, later)
    assert is_active(renewing, later)


def test_a_hub_that_fails_is_asked_again_later_and_later() -> None:
    lease = a_lease()
    pauses = []
    for _ in range(4):
        _, lease = request_for(lease, CALLBACK, NOW)
        lease = answered(lease, 500, NOW)
        pauses.append((lease.next_at - NOW).total_seconds())
    assert pauses == [900, 1800, 3600, 7200]
    assert "HTTP 500" in lease.reason


def test_a_denial_is_recorded_with_its_reason_and_polling_goes_on() -> None:
    verdict = verified(
        an_active_lease(), {"hub.mode": "denied", "hub.topic": HUB.topic, "hub.reason": "no"}, NOW
    )
    assert verdict.status == 200
    assert verdict.lease.status is LeaseStatus.DENIED
    assert verdict.lease.reason == "no"
    assert pushed_until(verdict.lease, NOW) is None


@pytest.mark.parametrize("method", ["sha1", "sha256", "sha384", "sha512"])
def test_content_with_the_right_signature_is_landed(method: str) -> None:
    landed = pushed(an_active_lease(), b"<rss/>", signed(b"<rss/>", method), "application/rss+xml", NOW)
    assert landed is not None
    assert (landed.source, landed.body, landed.url) == ("source", b"<rss/>", HUB.topic)


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("X-Hub-Signature", "")],
        [("X-Hub-Signature", "sha256=")],
        [("X-Hub-Signature", "md5=abc")],
        [("X-Hub-Signature", "sha256=\xe9")],
        signed(b"other"),
        signed(b"<rss/>", secret="guess"),
    ],
)
def test_content_without_the_right_signature_is_not(headers: list[tuple[str, str]]) -> None:
    assert not is_signed(an_active_lease(), b"<rss/>", headers)
    assert pushed(an_active_lease(), b"<rss/>", headers, "", NOW) is None


def test_content_after_the_lease_or_before_its_confirmation_is_not_landed() -> None:
    expired = NOW + timedelta(seconds=1001)
    assert pushed(an_active_lease(), b"x", signed(b"x"), "", expired) is None
    assert pushed(a_lease(), b"x", signed(b"x"), "", NOW) is None


def test_a_pushed_source_is_polled_rarely_and_as_before_when_the_lease_ends() -> None:
    assert pushed_until(None, NOW) is None
    assert pushed_until(an_active_lease(), NOW) == NOW + timedelta(seconds=1000)
    assert pushed_until(an_active_lease(), NOW + timedelta(days=1)) is None


def test_giving_up_is_asked_for_and_confirmed() -> None:
    request, ending = request_for(given_up(an_active_lease(), NOW), CALLBACK, NOW)
    assert parse_qs(request.body.decode())["hub.mode"] == ["unsubscribe"]
    verdict = verified(ending, {"hub.mode": "unsubscribe", "hub.topic": HUB.topic, "hub.challenge": "c"}, NOW)
    assert (verdict.status, verdict.body) == (200, "c")
    assert not is_active(verdict.lease, NOW)
    assert is_over(verdict.lease, NOW)
    assert not is_over(ending, NOW)
    assert is_over(replace(ending, attempts=4), NOW)


def test_the_request_reaches_a_real_hub_and_a_dead_one_is_no_exception() -> None:
    async def run() -> tuple[int, int, list[Asked]]:
        async with an_origin() as hub, AiohttpTransport(rule=AddressRule(allow_private=True)) as transport:
            hub.answers("/hub", answer(202))
            lease = a_lease(hub=Hub(url=hub.url("/hub"), topic=HUB.topic))
            request, _ = request_for(lease, CALLBACK, NOW)
            accepted = await send(request, transport)
            dead = await send(replace(request, url="http://127.0.0.1:1/"), transport)
            return accepted, dead, hub.asked

    accepted, dead, requests = asyncio.run(run())
    assert (accepted, dead) == (202, 0)
    assert requests[0].header("Content-Type") == "application/x-www-form-urlencoded"
    assert (requests[0].header("User-Agent") or "").startswith("Feedweir/")
    assert "could not be reached" in answered(a_lease(), 0, NOW).reason
