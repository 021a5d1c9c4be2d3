"""The technical benchmark: two documents meet all queries, at once by templates and each query alone.

Sequential evaluation is compiled like the shared one and runs all queries; as plain Python, which nothing is compared
with but the publication's interpreted plans, it is measured on a sample and extrapolated linearly to all of them. The
answers of both are compared with the shared evaluation's. All ways are timed by CPU time.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks._join_alone import matched_alone, relations_alone
from benchmarks._join_queries import STREAM, Schema, document_of, queries_of
from feedweir.join.patterns.binding_rows import BindingRows, intake
from feedweir.join.patterns.evaluate import Evaluator
from feedweir.join.patterns.evaluate_kernels import Documents
from feedweir.join.patterns.pattern_set import PatternSet, compile_patterns
from feedweir.join.patterns.templates import JoinGraph, Templates, colours_of, isomorphism
from feedweir.join.patterns.view_cache import ViewCache
from feedweir.published.joins import AloneHistory, alone_documents, alone_queries, evaluate_alone

Longs = NDArray[np.int64]


def rows_of(joins: PatternSet, documents: Sequence[str], times: Longs) -> BindingRows:
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
    joins = compile_patterns(queries_of(schema, count, most, skew, random.Random(seed)))
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
        return list(evaluator.run(current, documents, cache, 0).found)

    def without_views() -> list[object]:
        found: list[object] = []
        for number in range(len(joins.levels[0].relations)):
            cache = ViewCache()
            cache.append(first)
            found += evaluator.run_one(number, current, documents, cache, 0).found
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
    relations = relations_alone(joins.levels[0])
    cache = ViewCache()
    cache.append(first)

    def compiled_alone() -> set[int]:
        results: set[int] = set()
        for relation, members in relations:
            found = matched_alone(relation, current, documents, cache.arrays, joins.bounds.lateness_us)
            results.update(members[found].tolist())
        return results

    agree_compiled = compiled_alone() == matched
    compiled_s = best(
        lambda: [matched_alone(one, current, documents, cache.arrays, 0) for one, _ in relations], 5
    )
    agree = all((query.result in matched) == bool(answers[query.result]) for query in chosen)
    return {
        "queries": count,
        "distinct": sum(len(relation.mode) for relation in joins.levels[0].relations),
        "templates": joins.templates,
        "templates_either_way": either_way(joins),
        "shared_ms": round(1000 * shared_s, 3),
        "without_views_ms": round(1000 * apart_s, 3),
        "sequential_ms": round(1000 * alone_s, 1),
        "sequential_compiled_ms": round(1000 * compiled_s, 3),
        "speedup": round(alone_s / shared_s, 1),
        "speedup_compiled": round(compiled_s / shared_s, 1),
        "view_gain": round(apart_s / shared_s, 2),
        "agree": agree and agree_compiled,
    }


def either_way(joins: PatternSet) -> int:
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


def _members(joins: PatternSet, found: object) -> Iterator[int]:
    relation = joins.levels[0].relations[found.relation]  # type: ignore[attr-defined]
    for row in np.unique(found.row).tolist():  # type: ignore[attr-defined]
        yield from relation.members[relation.members_ptr[row] : relation.members_ptr[row + 1]].tolist()
