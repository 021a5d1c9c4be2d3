"""Asking on the command line which feeds want items, and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import NEWS
from tests.cli.test_commands import Shell

DOCUMENT = b"""<rss version='2.0'><channel>
<item><guid>x</guid><title>Market on the river</title></item><item><guid>y</guid><title>Rain</title></item>
</channel></rss>"""


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "next.rss"
    path.write_bytes(DOCUMENT)
    return path


def answer(newsroom: Shell, *command: str) -> dict[str, Any]:
    assert newsroom(*command, "--json") == 0
    return dict(json.loads(newsroom.said))


def test_the_feeds_of_a_stored_item_are_told_by_guid_or_number(newsroom: Shell) -> None:
    by_guid = answer(newsroom, "match", "g-1")
    assert by_guid["items"][0]["feeds"] == ["Post", "Water"]
    seq = by_guid["items"][0]["seq"]
    assert answer(newsroom, "match", str(seq)) == by_guid
    assert newsroom("match", "g-2") == 0
    assert "Post, Trade" in newsroom.said


def test_a_document_is_matched_as_if_it_came_next_and_nothing_of_it_is_kept(
    newsroom: Shell, document: Path
) -> None:
    found = answer(newsroom, "match", "--file", str(document), "--source", "Post")
    assert [(one["title"], one["feeds"]) for one in found["items"]] == [
        ("Market on the river", ["Post", "Trade", "Water"]),
        ("Rain", ["Post"]),
    ]
    assert answer(newsroom, "search", "rain")["hits"] == 0
    assert newsroom("match", "x") == 3


def test_without_a_source_only_what_asks_for_none_wants_a_document(newsroom: Shell, document: Path) -> None:
    assert newsroom("exec", "create feed Any from * where title contains 'rain'") == 0
    found = answer(newsroom, "match", "--file", str(document))
    assert [one["feeds"] for one in found["items"]] == [[], ["Any"]]


def test_of_an_owner_only_their_feeds_are_asked(newsroom: Shell, document: Path) -> None:
    found = answer(newsroom, "match", "-f", str(document), "--source", "Post", "--owner", "acme/bob")
    assert [one["feeds"] for one in found["items"]] == [["Post", "Trade"], ["Post"]]
    assert found["asked"] == 2


def test_a_file_that_is_no_feed_is_told(newsroom: Shell, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("<html><title>Log in</title></html>")
    code = newsroom("match", "--file", "page.html")
    assert (code, newsroom.complained) != (1, "")
    assert "Traceback" not in newsroom.complained


def test_an_item_that_is_an_input_of_a_join_says_so(newsroom: Shell, tmp_path: Path) -> None:
    joined = "create feed Echo from Water as $w join last 10 days on Trade as $t with $w[title similar window.title]"
    assert newsroom("exec", joined) == 0
    assert newsroom("match", "--file", _next(tmp_path), "--source", "Post") == 0
    assert "River tops its banks: is an input of Echo" in newsroom.said


def _next(tmp_path: Path) -> str:
    path = tmp_path / "next.rss"
    path.write_bytes(NEWS.replace(b"River [rises]", b"River tops its banks").replace(b"g-1", b"g-9"))
    return str(path)


def test_why_not_names_the_clause_that_fails(newsroom: Shell) -> None:
    found = answer(newsroom, "why", "g-2", "Water")
    assert found["holds"] is False
    assert newsroom("why", "g-2", "Water") == 0
    lines = newsroom.said.splitlines()
    assert lines[0] == "✗ feed Water"
    assert any("✗ title contains 'river'" in line for line in lines)
    assert any("✓ source Post" in line for line in lines)


def test_why_of_a_source_is_whether_the_item_came_from_it(newsroom: Shell) -> None:
    assert newsroom("exec", "register feed push://other as Other") == 0
    assert answer(newsroom, "why", "g-1", "Post")["holds"] is True
    assert answer(newsroom, "why", "g-1", "Other")["holds"] is False


def test_a_search_counts_by_day_and_shows_as_many_as_asked_for(newsroom: Shell) -> None:
    found = answer(newsroom, "search", "river", "--limit", "1")
    assert (found["searched"], found["hits"]) == (3, 2)
    assert list(found["per_day"].values()) == [2]
    assert [item["guid"] for item in found["items"]] == ["g-3"]
    assert answer(newsroom, "search", "river", "--owner", "acme/bob")["searched"] == 3
    assert answer(newsroom, "search", "day -river")["hits"] == 1


def test_a_preview_looks_at_the_newest_only_and_a_backtest_at_all(newsroom: Shell) -> None:
    query = "from Post where title contains 'river'"
    assert answer(newsroom, "preview", query, "--limit", "2")["hits"] == 1
    assert answer(newsroom, "backtest", query)["hits"] == 2


def test_a_query_on_the_command_line_is_the_one_of_a_statement(newsroom: Shell) -> None:
    texts = ("Water", "from Water", "create feed X from Water", "explain from Water")
    assert [answer(newsroom, "backtest", text)["hits"] for text in texts] == [2] * 4
    assert newsroom("items", "X") == 3


def test_what_is_tried_out_shows_its_partners(newsroom: Shell) -> None:
    query = "from Water as $w join last 10 days on Trade as $t with $w[link shares domain window.link]"
    code = newsroom("backtest", query, "--json")
    assert code in (0, 3)
    if code == 0:
        assert all("partners" in sample for sample in json.loads(newsroom.said)["samples"])


def test_the_way_of_an_item_is_shown_with_times(newsroom: Shell) -> None:
    assert newsroom("trace", "http://example.org/1") == 0
    lines = newsroom.said.splitlines()
    assert lines[0] == "River [rises]  [Post, guid g-1]"
    assert "2026-07-06 10:00:00  published, according to the source" in lines[2]
    assert "landed in segment 1" in lines[3]
    assert [line.strip() for line in lines[5:]] == ["in Post", "in Water"]
    assert newsroom("trace", "g-1", "--json") == 0
    found = json.loads(newsroom.said)
    assert found["revisions"][0]["deliveries"] == []
    assert newsroom("why", found["link"], "Water", "--json") == 0
    assert json.loads(newsroom.said)["holds"] is True


def test_there_is_no_way_of_an_item_that_is_not_there(newsroom: Shell) -> None:
    assert newsroom("trace", "http://example.org/77") == 3
    assert "there is no item 'http://example.org/77'" in newsroom.complained
