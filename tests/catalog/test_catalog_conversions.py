"""What older steps kept of a source as JSON stands in columns afterwards, in both databases."""

from __future__ import annotations

import json
from base64 import b64encode
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import text

from feedweir.catalog import FetchState, open_catalog
from feedweir.catalog.database import connect
from feedweir.catalog.migrate import migrate, migrations

STEP = next(place for place, (name, _) in enumerate(migrations()) if name == "0011_source_columns")
NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
LATER = datetime(2024, 5, 2, tzinfo=UTC)
STATE = {
    "source": "News",
    "url": "http://a.example/",
    "next_at": NOON.isoformat(),
    "not_before": NOON.isoformat(),
    "validators": {"url": "http://a.example/x", "etag": '"1"', "last_modified": "now", "body_hash": "abc"},
    "polled_at": NOON.isoformat(),
    "failures": 2,
    "failure": "the server refused: \x00",
    "is_unreadable": True,
    "page": "http://a.example/page",
    "hosts": ["a.example", "b.example"],
    "pushed_until": LATER.isoformat(),
    "pushed_since": None,
    "hints": {"ttl_s": 60, "skip_hours": [1, 2], "skip_days": [6]},
    "history": {"rate_s": 0.5, "times": {"base64": b64encode(b"\1\0\0\0").decode()}},
}
REFRESH = {
    "state": json.dumps(STATE),
    "every_s": 900.0,
    "id_path": "//id",
    "hub": "http://hub.example/",
    "lease": {"token": "t"},
    "imported_from": ["http://old.example/"],
}


def converted(url: str, refresh: dict[str, Any]) -> FetchState:
    """The state of a source that the step before knew with this `refresh`."""
    database = connect(url)
    migrate(database, migrations()[:STEP])
    row = {"etag": b'"1"', "refresh": json.dumps(refresh)}
    database.write(
        lambda connection: [
            connection.execute(text(sql), row if ":etag" in sql else {})
            for sql in (
                "INSERT INTO feed (id, name, folded, kind, statement, owner, created_at, version)"
                " VALUES (1, 'News', 'news', 'source', '', '', 0, 1)",
                "INSERT INTO source (feed_id, url, status, etag, last_modified, next_check_at, last_checked_at,"
                " last_success_at, failures, moved_to, refresh, description) VALUES"
                " (1, 'http://a.example/', 'active', :etag, :etag, 0, 5, 5, 2, '', :refresh, '{\"title\":\"T\"}')",
            )
        ]
    )
    with open_catalog(url) as catalog:
        return catalog.sources.named("News").state


def test_every_fact_has_a_column_afterwards(url: str) -> None:
    state = converted(url, REFRESH)
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    assert state == FetchState(
        feed_id=1,
        url="http://a.example/",
        etag='"1"',
        last_modified='"1"',
        validated_url="http://a.example/x",
        body_hash="abc",
        next_check_at=epoch,
        not_before=NOON,
        last_success_at=epoch.replace(microsecond=5),
        failures=2,
        failure="the server refused: \ufffd",
        is_unreadable=True,
        page="http://a.example/page",
        hosts=("a.example", "b.example"),
        pushed_until=LATER,
        every_s=900.0,
        id_path="//id",
        ttl_s=60,
        skip_hours=(1, 2),
        skip_days=(6,),
        history=STATE["history"],
        hub="http://hub.example/",
        lease={"token": "t"},
        imported_from=("http://old.example/",),
        description={"title": "T"},
    )


@pytest.mark.parametrize("refresh", [{}, {"state": "{}"}, {"state": ""}, {"hub": ""}])
def test_a_source_of_which_nothing_was_known_is_as_if_new(url: str, refresh: dict[str, Any]) -> None:
    state = converted(url, refresh)
    assert (state.history, state.lease, state.hosts, state.failure, state.every_s) == ({}, {}, (), "", 0.0)


def test_a_catalog_without_sources_is_converted_as_well(url: str) -> None:
    database = connect(url)
    migrate(database, migrations()[:STEP])
    with open_catalog(url) as catalog:
        assert catalog.sources.all() == ()
