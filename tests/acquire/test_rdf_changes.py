"""Wikidata's stream of RDF changes: a pattern asks for what was added or deleted."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from feedweir.acquire.push import pushed_document
from feedweir.errors import DocumentError
from feedweir.match.meaning.item_meaning import holds
from feedweir.service.installation import Weir
from tests import naive
from tests.language.reading import parse_predicate

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
PREFIXES = (
    "@prefix wd: <http://www.wikidata.org/entity/> . @prefix wdt: <http://www.wikidata.org/prop/direct/> . "
)


def change(added: str = "", deleted: str = "", **more: Any) -> dict[str, Any]:
    parts = {"rdf_added_data": added, "rdf_deleted_data": deleted}
    data = {
        name: {"data": PREFIXES + turtle, "mime_type": "text/turtle"}
        for name, turtle in parts.items()
        if turtle
    }
    return {
        "$schema": "/mediawiki/wikibase/entity/rdf_change/2.0.0",
        "meta": {"id": "e1", "stream": "rdf-streaming-updater.mutation.v2"},
        "item": "Q42",
        "operation": "diff",
        "event_time": "2026-05-31T10:00:00Z",
        **data,
        **more,
    }


def pushed(*changes: dict[str, Any]) -> Any:
    body = json.dumps(changes[0] if len(changes) == 1 else changes).encode()
    return pushed_document("s", body, "application/json", NOON).parsed


MOVED = change("wd:Q42 wdt:P39 wd:Q2 ; wdt:P31 wd:Q5 .", "wd:Q42 wdt:P39 wd:Q1 .")


def test_a_change_is_an_item() -> None:
    (item,) = pushed(MOVED).items
    assert (item.identity, item.title, item.link) == ("e1", "Q42: diff", "http://www.wikidata.org/entity/Q42")
    assert item.published == datetime(2026, 5, 31, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("inside", "is_there"),
    [
        ("deleted { ?who wdt:P39 ?office } added { ?who wdt:P39 ?other }", True),
        ("added { ?who wdt:P39 wd:Q1 }", False),
        ("deleted { ?who wdt:P39 wd:Q2 }", False),
        ("?who wdt:P39 wd:Q2", True),
        ("?who wdt:P39 wd:Q1", False),
        ("deleted { ?who ?p wd:Q1 }", True),
        ("added { ?who ?p wd:Q1 }", False),
        ("added { ?who ?p wd:Q5 }", True),
        ("deleted { ?who 'P39' ?x }", True),
        ("deleted { ?who 'P31' ?x }", False),
        ("deleted { { ?who wdt:P31 ?x } UNION { ?who wdt:P39 ?x } }", True),
        ("added { ?who wdt:P31 ?k } FILTER NOT EXISTS { ?who wdt:P40 ?x }", True),
        ("?who <urn:feedweir:operation> 'diff'", True),
    ],
)
def test_a_pattern_asks_for_what_was_added_or_deleted(inside: str, is_there: bool) -> None:
    (item,) = pushed(MOVED).items
    wanted = parse_predicate(f"graph {{ {inside} }}")
    assert holds(wanted, item) is is_there
    assert naive.holds(wanted, item) is is_there


def test_changes_are_pushed_to_an_installation(tmp_path: Path) -> None:
    with Weir.open(tmp_path, clock=lambda: NOON) as weir:
        weir.execute(
            "register feed push://wikidata as Wikidata;"
            "create feed Gone from Wikidata where graph { deleted { ?who wdt:P39 ?office } }"
        )
        weir.push("Wikidata", json.dumps(MOVED).encode())
        weir.push("Wikidata", json.dumps(change("wd:Q1 wdt:P39 wd:Q2 .", meta={"id": "e2"})).encode())
        weir.run()
        assert [item.identity for item in weir.items("Gone")] == ["e1"]
        assert len(weir.items("Wikidata")) == 2


def test_several_changes_and_deletions_of_a_whole_thing() -> None:
    gone = change(operation="delete", meta={}, revision_id=7)
    first, second = sorted(pushed(MOVED, gone).items, key=lambda item: item.identity)
    assert (first.identity, second.identity) == ("Q42/7.0", "e1")
    assert holds(parse_predicate("graph { wd:Q42 <urn:feedweir:operation> 'delete' }"), first)


def test_a_change_that_is_no_rdf_is_refused() -> None:
    broken = change()
    broken["rdf_added_data"] = {"data": "this is none", "mime_type": "text/turtle"}
    with pytest.raises(DocumentError, match="not text/turtle"):
        pushed(broken)
    broken["rdf_added_data"] = {"data": "x", "mime_type": "text/html"}
    with pytest.raises(DocumentError, match="of the type 'text/html'"):
        pushed(broken)
