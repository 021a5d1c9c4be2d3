"""What joins must bear: hostile documents, late and undated items, windows of years, queries that make no sense."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import partial
from pathlib import Path

import pytest

from feedweir.errors import LanguageError
from feedweir.join.stored import join_versions
from feedweir.join.window_bounds import JoinBounds
from feedweir.match.trees import TreeBounds, compile_trees
from feedweir.pipeline import join_task
from feedweir.pipeline.join_task import opened
from feedweir.service.installation import Weir

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
STATEMENTS = """
register feed http://example.org/a as A;
register feed http://example.org/b as B;
A//item[author->a] JOIN{a=b, 1 day} B//item[author->b] PUBLISH Near;
A//item[author->a] FOLLOWED BY{a=b, 1 day} B//item[author->b] PUBLISH After;
A//item[author->a] FOLLOWED BY{a=b, 100 years} B//item[author->b] PUBLISH Ages;
A//item//*->x JOIN{x=y, 1 day} B//item//*->y PUBLISH Anything;
"""


def entry(guid: str, published: datetime | None, inside: str = "") -> bytes:
    date = f"<pubDate>{format_datetime(published)}</pubDate>" if published else ""
    return (
        f"<rss version='2.0'><channel><title>t</title><item><guid>{guid}</guid>{date}"
        f"<author>ann</author>{inside}</item></channel></rss>"
    ).encode()


@pytest.fixture
def weir(tmp_path: Path) -> Iterator[Weir]:
    opened.cache_clear()
    times = iter(NOON + timedelta(minutes=number) for number in range(1_000))
    with Weir.open(tmp_path, clock=lambda: next(times)) as weir:
        weir.execute(STATEMENTS)
        yield weir


def shown(weir: Weir, feed: str) -> list[str]:
    view = weir.feed_views.feed(feed, 50)
    assert view is not None
    return sorted(
        "+".join(item.identity for _, made in one.annotation for item in made) for one in view.entries
    )


def run(weir: Weir, *documents: tuple[str, str, datetime | None]) -> None:
    for source, guid, published in documents:
        weir.push(source, entry(guid, published))
        weir.run()


def test_an_item_that_arrives_after_its_time_is_joined_by_its_time(weir: Weir) -> None:
    run(weir, ("B", "b", NOON - timedelta(hours=1)), ("A", "a", NOON - timedelta(hours=5)))
    assert shown(weir, "After") == ["a+b"]
    assert shown(weir, "Near") == ["a+b"]


def test_an_item_that_arrives_too_late_finds_only_what_is_remembered(weir: Weir) -> None:
    run(
        weir,
        ("A", "old", NOON - timedelta(days=9)),
        ("A", "new", NOON),
        ("B", "late", NOON - timedelta(days=9)),
    )
    assert shown(weir, "Near") == []
    assert shown(weir, "Ages") == []
    run(weir, ("A", "less", NOON - timedelta(days=7, hours=20)), ("B", "later", NOON - timedelta(days=7)))
    assert shown(weir, "Near") == ["less+later"]


def test_items_without_dates_go_by_their_arrival(weir: Weir) -> None:
    run(weir, ("A", "a", None), ("B", "b", None))
    assert shown(weir, "After") == ["a+b"]


def test_items_of_one_moment_are_near_and_do_not_follow(weir: Weir) -> None:
    run(weir, ("A", "a", NOON), ("B", "b", NOON))
    assert shown(weir, "After") == []
    assert shown(weir, "Near") == ["a+b"]


def test_a_window_of_a_century_is_joined_like_any_other(weir: Weir) -> None:
    run(weir, ("A", "a", datetime(1990, 1, 1, tzinfo=UTC)), ("B", "b", NOON))
    assert shown(weir, "Ages") == ["a+b"]


def test_a_document_that_binds_too_much_is_named_and_the_others_are_joined(
    weir: Weir, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = partial(compile_trees, bounds=TreeBounds(max_witnesses=100))
    monkeypatch.setattr(join_task, "compile_trees", small)
    join_task._trees.cache_clear()
    weir.push("A", entry("huge", NOON, "<x/>" * 300))
    run(weir, ("A", "a", NOON), ("B", "b", NOON))
    assert shown(weir, "Near") == ["a+b"]
    (failure,) = weir.catalog.failures.of("source", "A")
    assert "item huge takes no part in joins" in failure.reason
    assert "more than 100 pairs of nodes" in failure.reason
    opened.cache_clear()


def test_a_join_that_would_make_too_much_is_named_and_the_others_go_on(
    weir: Weir, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(join_versions, "JoinBounds", partial(JoinBounds, max_found=5, max_piece=5))
    weir.execute("A//item JOIN{1 year} B//item PUBLISH Everything")
    for number in range(12):
        for source in ("A", "B"):
            weir.push(source, entry(f"{source}{number:02}", NOON - timedelta(days=2 * (12 - number))))
    weir.run()
    assert shown(weir, "Near") == [f"A{number:02}+B{number:02}" for number in range(12)]
    assert 0 < len(shown(weir, "Everything")) < 144, "an item that completes too many has none"
    (failure,) = weir.catalog.failures.of("feed", "Everything")
    assert "too many documents of one item" in failure.reason
    opened.cache_clear()


@pytest.mark.parametrize(
    "text",
    [
        "A//item[author->a] JOIN{a=b} B//item[author->b]",
        "A//item[author->a] JOIN B//item[author->b]",
        "A//item[author->a] JOIN{a=c, 1 day} B//item[author->b]",
        "SELECT <x>{$q}</x> FROM A//item[author->a] JOIN{a=b, 1 day} B//item[author->b]",
    ],
)
def test_queries_that_make_no_sense_are_refused_with_a_hint(weir: Weir, text: str) -> None:
    with pytest.raises(LanguageError) as caught:
        weir.execute(f"{text} PUBLISH Bad")
    assert caught.value.hint
