"""Questions over HTTP: looking back, which feeds want an item, and why."""

from __future__ import annotations

import json

from tests.web.memory_backend import MemoryBackend
from tests.web.web_client import Client


def test_a_search_tells_the_newest_items_and_how_many_there_are(client: Client) -> None:
    reply = client.get("/v1/search?q=river&limit=2")
    told = json.loads(reply.body)
    assert (reply.status, told["hits"], told["searched"], len(told["items"])) == (200, 4, 4, 2)
    assert told["per_day"] == {"2026-03-01": 4}
    assert told["items"][0]["page"].endswith("/items/3")
    assert client.get("/v1/search").status == 400
    assert client.get("/v1/search?q=x&owner=a//b").status == 400


def test_it_is_told_why_an_item_is_in_a_feed_as_json_and_as_text(client: Client) -> None:
    told = json.loads(client.get("/v1/why?item=3&feed=HighWater").body)
    assert (told["text"], told["holds"], told["note"]) == ("matched", True, "a candidate by level")
    text = client.get("/v1/why?item=2&feed=HighWater&format=text")
    assert text.body.decode() == "✗ matched  (a candidate by level)\n  ✗ contains 'level'"
    assert text.headers["Content-Type"] == "text/plain; charset=utf-8"
    missing = client.get("/v1/why?item=2&feed=Nowhere")
    assert (missing.status, json.loads(missing.body)["detail"]) == (404, "there is no feed Nowhere")
    assert client.get("/v1/items/99/feeds").status == 404


def test_the_page_of_a_virtual_feed_leads_to_why_an_entry_is_there(client: Client) -> None:
    page = client.get("/feeds/HighWater", Accept="text/html").body.decode()
    assert 'href="/v1/why?format=text&amp;item=3&amp;feed=HighWater"' in page
    assert "/v1/why" not in client.get("/feeds/RiverPost", Accept="text/html").body.decode()


def test_feeds_are_made_listed_and_asked_for_an_owner(client: Client, backend: MemoryBackend) -> None:
    assert client.post("/v1/statements?owner=acme/ann", "create feed Mine;").status == 200
    assert backend.owners["Mine"] == "acme/ann"
    listed = json.loads(client.get("/v1/feeds?owner=acme/ann").body)["feeds"]
    assert [(feed["name"], feed["hits"], feed["candidates"]) for feed in listed] == [("Mine", 0, 0)]
    wanted = json.loads(client.get("/v1/items/3/feeds?owner=acme/ann").body)
    assert (wanted["asked"], wanted["items"][0]["feeds"]) == (1, ["Mine"])
    assert client.get("/v1/feeds?owner=/").status == 400


def test_a_document_is_matched_and_not_kept(client: Client) -> None:
    told = json.loads(client.post("/v1/match?source=RiverPost", "high water").body)
    (item,) = told["items"]
    assert (item["title"], item["source"], item["feeds"]) == ("high water", "RiverPost", ["HighWater"])
    assert client.post("/v1/match", "").status == 422
    assert client.post("/v1/match", "x", Origin="http://elsewhere.example").status == 403
