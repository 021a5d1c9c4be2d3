"""Counters in the catalog add up to the element log, however batches were cut, compacted and counted."""

from __future__ import annotations

from pathlib import Path

from feedweir.logs.directory import current_version
from feedweir.pipeline.commit import count_hits
from feedweir.pipeline.compaction import compact
from feedweir.pipeline.local_runner import LocalRunner
from feedweir.pipeline.observations import COSTS_OF_ONE_IN, costs_of
from feedweir.pipeline.sets import open_installed
from feedweir.service.installation import Weir
from tests.engines import NOON, land, open_weir
from tests.join.stories import STATEMENTS, Shown


def counted(weir: Weir) -> dict[str, int]:
    names = {feed.id: feed.name for feed in weir.catalog.feeds.all()}
    return {names[row.feed_id]: row.hits for row in weir.catalog.statistics.feeds() if row.hits}


def logged(weir: Weir) -> dict[str, int]:
    counts = {feed.name: len(weir.store.seqs(feed.id)) for feed in weir.catalog.feeds.all()}
    return {name: count for name, count in counts.items() if count}


def test_hits_add_up_to_the_log(tmp_path: Path) -> None:
    with open_weir(tmp_path, STATEMENTS) as weir:
        weir.refresh_set()
        runner = LocalRunner(weir.directory, weir.commit)
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


def test_candidates_of_feeds_add_up_to_what_the_matcher_looked_at(tmp_path: Path) -> None:
    with open_weir(tmp_path, STATEMENTS) as weir:
        weir.refresh_set()
        runner = LocalRunner(weir.directory, weir.commit)
        for batch in range(4):
            entries = tuple((400 * batch + n, "river" if n % 3 else "music") for n in range(400))
            land(weir, [Shown("Post", entries)])
            runner.run_available()
        (log := weir.directory.observations / "000000000001-999.npy").write_bytes(b"torn")
        weir.tidy()
        weir.tidy()
        assert not log.exists()
        compiled = open_installed(weir.directory.sets, current_version(weir.directory.sets) or 0)
        items = weir.store.item_table(weir.store.manifests()).combine_chunks().to_batches()[0]
        feeds, costs = costs_of(compiled, items).tolist()
        spent = {feed: cost for feed, cost in zip(feeds, costs, strict=True) if feed > 0}
        known = {one.feed_id: one for one in weir.catalog.statistics.feeds()}
        assert {feed: one.candidates for feed, one in known.items() if one.candidates} == spent
        post = weir.catalog.feeds.named("Post").id
        assert 0 < known[post].candidates < 3 * items.num_rows
        assert known[post].candidates % COSTS_OF_ONE_IN == 0
        (outcome,) = weir.execute("describe feed Post")
        assert {"what": "candidates", "value": known[post].candidates} in outcome.rows
        everything = dict(zip(*costs_of(compiled, items, one_in=1).tolist(), strict=True))
        assert everything[post] == items.num_rows
