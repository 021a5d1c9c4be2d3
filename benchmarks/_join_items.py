"""The stream experiment in one process: feed items of five leaves, windows without end."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks._join_queries import STREAM, Schema, queries_of
from feedweir.join.patterns.binding_rows import intake
from feedweir.join.patterns.found import PatternResults
from feedweir.join.patterns.level_input import DocumentBatch
from feedweir.join.patterns.pattern_logic import PatternLogic
from feedweir.join.patterns.pattern_set import PatternSet, compile_patterns
from feedweir.join.window_bounds import JoinBounds
from feedweir.match.trees.witnesses import Witnesses
from feedweir.published.joins import AloneHistory, alone_documents, alone_queries, evaluate_alone

ITEM_LEAVES = ("item_url", "channel_url", "title", "timestamp", "description")

Longs = NDArray[np.int64]


@dataclass(frozen=True)
class Items:
    """Feed items as five leaves."""

    columns: dict[str, list[str]]
    times: Longs

    def __len__(self) -> int:
        return len(self.times)


def read_items(path: str, limit: int) -> Items:
    table = pq.read_table(path).slice(0, limit)
    stamps = [
        text or seen
        for text, seen in zip(*(table[c].to_pylist() for c in ("published", "first_seen")), strict=True)
    ]
    times = [
        int(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1_000_000) for text in stamps
    ]
    columns = {
        "item_url": table["link"].to_pylist(),
        "channel_url": table["source"].to_pylist(),
        "title": table["title"].to_pylist(),
        "timestamp": stamps,
        "description": table["summary"].to_pylist(),
    }
    return Items(
        {name: [text or "" for text in column] for name, column in columns.items()}, np.array(times, np.int64)
    )


def generated_items(count: int, seed: int = 11) -> Items:
    """Items of 418 channels of unequal size; some stories appear in several, a few texts repeat."""
    chance = random.Random(seed)
    channels = chance.choices(range(418), [1 / (place + 1) ** 0.8 for place in range(418)], k=count)
    times = np.cumsum(np.array([chance.randrange(1, 60) for _ in range(count)], np.int64)) * 1_000_000
    titles: list[str] = []
    texts: list[str] = []
    for place in range(count):
        again = place > 10 and chance.random() < 0.05
        titles.append(titles[chance.randrange(max(0, place - 2000), place)] if again else f"title {place}")
        texts.append(texts[chance.randrange(max(0, place - 2000), place)] if again else f"text {place}")
    columns = {
        "item_url": [f"https://example.org/{place}" for place in range(count)],
        "channel_url": [f"https://example.org/channel/{channel}" for channel in channels],
        "title": titles,
        "timestamp": [str(int(one) // 60_000_000) for one in times],
        "description": texts,
    }
    return Items(columns, times)


def item_tables(joins: PatternSet, items: Items, start: int, stop: int) -> Witnesses:
    """Witnesses of items, straight from their columns: the stream experiment measures joins, not trees."""
    count = stop - start
    leaves = {name: place for place, name in enumerate(ITEM_LEAVES)}
    rows: list[NDArray[np.int32]] = []
    for number, pattern in enumerate(joins.patterns):
        node = leaves[pattern.root.children[0].name] + 1
        part = np.zeros((count, 5), np.int32)
        part[:, 0] = np.arange(count)
        part[:, 1], part[:, 2], part[:, 4] = number, 1, node
        rows.append(part)
    columns = np.concatenate(rows).T
    nodes = np.tile(np.arange(1, len(leaves) + 1, dtype=np.int32), count)
    values = [
        text
        for row in zip(*(items.columns[name][start:stop] for name in ITEM_LEAVES), strict=True)
        for text in row
    ]
    owners = np.repeat(np.arange(count, dtype=np.int32), len(leaves))
    return Witnesses(*columns, owners, nodes, values, refused={})


def batches(joins: PatternSet, items: Items, size: int, *, first: int = 0) -> Iterator[DocumentBatch]:
    for start in range(0, len(items), size):
        stop = min(start + size, len(items))
        seq = np.arange(first + start, first + stop, dtype=np.int64)
        everyone = np.arange(stop - start, dtype=np.int32)
        yield DocumentBatch(
            seq, items.times[start:stop], {STREAM: everyone}, item_tables(joins, items, start, stop)
        )


def stream(
    items: Items, count: int, *, size: int = 1000, sample: int = 200, seed: int = 7
) -> dict[str, object]:
    """The stream experiment at one number of queries: windows without end."""
    schema = Schema(ITEM_LEAVES)
    queries = queries_of(schema, count, len(ITEM_LEAVES), 0.8, random.Random(seed))
    # Results are counted and not made, so that there may be any number.
    joins = compile_patterns(queries, bounds=JoinBounds(max_found=1 << 60))
    logic = PatternLogic(joins)
    states = logic.start()
    total = pairs = 0
    spent = 0.0
    kept: list[PatternResults] = []
    for number, batch in enumerate(batches(joins, items, size)):
        start = time.perf_counter()
        found, states = logic.step(states, batch, number)
        spent += time.perf_counter() - start
        total += found.count()
        pairs += sum(len(one) for level in found.levels for one in level.found)
        if number < 2:
            kept.append(found)
    state = states["level0"]
    alone = _stream_alone(joins, items, kept, size, sample, count)
    return {
        "queries": count,
        "distinct": sum(len(relation.mode) for relation in joins.levels[0].relations),
        "templates": joins.templates,
        "items_per_s": round(len(items) / spent, 1),
        "results": total,
        "pairs_found": pairs,
        "state_bytes_per_item": round(state.nbytes / max(state.documents, 1), 1),
        **alone,
    }


def _stream_alone(
    joins: PatternSet, items: Items, kept: Iterable[PatternResults], size: int, sample: int, count: int
) -> dict[str, object]:
    """A sample of the queries alone over the first two batches: their rate, and whether they agree."""
    history = AloneHistory()
    alone = alone_queries(joins.levels[0])
    chosen = random.Random(3).sample(alone, min(sample, len(alone)))
    patterns = {pattern: place for place, pattern in enumerate(joins.patterns)}
    expected: set[tuple[int, int, int]] = set()
    spent, seen = 0.0, 0
    for batch in islice(batches(joins, items, size), 2):
        numbers = batch.seq
        everyone = np.ones(len(batch), np.bool_)
        rows, _ = intake(
            joins.levels[0], patterns, batch.witnesses, {STREAM: everyone}, numbers, batch.time_us
        )
        clocks = np.maximum.accumulate(items.times)[batch.seq]
        for document in alone_documents(rows, numbers, batch.time_us, clocks):
            start = time.perf_counter()
            for query in chosen:
                pairs = evaluate_alone(query, document, history, joins.bounds.lateness_us)
                expected.update((query.result, left, right) for left, right in pairs)
            spent += time.perf_counter() - start
            history.add(document)
            seen += 1
    sampled = {query.result for query in chosen}
    found = set()
    for results in kept:
        level = results.levels[0]
        for one in level.found:
            relation = level.level.relations[one.relation]
            for row, left, right in zip(one.row.tolist(), one.left.tolist(), one.right.tolist(), strict=True):
                members = relation.members[relation.members_ptr[row] : relation.members_ptr[row + 1]].tolist()
                found.update((member, left, right) for member in members if member in sampled)
    rate = seen / (spent / max(len(chosen), 1) * count)
    return {"sequential_items_per_s": round(rate, 3), "agree": found == expected}
