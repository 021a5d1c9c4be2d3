"""`explain joins`: what is evaluated together, what is compared first, and what joins hold and give."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from feedweir.ask.join_report import partners_of
from feedweir.errors import CatalogError
from feedweir.join.patterns.level_history import LevelState
from feedweir.service.installation import Weir

START = datetime(2026, 6, 1, tzinfo=UTC)
STATEMENTS = """
register feed push://A as A;
register feed push://B as B;
A//item[title->t][author->a] FOLLOWED BY{t=s AND a=b, 60 minutes} B//item[title->s][author->b] PUBLISH Both;
A//item[title->t] JOIN{t=s, 5 items} B//item[title->s] PUBLISH Titles;
A//item[title->t] JOIN{t=s, 9 items} B//item[title->s] PUBLISH More;
A//item[title->t] JOIN{t=s, 5 items} B//item[title->s] FOLLOWED BY{3 items} A//item[author->c] PUBLISH Chain;
create feed Words from A where title contains 'one';
"""


def document(*entries: tuple[str, str, str]) -> bytes:
    items = "".join(
        f"<item><guid>{guid}</guid><title>{title}</title><author>{author}</author></item>"
        for guid, title, author in reversed(entries)
    )
    return f"<rss version='2.0'><channel><title>x</title>{items}</channel></rss>".encode()


@pytest.fixture
def weir(tmp_path: Path) -> Weir:
    weir = Weir.open(tmp_path, clock=lambda: START)
    weir.execute(STATEMENTS)
    weir.run()
    weir.push("A", document(*((f"a{n}", f"title {n}", "same") for n in range(10))))
    weir.push("B", document(*((f"b{n}", f"title {n}", "same") for n in range(10))))
    weir.run()
    return weir


def test_all_joins_are_listed_by_template(weir: Weir) -> None:
    (outcome,) = weir.execute("explain joins")
    shard, *templates = outcome.message.splitlines()
    assert "documents with" in shard
    assert "compiled in 1 segment" in shard
    assert any(line.strip() == "1·1 nodes, 1 value joins: 4 queries, 2 distinct" for line in templates)
    assert any("3·3 nodes, 2 value joins: 1 query" in line for line in templates)


def test_a_feed_begins_with_what_is_rarest_and_says_what_it_gave(weir: Weir) -> None:
    (outcome,) = weir.execute("explain joins Both")
    lines = [line.strip() for line in outcome.message.splitlines()]
    assert lines[1].startswith("begins with ")
    assert "title" in lines[1]
    assert "(0.5 partners a document)" in lines[1]
    assert "author" in lines[2]
    assert "(5 partners a document)" in lines[2]
    assert lines[3].startswith("within 60 minutes; predicted ")
    (outcome,) = weir.execute("explain joins Titles")
    made = sum(feed == weir.catalog.feeds.named("Titles").id for feed in made_feeds(weir))
    assert made == 5, "the last five of A are in the window of the first of B, and so on"
    assert f"measured: {made} documents made of the last 20 items" in outcome.message


def made_feeds(weir: Weir) -> list[int]:
    found: list[int] = weir.store.joined.made_table(weir.store.manifests())["feed"].to_pylist()
    return found


def test_a_chain_shows_its_first_join_first(weir: Weir) -> None:
    (outcome,) = weir.execute("explain joins Chain")
    lines = [line.strip() for line in outcome.message.splitlines()]
    assert "begins with" in lines[1]
    assert "compares nothing: every document meets every other in its window" in lines


def test_what_is_no_join_of_its_own_is_refused_with_a_hint(weir: Weir) -> None:
    with pytest.raises(CatalogError, match="has no JOIN") as caught:
        weir.execute("explain joins Words")
    assert "explain feed Words" in caught.value.hint


def test_without_history_nothing_has_partners() -> None:
    assert partners_of(LevelState(), 1, 2) == 0
