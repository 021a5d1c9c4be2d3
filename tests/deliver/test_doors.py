"""The doors of delivery: the way out, the hub, streams, logs, replay, and mail that comes back."""

from __future__ import annotations

import hashlib
import hmac
import json
import mailbox
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from feedweir.deliver.send.bounces import BounceLoop, read_mailbox, record_bounce
from feedweir.deliver.transforms.transformer import Transformed
from feedweir.errors import DeliveryError
from tests.deliver.house import House, house, listening, next_event
from tests.deliver.receivers import Receiver, Request, http_receiver, mail_server

REPORT = """From: mailer-daemon@mx.example
To: bounces+{id}@example.org
Subject: undeliverable
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary=b

--b
Content-Type: text/plain

It could not be delivered.

--b
Content-Type: message/delivery-status

Reporting-MTA: dns; mx.example

Final-Recipient: rfc822; ann@example.org
Action: failed
Status: 5.1.1
Diagnostic-Code: smtp; 550 no such user

--b--
"""


@pytest.fixture
def open_house(tmp_path: Path) -> Iterator[House]:
    with house(tmp_path) as opened:
        yield opened


def test_a_reader_leaves_by_the_link_of_a_mail_with_one_click_and_not_by_looking(tmp_path: Path) -> None:
    with mail_server() as inbox, house(tmp_path, smtp_port=inbox.port) as home:
        home.weir.execute("subscribe to Stories as Ann output mail 'ann@example.org' with backlog")
        home.publish(1)
        assert home.send() == 1
        link = inbox.messages[0]["List-Unsubscribe"].strip(" <>")
        assert inbox.messages[0]["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
        path = link.removeprefix(home.url)
        page = home.client.get(path)
        assert page.status == 200
        assert b"ann@example.org" in page.body
        assert b'<form method="post"' in page.body
        assert "form-action 'self'" in page.headers["Content-Security-Policy"]
        assert home.weir.catalog.subscriptions.named("Ann") is not None, "looking ends nothing"
        done = home.client.post(
            path, "List-Unsubscribe=One-Click", Content_Type="application/x-www-form-urlencoded"
        )
        assert done.status == 200
        assert home.weir.catalog.subscriptions.named("Ann") is None
        assert b"You have unsubscribed" in home.client.get(path).body
        assert home.client.post(path, "").status == 200, "once more does no harm"
        home.publish(2)
        assert home.send() == 0


def test_links_are_for_one_subscription_and_one_purpose(open_house: House) -> None:
    open_house.weir.execute(
        "subscribe to Stories as A output file 'a.rss'; subscribe to Stories as B output file 'b.rss'"
    )
    one, two = open_house.deliveries.subscriptions()
    assert open_house.client.get(f"/subscriptions/{one.token}").status == 200
    assert open_house.client.get(f"/unsubscribe/{one.token}").status == 404
    forged = one.unsubscribe_token.replace(f"{one.id}-", f"{two.id}-")
    assert open_house.client.post(f"/unsubscribe/{forged}", "").status == 404
    assert open_house.client.post("/unsubscribe/x", "").status == 404
    assert len(open_house.deliveries.subscriptions()) == 2


def test_the_secret_of_links_is_made_once_and_kept(tmp_path: Path) -> None:
    with house(tmp_path) as first:
        first.weir.execute("subscribe to Stories as A output file 'a.rss'")
        token = first.deliveries.subscriptions()[0].token
    with house(tmp_path / "other") as other:
        other.weir.execute("subscribe to Stories as A output file 'a.rss'")
        assert other.deliveries.subscriptions()[0].token != token
        assert other.deliveries.of_token(other.deliveries.subscriptions()[0].token, "log") is not None


class Subscriber:
    """A WebSub subscriber that means what it asked for, unless told otherwise."""

    def __init__(self, receiver: Receiver, *, means_it: bool = True) -> None:
        self.receiver, self.means_it = receiver, means_it
        self.verified = threading.Event()
        receiver.answer = self._answer

    def _answer(self, request: Request) -> tuple[int, dict[str, str], bytes]:
        if request.method != "GET":
            return 204, {}, b""
        challenge = parse_qs(urlsplit(request.path).query)["hub.challenge"][0]
        self.verified.set()
        return (200, {}, challenge.encode()) if self.means_it else (404, {}, b"")

    def ask(self, home: House, mode: str, topic: str, **more: str) -> int:
        self.verified.clear()
        form = {"hub.mode": mode, "hub.topic": topic, "hub.callback": self.receiver.url, **more}
        body = urlencode({name.replace("hub_", "hub."): value for name, value in form.items()})
        kind = "application/x-www-form-urlencoded"
        status = home.client.post("/hub", body, Content_Type=kind).status
        if status == 202:
            assert self.verified.wait(20)
        return status


def leases(home: House, wanted: int) -> None:
    """Wait until the hub has done what it verified."""
    for _ in range(500):
        if len(home.weir.catalog.subscriptions.all()) == wanted:
            return
        threading.Event().wait(0.01)
    raise AssertionError(home.weir.catalog.subscriptions.all())


def test_every_feed_has_a_hub_that_verifies_pushes_and_signs(open_house: House) -> None:
    home = open_house
    topic = f"{home.url}/feeds/Stories.atom"
    with http_receiver() as receiver:
        subscriber = Subscriber(receiver)
        announced = home.client.get("/feeds/Stories.atom")
        assert f'<{home.url}/hub>; rel="hub"' in ", ".join(announced.headers.get_all("Link") or ())
        assert f'href="{home.url}/hub"' in announced.body.decode()
        assert subscriber.ask(home, "subscribe", topic, hub_secret="s3cret", hub_lease_seconds="7200") == 202
        leases(home, 1)
        home.publish(1, 2)
        assert home.send() == 1
        (pushed,) = [request for request in receiver.requests if request.method == "POST"]
        signature = hmac.new(b"s3cret", pushed.body, hashlib.sha256).hexdigest()
        assert pushed.headers["x-hub-signature"] == f"sha256={signature}"
        assert pushed.headers["content-type"].startswith("application/atom+xml")
        assert b"Story 2" in pushed.body
        assert subscriber.ask(home, "unsubscribe", topic) == 202
        leases(home, 0)
        home.publish(3)
        assert home.send() == 0


@pytest.mark.parametrize(
    ("form", "status"),
    [
        ({"hub.mode": "subscribe", "hub.topic": "http://other.example/feeds/Stories.atom"}, 404),
        ({"hub.mode": "subscribe", "hub.topic": "{url}/feeds/Nothing.atom"}, 404),
        ({"hub.mode": "subscribe", "hub.topic": "{url}/feeds/Stories/events"}, 404),
        ({"hub.mode": "publish", "hub.topic": "{url}/feeds/Stories.atom"}, 400),
        ({}, 400),
    ],
)
def test_the_hub_refuses_what_is_not_its_own(open_house: House, form: dict[str, str], status: int) -> None:
    filled = {name: value.format(url=open_house.url) for name, value in form.items()}
    body = urlencode({"hub.callback": "http://127.0.0.1:1/x", **filled})
    assert open_house.client.post("/hub", body).status == status


def test_a_subscriber_that_did_not_mean_it_is_not_subscribed(open_house: House) -> None:
    with http_receiver() as receiver:
        doubtful = Subscriber(receiver, means_it=False)
        assert doubtful.ask(open_house, "subscribe", f"{open_house.url}/feeds/Stories.rss") == 202
        sure = Subscriber(receiver)
        assert sure.ask(open_house, "subscribe", f"{open_house.url}/feeds/Stories.json") == 202
        leases(open_house, 1)
    assert open_house.weir.catalog.subscriptions.all()[0].options["topic"].endswith(".json")


def test_a_feed_is_a_stream_that_can_be_left_and_taken_up_again(open_house: House) -> None:
    home = open_house
    home.publish(1)
    with listening(home.client.port, "/feeds/Stories/events") as stream:
        assert stream.status == 200
        assert stream.headers["Content-Type"].startswith("text/event-stream")
        assert stream.readline() == b"retry: 5000\n"
        start = stream.readline().decode().removeprefix("id: ").strip()
    home.publish(2, 3)
    with listening(home.client.port, "/feeds/Stories/events", Last_Event_ID=start) as stream:
        second, third = next_event(stream), next_event(stream)
    assert [json.loads(each["data"])["title"] for each in (second, third)] == ["Story 2", "Story 3"]
    home.publish(4)
    with listening(home.client.port, "/feeds/Stories/events", Last_Event_ID=second["id"]) as stream:
        again = [json.loads(next_event(stream)["data"])["title"] for _ in range(2)]
    assert again == ["Story 3", "Story 4"]
    missing = home.client.get("/feeds/Storys/events")
    assert missing.status == 404
    assert b"Stories" in missing.body


def test_who_listens_is_woken_by_what_is_published(tmp_path: Path) -> None:
    """With a keep-alive that is longer than the client waits: nothing is looked for in between."""
    with house(tmp_path, keep_alive_s=600) as home:
        path = "/feeds/Stories/events"
        with listening(home.client.port, path) as one, listening(home.client.port, path) as other:
            for number in (1, 2):
                home.publish(number)
                for stream in (one, other):
                    assert json.loads(next_event(stream)["data"])["title"] == f"Story {number}"


def test_the_stream_of_a_subscription_begins_with_it_and_goes_through_its_stylesheet(
    open_house: House,
) -> None:
    home = open_house
    home.publish(1)
    home.weir.execute("subscribe to Stories as Live apply 'Title' output stream")
    home.publish(2)
    with listening(home.client.port, "/subscriptions/Live/events") as stream:
        event = next_event(stream)
    assert event["data"].strip() == "Story 2"
    assert home.weir.catalog.outbox.counts() == {}, "nobody sends a stream"


NO_ONES = """<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
<xsl:output method="text"/><xsl:template match="/feed/element/item"><xsl:if test="contains(title, '1')">
<xsl:message terminate="yes">no ones</xsl:message></xsl:if>
<xsl:value-of select="title"/></xsl:template></xsl:stylesheet>"""


def test_what_a_stylesheet_fails_on_does_not_end_a_stream(open_house: House) -> None:
    home = open_house
    sheet = home.weir.directory.root / "stylesheets" / "NoOnes.xsl"
    sheet.parent.mkdir()
    sheet.write_text(NO_ONES)
    home.weir.execute("subscribe to Stories as Live apply 'NoOnes' output stream")
    home.publish(1, 2)
    with listening(home.client.port, "/subscriptions/Live/events") as stream:
        first, second = next_event(stream), next_event(stream)
    assert (first["event"], first["data"]) == ("failure", "the stylesheet failed: no ones")
    assert (second["event"], second["data"].strip()) == ("item", "Story 2")


async def not_now(*_: object) -> str:
    raise DeliveryError("the process for stylesheets did not start")


def test_a_stream_whose_stylesheet_cannot_run_now_ends_and_is_taken_up_again(
    open_house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    home = open_house
    path = "/subscriptions/Live/events"
    home.weir.execute("subscribe to Stories as Live apply 'Title' output stream")
    home.publish(1)
    with monkeypatch.context() as patched:
        patched.setattr(home.deliveries, "event_data", not_now)
        with listening(home.client.port, path) as stream:
            *_, last = stream.read().decode().split()
    with listening(home.client.port, path, Last_Event_ID=last) as stream:
        assert next_event(stream)["data"].strip() == "Story 1"
    assert not caplog.records, "nothing went wrong that the operator must know"


class Unhurried:
    """Stylesheets that are never done."""

    def begin(self, *_: object) -> Future[Transformed]:
        return Future()

    def close(self) -> None:
        pass


def test_many_who_wait_for_a_slow_stylesheet_keep_nobody_else_waiting(open_house: House) -> None:
    home = open_house
    home.weir.execute("subscribe to Stories as Live apply 'Title' output stream")
    home.publish(1)
    home.deliveries._transformer = cast(Any, Unhurried())
    with ExitStack() as streams:
        for _ in range(50):  # more than a server has threads
            streams.enter_context(listening(home.client.port, "/subscriptions/Live/events"))
        assert home.client.get("/feeds/Stories.rss").status == 200


def test_what_was_given_up_can_be_seen_and_sent_after_all(open_house: House) -> None:
    home = open_house
    with http_receiver() as receiver:
        receiver.answer = lambda _: (400, {}, b"no <b>thanks</b>")
        home.weir.execute(
            f"subscribe to Stories as Hook output webhook {receiver.url} at most 1 item per message with backlog"
        )
        home.publish(1, 2)
        assert home.send() == 0
        token = home.deliveries.subscriptions()[0].token
        page = home.client.get(f"/subscriptions/{token}").body.decode()
        assert "2 items were given up" in page
        assert "Story 1" in page
        assert "no &lt;b&gt;thanks&lt;/b&gt;" in page
        told = json.loads(home.client.get("/v1/subscriptions/Hook/dead").body)["dead"]
        assert [letter["title"] for letter in told] == ["Story 1", "Story 2"]
        receiver.answer = lambda _: (204, {}, b"")
        one = home.client.post(f"/v1/subscriptions/Hook/replay?entry={told[0]['entry']}", "")
        assert json.loads(one.body) == {"replayed": 1}
        rest = home.client.post(f"/subscriptions/{token}/replay", "")
        assert (rest.status, rest.headers["Location"]) == (303, f"/subscriptions/{token}?replayed=1")
        assert home.send() == 2
        log = json.loads(home.client.get("/v1/subscriptions/Hook/log").body)["log"]
        assert sorted(line["outcome"] for line in log) == [
            "dead",
            "dead",
            "replayed",
            "replayed",
            "sent",
            "sent",
        ]
        assert b"given up. The log" not in home.client.get(f"/subscriptions/{token}").body


def test_what_a_dropped_subscription_was_sent_can_still_be_read(tmp_path: Path) -> None:
    with house(tmp_path) as home:
        number = {}
        for story in (1, 2):
            home.weir.execute("subscribe to Stories as Desk output file 'a.rss'")
            number[story] = home.deliveries.subscriptions()[0].id
            home.publish(story)
            assert home.send() == 1
            home.weir.execute("drop subscription Desk")
        for name, story in (("Desk", 2), (number[1], 1), (number[2], 2)):
            assert json.loads(home.client.get(f"/v1/subscriptions/{name}").body)["status"] == "dropped"
            (line,) = json.loads(home.client.get(f"/v1/subscriptions/{name}/log").body)["log"]
            assert (line["title"], line["outcome"]) == (f"Story {story}", "sent")
        assert home.client.post("/v1/subscriptions/Desk/replay", "").status == 409
        home.weir.execute("subscribe to Stories as Desk output file 'a.rss'")
        assert json.loads(home.client.get("/v1/subscriptions/Desk/log").body)["log"] == []


def test_programs_need_the_token_where_there_is_one_and_links_do_not(tmp_path: Path) -> None:
    with house(tmp_path, token="sesame") as home:
        home.weir.execute("subscribe to Stories as A output file 'a.rss'")
        for path in ("/subscriptions", "/v1/subscriptions", "/v1/subscriptions/A", "/subscriptions/A/events"):
            assert home.client.get(path).status == 401, path
        assert home.client.post("/v1/bounces", "x").status == 401
        admitted = home.client.get("/v1/subscriptions", Authorization="Bearer sesame")
        (shown,) = json.loads(admitted.body)["subscriptions"]
        assert shown["name"] == "A"
        assert home.client.get(shown["links"]["log"].removeprefix(home.url)).status == 200


def bounced(home: House) -> list[str]:
    subscription = home.deliveries.subscriptions()[0]
    return [each.reason for each in home.weir.catalog.failures.of("subscription", str(subscription.id))]


def test_mail_that_comes_back_is_told_to_its_subscriber(open_house: House, tmp_path: Path) -> None:
    home = open_house
    home.weir.execute("subscribe to Stories as Ann output mail 'ann@example.org' with backlog")
    report = REPORT.format(id=home.deliveries.subscriptions()[0].id)
    taken = home.client.post("/v1/bounces", report, Content_Type="message/rfc822")
    assert json.loads(taken.body) == {"subscription": home.deliveries.subscriptions()[0].id}
    assert json.loads(home.client.post("/v1/bounces", "Subject: hello\n\nhi").body) == {"subscription": None}
    assert bounced(home) == ["returned by the mail server: smtp; 550 no such user"]
    box = mailbox.Maildir(tmp_path / "maildir")
    box.add(report)
    box.add("Subject: hello\n\nhi")
    assert [read_mailbox(home.weir.catalog, tmp_path / "maildir", home.weir.clock()) for _ in range(2)] == [
        1,
        0,
    ]
    pile = mailbox.mbox(tmp_path / "mbox")
    pile.add(report)
    pile.close()
    assert [read_mailbox(home.weir.catalog, tmp_path / "mbox", home.weir.clock()) for _ in range(2)] == [1, 0]
    assert len(bounced(home)) == 3
    assert len(mailbox.Maildir(tmp_path / "maildir")) == 2, "what was read stays there"
    box.add(report)
    loop = BounceLoop(home.weir.catalog, tmp_path / "maildir", home.weir.clock)
    loop.start()
    loop.stop()
    assert len(bounced(home)) == 4


def test_a_message_that_came_back_says_so_in_its_log_and_nobody_else_writes_there(tmp_path: Path) -> None:
    with mail_server() as inbox, house(tmp_path, smtp_port=inbox.port) as home:
        home.weir.execute(
            "subscribe to Stories as Ann output mail 'ann@example.org' zone 'Europe/Paris' with backlog"
        )
        (ann,) = home.deliveries.subscriptions()
        for number in (1, 2):
            home.publish(number)
            home.send()
        assert "CES" in inbox.messages[0].as_string() or "CET" in inbox.messages[0].as_string()
        report = REPORT.format(id=ann.id)
        quoting = (
            f"--b\nContent-Type: message/rfc822\n\nMessage-ID: {inbox.messages[0]['Message-ID']}\n\n--b--"
        )
        assert record_bounce(home.weir.catalog, report.encode(), home.weir.clock()) == ann.id
        assert {line.outcome for line in home.deliveries.log(ann.id)} == {"sent"}
        record_bounce(home.weir.catalog, report.replace("--b--", quoting).encode(), home.weir.clock())
        latest, *earlier = home.deliveries.log(ann.id)
        assert (latest.outcome, latest.title) == ("returned", "Story 1")
        assert "550 no such user" in latest.reason
        assert {line.outcome for line in earlier} == {"sent"}
        page = home.client.get(ann_log(home))
        assert b"bounced" in page.body


def ann_log(home: House) -> str:
    shown = json.loads(home.client.get("/v1/subscriptions/Ann").body)
    return str(shown["links"]["log"]).removeprefix(home.url)
