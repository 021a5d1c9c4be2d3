"""Counters in the catalog add up to the element log, however batches were cut, compacted and counted."""

from __future__ import annotations

from pathlib import Path

from feedweir.engine.compact import compact
from feedweir.engine.runner import Runner
from feedweir.keeper.counting import count_hits
from feedweir.keeper.weir import Weir
from tests.engine.engines import NOON, land, open_weir
from tests.engine.stories import STATEMENTS, Shown


def counted(weir: Weir) -> dict[str, int]:
    names = {feed.id: feed.name for feed in weir.catalog.feeds.all()}
    return {names[row.feed_id]: row.hits for row in weir.catalog.statistics.feeds()}


def logged(weir: Weir) -> dict[str, int]:
    counts = {feed.name: len(weir.store.seqs(feed.id)) for feed in weir.catalog.feeds.all()}
    return {name: count for name, count in counts.items() if count}


def test_hits_add_up_to_the_log(tmp_path: Path) -> None:
    with open_weir(tmp_path, STATEMENTS) as weir:
        weir.refresh_set()
        runner = Runner(weir.directory, weir.commit)
        for number in range(40):
            land(weir, [Shown("Post", ((number, "river" if number % 3 else "music"),))])
            runner.run_available()
            if number % 7 == 0:
                count_hits(weir.catalog, weir.store, NOON)
                count_hits(weir.catalog, weir.store, NOON)
            if number % 11 == 0:
                compact(weir.store)
        assert counted(weir) != logged(weir)
        weir.tidy()
        assert counted(weir) == logged(weir)
        weir.tidy()
        assert counted(weir) == logged(weir)
