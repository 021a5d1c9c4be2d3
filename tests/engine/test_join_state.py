"""What pattern joins remember on disk: kept when a query is edited, bounded by windows, and not missed when damaged."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from feedweir.acquire.landing import Landed
from feedweir.engine.runner import Runner
from feedweir.join.state import HistoryStore
from feedweir.keeper.weir import Weir

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
STATEMENTS = """
register feed http://example.org/a as A;
register feed http://example.org/b as B;
A//item[author->a] JOIN{a=b, 1 day} B//item[author->b] PUBLISH Near;
"""


@pytest.fixture
def weir(tmp_path: Path) -> Iterator[Weir]:
    with Weir.open(tmp_path, clock=lambda: NOON) as weir:
        weir.execute(STATEMENTS)
        yield weir


def land(weir: Weir, source: str, guid: int, time: datetime) -> None:
    body = (
        f"<rss version='2.0'><channel><title>t</title><item><guid>{guid}</guid><author>ann</author>"
        f"<pubDate>{format_datetime(time)}</pubDate></item></channel></rss>"
    )
    weir.log.append([Landed(source=source, arrived=time, body=body.encode())])


def run(weir: Weir) -> None:
    weir.refresh_set()
    Runner(weir.directory, weir.commit).run_available()


def documents(weir: Weir) -> int:
    (shard,) = weir.directory.joins.iterdir()
    states = HistoryStore(shard).load(1 << 40)
    return sum(state.documents for state in states.values())


def test_an_edited_pattern_join_still_knows_what_came_before(weir: Weir) -> None:
    land(weir, "A", 1, NOON)
    run(weir)
    weir.execute("drop feed Near")
    weir.execute(
        "SELECT <both>{$b}</both> FROM A//item[author->a] FOLLOWED BY{a=b, 2 days} B//item[author->b] PUBLISH Near"
    )
    land(weir, "B", 2, NOON + timedelta(days=2))
    run(weir)
    assert [item.raw for item in weir.items("Near")] == ["<both>ann</both>"]


def test_state_is_bounded_by_the_window(weir: Weir) -> None:
    weir.refresh_set()
    runner = Runner(weir.directory, weir.commit)
    for day in range(40):
        land(weir, "A", day, NOON + timedelta(days=day))
        runner.run_available()
    assert documents(weir) < 20


def test_a_damaged_state_stops_nothing(weir: Weir) -> None:
    land(weir, "A", 1, NOON)
    run(weir)
    (state,) = weir.directory.joins.glob("*/state-*.json")
    state.write_text("{")
    land(weir, "A", 2, NOON)
    land(weir, "B", 3, NOON)
    run(weir)
    assert [item.made_of[0] >> 32 for item in weir.items("Near")] == [2]


def test_an_attempt_that_was_cut_otherwise_leaves_nothing_behind(weir: Weir) -> None:
    """A process died after its join step and before its batch was published; the next takes more into the batch."""
    land(weir, "A", 1, NOON)
    run(weir)
    land(weir, "A", 2, NOON)
    run(weir)
    (weir.directory.batches / f"{2:012d}.json").unlink()
    land(weir, "B", 3, NOON)
    run(weir)
    assert sorted(item.made_of[0] >> 32 for item in weir.items("Near")) == [1, 2]
    assert documents(weir) == 3
