"""Documents that come in by HTTP: pushed by programs, and by hubs that we subscribed at."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import pytest

from feedweir.acquire.intake import Intake
from feedweir.errors import CatalogError, DocumentError
from feedweir.web.app import create_app
from feedweir.web.routes import arrival_routes
from feedweir.web.web_server import WebServer
from tests.web.memory_backend import MemoryBackend
from tests.web.web_client import Client


@dataclass(frozen=True)
class Said:
    status: int
    body: str


@dataclass
class Tray:
    """Takes documents of the source Post, and content of its subscription `secret`."""

    landed: list[tuple[str, bytes, str]] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    full_for_s: int = 0

    def wait_s(self) -> int:
        return self.full_for_s

    def check_source(self, name: str) -> None:
        if name != "Post":
            raise CatalogError(f"there is no source {name!r}")

    def push(self, name: str, body: bytes, media_type: str) -> int:
        if not body:
            raise DocumentError("there is nothing in it", hint="send a feed or items")
        self.landed.append((name, body, media_type))
        return len(self.landed)

    def verify(self, source: str, token: str, query: Mapping[str, str]) -> Said | None:
        if (source, token) != ("Post", "secret"):
            return None
        return Said(200 if query.get("hub.mode") == "subscribe" else 404, query.get("hub.challenge", ""))

    def receive(
        self, source: str, token: str, body: bytes, headers: Sequence[tuple[str, str]], media_type: str
    ) -> bool:
        self.headers = dict(headers)
        if token == "secret":
            self.landed.append((source, body, media_type))
        return token == "secret"


@pytest.fixture
def tray() -> Tray:
    return Tray()


@pytest.fixture
def client(tray: Tray) -> Iterator[Client]:
    with WebServer(create_app(MemoryBackend(), intake=cast(Intake, tray))) as server:
        yield Client(server.port)


def test_a_pushed_document_lands_with_the_media_type_it_came_with(client: Client, tray: Tray) -> None:
    reply = client.post("/push/Post", b"<rss/>", Content_Type="application/rss+xml; charset=x")
    assert (reply.status, json.loads(reply.body)) == (202, {"landed": 1})
    assert tray.landed == [("Post", b"<rss/>", "application/rss+xml; charset=x")]


def test_a_push_to_no_source_is_refused_before_anything_is_read(client: Client, tray: Tray) -> None:
    reply = client.post("/push/a/b%20c", b"x" * 100)
    assert (reply.status, json.loads(reply.body)["detail"]) == (404, "there is no source 'a/b c'")
    assert tray.landed == []


def test_a_document_that_cannot_land_is_the_senders_fault_and_is_told_what_to_do(client: Client) -> None:
    reply = client.post("/push/Post", b"")
    assert (reply.status, json.loads(reply.body)["hint"]) == (422, "send a feed or items")


@pytest.mark.parametrize("path", ["/push/Post", "/websub/Post/secret"])
def test_a_document_that_is_too_large_is_refused_and_does_not_land(
    client: Client, tray: Tray, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setattr(arrival_routes, "MAX_DOCUMENT_BYTES", 10)
    assert client.post(path, b"x" * 11).status == 413
    assert tray.landed == []
    assert client.post(path, b"x" * 10).status == 202


@pytest.mark.parametrize("path", ["/push/Post", "/websub/Post/secret"])
def test_who_pushes_too_fast_is_told_when_to_come_back(client: Client, tray: Tray, path: str) -> None:
    tray.full_for_s = 17
    reply = client.post(path, b"<rss/>")
    assert (reply.status, reply.headers["Retry-After"]) == (429, "17")
    assert "17 s" in json.loads(reply.body)["detail"]
    assert tray.landed == []
    tray.full_for_s = 0
    assert client.post(path, b"<rss/>").status == 202


def test_what_has_no_source_is_not_worth_waiting_for(client: Client, tray: Tray) -> None:
    tray.full_for_s = 17
    assert client.post("/push/Other", b"<rss/>").status == 404


def test_a_hub_that_verifies_gets_its_challenge_back_as_plain_text(client: Client) -> None:
    reply = client.get("/websub/Post/secret?hub.mode=subscribe&hub.challenge=%3Cb%3E1%3C%2Fb%3E")
    assert (reply.status, reply.body) == (200, b"<b>1</b>")
    assert reply.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert reply.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    "path",
    ["/websub/Post/other?hub.mode=subscribe", "/websub/Post/secret?hub.mode=denied", "/websub/Post/secret"],
)
def test_what_was_not_asked_for_is_not_confirmed(client: Client, path: str) -> None:
    assert client.get(path).status == 404


def test_content_from_a_hub_is_taken_with_its_headers(client: Client, tray: Tray) -> None:
    reply = client.post(
        "/websub/Post/secret", b"<feed/>", Content_Type="application/atom+xml", X_Hub_Signature="sha256=0"
    )
    assert (reply.status, reply.body) == (202, b"")
    assert tray.landed == [("Post", b"<feed/>", "application/atom+xml")]
    assert tray.headers["x-hub-signature"] == "sha256=0"


def test_a_hub_is_told_that_nobody_listens_any_more(client: Client, tray: Tray) -> None:
    reply = client.post("/websub/Post/other", b"<feed/>")
    assert (reply.status, json.loads(reply.body)["detail"]) == (410, "This subscription has ended.")
    assert tray.landed == []


def test_without_an_intake_nothing_comes_in() -> None:
    with WebServer(create_app(MemoryBackend())) as server:
        client = Client(server.port)
        assert client.post("/push/Post", b"x").status in (404, 405)
        assert client.post("/websub/Post/secret", b"x").status in (404, 405)
