"""The origin over a real socket, and the statements about it."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from feedweir.errors import SettingsError
from feedweir.language.statements import parse
from feedweir.sample.origin import Origin
from feedweir.sample.sample_statements import sample_statements
from feedweir.sample.script import channels


@dataclass
class HandClock:
    now: datetime = field(default=datetime(2026, 5, 1, 9, 30, tzinfo=UTC))

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def origin(clock: HandClock) -> Iterator[Origin]:
    with Origin(clock) as running:
        yield running


def get(origin: Origin, path: str, **headers: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection(origin.host, origin.port, timeout=10)
    connection.request(
        headers.pop("method", "GET"), path, headers={k.replace("_", "-"): v for k, v in headers.items()}
    )
    response = connection.getresponse()
    response.body = response.read()  # type: ignore[attr-defined]
    connection.close()
    return response


def test_every_channel_is_served_at_its_address(origin: Origin) -> None:
    assert sorted(origin.urls) == [channel.name for channel in channels()]
    for url in origin.urls.values():
        assert get(origin, url.removeprefix(origin.url)).status == 200


def test_a_reader_that_has_the_document_is_told_so(origin: Origin, clock: HandClock) -> None:
    first = get(origin, "/river-post.xml")
    tag, date = first.headers["ETag"], first.headers["Last-Modified"]
    assert get(origin, "/river-post.xml", If_None_Match=tag).status == 304
    assert get(origin, "/river-post.xml", If_Modified_Since=date).status == 304
    clock.now += timedelta(minutes=5)
    assert get(origin, "/river-post.xml", If_None_Match=tag).status == 200
    assert get(origin, "/river-post.xml", If_Modified_Since=date).status == 200
    assert get(origin, "/river-post.xml", If_Modified_Since="last week").status == 200


def test_head_has_the_headers_and_no_body(origin: Origin) -> None:
    response = get(origin, "/tidewater.atom", method="HEAD")
    assert response.status == 200
    assert int(response.headers["Content-Length"]) > 1000
    assert response.body == b""  # type: ignore[attr-defined]


def test_stopping_closes_the_port_even_with_an_open_connection(clock: HandClock) -> None:
    origin = Origin(clock)
    origin.start()
    with socket.create_connection((origin.host, origin.port)):
        origin.stop()
        origin.stop()
    with pytest.raises(OSError, match="refused"):
        socket.create_connection((origin.host, origin.port), timeout=2)


def test_a_taken_port_is_a_clear_error(origin: Origin) -> None:
    with pytest.raises(SettingsError, match=str(origin.port)):
        Origin(port=origin.port).start()


def test_the_statements_register_every_channel_and_create_feeds(origin: Origin) -> None:
    text = sample_statements(origin.urls)
    for name, url in origin.urls.items():
        assert f"register feed {url} as {name};" in text
    assert text.count("create feed") >= 5
    assert len(parse(text)) > len(origin.urls) + text.count("create feed")
