"""Factorise the filters of sources: optimisation time and plan cost (figures 7 and 8), and what executing them takes.

Queries come from the generator of the RoSeS experiments: 20 sources with 200 keywords each and their document
frequencies, from real items when a file is named, otherwise Zipf-like; words are drawn by frequency, predicates are
conjunctions of d disjunctions of a atoms.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks._execution import Measured, compared, measured_ways, published
from feedweir.optimize.filter_plans.factored_filters import vcb
from feedweir.optimize.filter_plans.filter_tree import ROOT, FilterTree
from feedweir.optimize.filter_plans.numbered_clauses import (
    CodedPredicates,
    conjunctions,
    no_numbers,
    no_runs,
    weaker_clauses,
)
from feedweir.published.factorisation import exact, sta, vca
from feedweir.text.analyser import words

KEYWORDS = 200
SOURCES = 20
STA_LIMIT_S = 10.0
VCA_LIMIT_S = 15.0
GROWTH = {"sta": 25.0, "vca": 9.0}
"""How much longer three times as many predicates take: what would pass its limit is not tried."""


@dataclass(frozen=True, slots=True)
class Source:
    """What one source publishes: the document frequency of each keyword, and which keywords its items have."""

    share: NDArray[np.float64]
    rows: list[list[int]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--items", help="a Parquet file of items (source, title, summary) to take keywords from"
    )
    parser.add_argument("--seed", type=int, default=1)


def run(options: argparse.Namespace) -> dict[str, object]:
    random = np.random.default_rng(options.seed)
    sources = real_sources(options.items) if options.items else zipf_sources(random)
    warm_up()
    result: dict[str, object] = {"items_from": options.items or "generator", "sources": len(sources)}
    result |= figure_7(sources[0], random, is_full=options.full)
    result |= figure_8(sources[0], random)
    result |= small_sets(random)
    result |= execution(sources, random)
    return result


def naive_cost_of_distinct(tree: FilterTree) -> int:
    """How many filters remain when only equal predicates are shared."""
    return int(np.unique(tree.node_of[tree.node_of != ROOT]).size)


# Sources


def zipf_sources(random: np.random.Generator) -> list[Source]:
    """Sources whose k-th keyword is in a share of items that falls like a power of k."""
    found = []
    for _ in range(SOURCES):
        top, slope = random.uniform(0.05, 0.15), random.uniform(0.6, 0.9)
        share = top / np.arange(1, KEYWORDS + 1) ** slope
        rows = [np.flatnonzero(row).tolist() for row in random.random((2_000, KEYWORDS)) < share]
        found.append(Source(share, rows))
    return found


def real_sources(path: str) -> list[Source]:
    """The largest sources of a file of items, each with its most frequent words of four letters and more."""
    import pyarrow.parquet as pq

    table = pq.read_table(path, columns=["source", "title", "summary"]).to_pydict()
    texts: dict[str, list[set[str]]] = {}
    for source, title, summary in zip(table["source"], table["title"], table["summary"], strict=True):
        kept = texts.setdefault(source, [])
        if len(kept) < 2_000:
            kept.append({word for word in words(f"{title} {summary}") if len(word) > 3})
    largest = sorted(texts, key=lambda name: (-len(texts[name]), name))[:SOURCES]
    return [_source_of(texts[name]) for name in largest]


def _source_of(items: list[set[str]]) -> Source:
    counts: dict[str, int] = {}
    for item in items:
        for word in item:
            counts[word] = counts.get(word, 0) + 1
    chosen = sorted(counts, key=lambda word: (-counts[word], word))[:KEYWORDS]
    number = {word: at for at, word in enumerate(chosen)}
    rows = [sorted(number[word] for word in item if word in number) for item in items]
    return Source(np.array([counts[word] / len(items) for word in chosen]), rows)


# Predicates


def conjunctive_queries(
    source: Source, count: int, random: np.random.Generator, most: int = 3
) -> CodedPredicates:
    """Conjunctions of one to `most` different keywords, each drawn by its document frequency."""
    lengths = random.integers(1, most + 1, count)
    starts = np.zeros(count + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])
    clauses = np.empty(starts[-1], np.int32)
    weight = np.log(source.share)
    for first in range(0, count, 20_000):
        some = slice(first, min(first + 20_000, count))
        drawn = weight + random.gumbel(size=(lengths[some].size, weight.size))
        ranked = np.argsort(-drawn, axis=1)[:, :most].astype(np.int32)
        # Places past the length sort to the end and are cut.
        ranked[np.arange(most) >= lengths[some, None]] = np.iinfo(np.int32).max
        ranked.sort(axis=1)
        clauses[starts[some.start] : starts[some.stop]] = ranked[ranked != np.iinfo(np.int32).max]
    return CodedPredicates(starts, clauses, source.share, no_runs(source.share.size), no_numbers())


def cnf_queries(
    source: Source, count: int, disjunctions: int, random: np.random.Generator, most_atoms: int = 5
) -> tuple[CodedPredicates, list[frozenset[int]]]:
    """Conjunctions of clauses of one to `most_atoms` keywords; with the literals of the clauses."""
    chance = source.share / source.share.sum()
    number: dict[frozenset[int], int] = {}
    runs = []
    for _ in range(count):
        drawn = {
            frozenset(
                (2 * random.choice(chance.size, random.integers(1, most_atoms + 1), False, chance)).tolist()
            )
            for _ in range(disjunctions)
        }
        kept = [c for c in drawn if not any(other < c for other in drawn)]
        runs.append(tuple(number.setdefault(clause, len(number)) for clause in sorted(kept, key=sorted)))
    clauses = list(number)
    share = np.array([1.0 - np.prod([1.0 - source.share[x // 2] for x in clause]) for clause in clauses])
    implied = [frozenset({literal}) for literal in range(2 * chance.size)]
    plain = conjunctions(runs, share)
    weaker = weaker_clauses(clauses, implied, share)
    return CodedPredicates(plain.starts, plain.clauses, share, *weaker), clauses


# Figures


def timed(make: Callable[[CodedPredicates], FilterTree], coded: CodedPredicates) -> tuple[float, FilterTree]:
    start = time.perf_counter()
    tree = make(coded)
    return time.perf_counter() - start, tree


def warm_up() -> None:
    """Compile before anything is measured."""
    coded = conjunctions([(0,), (0, 1), (0, 1, 2)], [0.5, 0.4, 0.3])
    measured_ways(coded, published([[0], [0, 1, 2]], coded.selectivity))


def figure_7(source: Source, random: np.random.Generator, *, is_full: bool) -> dict[str, object]:
    """Optimisation time and cost over the number of conjunctive predicates."""
    rows: list[dict[str, float]] = []
    limits = {"sta": STA_LIMIT_S, "vca": VCA_LIMIT_S}
    counts = [20, 50, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000]
    if is_full:
        limits = {"sta": 20 * STA_LIMIT_S, "vca": 20 * VCA_LIMIT_S}
        counts.append(3_000_000)
    result: dict[str, object] = {}
    for count in counts:
        coded = conjunctive_queries(source, count, random)
        row: dict[str, float] = {"predicates": count}
        for name, make in (("sta", sta), ("vca", vca), ("vcb", vcb)):
            if limits.get(name, 1.0) <= 0.0:
                continue
            seconds, tree = timed(make, coded)
            row |= {f"{name}_s": seconds, f"{name}_cost_ratio": tree.cost / count}
            if name in limits and seconds * GROWTH[name] > limits[name]:
                limits[name] = 0.0
        row["vcb_cost_ratio_distinct"] = tree.cost / naive_cost_of_distinct(tree)
        rows.append({key: _rounded(value) for key, value in row.items()})
        if count == 10_000:
            result |= {"vcb_10k_s": row["vcb_s"], "cost_ratio_10k": row["vcb_cost_ratio"]}
            result["cost_ratio_10k_distinct"] = row["vcb_cost_ratio_distinct"]
        if count == 1_000_000:
            result["vcb_1m_s"] = row["vcb_s"]
    return {key: _rounded(value) for key, value in result.items()} | {"figure_7": rows}


def figure_8(source: Source, random: np.random.Generator) -> dict[str, object]:
    """The same for 1,000 predicates of one to five disjunctions of one to five atoms."""
    rows = []
    is_vca_done = False
    for disjunctions in range(1, 6):
        coded, _ = cnf_queries(source, 1_000, disjunctions, random)
        row: dict[str, float] = {"disjunctions": disjunctions}
        for name, make in (("vca", vca), ("vcb", vcb)):
            if name == "vca" and is_vca_done:
                continue
            seconds, tree = timed(make, coded)
            row |= {f"{name}_s": seconds, f"{name}_cost_ratio": tree.cost / 1_000}
            is_vca_done |= name == "vca" and seconds * 4 > VCA_LIMIT_S
        rows.append({key: _rounded(value) for key, value in row.items()})
    return {"figure_8": rows}


def small_sets(random: np.random.Generator, count: int = 200) -> dict[str, object]:
    """How far from the optimum the heuristics are, on small random sets."""
    gaps: dict[str, list[float]] = {"sta": [], "vca": [], "vcb": []}
    for _ in range(count):
        keywords = int(random.integers(6, 21))
        share = np.minimum(
            0.9, random.uniform(0.05, 0.5) / np.arange(1, keywords + 1) ** random.uniform(0.3, 1.2)
        )
        coded = conjunctive_queries(Source(share, []), int(random.integers(6, 41)), random)
        least = exact(coded).cost
        for name, make in (("sta", sta), ("vca", vca), ("vcb", vcb)):
            gaps[name].append(make(coded).cost / least)
    return {
        "gap_to_optimum_small": _rounded(float(np.mean(gaps["vcb"]))),
        "gap_to_optimum_worst": _rounded(float(np.max(gaps["vcb"]))),
        "gap_sta": _rounded(float(np.mean(gaps["sta"]))),
        "gap_vca": _rounded(float(np.mean(gaps["vca"]))),
    }


# Execution


def execution(sources: list[Source], random: np.random.Generator) -> dict[str, object]:
    """Plans executed by the compiled set: two sources set the prices, two others test them."""
    learnt = [measured(source, count, random) for source in sources[:2] for count in (300, 1_000, 4_000)]
    tested = [measured(source, count, random) for source in sources[2:4] for count in (600, 2_000, 10_000)]
    return {name: _rounded_all(value) for name, value in compared(learnt, tested).items()}


def measured(source: Source, count: int, random: np.random.Generator) -> list[Measured]:
    coded = with_pairs(conjunctive_queries(source, count, random), source)
    return measured_ways(coded, published(source.rows, source.share))


def with_pairs(coded: CodedPredicates, source: Source) -> CodedPredicates:
    """The predicates with the joint frequencies of keywords counted on every second item: a sample."""
    size = source.share.size
    sample = source.rows[::2]
    joint = np.zeros((size, size))
    for row in sample:
        for one, other in combinations(row, 2):
            joint[one, other] += 1
    expected = np.outer(source.share, source.share) * len(sample)
    # Rare pairs are too few to be counted well: they are pulled towards independence.
    lift = (joint + 4.0) / (expected + 4.0)
    pairs = [
        (one, other) for one, other in combinations(range(size), 2) if abs(np.log(lift[one, other])) > 0.1
    ]
    return CodedPredicates(
        coded.starts,
        coded.clauses,
        coded.selectivity,
        coded.weaker_starts,
        coded.weaker,
        np.array([one << 32 | other for one, other in pairs], np.int64),
        np.array([lift[pair] for pair in pairs], np.float64),
    )


def _rounded_all(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded_all(one) for name, one in value.items()}
    return _rounded(value) if isinstance(value, float) else value


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.5g}")
