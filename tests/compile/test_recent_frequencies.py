"""Queries are found by what is rare among the newest items; the operator is told how far a compilation is."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from feedweir.compile import compiler as compiling
from feedweir.compile.recent_frequencies import RecentFrequencies
from feedweir.items.model import Item
from feedweir.items.schema import batch_of
from feedweir.match import CompiledSet, Frequencies
from feedweir.match.words.frequencies import frequencies_of
from feedweir.pipeline.sets import open_installed
from feedweir.service.installation import Weir
from feedweir.service.progress_log import ProgressLog

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def weir(tmp_path: Path) -> Iterator[Weir]:
    with Weir.open(tmp_path, clock=lambda: NOW) as opened:
        opened.execute(
            "register feed http://a.example/feed as a; register feed http://b.example/feed as b;"
            "create feed both from a | b where item contains 'storm' and item contains 'coast';"
        )
        yield opened


def publish(weir: Weir, source: str, number: int, titles: list[str]) -> None:
    entries = "".join(
        f"<item><guid>{number}-{place}</guid><title>{title}</title></item>"
        for place, title in enumerate(titles)
    )
    body = f'<rss version="2.0"><channel><title>x</title>{entries}</channel></rss>'
    weir.push(source, body.encode())
    weir.run()


def in_force(weir: Weir) -> CompiledSet:
    return open_installed(weir.directory.sets, weir.refresh_set())


def candidate_by(weir: Weir) -> str:
    """The atom that finds the feed in a set made now, whose filters nobody planned."""
    weir.catalog.feeds.renew()
    sets = weir.directory.sets
    version = compiling.put_in_force(weir.catalog, sets, NOW, recent=RecentFrequencies(weir.store))
    item = Item(source="a", identity="1", title="storm at the coast", arrived=NOW)
    return open_installed(sets, version).explain(item, weir.catalog.feeds.named("both").id).candidate_by


def test_the_atom_by_which_a_feed_is_found_is_the_one_that_was_seen_least(weir: Weir) -> None:
    publish(weir, "a", 1, [f"storm {number}" for number in range(30)])
    assert "coast" in candidate_by(weir)
    publish(weir, "a", 2, [f"coast {number}" for number in range(90)])
    assert "storm" in candidate_by(weir)


def test_a_small_segment_and_a_merge_know_what_was_seen_too(
    weir: Weir, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling, "WHOLE_BELOW", 0)
    publish(weir, "a", 1, [f"storm {number}" for number in range(30)])
    weir.execute("create feed late from a | b where item contains 'storm' and item contains 'coast';")
    item = Item(source="a", identity="1", title="storm at the coast", arrived=NOW)
    key = weir.catalog.feeds.named("late").id
    assert "coast" in in_force(weir).explain(item, key).candidate_by


def test_words_and_sources_are_counted_once_an_item() -> None:
    items = [
        Item(source="a", identity="1", title="Storm storm", summary="<p>a storm</p>", arrived=NOW),
        Item(source="b", identity="2", title="coast", categories=("storm",), arrived=NOW),
    ]
    assert frequencies_of(batch_of(items)) == Frequencies(
        2, {"storm": 2, "a": 1, "coast": 1}, {"a": 1, "b": 1}
    )


def test_without_items_nothing_is_known(weir: Weir) -> None:
    assert RecentFrequencies(weir.store).observe() is None
    assert RecentFrequencies(weir.store).known() is None


def test_whoever_asks_hears_how_many_feeds_have_been_compiled(weir: Weir) -> None:
    heard: list[tuple[int, int]] = []
    weir.refresh_set(lambda done, total: heard.append((done, total)))
    assert heard[0] == (0, 3)
    assert heard[-1] == (3, 3)


def test_a_log_is_told_every_few_seconds_and_not_of_what_is_done_at_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    seconds = iter([0.0, 1.0, 6.0, 7.0, 12.0, 13.0])
    told = ProgressLog(logging.getLogger("x"), "feeds compiled", clock=lambda: next(seconds))
    for done in (10, 20, 30, 40_000, 50_000):
        told(done, 50_000)
    assert caplog.messages == [
        "feeds compiled: 20 of 50,000",
        "feeds compiled: 40,000 of 50,000",
        "feeds compiled: 50,000 of 50,000",
    ]
    quick = ProgressLog(logging.getLogger("x"), "feeds compiled", clock=lambda: 0.0)
    quick(7, 7)
    assert len(caplog.messages) == 3
