"""A page that points its own name at this server (DNS rebinding) is not answered."""

from __future__ import annotations

import json

import pytest

from feedweir.web.admission import allowed_names, is_allowed
from feedweir.web.app import create_app
from feedweir.web.door import WebOptions
from feedweir.web.web_server import WebServer
from tests.web.memory_backend import MemoryBackend
from tests.web.web_client import Client


@pytest.mark.parametrize(
    "host",
    [
        None,
        "localhost",
        "LOCALHOST:8080",
        "localhost.",
        "127.0.0.1:8080",
        "[::1]",
        "[::1]:8080",
        "10.0.0.7",
        "weir.example:443",
        "Feeds.Example.",
    ],
)
def test_own_names_and_ip_addresses_are_answered(host: str | None) -> None:
    assert is_allowed(host, allowed_names("https://ann@weir.example/x", ["feeds.example:8080", ""]))


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "weir.example.evil",
        "[evil]",
        "x:y:z",
    ],
)
def test_other_names_are_not(host: str) -> None:
    assert not is_allowed(host, allowed_names("https://weir.example", []))


def test_a_star_allows_every_name() -> None:
    assert is_allowed("evil.example", allowed_names("", ["*"]))


def test_no_path_is_answered_under_a_strange_name_and_no_statement_is_carried_out(
    client: Client, backend: MemoryBackend
) -> None:
    evil = {"Host": f"evil.example:{client.port}", "Origin": f"http://evil.example:{client.port}"}
    reply = client.post("/v1/statements", "create feed Evil;", **evil, Sec_Fetch_Site="same-origin")
    assert reply.status == 421
    assert "FEEDWEIR_ALLOWED_HOSTS" in json.loads(reply.body)["hint"]
    assert "Evil" not in backend.views
    for path in ("/", "/feeds/RiverPost.atom", "/metrics", "/healthz", "/v1/openapi.json", "/nowhere"):
        refused = client.get(path, Host="evil.example")
        assert refused.status == 421
        assert refused.headers["X-Content-Type-Options"] == "nosniff"


def test_the_public_address_and_further_names_are_answered(backend: MemoryBackend) -> None:
    options = WebOptions(public_url="https://weir.example/feeds", allowed_hosts=("weir.lan",))
    with WebServer(create_app(backend, options=options)) as server:
        client = Client(server.port)
        answers = {
            host: client.get("/healthz", Host=host).status
            for host in ("weir.example", "weir.lan:80", "evil.example")
        }
    assert answers == {"weir.example": 200, "weir.lan:80": 200, "evil.example": 421}
