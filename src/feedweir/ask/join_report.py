"""How joins are evaluated: templates and the queries that share them, the order of their edges, and what they hold.

An edge's selectivity is counted over the history that windows hold: how many partners with an equal value a document
has, on average. The edge with the fewest is begun with. What a feed should give follows from that; what it gave is
counted in the newest batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from feedweir.errors import CompiledSetError
from feedweir.join.patterns.history_store import HistoryStore
from feedweir.join.patterns.level_history import LevelState
from feedweir.join.patterns.pattern_set import Level, TemplateRelation
from feedweir.join.patterns.variables import Variable
from feedweir.join.stored.join_versions import StoredJoins
from feedweir.join.window_bounds import TIME_EITHER, TIME_FOLLOWED, JoinBounds
from feedweir.language.tree_patterns import format_path
from feedweir.logs.batches import Manifest
from feedweir.logs.directory import DataDirectory
from feedweir.logs.store import Store

Longs = NDArray[np.int64]

NEWEST_BATCHES = 20
"""What feeds gave is counted in so many."""
_US_A_MINUTE = 60_000_000


@dataclass(frozen=True, slots=True)
class ReportedEdge:
    left: str
    right: str
    partners: float
    """Documents with an equal value that a document meets in history, on average."""

    @property
    def text(self) -> str:
        return f"{self.left} = {self.right} ({self.partners:.3g} partners a document)"


@dataclass(frozen=True, slots=True)
class ReportedTemplate:
    """What the queries of one shape come to."""

    shape: str
    queries: int
    rows: int
    """Distinct queries: rows of R_T."""

    @property
    def text(self) -> str:
        return f"{self.shape}: {_counted(self.queries, 'query', 'queries')}, {self.rows:,} distinct"


@dataclass(frozen=True, slots=True)
class ReportedShard:
    """Joins that share history."""

    shard: int
    segments: int
    """Compiled apart."""
    templates: tuple[ReportedTemplate, ...]
    documents: int
    values: int
    bytes: int

    def lines(self) -> Iterator[str]:
        compiled = f"compiled in {_counted(self.segments, 'segment')}"
        yield f"shard {self.shard}: {_held(self.documents, self.values, self.bytes)}; {compiled}"
        yield from (f"  {one.text}" for one in self.templates)


@dataclass(frozen=True, slots=True)
class ReportedQuery:
    """One join of a feed; a chain has several, the first joins first."""

    shape: str
    shared_by: int
    """Queries of its template, itself included."""
    edges: tuple[ReportedEdge, ...]
    """In the order in which they are evaluated."""
    window: str
    predicted: float
    """Pairs that agree on all edges, for each document."""

    def lines(self) -> Iterator[str]:
        yield f"{self.shape}; its template is shared by {_counted(self.shared_by, 'query', 'queries')}"
        for place, edge in enumerate(self.edges):
            yield f"  {'begins with' if not place else 'then'} {edge.text}"
        if not self.edges:
            yield "  compares nothing: every document meets every other in its window"
        yield f"  within {self.window}; predicted {self.predicted:.3g} pairs a document in all of history"


@dataclass(frozen=True, slots=True)
class ReportedFeed:
    name: str
    queries: tuple[ReportedQuery, ...]
    items: int
    """Of the newest batches."""
    made: int
    """Documents made in them."""

    def lines(self) -> Iterator[str]:
        for query in self.queries:
            yield from query.lines()
        each = f", {self.made / self.items:.3g} an item" if self.items else ""
        yield f"measured: {_counted(self.made, 'document')} made of the last {_counted(self.items, 'item')}{each}"


def all_joins(directory: DataDirectory, joins: StoredJoins, batch: int) -> list[ReportedShard]:
    """The joins of a version by shard, with the history after a batch."""
    return [_shard(directory, joins, shard, batch) for shard in joins.shards]


def _shard(directory: DataDirectory, joins: StoredJoins, shard: int, batch: int) -> ReportedShard:
    parts = joins.parts(shard, JoinBounds())
    found: dict[str, list[int]] = {}
    for part in parts:
        for level in part.patterns.levels:
            for relation in level.relations:
                counts = found.setdefault(relation.template.describe(), [0, 0])
                counts[0] += len(relation.members)
                counts[1] += len(relation.mode)
    templates = [ReportedTemplate(shape, *counts) for shape, counts in found.items()]
    states = _states(directory, shard, batch).values()
    return ReportedShard(
        shard,
        len(parts),
        tuple(sorted(templates, key=lambda one: (-one.queries, one.shape))),
        sum(state.documents for state in states),
        sum(len(segment.rows) for state in states for segment in state.segments),
        sum(state.nbytes for state in states),
    )


def joins_of_feed(
    directory: DataDirectory, joins: StoredJoins, store: Store, feed: int, name: str
) -> ReportedFeed | None:
    """The joins of one feed; None when it is no join, or more than a chain of them."""
    place = joins.place_of(feed)
    if place is None:
        return None
    key, shard = place
    states = _states(directory, shard, store.latest())
    for part in joins.parts(shard, JoinBounds()):
        if key in part.keys:
            queries = tuple(_queries(part.patterns.levels, states, key))
            return ReportedFeed(name, queries, *_counts(store, feed))
    return None


def _states(directory: DataDirectory, shard: int, batch: int) -> dict[str, LevelState]:
    folder = directory.joins / str(shard)
    if not folder.exists():
        return {}
    try:
        return HistoryStore(folder).load_after(batch)[0]
    except CompiledSetError:
        return {}


def _queries(levels: Sequence[Level], states: dict[str, LevelState], key: int) -> Iterator[ReportedQuery]:
    """The query of a key, after those whose results it reads."""
    wanted, below = key, ""
    found: list[ReportedQuery] = []
    for number in range(len(levels) - 1, -1, -1):
        level = levels[number]
        results = level.results
        places = (
            np.flatnonzero(results.keys == wanted)
            if not below
            else np.array([at for at, one in enumerate(results) if one.stream == below])
        )
        if not len(places):
            continue
        place = int(places[0])
        found.append(_query(level, states.get(f"0.level{number}", LevelState()), place))
        below = results[place].reads
        if not below:
            break
    yield from reversed(found)


def _query(level: Level, state: LevelState, place: int) -> ReportedQuery:
    for relation in level.relations:
        member = np.flatnonzero(relation.members == place)
        if not len(member):
            continue
        row = int(np.searchsorted(relation.members_ptr, member[0], "right")) - 1
        edges = sorted(_edges(level, relation, state, row), key=lambda edge: edge.partners)
        shares = [edge.partners / max(state.documents, 1) for edge in edges]
        return ReportedQuery(
            relation.template.describe(),
            len(relation.members),
            tuple(edges),
            _window(int(relation.mode[row]), int(relation.member_length[member[0]])),
            prod(shares) * state.documents,
        )
    raise CompiledSetError("a join has no row in its template")


def _edges(level: Level, relation: TemplateRelation, state: LevelState, row: int) -> Iterator[ReportedEdge]:
    for one, other in relation.template.edges:
        left, right = (level.variables[relation.variables[row, end]] for end in (one, other))
        if not (left.is_presence or right.is_presence):
            yield ReportedEdge(_path(left), _path(right), partners_of(state, left.number, right.number))


def partners_of(state: LevelState, left: int, right: int) -> float:
    """How many rows of one variable have the value of a row of the other, on average over documents."""
    ours, theirs = _values(state, left), _values(state, right)
    low, high = (np.searchsorted(theirs, ours, side) for side in ("left", "right"))
    pairs = int((high - low).sum())
    return pairs / max(state.documents, 1)


def _values(state: LevelState, variable: int) -> Longs:
    parts = [segment.rows.value[segment.rows.variable == variable] for segment in state.segments]
    return np.sort(np.concatenate([np.empty(0, np.int64), *parts]))


def _path(variable: Variable) -> str:
    if variable.pattern is None:
        return "what was joined before"
    return format_path(variable.pattern.root).replace("->x", "")


def _window(mode: int, length: int) -> str:
    if mode in (TIME_FOLLOWED, TIME_EITHER):
        return f"{length / _US_A_MINUTE:,.6g} minutes"
    return _counted(length, "item")


def _counts(store: Store, feed: int) -> tuple[int, int]:
    """(items, documents made for a feed) in the newest batches."""
    newest: list[Manifest] = store.manifests()[-NEWEST_BATCHES:]
    made = store.joined.made_table(newest)["feed"].to_numpy()
    return sum(one.item_count for one in newest), int((made == feed).sum())


def _held(documents: int, values: int, size: int) -> str:
    return f"{_counted(documents, 'document')} with {_counted(values, 'value')}, {size / 1e6:,.1f} MB"


def _counted(count: int, name: str, many: str = "") -> str:
    return f"{count:,} {name if count == 1 else many or f'{name}s'}"
