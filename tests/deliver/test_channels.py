"""Channels against real receivers: files, an SMTP server, HTTP receivers, a WebSub subscriber."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import random
import socket
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from email import message_from_bytes
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import feedparser
import pytest
from lxml import html as lxml_html

from feedweir import __version__
from feedweir.acquire.fetch.addresses import AddressRule
from feedweir.acquire.fetch.aiohttp_transport import AiohttpTransport
from feedweir.acquire.websub import subscriber
from feedweir.catalog import open_catalog
from feedweir.deliver.address import Address
from feedweir.deliver.channels.file import FileChannel
from feedweir.deliver.channels.mail import MailChannel, MailOptions, compose
from feedweir.deliver.channels.notify import NotifyChannel
from feedweir.deliver.channels.smtp import SmtpPool, SmtpServer
from feedweir.deliver.channels.webhook import WebhookChannel, request_of, signature
from feedweir.deliver.channels.websub import WebSubChannel
from feedweir.deliver.hub import HubRequest, carry_out, drop_ended, requested
from feedweir.deliver.render.events import after, event, events, opening, resumption
from feedweir.deliver.render.view import FeedView
from feedweir.deliver.send.bounces import bounce_of, record_bounce
from feedweir.deliver.send.parcel import Channel, Destination, Parcel, parcel_key
from feedweir.deliver.send.poster import Answer, GuardedPoster, Post, check, retry_after_s
from feedweir.deliver.signed_links import subscription_of, unsubscribe_token
from feedweir.deliver.transforms.transformer import Transformed, Transformer
from feedweir.errors import DeliveryError
from tests.deliver.musical import NOON, WITH_PHOTOS, feed_of, numbered
from tests.deliver.outgoing import Clock, Memory, arrive, sender_of, subscribed
from tests.deliver.receivers import Mailbox, Receiver, Request, http_receiver, mail_server

SECRET = "whsec_" + base64.b64encode(b"a secret of twenty-four!").decode()
LOCAL = AddressRule(allow_private=True)


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    with mail_server() as running:
        yield running


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with http_receiver() as running:
        yield running


def is_signed(
    secret: str, headers: dict[str, str], body: bytes, now: datetime, *, tolerance_s: float = 300
) -> bool:
    """What a receiver checks: one of the signatures is ours, and the message is of these minutes."""
    message_id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not timestamp.isdigit() or abs(now.timestamp() - int(timestamp)) > tolerance_s:
        return False
    expected = signature(secret, message_id, timestamp, body)
    given = headers.get("webhook-signature", "").split()
    return any(hmac.compare_digest(expected.encode(), each.encode()) for each in given)


def parcel_of(view: FeedView, target: str, **options: Any) -> Parcel:
    destination = Destination(
        subscription=7, target=target, options=options, address=Address("http://weir.example")
    )
    keys = [entry.item.identity for entry in view.entries]
    return Parcel(key=parcel_key(7, keys), destination=destination, made_at=NOON, view=view)


def send(channel: Channel, parcel: Parcel) -> None:
    asyncio.run(channel.send(parcel))


async def posting(post: Post, rule: AddressRule = LOCAL) -> Answer:
    async with AiohttpTransport(rule=rule) as transport:
        return await GuardedPoster(transport, timeout_s=2)(post)


# Files


@pytest.mark.parametrize(
    ("name", "version"), [("a.rss", "rss20"), ("b/c.ATOM", "atom10"), ("x.xml", "rss20")]
)
def test_a_file_is_a_feed_in_the_format_of_its_suffix(tmp_path: Path, name: str, version: str) -> None:
    send(FileChannel(tmp_path), parcel_of(feed_of(*numbered(3)), name))
    feed = feedparser.parse((tmp_path / name).read_bytes())
    assert feed.version == version
    assert [entry.title for entry in feed.entries] == ["Story 3", "Story 2", "Story 1"]


def test_a_file_written_again_has_the_same_bytes_and_leaves_nothing_beside(tmp_path: Path) -> None:
    parcel = parcel_of(feed_of(*numbered(3)), "news.json")
    send(FileChannel(tmp_path), parcel)
    before = (tmp_path / "news.json").read_bytes()
    send(FileChannel(tmp_path), parcel)
    assert (tmp_path / "news.json").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["news.json"]


def test_who_reads_a_file_while_it_is_replaced_reads_the_old_one_to_its_end(tmp_path: Path) -> None:
    send(FileChannel(tmp_path), parcel_of(feed_of(*numbered(3)), "news.json"))
    before = (tmp_path / "news.json").read_bytes()
    with (tmp_path / "news.json").open("rb", buffering=0) as reader:
        start = reader.read(10)
        send(FileChannel(tmp_path), parcel_of(feed_of(*numbered(1)), "news.json"))
        assert start + reader.read() == before
    assert (tmp_path / "news.json").read_bytes() != before


def test_a_page_that_is_a_file_has_its_style_and_its_picture_inside(tmp_path: Path) -> None:
    send(FileChannel(tmp_path), parcel_of(feed_of(*numbered(1)), "news.html"))
    page = lxml_html.fromstring((tmp_path / "news.html").read_bytes())
    assert not page.xpath("//link[@rel='stylesheet']")
    assert "font-family" in page.xpath("string(//style)")
    assert all(src.startswith("data:image/svg+xml;base64,") for src in page.xpath("//img/@src"))


def test_a_transformed_file_holds_what_the_stylesheet_made(tmp_path: Path) -> None:
    parcel = parcel_of(feed_of(*numbered(1)), "titles.txt")
    made = Parcel(
        **{name: getattr(parcel, name) for name in ("key", "destination", "made_at", "view")},
        transformed=Transformed("Story 1\n", "text/plain"),
    )
    send(FileChannel(tmp_path), made)
    assert (tmp_path / "titles.txt").read_text() == "Story 1\n"


@pytest.mark.parametrize(
    "target", ["../x.rss", "/etc/x.rss", "", ".", "a/../../x.rss", "x\0.rss", "notes.doc"]
)
def test_a_file_outside_or_of_no_known_kind_is_refused(tmp_path: Path, target: str) -> None:
    with pytest.raises(DeliveryError) as caught:
        send(FileChannel(tmp_path / "out"), parcel_of(feed_of(*numbered(1)), target))
    assert caught.value.is_final
    assert not list(tmp_path.rglob("x.rss"))


def test_a_disk_that_cannot_be_written_is_tried_again(tmp_path: Path) -> None:
    (tmp_path / "dir").write_text("in the way")
    with pytest.raises(DeliveryError) as caught:
        send(FileChannel(tmp_path), parcel_of(feed_of(*numbered(1)), "dir/x.rss"))
    assert not caught.value.is_final


# Mail

MAIL = MailOptions(sender="weir@example.org", secret="s", bounces="bounces@example.org")


def mailing(mailbox: Mailbox) -> MailChannel:
    return MailChannel(SmtpPool(SmtpServer(host="127.0.0.1", port=mailbox.port, timeout_s=5)), MAIL)


def test_a_digest_arrives_with_text_html_and_the_headers_of_a_list(mailbox: Mailbox) -> None:
    send(mailing(mailbox), parcel_of(WITH_PHOTOS, "ann@example.org"))
    (message,) = mailbox.messages
    assert message["Subject"] == "MusePhotoStream: Muse in Paris"
    assert [part.get_content_type() for part in message.iter_parts()] == ["text/plain", "text/html"]
    text, html = (part.get_content() for part in message.iter_parts())
    assert "photos: Muse live (MusicPhotos) http://photos.example/1?a=b&c=d" in text
    assert '<a href="http://news.example/1">Muse in Paris</a>' in html
    link = message["List-Unsubscribe"].strip(" <>")
    assert link.startswith("http://weir.example/unsubscribe/")
    assert subscription_of("s", link.rpartition("/")[2]) == 7
    assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert message["In-Reply-To"] == message["References"] == "<subscription-7@example.org>"
    assert mailbox.envelopes == [("bounces+7@example.org", ("ann@example.org",))]


def test_the_same_parcel_is_the_same_message(mailbox: Mailbox) -> None:
    channel = mailing(mailbox)
    one, other = (parcel_of(feed_of(*numbered(count)), "ann@example.org") for count in (2, 3))
    for parcel in (one, one, other):
        send(channel, parcel)
    first, again, new = mailbox.messages
    assert first["Message-ID"] == again["Message-ID"] != new["Message-ID"]
    assert compose(one, MAIL) == compose(one, MAIL)


@pytest.mark.parametrize(
    ("answer", "is_final"), [("450 mailbox busy", False), ("550 no such user", True), ("552 full", True)]
)
def test_a_refused_recipient_is_for_now_or_for_good(mailbox: Mailbox, answer: str, is_final: bool) -> None:
    mailbox.refuse["ann@example.org"] = answer
    channel = mailing(mailbox)
    for _ in range(2):
        with pytest.raises(DeliveryError, match=answer) as caught:
            send(channel, parcel_of(feed_of(*numbered(1)), "ann@example.org"))
        assert caught.value.is_final == is_final
    send(channel, parcel_of(feed_of(*numbered(1)), "bob@example.org"))
    assert len(mailbox.messages) == 1


def test_a_message_refused_after_its_content_is_judged_too(mailbox: Mailbox) -> None:
    mailbox.refuse_data += ["451 later", "554 spam"]
    channel = mailing(mailbox)
    for is_final in (False, True):
        with pytest.raises(DeliveryError) as caught:
            send(channel, parcel_of(feed_of(*numbered(1)), "ann@example.org"))
        assert caught.value.is_final == is_final


def test_a_server_that_is_away_is_tried_again() -> None:
    with mail_server() as mailbox:
        channel = mailing(mailbox)
        send(channel, parcel_of(feed_of(*numbered(1)), "ann@example.org"))
    with pytest.raises(DeliveryError, match="cannot be reached") as caught:
        send(channel, parcel_of(feed_of(*numbered(1)), "ann@example.org"))
    assert not caught.value.is_final


@pytest.mark.parametrize(
    "target", ["", "ann", "@example.org", "a@b\r\nBcc: all@example.org", "a b@c", "<a@b>", "a@b, c@d"]
)
def test_what_is_no_mail_address_is_refused(target: str) -> None:
    with pytest.raises(DeliveryError) as caught:
        compose(parcel_of(feed_of(*numbered(1)), target), MAIL)
    assert caught.value.is_final


def bounced(subscription: int, message_id: str) -> bytes:
    report = (
        f"From: MAILER-DAEMON@mx.example\r\nTo: bounces+{subscription}@example.org\r\nMIME-Version: 1.0\r\n"
        'Content-Type: multipart/report; report-type=delivery-status; boundary="b"\r\n\r\n'
        "--b\r\nContent-Type: text/plain\r\n\r\nSorry.\r\n"
        "--b\r\nContent-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; mx.example\r\n\r\n"
        "Final-Recipient: rfc822; ann@example.org\r\nAction: failed\r\nStatus: 5.1.1\r\n"
        "Diagnostic-Code: smtp; 550 no such user\r\n\r\n"
        f"--b\r\nContent-Type: text/rfc822-headers\r\n\r\nMessage-ID: {message_id}\r\n--b--\r\n"
    )
    return report.encode()


def test_a_bounce_is_a_failure_of_its_subscription_and_of_no_other(tmp_path: Path) -> None:
    with open_catalog(f"sqlite:///{tmp_path}/c.db") as catalog:
        hook, mail = subscribed(catalog, channel="webhook"), subscribed(catalog, channel="mail")
        assert record_bounce(catalog, bounced(mail, "<x>"), NOON) == mail
        assert record_bounce(catalog, bounced(hook, "<x>"), NOON) is None
        assert record_bounce(catalog, bounced(999, "<x>"), NOON) is None
        (failure,) = catalog.failures.of("subscription", str(mail))
        assert failure.reason == "returned by the mail server: smtp; 550 no such user"
        assert catalog.subscriptions.with_id(mail).status == "active"


def test_a_bounce_tells_its_subscription_message_and_reason() -> None:
    sent = message_from_bytes(compose(parcel_of(feed_of(*numbered(1)), "ann@example.org"), MAIL))
    bounce = bounce_of(bounced(7, sent["Message-ID"]))
    assert bounce is not None
    assert (bounce.subscription, bounce.is_final, bounce.reason) == (7, True, "smtp; 550 no such user")
    assert f"<{bounce.key}@example.org>" == sent["Message-ID"]
    assert bounce_of(sent.as_bytes()) is None
    assert bounce_of(b"\xff\x00") is None


def test_an_unsubscribe_token_cannot_be_guessed_or_changed() -> None:
    token = unsubscribe_token("s", 12)
    assert subscription_of("s", token) == 12
    for other in (
        f"13-{token[3:]}",
        token[:-1],
        "",
        "12-",
        "x",
        unsubscribe_token("t", 12),
        "²-a",
        token + "é",
    ):
        assert subscription_of("s", other) is None


# Webhooks


def test_the_signature_is_the_one_of_standard_webhooks() -> None:
    # The example of the specification.
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    assert signature(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", b'{"test": 2432232314}') == (
        "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    )


def test_a_webhook_is_signed_and_carries_json_feed_items(receiver: Receiver) -> None:
    parcel = parcel_of(feed_of(*numbered(2)), receiver.url, secret=SECRET)
    send(WebhookChannel(posting, Clock()), parcel)
    (request,) = receiver.requests
    assert is_signed(SECRET, request.headers, request.body, NOON + timedelta(minutes=4))
    assert not is_signed(SECRET, request.headers, request.body + b" ", NOON)
    assert not is_signed(SECRET, request.headers, request.body, NOON + timedelta(minutes=6))
    message = json.loads(request.body)
    assert message["type"] == "feedweir.items"
    assert [item["title"] for item in message["data"]["feed"]["items"]] == ["Story 2", "Story 1"]


def test_a_repeated_webhook_has_the_same_id_and_body(receiver: Receiver) -> None:
    clock = Clock()
    parcel = parcel_of(feed_of(*numbered(2)), receiver.url, secret=SECRET)
    for _ in range(2):
        send(WebhookChannel(posting, clock), parcel)
        clock.advance(1_000)
    first, again = receiver.requests
    assert first.headers["webhook-id"] == again.headers["webhook-id"]
    assert first.body == again.body
    assert first.headers["webhook-timestamp"] != again.headers["webhook-timestamp"]


def test_two_secrets_sign_twice_while_a_receiver_changes_its_own() -> None:
    other = "whsec_" + base64.b64encode(b"another").decode()
    post = request_of(parcel_of(feed_of(*numbered(1)), "http://x.example", secret=f"{SECRET} {other}"), NOON)
    headers = dict(post.headers)
    assert is_signed(SECRET, headers, post.body, NOON)
    assert is_signed(other, headers, post.body, NOON)


@pytest.mark.parametrize(
    ("status", "is_final", "is_gone"),
    [
        *((status, False, False) for status in (401, 404, 429, 500, 503)),
        *((status, True, False) for status in (302, 400, 422)),
        (410, True, True),
    ],
)
def test_an_answer_decides_whether_to_try_again(
    receiver: Receiver, status: int, is_final: bool, is_gone: bool
) -> None:
    receiver.answer = lambda _: (status, {"Retry-After": "120", "Location": "/other"}, b"a reason")
    with pytest.raises(DeliveryError, match=f"HTTP {status}: a reason") as caught:
        send(WebhookChannel(posting, Clock()), parcel_of(feed_of(*numbered(1)), receiver.url))
    assert (caught.value.is_final, caught.value.is_gone) == (is_final, is_gone)
    assert caught.value.retry_after_s == 120
    assert len(receiver.requests) == 1


def test_a_date_in_retry_after_is_understood() -> None:
    assert retry_after_s("Wed, 01 May 2024 12:01:40 GMT", NOON) == 100
    assert retry_after_s("Wed, 01 May 2024 11:00:00 GMT", NOON) == 0
    assert retry_after_s("soon", NOON) is None
    check(Answer(204), NOON)


def test_a_webhook_to_a_private_address_is_refused(receiver: Receiver) -> None:
    with pytest.raises(DeliveryError, match="public internet") as caught:
        asyncio.run(posting(Post(receiver.url, (), b"x"), AddressRule()))
    assert caught.value.is_final
    assert receiver.requests == []


def test_a_receiver_that_does_not_answer_is_tried_again() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"

        async def impatient() -> None:
            async with AiohttpTransport(rule=LOCAL) as transport:
                await GuardedPoster(transport, timeout_s=0.2)(Post(url, (), b"x"))

        with pytest.raises(DeliveryError, match="within") as caught:
            asyncio.run(impatient())
    assert not caught.value.is_final


def test_every_webhook_arrives_at_a_receiver_that_fails_at_random(receiver: Receiver, tmp_path: Path) -> None:
    luck = random.Random(5)
    receiver.answer = lambda _: (luck.choice([204, 204, 500, 503, 429]), {}, b"")
    clock, items = Clock(), numbered(40)
    with open_catalog(f"sqlite:///{tmp_path}/c.db") as catalog, Transformer() as transformer:
        ids = [
            subscribed(catalog, channel="webhook", target=receiver.url, schedule={"per_message": 3})
            for _ in range(3)
        ]
        channels: dict[str, Channel] = {"webhook": WebhookChannel(posting, clock)}
        sender = sender_of(catalog, Memory(items), channels, clock, transformer=transformer)
        for start in range(1, 41, 10):
            for id_ in ids:
                arrive(catalog, id_, range(start, start + 10), clock.now)
            asyncio.run(sender.step())
            clock.advance(4)
        for _ in range(100):
            if set(catalog.outbox.counts()) == {"sent"}:
                break
            clock.advance(20_000)
            asyncio.run(sender.step())
    bodies = {request.headers["webhook-id"]: json.loads(request.body) for request in receiver.requests}
    arrived = [
        (body["data"]["subscription"], item["title"])
        for body in bodies.values()
        for item in body["data"]["feed"]["items"]
    ]
    assert sorted(arrived) == sorted((id_, item.title) for id_ in ids for item in items)
    assert len(receiver.requests) > len(bodies), "some were tried again"


# Events


def test_a_client_takes_up_its_stream_after_the_last_id_it_saw() -> None:
    view = feed_of(*numbered(5))
    resumed = resumption("3", newest=5)
    assert [entry.item.seq for entry in after(view.entries, resumed.after)] == [4, 5]
    texts = [part.decode() for part in events(view, after(view.entries, resumed.after), Address())]
    assert [text.split("\n")[0] for text in texts] == ["id: 4", "id: 5"]
    data = json.loads(texts[0].split("\n")[2].removeprefix("data: "))
    assert data["title"] == "Story 4"


@pytest.mark.parametrize("text", ["", "x", "99", "-1", "1e3", "٣", "9" * 40])
def test_a_client_without_an_id_of_ours_gets_what_is_new(text: str) -> None:
    assert resumption(text, newest=5).after == 5


def test_a_client_that_was_away_too_long_is_told() -> None:
    resumed = resumption("3", newest=50, oldest_kept=10)
    assert resumed.missed
    assert b"event: missed" in opening(resumed)
    assert not resumption("9", newest=50, oldest_kept=10).missed


def test_data_cannot_forge_another_event() -> None:
    assert (
        event("1", "item", "a\r\n\nid: 9\rb")
        == b"id: 1\nevent: item\ndata: a\ndata: \ndata: id: 9\ndata: b\n\n"
    )


# WebSub

TOPIC = "http://weir.example/feeds/News.atom"


def form(url: str, **given: str) -> dict[str, str]:
    values = {"mode": "subscribe", "topic": TOPIC, "callback": url, "secret": "k"}
    return {f"hub.{name}": value for name, value in {**values, **given}.items()}


def echoing(request: Request) -> tuple[int, dict[str, str], bytes]:
    challenge = parse_qs(urlsplit(request.path).query).get("hub.challenge", [""])[0]
    return (200, {}, challenge.encode()) if request.method == "GET" else (204, {}, b"")


def test_a_subscriber_confirms_is_pushed_to_and_leaves(receiver: Receiver, tmp_path: Path) -> None:
    receiver.answer = echoing
    clock = Clock()
    with open_catalog(f"sqlite:///{tmp_path}/c.db") as catalog, Transformer() as transformer:
        subscribed(catalog, channel="none")

        def ask(**given: str) -> bool:
            request = requested(form(f"{receiver.url}?id=5", **given))
            return asyncio.run(
                carry_out(catalog, request, "News", post=posting, new_challenge=lambda: "c?&=", now=clock.now)
            )

        assert ask()
        assert ask(), "asked again, the lease begins anew"
        (lease,) = (each for each in catalog.subscriptions.all() if each.channel == "websub")
        arrive(catalog, lease.id, [1, 2], clock.now)
        channel = WebSubChannel(posting, clock, "http://weir.example/hub")
        items = [replace(item, arrived=NOON + timedelta(hours=1)) for item in numbered(2)]
        sender = sender_of(catalog, Memory(items), {"websub": channel}, clock, transformer=transformer)
        assert asyncio.run(sender.step()) == 1
        assert ask(mode="unsubscribe")
        assert drop_ended(catalog, clock.now) == 0
        assert not [each for each in catalog.subscriptions.all() if each.channel == "websub"]
    pushed = receiver.requests[2]
    assert pushed.path == "/hook?id=5"
    assert pushed.headers["link"] == f'<http://weir.example/hub>; rel="hub", <{TOPIC}>; rel="self"'
    digest = hmac.new(b"k", pushed.body, hashlib.sha256).hexdigest()
    assert pushed.headers["x-hub-signature"] == f"sha256={digest}"
    feed = feedparser.parse(pushed.body)
    assert [entry.title for entry in feed.entries] == ["Story 2", "Story 1"]
    assert feed.feed.updated == "2024-05-01T13:00:00Z", "when the newest arrived"
    assert {request.headers["user-agent"] for request in receiver.requests} == {f"Feedweir/{__version__}"}


def test_our_own_subscriber_and_our_own_hub_understand_each_other(receiver: Receiver, tmp_path: Path) -> None:
    hub = subscriber.Hub(url="http://weir.example/hub", topic=TOPIC)
    lease = subscriber.new_lease("News", hub, NOON, lambda count: "s" * count)
    request, lease = subscriber.request_for(lease, receiver.url, NOON)
    fields = {name: values[0] for name, values in parse_qs(request.body.decode()).items()}
    seen: list[subscriber.Lease] = [lease]

    def answer(got: Request) -> tuple[int, dict[str, str], bytes]:
        query = {name: values[0] for name, values in parse_qs(urlsplit(got.path).query).items()}
        if got.method == "GET":
            verdict = subscriber.verified(seen[-1], query, NOON)
            seen.append(verdict.lease)
            return verdict.status, {}, verdict.body.encode()
        return 204, {}, b""

    receiver.answer = answer
    clock = Clock()
    with open_catalog(f"sqlite:///{tmp_path}/c.db") as catalog, Transformer() as transformer:
        subscribed(catalog, channel="none")
        asked = requested(fields)
        assert asyncio.run(
            carry_out(catalog, asked, "News", post=posting, new_challenge=lambda: "abc", now=NOON)
        )
        record = catalog.subscriptions.all()[-1]
        arrive(catalog, record.id, [1], NOON)
        channel = WebSubChannel(posting, clock, hub.url)
        sender = sender_of(catalog, Memory(numbered(2)), {"websub": channel}, clock, transformer=transformer)
        assert asyncio.run(sender.step()) == 1
        clock.advance(11 * 86_400)
        arrive(catalog, record.id, [2], clock.now)
        assert asyncio.run(sender.step()) == 0, "the lease has ended"
        assert catalog.subscriptions.with_id(record.id).status == "dropped"
    pushed = receiver.requests[-1]
    landed = subscriber.pushed(
        seen[-1], pushed.body, tuple(pushed.headers.items()), pushed.headers["content-type"], NOON
    )
    assert landed is not None
    assert landed.body == pushed.body


def test_a_request_that_the_callback_does_not_confirm_is_not_carried_out(
    receiver: Receiver, tmp_path: Path
) -> None:
    receiver.answer = lambda _: (200, {}, b"what?")
    with open_catalog(f"sqlite:///{tmp_path}/c.db") as catalog:
        subscribed(catalog, channel="none")
        request = requested(form(receiver.url))
        assert not asyncio.run(
            carry_out(catalog, request, "News", post=posting, new_challenge=lambda: "c", now=NOON)
        )
        assert [each.channel for each in catalog.subscriptions.all()] == ["none"]


@pytest.mark.parametrize(
    "given",
    [
        {"mode": "publish"},
        {"callback": "ftp://x.example/"},
        {"callback": "http://"},
        {"callback": "http://x.example/#a"},
        {"callback": "http://[::1"},
        {"topic": "javascript:alert(1)"},
        {"topic": 'http://x.example/>; rel="hub", <http://evil.example'},
        {"secret": "s" * 200},
    ],
)
def test_a_bad_request_to_the_hub_is_refused(given: dict[str, str]) -> None:
    with pytest.raises(DeliveryError):
        requested(form("http://x.example/", **given))


@pytest.mark.parametrize(
    ("asked", "given"), [("", 864_000), ("5", 3_600), ("9" * 30, 2_592_000), ("x", 864_000)]
)
def test_a_lease_is_as_long_as_asked_within_reason(asked: str, given: int) -> None:
    request: HubRequest = requested(form("http://x.example/", lease_seconds=asked))
    assert request.lease_s == given


# Notifications


def test_a_service_that_does_not_take_a_notification_is_tried_again() -> None:
    taken: list[tuple[str, str, str]] = []

    def notify(url: str, title: str, text: str) -> bool:
        taken.append((url, title, text))
        return len(taken) > 1

    parcel = parcel_of(feed_of(*numbered(2)), "ntfy://news")
    with pytest.raises(DeliveryError) as caught:
        send(NotifyChannel(notify), parcel)
    assert not caught.value.is_final
    send(NotifyChannel(notify), parcel)
    assert taken[1][:2] == ("ntfy://news", "MuseNews: 2 new")
