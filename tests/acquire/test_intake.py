"""Documents that are not fetched: pushed by programs, and by a real WebSub hub, through the real HTTP door."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlencode, urlsplit
from urllib.request import Request, urlopen

import pyarrow.parquet as pq
import pytest

from feedweir.acquire.fetch.crawl import CrawlOptions
from feedweir.acquire.fetch.fetch_loop import FetchLoop, rules_of
from feedweir.acquire.fetch.hosts import HostRules
from feedweir.acquire.fetch.transport import Agent
from feedweir.acquire.intake import Intake
from feedweir.acquire.refresh.source_state import SourceMemory
from feedweir.acquire.websub.leases import Leases
from feedweir.errors import FeedweirError
from feedweir.items.model import Item
from feedweir.items.schema import items_of
from feedweir.logs.batches import Manifest
from feedweir.pipeline.local_runner import LocalRunner
from feedweir.service.installation import Weir
from feedweir.web.app import create_app
from feedweir.web.door import WebOptions
from feedweir.web.web_server import WebServer
from tests.web.memory_backend import MemoryBackend
from tests.web.web_client import Client, Reply

from .scripted_origin import ScriptedOrigin, rss

START = datetime(2026, 6, 1, 12, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


class House:
    """An installation with its door open."""

    def __init__(self, root: Path) -> None:
        self.clock = Clock()
        self.weir = Weir.open(root, clock=self.clock)
        self.memory = SourceMemory(self.weir.catalog)
        self.start_leases("http://127.0.0.1:1")
        intake = Intake(self.weir.catalog, self.weir.log, self.clock, self.leases, self.weir.ensure_in_force)
        app = create_app(MemoryBackend(), options=WebOptions(token="secret"), intake=intake)
        self.server = WebServer(app)

    def start_leases(self, public_url: str) -> None:
        self.leases = Leases(
            self.weir.catalog,
            self.weir.log,
            self.memory,
            public_url=public_url,
            allow_private=True,
            clock=self.clock,
        )

    def loop(self) -> FetchLoop:
        return FetchLoop(
            self.weir.catalog,
            self.weir.log,
            options=CrawlOptions(rules=rules_of(floor_s=60, interval_s=600)),
            hosts=HostRules(max_concurrent=9, spacing_s=0),
            agent=Agent(),
            allow_private=True,
            clock=self.clock,
            memory=self.memory,
            leases=self.leases,
        )

    def digest(self, loop: FetchLoop | None = None) -> None:
        def commit(manifest: Manifest) -> None:
            self.weir.commit(manifest)
            if loop:
                loop.learn(manifest.sources)

        self.weir.refresh_set()
        LocalRunner(self.weir.directory, commit).run_available()

    def titles(self, feed: str) -> list[str]:
        return sorted(item.title for item in self.weir.items(feed))

    def push(self, name: str, body: bytes, content_type: str, token: str = "secret") -> Reply:
        client = Client(self.server.port)
        return client.post(f"/push/{name}", body, Content_Type=content_type, Authorization=f"Bearer {token}")


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path)
    with house.server:
        house.leases._public_url = house.server.url
        yield house
    house.weir.close()


@pytest.fixture
def alerts(house: House) -> House:
    house.weir.execute("register feed push://local as Alerts; create feed All from Alerts")
    return house


def as_json(value: object) -> bytes:
    return json.dumps(value).encode()


ATOM = (
    b"<feed xmlns='http://www.w3.org/2005/Atom'><title>t</title>"
    b"<entry><id>urn:1</id><title>An entry</title><updated>2026-06-01T00:00:00Z</updated></entry></feed>"
)
RDF = (
    b"<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='http://purl.org/rss/1.0/'>"
    b"<channel rdf:about='http://x/'><title>t</title><link>http://x/</link></channel>"
    b"<item rdf:about='http://x/1'><title>A resource</title><link>http://x/1</link></item></rdf:RDF>"
)
REPORT = b'<report xmlns="http://w/"><site>Paris</site><level unit="cm">431</level><!-- x --> rising</report>'


@pytest.mark.parametrize(
    ("body", "content_type", "titles"),
    [
        (as_json({"title": "One", "url": "https://x/1"}), "application/json", ["One"]),
        (as_json([{"title": "One"}, {"title": "Two"}]), "application/json", ["One", "Two"]),
        (as_json({"items": [{"guid": "1", "title": "One"}]}), "application/json", ["One"]),
        (rss("a", "b"), "application/rss+xml", ["Title of a", "Title of b"]),
        (ATOM, "application/atom+xml", ["An entry"]),
        (RDF, "application/rdf+xml", ["A resource"]),
        (as_json({"site": "Paris", "level": {"cm": 431}}), "application/json", ["Paris 431"]),
        (REPORT, "application/xml", ["Paris 431 rising"]),
        (b"<report><title>Named</title><link>http://x/1</link></report>", "text/xml", ["Named"]),
    ],
    ids=["item", "items", "object of items", "RSS", "Atom", "RDF", "any JSON", "any XML", "XML with a title"],
)
def test_what_is_pushed_is_in_the_feeds_once(
    alerts: House, body: bytes, content_type: str, titles: list[str]
) -> None:
    for _ in range(2):
        assert alerts.push("Alerts", body, content_type).status == 202
    alerts.digest()
    assert alerts.titles("All") == titles


def test_what_is_pushed_right_after_the_registration_is_in_its_feed(alerts: House) -> None:
    alerts.digest()
    alerts.weir.execute("register feed push://local as Late; create feed Later from Late")
    assert alerts.push("Late", rss("a"), "application/rss+xml").status == 202
    # A batch that begins now takes the set that is in force now.
    LocalRunner(alerts.weir.directory, alerts.weir.commit).run_available()
    assert alerts.titles("Later") == ["Title of a"]


def test_a_source_of_any_name_takes_what_is_pushed(alerts: House) -> None:
    alerts.weir.execute("register feed push://local as 'Tech / AI'; create feed 'Of / it' from 'Tech / AI'")
    assert alerts.push(quote("Tech / AI", safe=""), rss("a"), "application/rss+xml").status == 202
    alerts.digest()
    assert alerts.titles("Of / it") == ["Title of a"]


SAME_AND_OTHER = {
    "xml": (
        "application/xml",
        b"<o:order xmlns:o='urn:o'><o:line sku='1' n='2'>x</o:line></o:order>",
        b"<order xmlns='urn:o'><!-- again --><line n='2' sku='1'>x</line></order>",
        b"<order xmlns='urn:o'><line n='2' sku='2'>x</line></order>",
    ),
    "turtle": (
        "text/turtle",
        b"[] <urn:p> [ <urn:name> 'a' ] ; <urn:n> 1 .",
        b"_:z <urn:n> 1 . _:y <urn:name> 'a' . _:z <urn:p> _:y .",
        b"_:z <urn:n> 1 . _:y <urn:name> 'a' . _:y <urn:p> _:z .",
    ),
    "json": (
        "application/json",
        b'{"title": "Order", "lines": [{"sku": 1, "n": 2}]}',
        b'{"lines":[{"n":2.0,"sku":1}],"title":"Order"}',
        b'{"title": "Order", "lines": [{"sku": 2, "n": 2}]}',
    ),
    "json without a title": (
        "application/json",
        b'{"lines": {"sku": 1, "n": 2}, "at": "2020-11-10"}',
        b'{"at": "2020-11-10", "lines": {"n": 2, "sku": 1}}',
        b'{"at": "2020-11-11", "lines": {"n": 2, "sku": 1}}',
    ),
}


@pytest.mark.parametrize("kind", SAME_AND_OTHER)
def test_documents_are_one_item_when_all_of_their_content_is_the_same(alerts: House, kind: str) -> None:
    content_type, first, same, other = SAME_AND_OTHER[kind]
    for body in (first, same):
        assert alerts.push("Alerts", body, content_type).status == 202
    alerts.digest()
    assert len(alerts.titles("All")) == 1
    assert alerts.push("Alerts", other, content_type).status == 202
    alerts.digest()
    assert len(alerts.titles("All")) == 2


NUMBERED = {
    "xml": (
        "application/xml",
        b"<order number='%d'><line sku='%d'>line</line></order>",
        b"<order><line sku='1'>line</line></order>",
    ),
    "json": ("application/json", b'{"order": {"number": %d}, "sku": %d}', b'{"title": "no number"}'),
    "feed": (
        "application/rss+xml",
        b"<rss><channel><item><order number='%d'/><title>item %d</title></item></channel></rss>",
        b"<rss><channel><item><title>item</title></item></channel></rss>",
    ),
}


@pytest.mark.parametrize("kind", NUMBERED)
def test_a_registration_names_the_ids_of_items(house: House, kind: str) -> None:
    content_type, body, without = NUMBERED[kind]
    path = "/order/number" if kind == "json" else "//order/@number"
    house.weir.execute(f"register feed push://orders as Orders id {path}; create feed All from Orders")
    for number, sku in ((1, 1), (1, 2), (2, 1)):
        assert house.push("Orders", body % (number, sku), content_type).status == 202
        house.digest()
    assert len(house.titles("All")) == 2
    revisions = [(item.identity, item.revision) for item in items_of_log(house)]
    assert revisions == [("1", 0), ("1", 1), ("2", 0)]
    assert not house.weir.catalog.failures.latest()
    assert house.push("Orders", without, content_type).status == 202
    house.digest()
    assert len(house.titles("All")) == 3
    (failure,) = house.weir.catalog.failures.latest()
    assert path in failure.reason


def items_of_log(house: House) -> list[Item]:
    """Every revision of every item, in the order of the stream."""
    files = sorted((house.weir.directory.root / "items").glob("*.parquet"))
    items = [item for file in files for item in items_of(pq.read_table(file))]
    return sorted(items, key=lambda item: item.seq)


def test_another_path_goes_for_what_comes_from_then_on(house: House) -> None:
    house.weir.execute("register feed push://orders as Orders id //@number; create feed All from Orders")
    body = b"<order number='1' code='%d'>x</order>"
    house.push("Orders", body % 7, "application/xml")
    # What is landed keeps the path that it was landed with, whenever it is read.
    house.weir.execute("alter feed Orders id //@code")
    house.push("Orders", body % 8, "application/xml")
    house.digest()
    assert [item.identity for item in items_of_log(house)] == ["1", "8"]
    house.weir.execute("alter feed Orders no id")
    house.push("Orders", body % 8, "application/xml")
    house.digest()
    assert items_of_log(house)[-1].identity.startswith("content:")


def test_a_source_that_is_fetched_may_have_its_ids_named(house: House, origin: ScriptedOrigin) -> None:
    entry = "<item><guid>{}</guid><title>{}</title><sku>7</sku></item>"
    house.weir.execute(f"register feed {origin.url('/feed')} as Shop id //sku; create feed All from Shop")
    shown = [f"<rss><channel>{entry.format(number, number)}</channel></rss>".encode() for number in (1, 2)]
    origin.shows("/feed", *shown)
    loop = house.loop()
    for _ in shown:
        assert loop.fetch_once() == 1
        house.digest(loop)
        house.clock.now += timedelta(days=2)
    assert [(item.identity, item.revision) for item in items_of_log(house)] == [("7", 0), ("7", 1)]


def test_any_xml_is_a_document_that_tree_patterns_and_joins_see_as_a_whole(alerts: House) -> None:
    alerts.weir.execute(
        "create feed High from Alerts where path '//report[level > 400]';"
        "Alerts//report[site->a] FOLLOWED BY{a=b, 5 items} Alerts//report[site->b] PUBLISH Twice"
    )
    for level in (b"380", b"431"):
        assert alerts.push("Alerts", REPORT.replace(b"431", level), "application/xml").status == 202
        alerts.clock.now += timedelta(hours=1)
    alerts.digest()
    (found,) = alerts.weir.items("High")
    assert found.raw == REPORT.decode()
    assert len(alerts.weir.items("Twice")) == 1


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (
            b"<r:RDF xmlns:r='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns:g='http://g/'>"
            b"<r:Description r:about='http://x/1'><g:level>431</g:level><g:at r:resource='http://x/seine'/>"
            b"</r:Description><r:Description r:about='http://x/seine'><g:name>Seine</g:name></r:Description></r:RDF>",
            "application/rdf+xml",
        ),
        (
            b"@prefix g: <http://g/> . <http://x/1> g:level 431 ; g:at <http://x/seine> .\n"
            b"<http://x/seine> g:name 'Seine' .",
            "text/turtle; charset=utf-8",
        ),
        (
            b'<http://x/1> <http://g/level> "431" .\n<http://x/1> <http://g/at> <http://x/seine> .\n'
            b'<http://x/seine> <http://g/name> "Seine" .\n',
            "application/n-triples",
        ),
        (
            as_json(
                {
                    "@context": {"@vocab": "http://g/"},
                    "@id": "http://x/1",
                    "level": 431,
                    "at": {"@id": "http://x/seine", "name": "Seine"},
                }
            ),
            "application/json",
        ),
    ],
    ids=["RDF/XML", "Turtle", "N-Triples", "JSON-LD"],
)
def test_any_rdf_is_a_document_whose_graph_patterns_are_asked_for(
    alerts: House, body: bytes, content_type: str
) -> None:
    pattern = (
        "prefix g: <http://g/> (?r, g:level, ?l) and (?r, g:at, ?p) and (?p, g:name, {}) such that (?l > 400)"
    )
    for name in ("Seine", "Rhine"):
        alerts.weir.execute(f"create feed {name} from Alerts where graph {{ {pattern.format(name)} }}")
    assert alerts.push("Alerts", body, content_type).status == 202
    alerts.digest()
    (found,) = alerts.weir.items("Seine")
    assert found.link == "http://x/1"
    assert not alerts.weir.items("Rhine")


def test_every_attribute_of_a_pushed_item_arrives(alerts: House) -> None:
    item = {
        "id": "7",
        "title": "High water",
        "link": "https://x/7",
        "content": "<p>Rising</p>",
        "published": "2026-05-31T10:00:00Z",
        "categories": ["flood", "river"],
        "author": {"name": "Ada"},
        "level_cm": 431,
    }
    assert alerts.push("Alerts", as_json(item), "application/json").status == 202
    alerts.digest()
    (found,) = alerts.weir.items("All")
    assert (found.identity, found.link, found.categories) == ("7", "https://x/7", ("flood", "river"))
    assert found.authors == ("Ada",)
    assert found.published == datetime(2026, 5, 31, 10, tzinfo=UTC)
    assert ("json:level_cm", "431") in [(name, value) for name, value in found.extensions]


@pytest.mark.parametrize(
    ("body", "content_type", "told"),
    [
        (b'{"title": ', "application/json", "not JSON"),
        (b"[1]", "application/json", "item 1 is not an object"),
        (as_json([{"title": "x"}, {"tags": []}]), "application/json", "item 2 has no content"),
        (as_json({"title": "x", "published": "soon"}), "application/json", "item 1: published is not a date"),
        (b"<html><body>hello</body></html>", "text/html", "page"),
        (b"", "application/xml", "empty"),
        (b"<rss><channel/></rss>", "application/xml", "no item"),
        (
            b"<report>\n<a></report>",
            "application/xml",
            'mismatch: a line 2 and report, line 2, column 13"',
        ),
        (b"<a> <b>\n; oops", "text/turtle", "line 2 "),
        (b"<report><a/></report>", "application/xml", "no text and no attributes"),
        (b"<a> <b> .", "text/turtle", "not text/turtle"),
        (b"", "text/turtle", "empty"),
        (b"# nothing", "text/turtle", "no triple"),
        (as_json({"@context": "http://x/c", "@id": "http://x/1"}), "application/ld+json", "are not loaded"),
        (b"high water", "text/plain", "neither a JSON object"),
        (b"42", "application/json", "neither a JSON object"),
        (b"<!DOCTYPE a [<!ENTITY f SYSTEM 'file:///etc/passwd'>]><a>&f;<", "text/xml", "not well-formed"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_reason_and_not_landed(
    alerts: House, body: bytes, content_type: str, told: str
) -> None:
    reply = alerts.push("Alerts", body, content_type)
    assert reply.status == 422
    assert told in reply.body.decode()
    assert alerts.weir.log.latest() == 0


def test_only_who_has_the_token_pushes_and_only_to_sources(alerts: House) -> None:
    body = as_json({"title": "x"})
    assert alerts.push("Alerts", body, "application/json", token="wrong").status == 401
    virtual = alerts.push("All", body, "application/json")
    assert (virtual.status, b"is a virtual feed" in virtual.body) == (404, True)
    unknown = alerts.push("Alert", body, "application/json")
    assert unknown.status == 404
    assert "did you mean `Alerts`?" in unknown.body.decode()


def test_a_source_that_is_pushed_to_is_never_asked(alerts: House) -> None:
    assert alerts.loop().fetch_once() == 0


class Hub:
    """A WebSub hub in threads: verifies intent as the standard asks, and pushes signed content."""

    def __init__(self) -> None:
        hub = self
        self.subscriptions: dict[str, dict[str, str]] = {}
        self.lease_s = 1_000
        self.asked = 0
        self.verified: list[bool] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                form = dict(parse_qsl(self.rfile.read(length).decode()))
                hub.asked += 1
                self.send_response(202)
                self.send_header("Content-Length", "0")
                self.end_headers()
                threading.Thread(target=hub.verify, args=(form,)).start()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/"
        self.done = threading.Event()

    def verify(self, form: dict[str, str]) -> None:
        query = {
            "hub.mode": form["hub.mode"],
            "hub.topic": form["hub.topic"],
            "hub.challenge": "abc",
            "hub.lease_seconds": str(self.lease_s),
        }
        with urlopen(f"{form['hub.callback']}?{urlencode(query)}", timeout=10) as answer:
            self.verified.append(answer.read() == b"abc")
        if form["hub.mode"] == "unsubscribe":
            del self.subscriptions[form["hub.topic"]]
        else:
            self.subscriptions[form["hub.topic"]] = form
        self.done.set()

    def push(self, topic: str, body: bytes, secret: str | None = None) -> int:
        form = self.subscriptions[topic]
        key = form["hub.secret"] if secret is None else secret
        signature = hmac.new(key.encode(), body, hashlib.sha256).hexdigest()
        headers = {"Content-Type": "application/rss+xml", "X-Hub-Signature": f"sha256={signature}"}
        with urlopen(Request(form["hub.callback"], body, headers), timeout=10) as answer:
            return int(answer.status)

    def __enter__(self) -> Hub:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def hub() -> Iterator[Hub]:
    with Hub() as hub:
        yield hub


@pytest.fixture
def origin() -> Iterator[ScriptedOrigin]:
    with ScriptedOrigin() as origin:
        yield origin


def subscribed(
    house: House, hub: Hub, origin: ScriptedOrigin, *, passing: timedelta = timedelta()
) -> FetchLoop:
    """A source whose document names the hub, fetched once, and the subscription made and verified a while later."""
    url = origin.url("/feed")
    links = (
        f"<atom:link xmlns:atom='http://www.w3.org/2005/Atom' rel='hub' href='{hub.url}'/>"
        f"<atom:link xmlns:atom='http://www.w3.org/2005/Atom' rel='self' href='{url}'/>"
    )
    origin.shows("/feed", rss("1", extra=links))
    house.weir.execute(f"register feed {url} as News")
    loop = house.loop()
    loop.fetch_once()
    house.digest(loop)
    house.clock.now += passing
    assert asyncio.run(house.leases.tend()) == 1
    assert hub.done.wait(10)
    return loop


def test_a_hub_that_a_document_names_pushes_and_polling_becomes_a_precaution(
    house: House, hub: Hub, origin: ScriptedOrigin
) -> None:
    loop = subscribed(house, hub, origin)
    assert hub.verified == [True]
    assert hub.push(origin.url("/feed"), rss("2", "1")) == 202
    house.digest(loop)
    assert house.titles("News") == ["Title of 1", "Title of 2"]
    state = house.weir.catalog.sources.named("News").state
    assert state.next_check_at >= house.clock.now + timedelta(seconds=hub.lease_s)
    assert state.lease["hub"]["url"] == hub.url
    assert not asyncio.run(house.leases.tend())


def test_a_hub_that_is_set_by_hand_pushes_whatever_the_source_says_and_is_told_when_it_is_no_longer_wanted(
    house: House, hub: Hub, origin: ScriptedOrigin
) -> None:
    url = origin.url("/feed")
    other = "<atom:link xmlns:atom='http://www.w3.org/2005/Atom' rel='hub' href='http://127.0.0.1:9/'/>"
    origin.shows("/feed", rss("1", extra=other))
    house.weir.execute(f"register feed {url} as News; alter feed News hub {hub.url}")
    assert (
        house.weir.catalog.feeds.named("News").statement == f"register feed '{url}' as News hub '{hub.url}'"
    )
    assert facts_of(house, "News")["push"] == "requested after the next poll"
    loop = house.loop()
    loop.fetch_once()
    house.digest(loop)
    assert asyncio.run(house.leases.tend()) == 1
    assert hub.done.wait(10)
    assert hub.verified == [True]
    assert hub.push(url, rss("2", "1")) == 202
    assert (facts_of(house, "News")["hub"], facts_of(house, "News")["push"]) == (hub.url, "confirmed")
    house.digest(loop)
    assert house.titles("News") == ["Title of 1", "Title of 2"]
    house.weir.execute("alter feed News no hub")
    hub.done.clear()
    asyncio.run(house.leases.tend())
    assert hub.done.wait(10)
    assert not hub.subscriptions


def facts_of(house: House, feed: str) -> dict[str, object]:
    (told,) = house.weir.execute(f"describe feed {feed}")
    return {str(row["what"]): row["value"] for row in told.rows}


def test_only_what_is_fetched_can_have_a_hub_and_only_an_address_can_be_one(house: House) -> None:
    house.weir.execute("register feed http://x.example/ as News; create feed All from News")
    for statement, told in (
        ("alter feed All hub https://hub.example/", "virtual feed"),
        ("alter feed News hub ftp://hub.example/", "cannot be the hub"),
        ("alter feed News hub nowhere", "not the address of a hub"),
        ("register feed push://local as P hub https://hub.example/", "cannot be the hub"),
    ):
        with pytest.raises(FeedweirError, match=told):
            house.weir.execute(statement)


def test_what_came_between_the_last_poll_and_the_lease_is_polled_for_once_more(
    house: House, hub: Hub, origin: ScriptedOrigin
) -> None:
    loop = subscribed(house, hub, origin, passing=timedelta(seconds=90))
    origin.shows("/feed", rss("2", "1"))
    hub.push(origin.url("/feed"), rss("3"))
    house.digest(loop)
    house.clock.now += timedelta(seconds=5)
    assert loop.fetch_once() == 1
    house.digest(loop)
    assert house.titles("News") == ["Title of 1", "Title of 2", "Title of 3"]
    state = house.weir.catalog.sources.named("News").state
    assert state.next_check_at >= house.clock.now + timedelta(seconds=hub.lease_s - 5)


def test_content_that_the_hub_did_not_sign_is_ignored(house: House, hub: Hub, origin: ScriptedOrigin) -> None:
    subscribed(house, hub, origin)
    before = house.weir.log.latest()
    assert hub.push(origin.url("/feed"), rss("9"), secret="guessed") == 202
    assert house.weir.log.latest() == before


def test_a_callback_that_nobody_asked_for_is_refused(house: House, hub: Hub, origin: ScriptedOrigin) -> None:
    subscribed(house, hub, origin)
    client = Client(house.server.port)
    assert client.post("/websub/News/guess", b"x").status == 410
    query = urlencode({"hub.mode": "subscribe", "hub.topic": "x", "hub.challenge": "c"})
    assert client.get(f"/websub/News/guess?{query}").status == 404
    path = urlsplit(hub.subscriptions[origin.url("/feed")]["hub.callback"]).path
    assert client.get(f"{path}?{query}").status == 404


def test_a_lease_is_renewed_before_it_ends_and_over_a_restart(
    house: House, hub: Hub, origin: ScriptedOrigin
) -> None:
    subscribed(house, hub, origin)
    house.clock.now += timedelta(seconds=850)
    house.start_leases(house.server.url)
    hub.done.clear()
    assert house.leases.is_due()
    assert asyncio.run(house.leases.tend()) == 1
    assert hub.asked == 2


def test_when_a_lease_runs_out_the_source_is_polled_as_ever(
    house: House, hub: Hub, origin: ScriptedOrigin
) -> None:
    loop = subscribed(house, hub, origin)
    house.clock.now += timedelta(seconds=2_000)
    assert loop.fetch_once() == 1
    state = house.weir.catalog.sources.named("News").state
    assert state.next_check_at <= house.clock.now + timedelta(seconds=700)
    assert facts_of(house, "News")["push"] == "expired, requested again"


def test_without_a_public_address_no_hub_is_asked(house: House, hub: Hub, origin: ScriptedOrigin) -> None:
    house.start_leases("")
    links = f"<atom:link xmlns:atom='http://www.w3.org/2005/Atom' rel='hub' href='{hub.url}'/>"
    house.weir.execute(f"register feed {origin.shows('/feed', rss('1', extra=links))} as News")
    loop = house.loop()
    loop.fetch_once()
    house.digest(loop)
    assert not house.leases.is_due()


def test_a_hub_that_only_headers_name_pushes_whatever_the_document_says(
    house: House, hub: Hub, origin: ScriptedOrigin
) -> None:
    url = origin.url("/feed")
    elsewhere = "<atom:link xmlns:atom='http://www.w3.org/2005/Atom' rel='hub' href='http://127.0.0.1:1/'/>"
    link = f'<{hub.url}>; rel="hub", <{url}>; rel="self"'
    origin.shows("/feed", rss("1", extra=elsewhere), Link=link)
    house.weir.execute(f"register feed {url} as News")
    loop = house.loop()
    loop.fetch_once()
    house.digest(loop)
    asyncio.run(house.leases.tend())
    assert hub.done.wait(10)
    assert hub.push(url, rss("2", "1")) == 202
    house.digest(loop)
    assert house.titles("News") == ["Title of 1", "Title of 2"]


def test_when_a_source_is_dropped_its_hub_is_told(house: House, hub: Hub, origin: ScriptedOrigin) -> None:
    subscribed(house, hub, origin)
    house.weir.execute("drop feed News")
    house.clock.now += timedelta(seconds=61)
    hub.done.clear()
    assert house.leases.is_due()
    assert asyncio.run(house.leases.tend()) == 1
    assert hub.done.wait(10)
    assert hub.subscriptions == {}
    assert hub.verified == [True, True]
    house.leases.release()
    assert house.leases.of("News") is None


def test_a_source_of_the_same_name_that_is_registered_anew_has_nothing_of_the_old_lease(
    house: House, hub: Hub, origin: ScriptedOrigin
) -> None:
    subscribed(house, hub, origin)
    house.weir.execute("drop feed News; register feed http://127.0.0.1:1/ as News")
    hub.done.clear()
    assert asyncio.run(house.leases.tend()) == 1
    assert hub.done.wait(10)
    assert hub.subscriptions == {}
    assert house.weir.catalog.sources.named("News").state.lease == {}


def test_a_hub_that_stops_pushing_is_found_out_and_the_source_is_polled_as_ever(
    house: House, hub: Hub, origin: ScriptedOrigin
) -> None:
    hub.lease_s = 10 * 86_400
    loop = subscribed(house, hub, origin)
    house.clock.now += timedelta(minutes=5)
    assert loop.fetch_once() == 1  # the poll that follows the beginning of a lease
    house.clock.now += timedelta(days=1, minutes=5)
    origin.shows("/feed", rss("2", "1"))
    assert loop.fetch_once() == 1  # the daily precaution
    house.digest(loop)
    assert house.titles("News") == ["Title of 1", "Title of 2"]
    lease = house.leases.of("News")
    assert lease is not None
    assert "did not push" in lease.reason
    assert house.weir.catalog.sources.named("News").state.next_check_at <= house.clock.now + timedelta(
        seconds=700
    )


def test_a_hub_that_pushed_is_not_blamed_for_what_a_poll_finds_later(
    house: House, hub: Hub, origin: ScriptedOrigin
) -> None:
    hub.lease_s = 10 * 86_400
    loop = subscribed(house, hub, origin)
    house.clock.now += timedelta(minutes=5)
    assert loop.fetch_once() == 1
    house.clock.now += timedelta(hours=1)
    hub.push(origin.url("/feed"), rss("2", "1"))
    house.digest(loop)
    house.clock.now += timedelta(days=1)
    origin.shows("/feed", rss("3", "2", "1"))
    assert loop.fetch_once() == 1
    house.digest(loop)
    lease = house.leases.of("News")
    assert lease is not None
    assert (lease.reason, lease.silences) == ("", 0)


@pytest.mark.parametrize(
    "body",
    [
        b"<order><line sku='2'>x</line></order>",
        b'{"title": "High water", "level_cm": 431}',
        b'[{"a": 1}, {"a": 2}]',
        rss("1", "2"),
    ],
)
def test_a_program_pushes_to_its_installation_what_others_push_over_http(body: bytes, tmp_path: Path) -> None:
    with Weir.open(tmp_path, clock=Clock()) as weir:
        weir.execute("register feed push://orders as Orders; create feed All from Orders")
        http = Intake(weir.catalog, weir.log, weir.clock).push("Orders", body, "")
        own = weir.push("Orders", body)
        landed, wanted = (weir.log.read(segment).drop_columns(["number"]) for segment in (own, http))
        assert landed.equals(wanted)
        weir.run()
        assert weir.items("All")


def test_what_cannot_be_read_is_told_against_the_source_it_was_pushed_to(tmp_path: Path) -> None:
    with Weir.open(tmp_path, clock=Clock()) as weir:
        weir.execute("register feed push://orders as Orders")
        weir.push("Orders", b"neither JSON nor XML")
        weir.run()
        (told,) = weir.execute("show failures")[0].rows
        assert told["name"] == "Orders"
