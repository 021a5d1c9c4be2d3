"""What feeds with joins show when their joins make much: the same, however the stream is cut into batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from email.utils import format_datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.items.model import Item
from feedweir.items.schema import batch_of
from feedweir.join import stored_results
from feedweir.join.replay import Replay
from feedweir.join.stored.join_versions import StoredJoins, open_joins, save_joins
from feedweir.join.streams import JoinFeed
from feedweir.join.window_bounds import JoinBounds
from feedweir.plan.nodes import Block, LastItems, PatternJoin, Source, TimeSpan, WindowSpec
from feedweir.plan.predicates import PatternNode, TreePattern
from feedweir.service.installation import Weir
from tests.join.divided import DividedReplay
from tests.join.test_join_feeds import FLOOD, START, STATEMENTS, cut, published, run, told

HOUR = timedelta(hours=1)
PLENTY = 1 << 40
FEED_WITH_A_LIMIT, LIMIT = 2, 2
Row = tuple[int, int, tuple[int, ...], str]


def join(window: WindowSpec, *, on: str = "a", select: str = "", kind: str = "join") -> PatternJoin:
    def block(name: str) -> Block:
        child = PatternNode("/", on, (), name)
        return Block(Source("S"), TreePattern(PatternNode("/", "item", (child,))))

    return PatternJoin(kind, block("x"), block("y"), (("x", "y"),), window, select)  # type: ignore[arg-type]


PLANS = (
    join(TimeSpan(10 * HOUR)),
    join(TimeSpan(5 * HOUR), on="b"),
    join(LastItems(4), kind="followed by"),
    join(TimeSpan(8 * HOUR), on="b", select="<r>{$x}</r>"),
    PatternJoin(
        "followed by",
        join(TimeSpan(9 * HOUR), on="a"),
        Block(Source("S"), TreePattern(PatternNode("/", "item", (PatternNode("/", "b", (), "z"),)))),
        (),
        TimeSpan(2 * HOUR),
    ),
)


@st.composite
def streams(draw: st.DrawFn) -> list[Item]:
    count = draw(st.integers(2, 14))
    hours = draw(st.lists(st.integers(0, 40), min_size=count, max_size=count))
    values = draw(st.lists(st.integers(0, 2), min_size=2 * count, max_size=2 * count))
    return [
        Item(
            source="S",
            identity=str(place),
            arrived=START + timedelta(days=3, minutes=place),
            published=START + hour * HOUR,
            seq=place + 1,
            raw=f"<item><a>{values[2 * place]}</a><b>{values[2 * place + 1]}</b></item>",
        )
        for place, hour in enumerate(hours)
    ]


def shown(
    joins: StoredJoins, items: Sequence[Item], size: int, *, most: int, bounds: JoinBounds, tasks: int = 1
) -> tuple[list[Row], set[tuple[int, int]], set[int]]:
    """(documents, elements, feeds that warn) of all batches."""
    rows: list[Row] = []
    elements: set[tuple[int, int]] = set()
    warned: set[int] = set()
    for shard in joins.shards:
        opened = [joins.compiled(shard, bounds, most_per_hour=most) for _ in range(3)]
        replay = DividedReplay(opened[0], opened[1:], tasks) if tasks > 1 else Replay(opened[0])
        for first in range(0, len(items), size):
            some = items[first : first + size]
            seqs = np.array([item.seq for item in some], np.int64)
            found = replay.step(batch_of(some), dict.fromkeys(replay.compiled.matched, seqs))
            made = (found.made[name].to_pylist() for name in ("feed", "seq", "made_of", "xml"))
            rows += [(feed, seq, tuple(of), xml) for feed, seq, of, xml in zip(*made, strict=True)]
            elements |= set(zip(*(column.to_pylist() for column in found.elements.columns), strict=True))
            warned |= {feed for feed, _ in found.failures}
    return sorted(rows, key=lambda row: row[:2]), elements, warned


@settings(max_examples=25, deadline=None)
@given(streams(), st.integers(1, 4), st.integers(1, 5))
def test_bounds_strike_the_same_documents_however_the_stream_is_cut(
    items: list[Item], most: int, piece: int
) -> None:
    with TemporaryDirectory() as scratch:
        feeds = [JoinFeed(n, plan, LIMIT if n == FEED_WITH_A_LIMIT else 0) for n, plan in enumerate(PLANS, 1)]
        save_joins(Path(scratch) / "1.joins", feeds)
        save_joins(Path(scratch) / "2.joins", [JoinFeed(n, plan) for n, plan in enumerate(PLANS, 1)])
        joins, free = (open_joins(Path(scratch) / f"{n}.joins") for n in (1, 2))
        whole, _, _ = shown(free, items, 1, most=PLENTY, bounds=JoinBounds())
        # The clock never passes an arrival, so that all hours count by themselves but those a day behind it.
        expected = _bounded(whole, items, most)
        for size, tasks in ((1, 1), (3, 1), (1000, 1), (1, 3), (3, 16), (1000, 2)):
            bounds = JoinBounds(max_piece=piece)
            rows, elements, warned = shown(joins, items, size, most=most, bounds=bounds, tasks=tasks)
            assert rows == expected
            assert elements == {row[:2] for row in expected}
            assert warned == {row[0] for row in whole if row not in expected}


def _bounded(rows: Sequence[Row], items: Sequence[Item], most: int) -> list[Row]:
    """One document after another, in the order of the stream."""
    made: Counter[tuple[int, object]] = Counter()
    kept: list[Row] = []
    clock = max_so_far(items)
    for row in rows:
        hour = int(items[row[1] - 1].time.timestamp()) // 3600
        now = int(clock[row[1] - 1].timestamp()) // 3600
        counted = (row[0], hour if hour >= now - 24 else ("late", now))
        limit = LIMIT if row[0] == FEED_WITH_A_LIMIT else most
        made[counted] += 1
        if made[counted] <= limit:
            kept.append(row)
    return kept


def max_so_far(items: Sequence[Item]) -> list[object]:
    found, latest = [], items[0].time
    for item in items:
        latest = max(latest, item.time)
        found.append(latest)
    return found  # type: ignore[return-value]


def test_results_in_many_runs_are_published_as_in_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def feeds(name: str) -> dict[str, object]:
        with Weir.open(tmp_path / name, clock=lambda: START) as weir:
            weir.execute(STATEMENTS)
            run(weir, cut(told(FLOOD), 2))
            return published(weir)

    whole = feeds("whole")
    monkeypatch.setattr(stored_results, "RUN_ROWS", 1)
    written: list[pa.Table] = []
    finish = stored_results.StoredRuns.finish
    monkeypatch.setattr(
        stored_results.StoredRuns, "finish", lambda one: written.append(finish(one)) or written[-1]
    )
    assert feeds("runs") == whole
    assert len(written) > 10


EVERYTHING = """
register feed push://A as A;
A//item->x JOIN{1 year} A//item->y AT MOST 50 RESULTS PER HOUR PUBLISH Everything;
A//item[guid->x] JOIN{x=y, 1 year} A//item[guid->y] PUBLISH Nothing;
"""


def test_a_join_of_everything_with_everything_shows_the_same_of_an_outage_at_once_as_bit_by_bit(
    tmp_path: Path,
) -> None:
    def document(numbers: Sequence[int]) -> bytes:
        items = "".join(
            f"<item><guid>{n}</guid><title>t{n}</title>"
            f"<pubDate>{format_datetime(START - timedelta(days=2) + n * timedelta(minutes=10))}</pubDate></item>"
            for n in reversed(numbers)
        )
        return f"<rss version='2.0'><channel><title>x</title>{items}</channel></rss>".encode()

    def made(name: str, size: int) -> tuple[list[list[str]], list[str]]:
        with Weir.open(tmp_path / name, clock=lambda: START) as weir:
            weir.execute(EVERYTHING)
            weir.push("A", document([0]))
            weir.run()
            for first in range(1, 60, size):
                weir.push("A", document(range(first, min(first + size, 60))))
                weir.run()
            items = weir.store.item_table(weir.store.manifests(), ("seq", "identity"))
            name_of = dict(zip(items["seq"].to_pylist(), items["identity"].to_pylist(), strict=True))
            table = weir.store.joined.made_table(weir.store.manifests())
            told = [
                one.reason
                for one in weir.catalog.failures.latest(kind="feed")
                if one.resource == "Everything"
            ]
            return [[name_of[seq] for seq in row] for row in table["made_of"].to_pylist()], told

    whole, told = made("whole", 1_000)
    pieces, _ = made("pieces", 7)
    assert whole == pieces
    assert 50 < len(whole) <= 10 * 50, "the hours of the outage count by themselves"
    assert "beyond 50 in an hour are not shown" in told[0]
