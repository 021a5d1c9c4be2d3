"""Quarantined documents over HTTP, in front of a real installation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from feedweir import Weir
from feedweir.acquire.parse.parse_process import Stopped
from feedweir.config import Settings
from feedweir.items.numbering import segment_of_document
from feedweir.service.composition import Installation, Variations
from tests.deliver.living import in_process
from tests.web.web_client import Client

DOCUMENT = (
    b"<rss version='2.0'><channel><item><guid>1</guid><title>River rises</title></item></channel></rss>"
)
NUMBER = 1 << 16


@pytest.fixture
def weir(tmp_path: Path) -> Iterator[Weir]:
    """With one document, which was quarantined."""
    with Weir.configured(Settings(data=tmp_path / "data")) as opened:
        opened.execute("register feed push://post as Post")
        assert opened.push("Post", DOCUMENT, media_type="application/rss+xml") == 1
        stopped = Stopped(number=NUMBER, source="Post", size=len(DOCUMENT), reason="it took 6 s", attempts=3)
        opened.quarantine.put(stopped)
        yield opened


@pytest.fixture
def client(weir: Weir) -> Iterator[Client]:
    settings = Settings(data=weir.directory.root, port=0, fetch=False, send=False)
    with Installation(weir, settings, Variations(engine=in_process)) as installation:
        installation.serve()
        yield Client(installation.server.port)


def waiting(client: Client) -> list[int]:
    return [one["number"] for one in json.loads(client.get("/v1/quarantine").body)["documents"]]


def test_a_document_is_listed_and_saved_as_it_came(client: Client) -> None:
    assert waiting(client) == [NUMBER]
    saved = client.get(f"/v1/quarantine/{NUMBER}")
    assert (saved.status, saved.body) == (200, DOCUMENT)
    assert saved.headers["Content-Type"] == "application/octet-stream"
    assert saved.headers["Content-Disposition"].startswith("attachment")


def test_a_retried_document_lands_again(client: Client, weir: Weir) -> None:
    retried = client.post(f"/v1/quarantine/{NUMBER}/retry", "")
    assert (retried.status, json.loads(retried.body)) == (202, {"landed": 2})
    assert waiting(client) == []
    (row,) = weir.log.read(2).to_pylist()
    assert (row["source"], row["body"], segment_of_document(row["number"])) == ("Post", DOCUMENT, 2)


def test_a_dropped_document_is_gone_from_the_list(client: Client, weir: Weir) -> None:
    assert client.post(f"/v1/quarantine/{NUMBER}/drop", "").status == 204
    assert waiting(client) == []
    assert weir.log.latest() == 1


def test_what_is_not_there_is_not_found(client: Client) -> None:
    for path in ("/v1/quarantine/5/retry", "/v1/quarantine/5/drop"):
        missing = client.post(path, "")
        assert (missing.status, "not quarantined" in missing.body.decode()) == (404, True)
    assert client.get("/v1/quarantine/5").status == 404
    assert client.get("/v1/quarantine/first").status == 400


def test_another_page_can_do_nothing(client: Client) -> None:
    refused = client.post(f"/v1/quarantine/{NUMBER}/drop", "", Origin="http://elsewhere.example")
    assert (refused.status, waiting(client)) == (403, [NUMBER])
