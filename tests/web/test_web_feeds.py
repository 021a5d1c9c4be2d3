"""The door as a feed reader and a browser see it, over a real socket."""

from __future__ import annotations

import gzip
import json
import xml.etree.ElementTree as ET
from html import escape
from urllib.parse import urljoin

import feedparser
import pytest

from feedweir.deliver.address import Address
from feedweir.web.app import create_app
from feedweir.web.door import WebOptions
from feedweir.web.web_server import WebServer
from tests.web.memory_backend import NOON, MemoryBackend, an_item
from tests.web.web_client import Client


@pytest.mark.parametrize(
    ("suffix", "media_type"),
    [
        ("rss", "application/rss+xml; charset=utf-8"),
        ("atom", "application/atom+xml; charset=utf-8"),
        ("json", "application/feed+json"),
        ("", "text/html; charset=utf-8"),
    ],
)
def test_a_feed_is_served_in_every_format_with_its_media_type(
    client: Client, suffix: str, media_type: str
) -> None:
    reply = client.get(f"/feeds/RiverPost{'.' if suffix else ''}{suffix}")
    assert reply.status == 200
    assert reply.headers["Content-Type"] == media_type
    assert b"The river on day 3" in reply.body


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "text/html; charset=utf-8"),
        ("application/atom+xml, application/rss+xml;q=0.9", "application/atom+xml; charset=utf-8"),
        ("application/feed+json", "application/feed+json"),
        ("application/rss+xml, */*;q=0.1", "application/rss+xml; charset=utf-8"),
        ("image/png", "text/html; charset=utf-8"),
        ("*/*", "text/html; charset=utf-8"),
    ],
)
def test_the_plain_address_gives_what_the_client_likes_best(
    client: Client, accept: str, media_type: str
) -> None:
    assert client.get("/feeds/RiverPost", Accept=accept).headers["Content-Type"] == media_type


def test_older_pages_are_linked_in_the_feed_and_in_headers(client: Client) -> None:
    first = client.get("/feeds/RiverPost.json?limit=1")
    older = json.loads(first.body)["next_url"]
    links = ", ".join(first.headers.get_all("Link") or ())
    assert f'<{older}>; rel="next"' in links
    assert 'rel="prev-archive"' in links
    path = older[older.index("/feeds/") :]
    second = client.get(path)
    assert second.status == 200
    assert f'<{older}>; rel="self"' in ", ".join(second.headers.get_all("Link") or ())
    titles = [json.loads(reply.body)["items"][0]["title"] for reply in (first, second)]
    assert titles[0] != titles[1]
    assert client.get("/feeds/RiverPost.rss?before=x").status == 400


def test_a_reader_that_has_the_feed_is_told_so_by_tag(client: Client) -> None:
    first = client.get("/feeds/RiverPost.rss")
    tag = first.headers["ETag"]
    for sent in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        again = client.get("/feeds/RiverPost.rss", If_None_Match=sent)
        assert (again.status, again.body) == (304, b"")
        assert again.headers["ETag"] == tag
    assert client.get("/feeds/RiverPost.rss", If_None_Match='"other"').status == 200


def test_a_reader_that_has_the_feed_is_told_so_by_date(client: Client) -> None:
    date = client.get("/feeds/RiverPost.atom").headers["Last-Modified"]
    assert date == "Sun, 01 Mar 2026 12:00:00 GMT"
    assert client.get("/feeds/RiverPost.atom", If_Modified_Since=date).status == 304
    assert (
        client.get("/feeds/RiverPost.atom", If_Modified_Since="Sun, 01 Mar 2026 11:59:59 GMT").status == 200
    )
    assert client.get("/feeds/RiverPost.atom", If_Modified_Since="yesterday").status == 200
    assert client.get("/feeds/RiverPost.atom", If_Modified_Since=date, If_None_Match='"x"').status == 200


def test_a_new_item_changes_the_tag(client: Client, backend: MemoryBackend) -> None:
    tag = client.get("/feeds/HighWater.json").headers["ETag"]
    backend.put("HighWater", [an_item(4), an_item(3)])
    reply = client.get("/feeds/HighWater.json", If_None_Match=tag)
    assert reply.status == 200
    assert reply.headers["ETag"] != tag


