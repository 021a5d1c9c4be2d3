"""The door as programs and operators see it."""

from __future__ import annotations

import asyncio
import json

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.types import Message, Receive, Scope, Send

from feedweir.web.app import Watched, create_app
from feedweir.web.door import WebOptions
from feedweir.web.metrics import Meter
from feedweir.web.web_server import WebServer
from tests.web.memory_backend import MemoryBackend
from tests.web.web_client import Client


def test_a_statement_is_executed(client: Client, backend: MemoryBackend) -> None:
    reply = client.post("/v1/statements", "create feed Fresh;")
    assert reply.status == 200
    assert json.loads(reply.body) == {"results": [{"message": "created Fresh", "name": "Fresh"}]}
    assert "Fresh" in backend.views


def test_times_in_rows_are_written_out(client: Client) -> None:
    (result,) = json.loads(client.post("/v1/statements", "show times;").body)["results"]
    assert result["rows"] == [{"at": "2026-03-01T12:00:00.250000+00:00", "count": 1}]


def test_statements_may_come_as_json(client: Client, backend: MemoryBackend) -> None:
    body = json.dumps({"statements": "create feed Grün;"})
    assert client.post("/v1/statements", body, Content_Type="application/json").status == 200
    assert "Grün" in backend.views


def test_a_statement_error_names_line_column_expected_and_hint(client: Client) -> None:
    reply = client.post("/v1/statements", "\n\n  make me a feed;")
    assert reply.status == 400
    assert reply.headers["Content-Type"] == "application/problem+json"
    problem = json.loads(reply.body)
    assert problem["detail"] == "not a statement"
    assert (problem["line"], problem["column"]) == (3, 3)
    assert problem["expected"] == ["create", "drop"]
    assert problem["hint"] == "see"


def test_a_refusal_of_the_catalog_is_a_conflict_with_a_hint(client: Client) -> None:
    reply = client.post("/v1/statements", "drop feed HighWater;")
    assert reply.status == 409
    assert json.loads(reply.body)["hint"] == "drop Other first"


@pytest.mark.parametrize(
    ("body", "media_type"),
    [
        (b"\xff\xfe", "text/plain"),
        (b"{", "application/json"),
        (b"[]", "application/json"),
        (b'{"statements": 1}', "application/json"),
        (b"[" * 100_000, "application/json"),
    ],
)
def test_a_body_that_is_no_text_is_refused_with_a_reason(
    client: Client, body: bytes, media_type: str
) -> None:
    reply = client.post("/v1/statements", body, Content_Type=media_type)
    assert reply.status == 400
    assert json.loads(reply.body)["detail"]


def test_a_huge_body_is_refused(backend: MemoryBackend) -> None:
    app = create_app(backend, options=WebOptions(max_statement_bytes=100))
    with WebServer(app) as server:
        assert Client(server.port).post("/v1/statements", "x" * 101).status == 413


def test_pages_of_other_sites_cannot_send_statements(client: Client, backend: MemoryBackend) -> None:
    for headers in ({"Origin": "http://evil.example"}, {"Sec_Fetch_Site": "cross-site"}, {"Origin": "null"}):
        assert client.post("/v1/statements", "create feed Evil;", **headers).status == 403
    assert "Evil" not in backend.views
    own = f"http://127.0.0.1:{client.port}"
    assert (
        client.post("/v1/statements", "create feed Own;", Origin=own, Sec_Fetch_Site="same-origin").status
        == 200
    )


def test_a_token_is_needed_when_one_is_set(backend: MemoryBackend) -> None:
    with WebServer(create_app(backend, options=WebOptions(token="s3cret"))) as server:
        client = Client(server.port)
        assert client.post("/v1/statements", "create feed A;").status == 401
        assert client.post("/v1/statements", "create feed A;", Authorization="Bearer nope").status == 401
        assert client.post("/v1/statements", "create feed A;", Authorization="Bearer s3cret").status == 200


def test_an_outline_is_imported_with_the_token_and_what_became_of_its_feeds_is_told(
    backend: MemoryBackend,
) -> None:
    with WebServer(create_app(backend, options=WebOptions(token="s3cret"))) as server:
        client = Client(server.port)
        assert client.post("/feeds.opml", "<opml/>").status == 401
        assert "Imported" not in backend.views
        reply = client.post("/feeds.opml", "<opml/>", Authorization="Bearer s3cret")
        assert json.loads(reply.body) == {
            "registered": ["Imported"],
            "known": ["RiverPost"],
            "folders": [],
            "refused": [{"name": "Mail", "reason": "no address"}],
        }
        refused = client.post("/feeds.opml", "hello", Authorization="Bearer s3cret")
        assert (refused.status, json.loads(refused.body)["hint"]) == (422, "export it again")


