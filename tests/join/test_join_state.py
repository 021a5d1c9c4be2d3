"""What pattern joins remember on disk: kept when a query is edited, bounded by windows, and not missed when damaged."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from feedweir.join.patterns.history_store import HistoryStore
from feedweir.logs.landing import Landed
from feedweir.pipeline.local_runner import LocalRunner
from feedweir.service.installation import Weir

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
    LocalRunner(weir.directory, weir.commit).run_available()


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


@pytest.mark.parametrize(
    "edited",
    [
        "xscl { B//item[author->b] JOIN{a=b, 2 days} A//item[author->a] }",
        "xscl { A//item[author->a] FOLLOWED BY{a=b, 3 days} B//item[author->b] }",
        "xscl { A//item[author->a] JOIN{a=b, 2 days} B//item[author->b] JOIN{b=c, 1 day} C//item[author->c] }",
    ],
    ids=["sides changed", "another length, and an order", "a chain"],
)
def test_a_pattern_join_that_compares_the_same_still_knows_what_came_before(weir: Weir, edited: str) -> None:
    weir.execute("register feed http://example.org/c as C")
    land(weir, "A", 1, NOON)
    run(weir)
    weir.execute(f"create or replace feed Near from {edited}")
    land(weir, "B", 2, NOON + timedelta(days=1))
    land(weir, "C", 3, NOON + timedelta(days=1))
    run(weir)
    assert [sorted(seq >> 32 for seq in item.made_of)[:2] for item in weir.items("Near")] == [[1, 2]]


def test_state_is_bounded_by_the_window(weir: Weir) -> None:
    weir.refresh_set()
    runner = LocalRunner(weir.directory, weir.commit)
    for day in range(25):
        land(weir, "A", day, NOON + timedelta(days=day))
        runner.run_available()
    assert documents(weir) < 20


def test_nothing_stays_of_pattern_joins_that_are_not_in_use_any_more(weir: Weir) -> None:
    weir.execute("create feed Same from B as $b join last 2 items on A as $a with $b[author = window.author]")
    land(weir, "A", 1, NOON)
    run(weir)
    assert documents(weir) == 1
    weir.execute("drop feed Near")
    for guid in (2, 3):
        land(weir, "A", guid, NOON)
        run(weir)
    assert documents(weir) == 0
    assert not list(weir.directory.joins.glob("*/*.level*/*.arrow"))
    weir.execute("drop feed Same")
    land(weir, "A", 4, NOON)
    run(weir)
    assert not list(weir.directory.joins.iterdir())


def test_a_pattern_join_that_was_dropped_and_is_made_again_later_knows_nothing_of_before(weir: Weir) -> None:
    land(weir, "A", 1, NOON)
    run(weir)
    weir.execute("drop feed Near")
    land(weir, "A", 2, NOON)
    run(weir)
    weir.execute(STATEMENTS.split(";")[2])
    land(weir, "A", 3, NOON)
    land(weir, "B", 4, NOON)
    run(weir)
    assert [item.made_of[0] >> 32 for item in weir.items("Near")] == [3]


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
    (weir.directory.batches / "NEWEST").unlink()
    land(weir, "B", 3, NOON)
    run(weir)
    assert sorted(item.made_of[0] >> 32 for item in weir.items("Near")) == [1, 2]
    assert documents(weir) == 3
