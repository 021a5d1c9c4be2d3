"""Asking which feeds want an item tells also of those that join it with others, and whether they found a partner."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from feedweir.ask.match_questions import NOT_IN_FORCE, YOUNGER
from feedweir.ask.matching_feeds import MatchingFeeds
from feedweir.cli.main import app
from feedweir.service.installation import Weir

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
STATEMENTS = """
register feed http://example.org/post as Post;
register feed http://example.org/crier as Crier;
create feed Linked from Post as $p join last 3 days on Crier as $c with $p[links shares-link window.links];
create feed Once from distinct (Post | Crier);
create feed Both from (Linked | Crier as $c) where $c[title contains 'otter'];
create feed Plain from Post where title contains 'river';
Crier//item[link->l] JOIN{l=m, 3 days} Post//item[link->m] PUBLISH Pairs;
"""


def document(title: str, link: str, guid: str = "") -> bytes:
    return (
        f"<rss version='2.0'><channel><title>t</title><item><guid>{guid or title}</guid>"
        f"<title>{title}</title><link>{link}</link></item></channel></rss>"
    ).encode()


@pytest.fixture
def weir(tmp_path: Path) -> Iterator[Weir]:
    with Weir.open(tmp_path, clock=lambda: NOON) as opened:
        opened.execute(STATEMENTS)
        opened.push("Crier", document("otter", "http://a.example/1"))
        opened.run()
        yield opened


def joins_of(found: MatchingFeeds) -> dict[tuple[str, str], tuple[bool, tuple[int, ...]]]:
    (one,) = found.items
    return {(part.feed, part.side): (part.is_in, part.partners) for part in one.joins}


def test_a_document_is_joined_as_if_it_came_next(weir: Weir) -> None:
    (crier,) = (item.seq for item in weir.items("Crier"))
    found = weir.ask.matching_feeds_of_document(document("river", "http://a.example/1"), source="Post")
    assert found.items[0].feeds == ("Plain", "Post")
    assert joins_of(found) == {
        ("Linked", "Linked.c: the side that is annotated"): (True, (crier,)),
        ("Both", "Linked.c: the side that is annotated"): (True, (crier,)),
        ("Once", "Once.distinct: stories"): (False, (crier,)),
        ("Pairs", "block 2 of 2"): (True, (crier,)),
    }
    assert weir.items("Linked") == [], "nothing of it is kept"


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ('{"title": "a river"}', [("a river", ("Plain", "Post"))]),
        (
            '[{"title": "a river"}, {"title": "dry", "text": "no"}, {"title": "river bed"}]',
            [("a river", ("Plain", "Post")), ("dry", ("Post",)), ("river bed", ("Plain", "Post"))],
        ),
        ('{"items": [{"title": "one"}, {"title": "two"}]}', [("one", ("Post",)), ("two", ("Post",))]),
        ('{"water": {"kind": "river"}}', [("river", ("Plain", "Post"))]),
        ("<order><of>river</of></order>", [("river", ("Plain", "Post"))]),
    ],
)
def test_whatever_may_be_pushed_is_matched_in_its_order(
    weir: Weir, body: str, wanted: list[tuple[str, tuple[str, ...]]]
) -> None:
    found = weir.ask.matching_feeds_of_document(body.encode(), source="Post")
    assert [(one.item.title, one.feeds) for one in found.items] == wanted


def test_what_a_document_finds_costs_no_question_that_the_last_one_asked(
    weir: Weir, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing that grows with the number of feeds."""
    weir.ask.matching_feeds_of_document(document("river", "http://a.example/1"), source="Post")
    for name in ("all", "definitions", "count", "called", "changes_since"):
        monkeypatch.setattr(type(weir.catalog.feeds), name, None)
    found = weir.ask.matching_feeds_of_document(document("river", "http://a.example/2"), source="Post")
    assert found.items[0].feeds == ("Plain", "Post")
    assert found.asked == 7


def test_an_item_without_a_partner_is_said_to_have_none(weir: Weir) -> None:
    found = weir.ask.matching_feeds_of_document(document("stone", "http://b.example/"), source="Post")
    assert joins_of(found)["Linked", "Linked.c: the side that is annotated"] == (False, ())
    assert [part.text for part in found.items[0].joins if part.feed == "Pairs"] == [
        "Pairs (block 2 of 2): no partner found"
    ]


def test_of_stored_items_it_is_told_what_happened_on_either_side(weir: Weir) -> None:
    (crier,) = (item.seq for item in weir.items("Crier"))
    before = joins_of(weir.ask.matching_feeds(crier))
    assert before["Linked", "Linked.c: the window"] == (False, ())
    assert before["Both", "as it is"] == (True, ())
    weir.push("Post", document("river", "http://a.example/1"))
    weir.run()
    (post,) = (item.seq for item in weir.items("Post"))
    assert joins_of(weir.ask.matching_feeds(post))["Pairs", "block 2 of 2"] == (True, (crier,))
    after = joins_of(weir.ask.matching_feeds(crier))
    assert after["Linked", "Linked.c: the window"] == (False, (post,))
    assert after["Once", "Once.distinct: stories"] == (True, (post,))
    assert after["Pairs", "block 1 of 2"] == (False, (post,))


def test_what_is_not_known_is_not_guessed(weir: Weir) -> None:
    weir.clock = lambda: datetime(2026, 6, 2, tzinfo=UTC)
    weir.execute("create feed Later from Post as $p join last 9 days on Crier with $p[title = window.title]")
    (crier,) = (item.seq for item in weir.items("Crier"))
    (told,) = [part.note for part in weir.ask.matching_feeds(crier).items[0].joins if part.feed == "Later"]
    assert told == YOUNGER
    found = weir.ask.matching_feeds_of_document(document("otter", ""), source="Post")
    assert {part.feed for part in found.items[0].joins if part.note == NOT_IN_FORCE} == {"Later"}
    weir.refresh_set()
    found = weir.ask.matching_feeds_of_document(document("otter", ""), source="Post")
    (later,) = [part for part in found.items[0].joins if part.feed == "Later"]
    assert later.note == ""


def test_the_command_line_tells_it(weir: Weir, tmp_path: Path) -> None:
    (file := tmp_path / "news.rss").write_bytes(document("river", "http://a.example/1"))
    asked = ["--data", str(tmp_path), "match", "--file", str(file), "--source", "Post"]
    told = CliRunner().invoke(app, asked)
    assert "river: is an input of Pairs (block 2 of 2): no partner found" in told.stdout, "months later"
    (item,) = json.loads(CliRunner().invoke(app, [*asked, "--json"]).stdout)["items"]
    assert {part["feed"] for part in item["joins"]} == {"Linked", "Both", "Once", "Pairs"}


def test_what_was_changed_since_the_set_was_compiled_counts_as_it_is_now(weir: Weir) -> None:
    weir.execute("create feed Reader from Plain; create feed Gone from Post")
    weir.refresh_set()

    def wanted(title: str) -> tuple[str, ...]:
        (one,) = weir.ask.matching_feeds_of_document(
            document(title, "http://b.example/"), source="Post"
        ).items
        return one.feeds

    assert wanted("river") == ("Gone", "Plain", "Post", "Reader")
    weir.execute(
        "alter feed Plain from Post where title contains 'stone'; drop feed Gone; create feed New from Post"
    )
    assert wanted("river") == ("New", "Post")
    assert wanted("stone") == ("New", "Plain", "Post", "Reader")
    weir.refresh_set()
    assert wanted("stone") == ("New", "Plain", "Post", "Reader")
