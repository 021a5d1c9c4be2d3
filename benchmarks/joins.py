"""Joins by the hundred thousand: the technical benchmark of two documents, a stream of feed items, similarity joins.

Two documents whose leaves have equal values position by position meet all queries: a two-level schema with N leaves and
a three-level schema with branching 4; queries pick k leaves of each side (k by Zipf) and equate them. The stream is of
items with five leaves and windows without end. Sequential evaluation is measured on a sample of the queries and
extrapolated linearly to all of them; the sample's answers are compared with the shared evaluation's. Both ways of the
technical benchmark are timed by CPU time.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks._join_stream import measured
from feedweir.items.text import analyse
from feedweir.join.batch import DocumentBatch
from feedweir.join.cache import ViewCache
from feedweir.join.compiled import JoinSet, compile_joins
from feedweir.join.evaluate import Evaluator
from feedweir.join.evaluate_kernels import Documents
from feedweir.join.graph import JoinGraph
from feedweir.join.intake import intake
from feedweir.join.process import JoinLogic, JoinResults
from feedweir.join.query import JoinQuery
from feedweir.join.rows import BindingRows
from feedweir.join.sequential import AloneHistory, alone_documents, alone_queries, evaluate_alone
from feedweir.join.similarity import SimilarityIndex, TokenSets, token_sets
from feedweir.join.templates import Templates, colours_of, isomorphism
from feedweir.plan.nodes import Block, PatternJoin, Source, TimeSpan
from feedweir.plan.predicates import PatternNode, TreePattern

FOREVER = TimeSpan(timedelta.max)
STREAM = "source S"
ITEM_LEAVES = ("item_url", "channel_url", "title", "timestamp", "description")

Longs = NDArray[np.int64]


@dataclass(frozen=True)
class Schema:
    """Leaves by name with the group they are in; no groups in the two-level schema."""

    leaves: tuple[str, ...]
    group: tuple[int, ...] = ()

    @property
    def is_flat(self) -> bool:
        return not self.group


@dataclass
class Tables:
    """R_binW and R_docW, made without a tree matcher: what it would find on documents of the schema."""

    document: NDArray[np.int32]
    pattern: NDArray[np.int32]
    variable: NDArray[np.int32]
    node1: NDArray[np.int32]
    node2: NDArray[np.int32]
    value_document: NDArray[np.int32]
    value_node: NDArray[np.int32]
    values: Sequence[str]


def flat(leaves: int) -> Schema:
    return Schema(tuple(f"l{place}" for place in range(leaves)))


def deep(branching: int = 4) -> Schema:
    leaves = range(branching * branching)
    return Schema(tuple(f"l{place}" for place in leaves), tuple(place // branching for place in leaves))


def document_of(schema: Schema, values: Sequence[str]) -> str:
    """An XML document of the schema."""
    if schema.is_flat:
        return "<d>" + "".join(f"<{n}>{v}</{n}>" for n, v in zip(schema.leaves, values, strict=True)) + "</d>"
    groups: dict[int, list[str]] = {}
    for name, group, value in zip(schema.leaves, schema.group, values, strict=True):
        groups.setdefault(group, []).append(f"<{name}>{value}</{name}>")
    return (
        "<d>"
        + "".join(f"<g{number}>{''.join(inside)}</g{number}>" for number, inside in groups.items())
        + "</d>"
    )


def zipf(choices: int, skew: float, chance: random.Random) -> int:
    weights = [1 / (place**skew) for place in range(1, choices + 1)]
    return chance.choices(range(1, choices + 1), weights)[0]


def block_of(schema: Schema, chosen: Sequence[int], mark: str) -> Block:
    bound = [PatternNode("/", schema.leaves[leaf], (), f"{mark}{place}") for place, leaf in enumerate(chosen)]
    if schema.is_flat:
        root = PatternNode("/", "d", tuple(bound), f"{mark}r")
    else:
        groups: dict[int, list[PatternNode]] = {}
        for leaf, node in zip(chosen, bound, strict=True):
            groups.setdefault(schema.group[leaf], []).append(node)
        inner = [
            PatternNode("/", f"g{one}", tuple(nodes), f"{mark}g{one}")
            for one, nodes in sorted(groups.items())
        ]
        root = PatternNode("/", "d", tuple(inner), f"{mark}r")
    return Block(Source("S"), TreePattern(root))


def queries_of(
    schema: Schema, count: int, most: int, skew: float, chance: random.Random
) -> Iterator[JoinQuery]:
    """k leaves of each side, k by Zipf, equated in the order they were picked."""
    leaves = range(len(schema.leaves))
    for key in range(count):
        k = zipf(most, skew, chance)
        left = block_of(schema, chance.sample(leaves, k), "a")
        right = block_of(schema, chance.sample(leaves, k), "b")
        pairs = tuple((f"a{place}", f"b{place}") for place in range(k))
        yield JoinQuery(key, PatternJoin("followed by", left, right, pairs, FOREVER))


def rows_of(joins: JoinSet, documents: Sequence[str], times: Longs) -> BindingRows:
    from feedweir.match.trees import compile_trees

    found = compile_trees(joins.patterns).witnesses(documents)
    patterns = {pattern: place for place, pattern in enumerate(joins.patterns)}
    everyone = np.ones(len(documents), np.bool_)
    numbers = np.arange(len(documents), dtype=np.int64)
    rows, _ = intake(joins.levels[0], patterns, found, {STREAM: everyone}, numbers, times)
    return rows.sorted()


def best(function: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def technical(
    schema: Schema, count: int, most: int, skew: float, *, sample: int = 2000, seed: int = 7
) -> dict[str, object]:
    """One setting of the technical benchmark: the join of d2 with d1, all queries at once and each alone."""
    joins = compile_joins(queries_of(schema, count, most, skew, random.Random(seed)))
    values = [f"value {place}" for place in range(len(schema.leaves))]
    times = np.array([1, 2], np.int64)
    rows = rows_of(joins, [document_of(schema, values)] * 2, times)
    evaluator = Evaluator(joins.levels[0], joins.bounds)
    first, second = rows.take(rows.document == 0), rows.take(rows.document == 1)
    current = evaluator.rows(second, np.array([1], np.int64))
    documents = Documents(np.array([1]), times[1:], times[1:], np.zeros(1, np.bool_))

    def with_views() -> list[object]:
        cache = ViewCache()
        cache.append(first)
        return list(evaluator.run(current, documents, cache, 0))

    def without_views() -> list[object]:
        found: list[object] = []
        for number in range(len(joins.levels[0].relations)):
            cache = ViewCache()
            cache.append(first)
            found += evaluator.run_one(number, current, documents, cache, 0)
        return found

    found = list(with_views())
    shared_s, apart_s = best(with_views, 7), best(without_views, 7)
    alone = alone_queries(joins.levels[0])
    chosen = random.Random(seed).sample(alone, min(sample, len(alone)))
    d1, d2 = alone_documents(rows, np.array([0, 1]), times, times)
    history = AloneHistory()
    history.add(d1)
    start = time.process_time()
    answers = {query.result: evaluate_alone(query, d2, history, joins.bounds.lateness_us) for query in chosen}
    alone_s = (time.process_time() - start) / len(chosen) * count
    matched = {int(member) for one in found for member in _members(joins, one)}
    agree = all((query.result in matched) == bool(answers[query.result]) for query in chosen)
    return {
        "queries": count,
        "distinct": sum(len(relation.mode) for relation in joins.levels[0].relations),
        "templates": joins.templates,
        "templates_either_way": either_way(joins),
        "shared_ms": round(1000 * shared_s, 3),
        "without_views_ms": round(1000 * apart_s, 3),
        "sequential_ms": round(1000 * alone_s, 1),
        "speedup": round(alone_s / shared_s, 1),
        "view_gain": round(apart_s / shared_s, 2),
        "agree": agree,
    }


def either_way(joins: JoinSet) -> int:
    """Templates when left and right may be exchanged: the counting that gives 6, 22 for the deep schema."""
    templates = Templates()
    for relation in joins.levels[0].relations:
        graph = relation.template.graph
        swapped = _swapped(graph)
        known = len(templates.all)
        templates.place(graph)
        if len(templates.all) > known:
            templates.place(swapped)
    mirrored = sum(
        isomorphism(one.graph, _swapped(one.graph), colours_of(_swapped(one.graph))) is not None
        for one in templates.all
    )
    return (len(templates.all) + mirrored) // 2


def _swapped(graph: JoinGraph) -> JoinGraph:
    shift = graph.sides.count(0)
    other = len(graph.sides) - shift
    place = [node + other if node < shift else node - shift for node in range(len(graph.sides))]
    order = sorted(range(len(place)), key=place.__getitem__)
    return JoinGraph(
        tuple(1 - graph.sides[node] for node in order),
        tuple(place[graph.parents[node]] if graph.parents[node] >= 0 else -1 for node in order),
        tuple(sorted((place[b], place[a]) for a, b in graph.edges)),
    )


def _members(joins: JoinSet, found: object) -> Iterator[int]:
    relation = joins.levels[0].relations[found.relation]  # type: ignore[attr-defined]
    for row in np.unique(found.row).tolist():  # type: ignore[attr-defined]
        yield from relation.members[relation.members_ptr[row] : relation.members_ptr[row + 1]].tolist()


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


def item_tables(joins: JoinSet, items: Items, start: int, stop: int) -> Tables:
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
    return Tables(columns[0], columns[1], columns[2], columns[3], columns[4], owners, nodes, values)


def batches(joins: JoinSet, items: Items, size: int) -> Iterator[DocumentBatch]:
    for start in range(0, len(items), size):
        stop = min(start + size, len(items))
        seq = np.arange(start, stop, dtype=np.int64)
        everyone = np.arange(stop - start, dtype=np.int32)
        yield DocumentBatch(
            seq, items.times[start:stop], {STREAM: everyone}, item_tables(joins, items, start, stop)
        )


def stream(items: Items, count: int, *, size: int, sample: int, seed: int = 7) -> dict[str, object]:
    """The stream experiment at one number of queries: windows without end."""
    schema = Schema(ITEM_LEAVES)
    joins = compile_joins(queries_of(schema, count, len(ITEM_LEAVES), 0.8, random.Random(seed)))
    logic = JoinLogic(joins)
    states = logic.start()
    total = pairs = 0
    spent = 0.0
    kept: list[JoinResults] = []
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
    joins: JoinSet, items: Items, kept: Iterable[JoinResults], size: int, sample: int, count: int
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


def similar_texts(options: argparse.Namespace, count: int) -> list[str]:
    """Titles: those of the named items again and again with a word changed, or generated with Zipf words."""
    chance = random.Random(17)
    if options.items:
        titles = [
            title or "" for title in pq.read_table(options.items, columns=["title"])["title"].to_pylist()
        ]
        more = [titles[chance.randrange(len(titles))] for _ in range(max(0, count - len(titles)))]
        changed = [" ".join([*title.split()[:-1], f"w{chance.randrange(50_000)}"]) for title in more]
        return (titles + changed)[:count]
    common = [f"w{place}" for place in range(60_000)]
    weights = np.cumsum(1 / np.arange(1, len(common) + 1) ** 0.9).tolist()
    titles = []
    for place in range(count):
        if place > 100 and chance.random() < 0.03:
            words = titles[chance.randrange(place)].split()
            words[chance.randrange(len(words))] = chance.choice(common)
        else:
            words = chance.choices(common, cum_weights=weights, k=chance.randrange(6, 15))
        titles.append(" ".join(words))
    return titles


def similar(options: argparse.Namespace, window: int, asked: int, threshold: float) -> dict[str, object]:
    """Items against a full window: their rate, and brute force over all pairs on a few of them."""
    sets = token_sets(analyse(pa.array(similar_texts(options, window + asked))))
    numbers = np.arange(window + asked, dtype=np.int64)
    index = SimilarityIndex(threshold)
    for start in range(0, window, 20_000):
        some = numbers[start : min(start + 20_000, window)]
        index.add(sets.take(some), some)
    batches = [numbers[start : start + 500] for start in range(window, window + asked, 500)]
    first = sets.take(batches[0])
    index.probe(first, batches[0], batches[0] - window)
    spent, found = 0.0, set()
    for some in batches:
        start_s = time.perf_counter()
        chosen = sets.take(some)
        index.add(chosen, some)
        pairs = index.probe(chosen, some, some - window)
        index.expire(int(some[0]) - window)
        spent += time.perf_counter() - start_s
        found.update(zip(some[pairs.row].tolist(), pairs.number.tolist(), strict=True))
    sample = random.Random(1).sample(range(window, window + asked), 40)
    start_s = time.perf_counter()
    expected = {pair for number in sample for pair in _all_pairs(sets, number, window, threshold)}
    brute_s = (time.perf_counter() - start_s) / len(sample)
    chosen_pairs = {pair for pair in found if pair[0] in set(sample)}
    return {
        "window": window,
        "threshold": threshold,
        "items_per_s": round(asked / spent, 1),
        "pairs": len(found),
        "speedup_over_all_pairs": round(brute_s / (spent / asked), 1),
        "agree": chosen_pairs == expected,
    }


def _all_pairs(sets: TokenSets, number: int, window: int, threshold: float) -> list[tuple[int, int]]:
    """Brute force: the overlap with every item of the window, counted from all its tokens."""
    low = number - window
    mine = sets.hashes[sets.ptr[number] : sets.ptr[number + 1]]
    shared = np.isin(sets.hashes[sets.ptr[low] : sets.ptr[number]], mine)
    sums = np.concatenate([[0], np.cumsum(shared)])
    ptr = sets.ptr[low : number + 1] - sets.ptr[low]
    common = sums[ptr[1:]] - sums[ptr[:-1]]
    union = np.diff(ptr) + len(mine) - common
    close = (common > 0) & (common / np.maximum(union, 1) >= threshold)
    return [(number, low + int(place)) for place in np.flatnonzero(close)]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--items", default="", help="a Parquet file of news items for the stream experiment")
    parser.add_argument("--limit", type=int, default=0, help="at most so many items of the stream")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument(
        "--only-spark", action="store_true", help="only the stream through the whole pipeline"
    )


def through_spark(options: argparse.Namespace, limit: int) -> dict[str, object]:
    """The stream at 100,000 queries through landing, parsing, matching, witnesses, joins and publishing."""
    items = read_items(options.items, limit) if options.items else generated_items(limit)
    schema = Schema(ITEM_LEAVES)
    queries = queries_of(schema, 100_000, len(ITEM_LEAVES), 0.8, random.Random(7))
    found = measured(
        (query.join for query in queries),
        items.columns,
        items.times.tolist(),
        size=2_000,
        cores=options.cores,
    )
    return {"queries": 100_000, "items": len(items), **found}


def run(options: argparse.Namespace) -> dict[str, object]:
    full = options.full
    if options.only_spark:
        return through_spark(options, options.limit or 20_000)
    counts = (10, 100, 1000, 10_000, 100_000) if full else (1000, 100_000)
    limit = options.limit or (200_000 if full else 20_000)
    items = read_items(options.items, limit) if options.items else generated_items(limit)
    two = [technical(flat(6), count, 6, 0.8) for count in counts]
    three = [technical(deep(), count, 4, 0.8) for count in counts]
    result: dict[str, object] = {
        "templates": {
            **{
                f"flat N={leaves}": technical(flat(leaves), 1000, leaves, 0.8)["templates"]
                for leaves in (4, 6, 12)
            },
            **{f"deep K={most}": technical(deep(), 1000, most, 0.8)["templates"] for most in (2, 3, 4, 5)},
        },
        "speedup_over_sequential": min(float(str(two[-1]["speedup"])), float(str(three[-1]["speedup"]))),
        "view_cache_gain": three[-1]["view_gain"],
        "two_level": two,
        "three_level": three,
    }
    if full:
        skews = (0.0, 0.4, 0.8, 1.2, 1.6)
        result["zipf_two_level"] = {skew: technical(flat(6), 1000, 6, skew) for skew in skews}
        result["zipf_three_level"] = {skew: technical(deep(), 1000, 4, skew) for skew in skews}
        result["leaves"] = {
            leaves: technical(flat(leaves), 1000, leaves, 0.8) for leaves in (4, 6, 8, 10, 12)
        }
        result["value_joins"] = {most: technical(deep(), 1000, most, 0.8) for most in (2, 3, 4, 5)}
    streams = [stream(items, count, size=1000, sample=200) for count in counts]
    result["stream"] = streams
    result["engine_items_per_s"] = streams[-1]["items_per_s"]
    whole = through_spark(options, limit if full else min(limit, 12_000))
    result["pipeline"] = whole
    result["items_per_s"] = whole["items_per_s"]
    result["state_bytes_per_item"] = whole["state_bytes_per_item"]
    similars = [
        similar(options, 200_000, 4000, threshold)
        for threshold in ((0.9, 0.8, 0.7, 0.6, 0.5) if full else (0.8, 0.6))
    ]
    result["similar"] = similars
    result["similar_items_per_s"] = similars[1]["items_per_s"]
    checks = [*two, *three, *streams, *similars, whole]
    result["agree"] = all(bool(one["agree"]) for one in checks)
    return result
