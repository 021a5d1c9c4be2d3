"""With a token set, every route needs it but those that are open; no new route can be forgotten."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from typing import cast

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from feedweir.acquire.intake import Intake
from feedweir.deliver.delivery_admin import DeliveryAdmin
from feedweir.web.admission import _OPEN, _READS, access_of
from feedweir.web.app import create_app
from feedweir.web.door import PublicReads, WebOptions
from feedweir.web.web_server import WebServer
from tests.web.memory_backend import MemoryBackend
from tests.web.web_client import Client

TOKEN = "s3cret"


def an_app(public_reads: PublicReads = "none") -> FastAPI:
    """With every route that there is; only the backend behind it answers."""
    options = WebOptions(token=TOKEN, public_reads=public_reads)
    nobody = object()
    return create_app(
        MemoryBackend(), options=options, deliveries=cast(DeliveryAdmin, nobody), intake=cast(Intake, nobody)
    )


def routes_of(routes: Iterable[BaseRoute]) -> Iterator[tuple[str, str]]:
    for route in routes:
        included = getattr(route, "original_router", None)
        if included is not None:
            yield from routes_of(included.routes)
            continue
        # What is no such route does not pass the gate.
        assert isinstance(route, APIRoute), route
        for method in sorted(route.methods):
            yield method, route.path


EVERY_ROUTE = sorted(routes_of(an_app().routes))


def filled(template: str) -> str:
    return re.sub(r"\{[^}]*\}", "1", template)


@pytest.fixture(scope="module")
def closed() -> Iterator[Client]:
    with WebServer(an_app()) as server:
        yield Client(server.port)


def test_the_list_of_open_routes_names_routes_that_exist() -> None:
    assert {f"{method} {path}" for method, path in EVERY_ROUTE} >= _OPEN | _READS


@pytest.mark.parametrize(("method", "path"), [each for each in EVERY_ROUTE if access_of(*each) != "open"])
def test_a_route_that_is_not_open_needs_the_token(closed: Client, method: str, path: str) -> None:
    reply = closed.get(filled(path), method)
    assert reply.status == 401
    assert "Basic" in reply.headers["WWW-Authenticate"]
    assert "Bearer" in reply.headers["WWW-Authenticate"]
    assert closed.get(filled(path), method, Authorization="Bearer wrong").status == 401
    assert closed.get(f"{filled(path)}?token=wrong", method).status == 401


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/assets/feedweir.css"])
def test_probes_and_stylesheets_are_open(closed: Client, path: str) -> None:
    assert closed.get(path).status == 200


@pytest.mark.parametrize(
    ("reads", "opened"), [("none", set()), ("feeds", {"feed"}), ("all", {"feed", "read"})]
)
def test_the_operator_opens_feeds_or_all_reads_and_never_what_changes_or_concerns_subscribers(
    reads: PublicReads, opened: set[str]
) -> None:
    asked = [each for each in EVERY_ROUTE if access_of(*each) != "open" and not each[1].endswith("/events")]
    with WebServer(an_app(reads)) as server:
        client = Client(server.port)
        closed = {each for each in asked if client.get(filled(each[1]), each[0]).status == 401}
    assert closed == {each for each in asked if access_of(*each) not in opened}
    assert ("GET", "/v1/subscriptions") in closed
    assert ("POST", "/v1/statements") in closed


def basic(password: str) -> str:
    return "Basic " + b64encode(f"anyone:{password}".encode()).decode()


def test_the_token_may_come_as_bearer_as_password_or_in_the_address(closed: Client) -> None:
    assert closed.get("/v1/feeds", Authorization=f"Bearer {TOKEN}").status == 200
    assert closed.get("/v1/feeds", Authorization=f"bearer {TOKEN}").status == 200
    assert closed.get("/v1/feeds", Authorization=basic(TOKEN)).status == 200
    assert closed.get(f"/v1/feeds?token={TOKEN}").status == 200
    for wrong in (basic("nope"), "Basic ????", "Basic", "Bearer", "Bearer ü", f"Digest {TOKEN}", TOKEN):
        assert closed.get("/v1/feeds", Authorization=wrong.encode().decode("latin-1")).status == 401


def test_a_token_in_the_address_is_written_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    backend = MemoryBackend()
    backend.put("HighWater")
    with WebServer(create_app(backend, options=WebOptions(token=TOKEN))) as server:
        client = Client(server.port)
        for path in (
            "/",
            "/feeds/HighWater",
            "/feeds/HighWater.atom",
            "/v1/feeds",
            "/feeds.opml?kind=virtual",
        ):
            reply = client.get(f"{path}{'&' if '?' in path else '?'}token={TOKEN}", Accept="text/html, */*")
            assert reply.status == 200
            assert TOKEN.encode() not in reply.body
            assert TOKEN not in str(reply.headers)
        client.get(f"/v1/why?item=1&feed=None&token={TOKEN}")
    assert TOKEN not in caplog.text


def test_a_browser_that_remembers_the_password_cannot_be_used_by_other_pages(closed: Client) -> None:
    strange = {"Authorization": basic(TOKEN), "Sec_Fetch_Site": "cross-site"}
    for path in ("/v1/statements", "/hub", "/push/1", "/feeds.opml"):
        assert closed.post(path, "x", **strange).status == 403
    assert closed.get("/v1/feeds", **strange).status == 200


def test_the_description_of_the_routes_needs_the_token_and_does_not_name_the_gate(closed: Client) -> None:
    described = json.loads(closed.get("/v1/openapi.json", Authorization=f"Bearer {TOKEN}").body)
    assert "/v1/statements" in described["paths"]
