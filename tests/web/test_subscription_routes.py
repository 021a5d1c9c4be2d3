"""Subscriptions as programs see them: paged, asked for by name, replayed within a time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.deliver.house import House, house
from tests.web.web_client import Reply


@pytest.fixture
def open_house(tmp_path: Path) -> Iterator[House]:
    with house(tmp_path) as opened:
        yield opened


def told(reply: Reply) -> Any:
    assert reply.status == 200, reply.body
    return json.loads(reply.body)


def subscribe(open_house: House, count: int) -> None:
    for number in range(count):
        open_house.weir.execute(f"subscribe to Stories as s{number} output file 'out{number}.rss'")


def test_subscriptions_are_read_page_by_page(open_house: House) -> None:
    subscribe(open_house, 5)
    names, after = [], 0
    while after is not None:
        page = told(open_house.client.get(f"/v1/subscriptions?limit=2&after={after}"))
        names += [one["name"] for one in page["subscriptions"]]
        after = page["next_after"]
    assert names == ["s0", "s1", "s2", "s3", "s4"]


@pytest.mark.parametrize("limit", ["0", "1001", "many", "-1"])
def test_a_page_has_a_size_within_reason(open_house: House, limit: str) -> None:
    reply = open_house.client.get(f"/v1/subscriptions?limit={limit}")
    assert reply.status == 400
    assert json.loads(reply.body)["parameter"] == "limit"


def test_a_subscription_tells_where_it_goes_and_not_its_tokens(open_house: House) -> None:
    open_house.weir.execute(
        "subscribe to Stories as h output webhook 'https://hook.example/?key=s3cretvalue'"
    )
    found = told(open_house.client.get("/v1/subscriptions/h"))
    assert (found["name"], found["feed"], found["channel"], found["status"]) == (
        "h",
        "Stories",
        "webhook",
        "active",
    )
    assert (found["waiting"], found["dead"], found["last_sent"]) == (0, 0, None)
    assert not {"token", "unsubscribe_token", "secret", "options"} & found.keys()
    assert found["links"]["log"].startswith(f"{open_house.url}/subscriptions/")
    assert "whsec_" not in json.dumps(found)


@pytest.mark.parametrize("path", ["", "/log", "/dead"])
def test_a_subscription_that_is_not_there_is_not_found(open_house: House, path: str) -> None:
    reply = open_house.client.get(f"/v1/subscriptions/nobody{path}")
    assert (reply.status, json.loads(reply.body)["detail"]) == (404, "There is no subscription nobody.")


def test_the_log_goes_back_line_by_line(open_house: House) -> None:
    subscribe(open_house, 1)
    for number in (1, 2, 3):
        open_house.publish(number)
        open_house.send()
    lines = told(open_house.client.get("/v1/subscriptions/s0/log"))["log"]
    assert [(line["title"], line["outcome"], line["attempt"]) for line in lines] == [
        (f"Story {number}", "sent", 1) for number in (3, 2, 1)
    ]
    page = told(open_house.client.get(f"/v1/subscriptions/s0/log?limit=1&before={lines[0]['id']}"))["log"]
    assert page == [lines[1]]
    assert told(open_house.client.get(f"/v1/subscriptions/s0/log?before={lines[-1]['id']}"))["log"] == []


def test_what_was_sent_in_a_time_is_sent_again_and_a_time_without_a_zone_is_utc(open_house: House) -> None:
    subscribe(open_house, 1)
    open_house.publish(1, 2)
    open_house.send()
    at = told(open_house.client.get("/v1/subscriptions/s0/log"))["log"][0]["at"]
    post = open_house.client.post
    assert told(post(f"/v1/subscriptions/s0/replay?until={at}", "")) == {"replayed": 0}
    naive = at.removesuffix("Z")
    assert told(post(f"/v1/subscriptions/s0/replay?since={naive}", "")) == {"replayed": 2}
    assert open_house.send() == 1
    assert post("/v1/subscriptions/s0/replay?since=yesterday", "").status == 400


def test_entries_are_replayed_by_number_and_others_stay(open_house: House) -> None:
    subscribe(open_house, 1)
    open_house.publish(1, 2)
    open_house.send()
    entry = told(open_house.client.get("/v1/subscriptions/s0/log"))["log"][0]["entry"]
    replayed = open_house.client.post(f"/v1/subscriptions/s0/replay?entry={entry}&entry=999", "")
    assert told(replayed) == {"replayed": 1}
    lines = told(open_house.client.get("/v1/subscriptions/s0/log"))["log"]
    assert [line["outcome"] for line in lines] == ["replayed", "sent", "sent"]


def test_nothing_is_sent_again_to_a_subscription_that_was_dropped(open_house: House) -> None:
    subscribe(open_house, 1)
    open_house.weir.execute("drop subscription s0")
    reply = open_house.client.post("/v1/subscriptions/s0/replay", "")
    assert (reply.status, "was dropped" in json.loads(reply.body)["detail"]) == (409, True)


@pytest.mark.parametrize("token", ["1", "1-", "1-0000", "x", "-1-ab", "%C2%BD-ab"])
def test_a_link_that_was_not_signed_here_leads_nowhere(open_house: House, token: str) -> None:
    subscribe(open_house, 1)
    for method, path in (
        ("GET", f"/subscriptions/{token}"),
        ("GET", f"/unsubscribe/{token}"),
        ("POST", f"/unsubscribe/{token}"),
        ("POST", f"/subscriptions/{token}/replay"),
    ):
        assert open_house.client.get(path, method).status in (404, 405)
    assert told(open_house.client.get("/v1/subscriptions/s0"))["status"] == "active"


def test_the_page_of_subscriptions_lists_them_all_and_has_no_script(open_house: House) -> None:
    open_house.weir.execute("subscribe to Stories as first output file '<i>.rss'")
    page = open_house.client.get("/subscriptions")
    assert b"first" in page.body
    assert b"&lt;i&gt;.rss" in page.body
    assert "script-src" not in page.headers["Content-Security-Policy"]
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    assert page.headers["Cache-Control"] == "no-store"


def test_a_stream_of_what_is_not_there_is_not_found(open_house: House) -> None:
    assert open_house.client.get("/feeds/Storie/events").status == 404
    assert json.loads(open_house.client.get("/feeds/Storie/events").body)["near"] == ["Stories"]
    assert open_house.client.get("/subscriptions/nobody/events").status == 404


def test_a_bounce_that_is_about_nothing_of_ours_is_taken_and_forgotten(open_house: House) -> None:
    reply = open_house.client.post("/v1/bounces", b"Subject: hello\r\n\r\nNot a report.")
    assert (reply.status, json.loads(reply.body)) == (202, {"subscription": None})
