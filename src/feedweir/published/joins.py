"""Sequential evaluation: each query alone, document by document. The baseline of the benchmarks, and an oracle.

It reads the same rows as the shared evaluation and keeps them in plain dictionaries, so a query costs a few lookups for
each document; nothing is shared between queries, not even between equal ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from feedweir.join.patterns.binding_rows import BindingRows
from feedweir.join.patterns.pattern_set import Level
from feedweir.join.window_bounds import COUNT_EITHER, COUNT_FOLLOWED, TIME_FOLLOWED

Longs = NDArray[np.int64]
Path = tuple[int, ...]
Key = tuple[int, int, int]
"""Variable, and the two halves of the value's key."""


@dataclass(frozen=True, slots=True)
class AloneQuery:
    """One query: its ends' variables, sides, agreement of paths, and edges."""

    result: int
    variables: tuple[int, ...]
    sides: tuple[int, ...]
    shared: tuple[int, ...]
    edges: tuple[tuple[int, int], ...]
    mode: int
    length: int


@dataclass(frozen=True, slots=True)
class AloneDocument:
    number: int
    time: int
    clock: int
    rows: dict[int, list[tuple[int, int, Path]]]
    """By variable: value, check, path."""


@dataclass(slots=True)
class AloneHistory:
    by_value: dict[Key, list[tuple[int, int, Path]]] = field(default_factory=dict)
    """Document number, time, path."""

    def add(self, document: AloneDocument) -> None:
        for variable, rows in document.rows.items():
            for value, check, path in rows:
                entry = (document.number, document.time, path)
                self.by_value.setdefault((variable, value, check), []).append(entry)


def alone_queries(level: Level) -> list[AloneQuery]:
    """Every query of a level for itself. Windows in documents are taken over all documents, as with one stream."""
    numbers = level.numbers
    queries = []
    for relation in level.relations:
        for row in range(len(relation.mode)):
            variables = tuple(numbers[relation.variables[row]].tolist())
            shared = tuple(relation.shared[row].tolist())
            for member in range(int(relation.members_ptr[row]), int(relation.members_ptr[row + 1])):
                queries.append(
                    AloneQuery(
                        int(relation.members[member]),
                        variables,
                        relation.template.sides,
                        shared,
                        relation.template.edges,
                        int(relation.mode[row]),
                        int(relation.member_length[member]),
                    )
                )
    return queries


def alone_documents(rows: BindingRows, numbers: Longs, times: Longs, clocks: Longs) -> list[AloneDocument]:
    """The rows of a batch by document."""
    documents = [
        AloneDocument(number, time, clock, {})
        for number, time, clock in zip(numbers.tolist(), times.tolist(), clocks.tolist(), strict=True)
    ]
    by_number = {document.number: document for document in documents}
    columns = (rows.document, rows.variable, rows.value, rows.check, rows.path)
    for number, variable, value, check, path in zip(*(column.tolist() for column in columns), strict=True):
        by_number[number].rows.setdefault(variable, []).append((value, check, tuple(path)))
    return documents


def evaluate_alone(
    query: AloneQuery, document: AloneDocument, history: AloneHistory, lateness: int
) -> set[tuple[int, int]]:
    """The pairs (left, right) that this document completes for this query."""
    found: set[tuple[int, int]] = set()
    for near in (1, 0):
        if near == 0 and query.mode == COUNT_FOLLOWED:
            continue
        close, far = (1, 0) if near == 1 else (0, 1)
        edge = query.edges[0]
        mine = document.rows.get(query.variables[edge[close]])
        if not mine:
            continue
        for value, check, path in mine:
            partners = history.by_value.get((query.variables[edge[far]], value, check))
            if not partners:
                continue
            for number, time, far_path in partners:
                pair = (number, document.number) if near == 1 else (document.number, number)
                if pair in found or not _in_window(query, near, document, number, time, lateness):
                    continue
                chosen = {edge[close]: path, edge[far]: far_path}
                if len(query.edges) == 1 or _extends(query, 1, near, document, number, history, chosen):
                    found.add(pair)
    return found


def _in_window(
    query: AloneQuery, near: int, document: AloneDocument, number: int, time: int, lateness: int
) -> bool:
    if query.mode in (COUNT_FOLLOWED, COUNT_EITHER):
        return document.number - number <= query.length
    apart = document.time - time if near == 1 else time - document.time
    if query.mode == TIME_FOLLOWED and apart <= 0:
        return False
    return abs(apart) <= query.length and time >= document.clock - query.length - lateness


def _extends(
    query: AloneQuery,
    place: int,
    near: int,
    document: AloneDocument,
    number: int,
    history: AloneHistory,
    chosen: dict[int, Path],
) -> bool:
    """Whether the edges from `place` on can be satisfied too, with what is chosen so far."""
    if place == len(query.edges):
        return True
    edge = query.edges[place]
    close, far = (edge[1], edge[0]) if near == 1 else (edge[0], edge[1])
    for value, check, path in document.rows.get(query.variables[close], ()):
        if not _agrees(query, close, path, chosen):
            continue
        with_close = {**chosen, close: path}
        for other, _, far_path in history.by_value.get((query.variables[far], value, check), ()):
            if other != number or not _agrees(query, far, far_path, with_close):
                continue
            if _extends(query, place + 1, near, document, number, history, {**with_close, far: far_path}):
                return True
    return False


def _agrees(query: AloneQuery, end: int, path: Path, chosen: dict[int, Path]) -> bool:
    for other, held in chosen.items():
        if query.sides[other] != query.sides[end]:
            continue
        if other == end:
            if held != path:
                return False
            continue
        between = range(min(end, other) + 1, max(end, other) + 1)
        common = min(query.shared[one] for one in between if query.sides[one] == query.sides[end])
        if held[:common] != path[:common]:
            return False
    return True


def run_alone(
    queries: Sequence[AloneQuery], documents: Sequence[AloneDocument], history: AloneHistory, lateness: int
) -> Iterator[tuple[int, int, int]]:
    """(result, left, right) of every match, document by document; the history grows."""
    for document in documents:
        for query in queries:
            for left, right in sorted(evaluate_alone(query, document, history, lateness)):
                yield query.result, left, right
        history.add(document)