def test_head_gives_the_headers_of_get_without_the_body(client: Client) -> None:
    for path in ("/", "/feeds/RiverPost", "/feeds/RiverPost.rss", "/feeds.opml", "/healthz", "/items/3"):
        get, head = client.get(path), client.get(path, "HEAD")
        assert (head.status, head.body) == (200, b"")
        assert head.headers["Content-Length"] == str(len(get.body))
        assert head.headers["ETag"] == get.headers["ETag"]


def test_large_bodies_travel_compressed_under_a_tag_of_their_own(
    client: Client, backend: MemoryBackend
) -> None:
    backend.put("Long", [an_item(seq) for seq in range(60)])
    plain = client.get("/feeds/Long.rss")
    zipped = client.get("/feeds/Long.rss", Accept_Encoding="gzip, br")
    assert zipped.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(zipped.body) == plain.body
    assert zipped.headers["ETag"] != plain.headers["ETag"]
    assert "Accept-Encoding" in zipped.headers["Vary"]
    again = client.get("/feeds/Long.rss", Accept_Encoding="gzip", If_None_Match=zipped.headers["ETag"])
    assert again.status == 304
    refused = client.get("/feeds/Long.rss", Accept_Encoding="gzip;q=0")
    assert "Content-Encoding" not in refused.headers


def test_limit_says_how_many_entries(client: Client) -> None:
    assert len(json.loads(client.get("/feeds/RiverPost.json?limit=2").body)["items"]) == 2
    for nonsense in ("0", "1001", "many", "-1"):
        reply = client.get(f"/feeds/RiverPost.json?limit={nonsense}")
        assert reply.status == 400
        assert reply.headers["Content-Type"] == "application/problem+json"
        assert json.loads(reply.body)["parameter"] == "limit"


def test_an_unknown_feed_suggests_near_names_to_programs_and_people(client: Client) -> None:
    program = client.get("/feeds/RiverPots.rss")
    assert program.status == 404
    assert program.headers["Content-Type"] == "application/problem+json"
    assert json.loads(program.body)["near"] == ["RiverPost"]
    person = client.get("/feeds/RiverPots", Accept="text/html")
    assert person.status == 404
    assert person.headers["Content-Type"] == "text/html; charset=utf-8"
    assert b'<a href="/feeds/RiverPost">RiverPost</a>' in person.body


def test_an_unknown_path_and_a_wrong_method_are_problems_too(client: Client) -> None:
    assert json.loads(client.get("/nowhere").body)["status"] == 404
    reply = client.get("/feeds/RiverPost.rss", "DELETE")
    assert reply.status == 405
    assert "GET" in reply.headers["Allow"]


def test_an_evil_feed_name_is_text_in_every_answer(client: Client) -> None:
    reply = client.get("/feeds/%3Cscript%3Ealert(1)%3C%2Fscript%3E", Accept="text/html")
    assert reply.status == 404
    assert b"<script" not in reply.body


def test_feeds_name_themselves_by_the_address_they_were_asked_under(backend: MemoryBackend) -> None:
    with WebServer(create_app(backend, options=WebOptions(allowed_hosts=("weir.example",)))) as server:
        reply = Client(server.port).get("/feeds/RiverPost.atom", Host="weir.example:8080")
    parsed = feedparser.parse(reply.body)
    links = {link["rel"]: link["href"] for link in parsed.feed.links}
    assert links["self"] == "http://weir.example:8080/feeds/RiverPost.atom"
    assert links["alternate"] == "http://weir.example:8080/feeds/RiverPost"


def test_pages_forbid_scripts_and_are_not_sniffed(client: Client, backend: MemoryBackend) -> None:
    backend.put("Evil", [an_item(9, summary="<p onclick=x>hi<script>alert(1)</script></p>")])
    for path in ("/", "/feeds/Evil", "/items/9", "/feeds/None"):
        reply = client.get(path, Accept="text/html")
        policy = reply.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "script-src" not in policy
        assert reply.headers["X-Content-Type-Options"] == "nosniff"
        assert b"<script" not in reply.body
        assert b"onclick" not in reply.body


def test_the_home_page_lists_feeds_with_counts_and_failures(client: Client, backend: MemoryBackend) -> None:
    backend.failures["RiverPost"] = "the host did not answer within 20 s"
    page = client.get("/").body.decode()
    for text in (
        "The River Post",
        "3 items",
        "HighWater",
        "1 item",
        "the host did not answer",
        "3 times in a row",
    ):
        assert text in page


