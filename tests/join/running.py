"""Runs join queries over documents, cut into batches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from feedweir.join.patterns.found import Match, PatternResults
from feedweir.join.patterns.level_input import DocumentBatch
from feedweir.join.patterns.pattern_logic import PatternLogic
from feedweir.join.patterns.pattern_set import PatternSet
from feedweir.match.trees import TreeSet, compile_trees
from tests.join.naive import Document


def batch_of(documents: Sequence[Document], trees: TreeSet) -> DocumentBatch:
    streams = sorted({stream for one in documents for stream in one.streams})
    members = {
        stream: np.array([row for row, one in enumerate(documents) if stream in one.streams], np.int32)
        for stream in streams
    }
    return DocumentBatch(
        np.array([one.items[0] for one in documents], np.int64),
        np.array([one.time for one in documents], np.int64),
        members,
        trees.witnesses([one.xml for one in documents]),
    )


def run(
    joins: PatternSet, documents: Sequence[Document], cut: int, *, max_cached_rows: int = 1000
) -> list[PatternResults]:
    trees = compile_trees(joins.patterns)
    logic = PatternLogic(joins, max_cached_rows=max_cached_rows)
    states = logic.start()
    results: list[PatternResults] = []
    for number, start in enumerate(range(0, len(documents), cut)):
        batch = batch_of(documents[start : start + cut], trees)
        found, states = logic.step(states, batch, number)
        results.append(found)
    return results


def matches(
    joins: PatternSet, documents: Sequence[Document], cut: int, *, max_cached_rows: int = 1000
) -> list[Match]:
    return [
        match
        for one in run(joins, documents, cut, max_cached_rows=max_cached_rows)
        for match in one.matches()
    ]