def test_an_unexpected_error_tells_the_log_and_not_the_client(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    reply = client.post("/v1/statements", "crash;")
    assert reply.status == 500
    assert b"secret" not in reply.body
    assert "a secret" in caplog.text
    assert client.get("/healthz").status == 200


def test_an_answer_that_breaks_off_is_not_answered_again(backend: MemoryBackend) -> None:
    async def breaks_off(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise ValueError("in the middle")

    async def nothing_more() -> Message:
        return {"type": "http.disconnect"}

    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/", "headers": []}
    with pytest.raises(ValueError, match="in the middle"):
        asyncio.run(Watched(breaks_off, Meter(backend))(scope, nothing_more, send))
    (begun,) = sent
    assert b"content-security-policy" in dict(begun["headers"])


def test_the_list_of_feeds_is_read_page_by_page(client: Client, backend: MemoryBackend) -> None:
    for number in range(25):
        backend.put(f"Über{number:02}")
    names, cursor = [], ""
    while True:
        page = json.loads(client.get(f"/v1/feeds?limit=10&cursor={cursor}").body)
        names += [feed["name"] for feed in page["feeds"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert names == sorted(backend.views)
    assert len(names) == 27


def test_a_made_up_cursor_is_refused(client: Client) -> None:
    for cursor in ("%21%21", "_w", "a"):
        assert client.get(f"/v1/feeds?cursor={cursor}").status == 400


def test_the_list_of_feeds_can_be_of_one_kind(client: Client) -> None:
    page = json.loads(client.get("/v1/feeds?kind=source").body)
    assert [feed["name"] for feed in page["feeds"]] == ["RiverPost"]
    assert page["feeds"][0]["links"]["rss"].endswith("/feeds/RiverPost.rss")
    assert client.get("/v1/feeds?kind=odd").status == 400


def test_health_and_readiness_follow_the_library(client: Client, backend: MemoryBackend) -> None:
    assert json.loads(client.get("/healthz").body) == {"status": "ok", "batches": 7}
    backend.is_ready = False
    assert client.get("/healthz").status == 200
    assert client.get("/readyz").status == 503
    backend.is_healthy = False
    assert client.get("/healthz").status == 503


def test_metrics_count_requests_and_show_what_the_library_counts(client: Client) -> None:
    client.get("/feeds/RiverPost.rss")
    client.get("/feeds/HighWater.rss")
    client.get("/no/such/path")
    client.get("/feeds/RiverPost.rss", "BREW")
    reply = client.get("/metrics")
    assert reply.headers["Content-Type"].startswith("text/plain")
    samples = {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(reply.body.decode())
        for sample in family.samples
    }
    route = (("method", "GET"), ("route", "/feeds/{name}.rss"), ("status", "200"))
    assert samples["feedweir_http_requests_total", route] == 2
    assert samples["feedweir_feeds", (("kind", "source"),)] == 1
    assert samples["feedweir_items_total", ()] == 41
    assert not any("/no/such/path" in str(labels) or "BREW" in str(labels) for _, labels in samples)


def test_two_apps_count_apart(backend: MemoryBackend) -> None:
    with WebServer(create_app(backend)) as first, WebServer(create_app(backend)) as second:
        Client(first.port).get("/feeds/RiverPost.rss")
        assert b'route="/feeds/{name}.rss"' in Client(first.port).get("/metrics").body
        assert b'route="/feeds/{name}.rss"' not in Client(second.port).get("/metrics").body


def test_the_api_describes_itself(client: Client) -> None:
    description = json.loads(client.get("/v1/openapi.json").body)
    assert description["openapi"].startswith("3.1")
    assert {"/v1/statements", "/v1/feeds", "/feeds/{name}.atom"} <= set(description["paths"])


def test_plans_are_told_as_json_text_and_pictures(client: Client) -> None:
    (plan,) = json.loads(client.get("/v1/plan").body)["plans"]
    assert (plan["source"], plan["cost"], plan["nodes"][1]["feeds"]) == ("Plain", 2.0, ["Half"])
    text = client.get("/v1/plan?source=Plain&format=text").body.decode()
    assert "title contains 'a < b'  in 2/s  out 1/s  → Half" in text
    assert client.get("/v1/plan?format=dot").body.startswith(b'digraph "Plain" {')


def test_a_plan_that_cannot_be_shown_is_a_problem_that_says_why(client: Client) -> None:
    assert client.get("/v1/plan?source=Nothing").status == 409
    assert client.get("/v1/plan?format=gif").status == 400
