"""Plans of one source executed by the compiled set itself: measured, and compared with what the cost model foretold."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa

from benchmarks._calibration import calibrate, clauses_as_words, error_of
from feedweir.items.model import Item
from feedweir.items.schema import batch_of
from feedweir.match.atom_shares import Frequencies
from feedweir.match.index.filter_forest import SourceTree
from feedweir.match.matching.batch_facts import Texts, texts_of
from feedweir.match.sets.compiled_set import IndexedSet, compiled_in_memory
from feedweir.match.sets.query_store import table_of
from feedweir.optimize.filter_plans.factored_filters import vcb
from feedweir.optimize.filter_plans.filter_tree import FilterTree
from feedweir.optimize.filter_plans.numbered_clauses import CodedPredicates
from feedweir.optimize.filter_plans.work_model import (
    Prices,
    Work,
    cheapest,
    residuals,
    seconds_of,
    work_of_index,
    work_of_tree,
)
from feedweir.plan.predicates import TRUE, And, Contains, Predicate, Term
from feedweir.plan.query import Query
from feedweir.published.factorisation import unfactored

SOURCE = "source"
ORIGIN_SHARE = 0.002
WAYS = ("naive", "tree", "tree and index", "index")
_NOW = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Measured:
    """One way of executing one set of predicates."""

    way: str
    work: Work
    seconds: float
    """For an item, without the analysis of its text, which is the same for every way."""


@dataclass(frozen=True, slots=True)
class Published:
    """Items of a source, ready to be matched."""

    items: pa.RecordBatch
    texts: Texts
    share: np.ndarray


def word(number: int) -> Contains:
    return Contains(None, (Term(f"word{number}"),), 1)


def published(rows: list[list[int]], share: np.ndarray) -> Published:
    """Items whose titles are the words of each row."""
    items = [
        Item(source=SOURCE, identity=str(n), seq=n, title=" ".join(f"word{w}" for w in row), arrived=_NOW)
        for n, row in enumerate(rows)
    ]
    batch = batch_of(items)
    fields = compiled_in_memory(table_of([Query(1, (), word(0))])).fields
    return Published(batch, texts_of(batch, fields), share)


def measured_ways(coded: CodedPredicates, source: Published) -> list[Measured]:
    """Every way of executing predicates over words, on the same items; all must answer alike."""
    naive, factored = unfactored(coded), vcb(coded)
    clauses = clauses_as_words(source.share)
    plans: list[tuple[str, Work, list[SourceTree]]] = [
        ("naive", work_of_tree(naive, clauses, is_indexed=False), [_tree(naive, coded, is_indexed=False)]),
        (
            "tree",
            work_of_tree(factored, clauses, is_indexed=False),
            [_tree(factored, coded, is_indexed=False)],
        ),
        (
            "tree and index",
            work_of_tree(factored, clauses, is_indexed=True),
            [_tree(factored, coded, is_indexed=True)],
        ),
        ("index", work_of_index(coded, clauses, origin_share=ORIGIN_SHARE), []),
    ]
    table = table_of([Query(key, (SOURCE,), _predicate(coded.run(key))) for key in range(coded.count)])
    counts = {f"word{n}": int(share * 1e6) for n, share in enumerate(source.share.tolist())}
    sets = [compiled_in_memory(table, Frequencies(10**6, counts), trees) for _, _, trees in plans]
    _check_alike(sets, source)
    seconds = [_seconds_an_item(one, source) for one in sets]
    return [Measured(way, work, spent) for (way, work, _), spent in zip(plans, seconds, strict=True)]


def compared(learnt: list[list[Measured]], tested: list[list[Measured]]) -> dict[str, object]:
    """The prices that the first sets taught, and how well they foretell the others; the last tested is the figure."""
    prices = calibrate([(one.work, one.seconds) for ways in learnt for one in ways])
    errors = {
        way: [
            error_of(seconds_of(one.work, prices), one.seconds)
            for ways in tested
            for one in ways
            if one.way == way
        ]
        for way in WAYS
    }
    every = [error for each in errors.values() for error in each]
    last = {one.way: one for one in tested[-1]}
    return {
        "measured_speedup": last["naive"].seconds / last["tree"].seconds,
        "measured_speedup_of_the_chosen": last["naive"].seconds / last[_chosen(tested[-1], prices)].seconds,
        "measured_speedup_over_index": last["index"].seconds / last[_chosen(tested[-1], prices)].seconds,
        "cost_model_error": float(np.median(every)),
        "cost_model_error_worst": float(np.max(every)),
        "cost_model_error_by_way": {way: float(np.max(each)) for way, each in errors.items()},
        "chosen": [_chosen(ways, prices) for ways in tested],
        "chosen_is_fastest": sum(_is_right(ways, prices) for ways in tested) / len(tested),
        "microseconds_an_item_10k": {way: one.seconds * 1e6 for way, one in last.items()},
        "prices_ns": {name: 1e9 * getattr(prices, name) for name in Work.__dataclass_fields__},
    }


def _predicate(run: tuple[int, ...]) -> Predicate:
    parts = tuple(word(clause) for clause in run)
    return parts[0] if len(parts) == 1 else And(parts)


def _tree(tree: FilterTree, coded: CodedPredicates, *, is_indexed: bool) -> SourceTree:
    starts, parts = residuals(tree, coded.selectivity)
    queries: list[list[int]] = [[] for _ in range(tree.count)]
    for predicate, node in enumerate(tree.node_of.tolist()):
        queries[node].append(predicate)
    asks = [_predicate(tuple(parts[starts[n] : starts[n + 1]].tolist())) for n in range(1, tree.count)]
    words = np.arange(coded.selectivity.size)
    return SourceTree(
        source=SOURCE,
        parents=tuple(tree.parent.tolist()),
        asks=(TRUE, *asks),
        queries=tuple(map(tuple, queries)),
        is_indexed=is_indexed,
        watched=tuple(word(n) for n in words.tolist()),
        shares=tuple(coded.selectivity.tolist()),
    )


def _seconds_an_item(compiled: IndexedSet, source: Published, repeats: int = 15) -> float:
    """The least of several runs, in time of the processor: others use the machine too."""
    best = np.inf
    for _ in range(repeats):
        start = time.thread_time()
        compiled.match_texts(source.items, source.texts)
        best = min(best, time.thread_time() - start)
    return float(best / source.items.num_rows)


def _check_alike(sets: list[IndexedSet], source: Published) -> None:
    some = source.items.slice(0, 100)
    answers = [one.match(some) for one in sets]
    assert all((one.keys.tolist() == answers[0].keys.tolist()) for one in answers), "ways disagree"


def _chosen(ways: list[Measured], prices: Prices) -> str:
    return cheapest({one.way: one.work for one in ways if one.way != "naive"}, prices)


def _is_right(ways: list[Measured], prices: Prices) -> bool:
    """Whether the chosen way took at most a tenth longer than the fastest."""
    seconds = {one.way: one.seconds for one in ways}
    return seconds[_chosen(ways, prices)] <= 1.1 * min(seconds.values())
