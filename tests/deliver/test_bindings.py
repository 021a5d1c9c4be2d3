"""What the variables are bound to that SELECT names is shown with each entry."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from lxml import etree

from feedweir.deliver.address import Address
from feedweir.deliver.render.element_document import element_document
from feedweir.deliver.render.json_format import render_json
from feedweir.deliver.render.view import FeedView
from feedweir.service.installation import Weir

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
FEED = """<rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/"><channel><title>t</title><item><guid>1</guid>
<title>A concert</title><category>rock</category><category>jazz</category><media:rating>4.5</media:rating></item>
</channel></rss>"""


@pytest.fixture
def weir(tmp_path: Path) -> Iterator[Weir]:
    with Weir.open(tmp_path, clock=lambda: NOON) as opened:
        opened.execute("register feed http://example.org/post as Post;")
        opened.execute(
            "SELECT ?c ?r ?gone WHERE { ?i dc:subject ?c OPTIONAL { ?i media:rating ?r }"
            " OPTIONAL { ?i dc:creator ?gone } } PUBLISH Told;"
            "create feed Untold from Post where graph { ?i dc:subject ?c }"
        )
        opened.push("Post", FEED.encode())
        opened.run()
        yield opened


def view(weir: Weir, name: str) -> FeedView:
    found = weir.feed_views.feed(name, 10)
    assert found is not None
    return found


def test_json_has_the_terms_as_sparql_writes_them(weir: Weir) -> None:
    rendered = json.loads(render_json(view(weir, "Told"), Address("http://here.example")))
    assert rendered["items"][0]["_feedweir"]["bindings"] == [
        {"c": {"type": "literal", "value": value}, "r": {"type": "literal", "value": "4.5"}}
        for value in ("rock", "jazz")
    ]
    other = json.loads(render_json(view(weir, "Untold"), Address("http://here.example")))
    assert "bindings" not in other["items"][0]["_feedweir"]


def test_stylesheets_see_them(weir: Weir) -> None:
    root = etree.fromstring(element_document(view(weir, "Told")))
    found = [[(value.get("name"), value.text) for value in one] for one in root.findall("element/binding")]
    assert found == [[("c", "rock"), ("r", "4.5")], [("c", "jazz"), ("r", "4.5")]]


def test_why_tells_them(weir: Weir) -> None:
    (item,) = weir.items("Told")
    told = "\n".join(weir.ask.why(item.seq, "Told").lines())
    assert "?c = 'rock', ?r = '4.5'; ?c = 'jazz', ?r = '4.5'" in told


def test_what_is_told_of_an_entry_stays_when_the_feed_or_a_vocabulary_changes(weir: Weir) -> None:
    before = view(weir, "Told").entries[0].bindings
    weir.execute("alter feed Told from * where graph { SELECT ?t WHERE { ?i rss:title ?t } }")
    weir.push("Post", FEED.replace("<guid>1", "<guid>2").encode())
    weir.run()
    newer, older = view(weir, "Told").entries
    assert [name for name, _ in newer.bindings[0]] == ["t"]
    assert older.bindings == before
    assert len(before) == 2


def test_what_is_told_follows_the_vocabulary_by_which_it_was_found(weir: Weir) -> None:
    weir.execute(
        "register vocabulary push://words as Words saying 'property http://purl.org/dc/elements/1.1/subject urn:about';"
        "SELECT ?x WHERE { ?i <urn:about> ?x } PUBLISH About"
    )
    weir.push("Post", FEED.replace("<guid>1", "<guid>2").encode())
    weir.run()
    (entry,) = view(weir, "About").entries
    assert [node.value for ((_, node),) in entry.bindings] == ["rock", "jazz"]
    weir.execute("drop feed Words")
    assert view(weir, "About").entries[0].bindings == entry.bindings