def test_a_long_list_of_feeds_goes_on_page_after_page(client: Client, backend: MemoryBackend) -> None:
    for number in range(450):
        backend.put(f"Feed{number:03}")
    seen, path = [], "/?kind=virtual"
    while path:
        page = client.get(path).body.decode()
        seen += [name for name in sorted(backend.views) if f'href="/feeds/{name}"' in page]
        _, found, rest = page.partition('<a href="/?kind=virtual&amp;after=')
        path = f"/?kind=virtual&after={rest.partition(chr(34))[0]}" if found else ""
    assert seen == sorted(name for name, view in backend.views.items() if view.kind == "virtual")


def test_opml_gives_the_sources_as_they_were_imported(client: Client) -> None:
    reply = client.get("/feeds.opml")
    assert reply.body == b"<opml><body><!-- kept -->RiverPost</body></opml>"
    assert client.get("/feeds.opml?kind=source").body == reply.body


def test_opml_lists_virtual_feeds_by_our_address(client: Client) -> None:
    root = ET.fromstring(client.get("/feeds.opml?kind=virtual").body)
    found = {outline.get("text"): outline.get("xmlUrl") for outline in root.iter("outline")}
    assert found["HighWater"] == f"http://127.0.0.1:{client.port}/feeds/HighWater.rss"
    assert "The River Post" not in found
    assert client.get("/feeds.opml?kind=other").status == 400


def test_an_item_has_a_page_and_an_unknown_one_has_none(client: Client) -> None:
    assert b"The river on day 2" in client.get("/items/2").body
    assert client.get("/items/77").status == 404
    assert client.get("/items/x").status == 400


def test_assets_may_be_kept_for_ever_under_an_address_that_changes(client: Client) -> None:
    page = client.get("/").body.decode()
    path = page.partition('rel="stylesheet" href="')[2].partition('"')[0]
    reply = client.get(path)
    assert reply.headers["Content-Type"] == "text/css; charset=utf-8"
    assert "immutable" in reply.headers["Cache-Control"]
    assert client.get("/assets/../app.py").status == 404


def test_the_library_is_asked_beside_the_event_loop(client: Client, backend: MemoryBackend) -> None:
    client.get("/feeds/RiverPost.rss")
    assert backend.threads
    assert "feedweir-web" not in backend.threads


def test_a_hub_is_named_in_the_headers_and_in_the_feed(client: Client, backend: MemoryBackend) -> None:
    backend.put("Hubbed", [an_item(5)], hub="http://hub.example/")
    reply = client.get("/feeds/Hubbed.rss")
    assert '<http://hub.example/>; rel="hub"' in reply.headers.get_all("Link", [])
    assert b'rel="hub" href="http://hub.example/"' in reply.body


def test_last_modified_waits_until_its_second_is_over(backend: MemoryBackend) -> None:
    with WebServer(create_app(backend, clock=lambda: NOON.replace(microsecond=900_000))) as server:
        assert "Last-Modified" not in Client(server.port).get("/feeds/RiverPost.rss").headers


ODD_NAMES = (
    "Tech / AI",
    "a/b/c",
    "/root",
    "end/",
    "..",
    ".",
    "a/../b",
    "x.rss",
    "x.html",
    "a/events",
    "50 % off?",
    "#1 & more; +",
    "Zürich 日本",
    "a//b",
    'say "hi"',
    "<b>",
    "a\\b",
)


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_feed_of_any_name_is_served_where_its_links_lead(
    client: Client, backend: MemoryBackend, name: str
) -> None:
    backend.put(name, [an_item(7)], title="Odd")
    backend.put("x", [an_item(1)])
    address = Address()
    links = [address.page(name), *(address.feed(name, suffix) for suffix in ("rss", "atom", "json", "html"))]
    # As a browser and a proxy read it.
    assert all(urljoin("http://h/", link) == f"http://h{link}" for link in links)
    home = client.get("/").body.decode()
    assert escape(links[0]) in home
    for link in links:
        reply = client.get(link)
        assert (reply.status, b"The river on day 7" in reply.body) == (200, True), link
