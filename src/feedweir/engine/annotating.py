"""The annotation joins and the stories of a join set, all of a stage at once, by the join room."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from feedweir.engine.comparing import ReadTable, whole_batch
from feedweir.engine.documents import BatchDocuments
from feedweir.engine.elements import NOTHING, Elements, notes_of
from feedweir.engine.join_plans import JoinSet, Stream
from feedweir.engine.stories import first_tellers
from feedweir.join.annotation import AnnotationQuery, compile_annotations
from feedweir.join.annotation_batch import Annotations, Columns, Told
from feedweir.join.annotation_logic import AnnotationLogic
from feedweir.join.annotation_state import WindowState
from feedweir.join.features import Feature, columns_of, extract
from feedweir.join.windows import JoinBounds, microseconds
from feedweir.plan.nodes import AnnotationJoin, Distinct, LastItems, WindowSpec

Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Late:
    """A partner that an element of an earlier batch has found only now."""

    stream: int
    seq: int
    """The number of the element."""
    item: int
    """Which item that is a wording of (`features.IDENTITY`)."""
    identifier: str
    partner: int


TOO_MANY = (
    "it would find or try too many partners in one batch: ask for more in common, or take a shorter window"
)


@dataclass(frozen=True, slots=True)
class StageElements:
    """What the joins of a stage give."""

    made: Mapping[int, Elements]
    """By stream, where there is anything."""
    late: tuple[Late, ...] = ()
    """What is added to elements of earlier batches."""
    failures: Mapping[int, str] = field(default_factory=dict)
    """By stream why it gives nothing."""


class AnnotationStages:
    """The annotation joins of a join set, compiled; streams go by their keys."""

    def __init__(self, joins: JoinSet, bounds: JoinBounds | None = None) -> None:
        found = [stream for stream in joins.made.values() if stream.is_annotating]
        self._stages = sorted({(stream.round, stream.depth) for stream in found})
        self._streams = {stream.key: stream for stream in found}
        self.queries = tuple(
            _query(stream, self._stages.index((stream.round, stream.depth))) for stream in found
        )
        self.names = sorted({_identifier(stream) for stream in found})
        """The identifiers of joins: notes refer to them by place."""
        self._name = {name: place for place, name in enumerate(self.names)}
        self.logic = AnnotationLogic(compile_annotations(self.queries, bounds=bounds))

    def going_on_from(self, other: AnnotationStages | None) -> AnnotationStages:
        """This, with the indexes of another if it has the same joins."""
        if other is not None and (other.queries, other._stages) == (self.queries, self._stages):
            self.logic = other.logic
        return self

    @property
    def features(self) -> tuple[Feature, ...]:
        return self.logic.joins.features

    def depths(self, round: int) -> list[int]:
        """How deep annotation joins lie one behind the other in a round; also where there are none."""
        return [0, *(depth for one, depth in self._stages if one == round and depth)]

    def streams(self, round: int, depth: int) -> list[Stream]:
        return [one for one in self._streams.values() if (one.round, one.depth) == (round, depth)]

    def failures(self) -> dict[int, str]:
        """By key of a stream why it cannot be evaluated."""
        return {key: str(error) for key, error in self.logic.joins.failures.items()}

    def notices(self, clock: int) -> dict[int, str]:
        """By key of a stream how far back its window reaches, when that is less than asked."""
        cut, most = self.logic.cut(), self.logic.joins.bounds.max_documents
        told = f"its window is cut to the last {most:,} items"
        return {
            query.key: told
            for query in (self.queries if cut else ())
            if query.window in cut and _reaches(query.spec, clock, cut[query.window], most)
        }

    def stand_on(self, state: WindowState, read: ReadTable) -> None:
        self.logic.stand_on(state, lambda seqs, features: _read_again(seqs, features, read))

    def run(
        self, round: int, depth: int, results: Mapping[int, Elements], documents: BatchDocuments
    ) -> StageElements:
        """What a stage gives."""
        stage = self._stages.index((round, depth))
        if stage >= len(self.logic.joins.stages):
            return StageElements({})
        inputs = {int(key) for side in self.logic.joins.inputs(stage) for key in side}
        told = {
            key: results.get(self._streams[key].inputs[0] if self._tells(key, stage) else key, NOTHING)
            for key in sorted(inputs)
        }
        rows = _all_rows(told, documents)
        given = documents.compared(rows, _placed(told, rows))
        found = self.logic.stage(stage, given)
        made = dict(self._annotated(found.annotations, rows, results))
        late: list[Late] = []
        for key in sorted(self._stories(stage)):
            elements, more = self._first(key, found.told, results, rows, given.seq)
            late += more
            if len(elements):
                made[key] = elements
        return StageElements(made, tuple(late), dict.fromkeys(found.struck, TOO_MANY))

    def after(self, results: Mapping[int, Elements], documents: BatchDocuments, clock: int) -> WindowState:
        """What windows hold after a batch."""
        told = {key: results.get(key, NOTHING) for key in self.logic.joins.horizons}
        rows = _all_rows(told, documents)
        return self.logic.after(documents.compared(rows, _placed(told, rows)), clock)

    def _stories(self, stage: int) -> list[int]:
        return [query.key for query in self.queries if query.stage == stage and query.is_story]

    def _tells(self, key: int, stage: int) -> bool:
        """Whether what a stream lets through is decided in this stage: until then all that it reads may be."""
        stream = self._streams.get(key)
        return (
            stream is not None
            and isinstance(stream.node, Distinct)
            and self._stages[stage] == (stream.round, stream.depth)
        )

    def _annotated(
        self, found: Annotations, rows: Longs, results: Mapping[int, Elements]
    ) -> Iterator[tuple[int, Elements]]:
        keys, starts = np.unique(found.key, return_index=True)
        stops = np.append(starts, len(found))[1:]
        for key, start, stop in zip(keys.tolist(), starts.tolist(), stops.tolist(), strict=True):
            stream = self._streams[key]
            joined = rows[found.row[start:stop]]
            name = np.full(stop - start, self._name[_identifier(stream)], np.int64)
            notes = np.column_stack([joined, name, found.partner[start:stop]])
            kept = joined[np.append(True, joined[1:] != joined[:-1])]
            known = notes_of(results[stream.inputs[0]].notes, kept)
            yield key, Elements(kept, np.concatenate([known, notes]) if len(known) else notes)

    def _first(
        self, key: int, told: Told, results: Mapping[int, Elements], rows: Longs, seqs: Longs
    ) -> tuple[Elements, list[Late]]:
        stream = self._streams[key]
        assert isinstance(stream.node, Distinct)
        input = results.get(stream.inputs[0], NOTHING)
        low, high = np.searchsorted(told.key, [key, key + 1])
        if low == high:
            return input, []
        places = np.empty(int(rows.max()) + 1, np.int64)
        places[rows] = np.arange(len(rows))
        spec = stream.node.spec
        most = spec.count if isinstance(spec, LastItems) else self.logic.joins.bounds.max_documents
        first = first_tellers(places[input.rows], told, slice(int(low), int(high)), most)
        name = self._name[stream.node.identifier]
        notes = [(int(rows[one]), name, int(seqs[again])) for one, again in first.again]
        late = [
            Late(key, number, item, stream.node.identifier, int(seqs[again]))
            for number, item, again in first.late
        ]
        kept = input.only(first.is_first)
        return kept.noted(np.array(notes, np.int64).reshape(-1, 3)), late


def _identifier(stream: Stream) -> str:
    assert isinstance(stream.node, (AnnotationJoin, Distinct))
    return stream.node.identifier


def _reaches(spec: WindowSpec, clock: int, time: int, most: int) -> bool:
    """Whether a window reaches further back than to an item of a time, or to so many items."""
    if isinstance(spec, LastItems):
        return spec.count > most
    return clock - microseconds(spec.length) < time


def _query(stream: Stream, stage: int) -> AnnotationQuery:
    node = stream.node
    if isinstance(node, Distinct):
        key = stream.key
        return AnnotationQuery(key, stream.inputs[0], key, node.spec, node.predicate, stage, is_story=True)
    assert isinstance(node, AnnotationJoin)
    primary, window = stream.inputs
    return AnnotationQuery(stream.key, primary, window, node.window.spec, node.predicate, stage)


def _all_rows(told: Mapping[int, Elements], documents: BatchDocuments) -> Longs:
    parts = (elements.rows for elements in told.values() if len(elements))
    return documents.in_order(np.concatenate([np.empty(0, np.int64), *parts]))


def _placed(told: Mapping[int, Elements], rows: Longs) -> dict[int, Longs]:
    """The members of streams by their places among documents."""
    places = np.empty(int(rows.max(initial=-1)) + 1, np.int64)
    places[rows] = np.arange(len(rows))
    return {key: places[elements.rows] for key, elements in told.items() if len(elements)}


def _read_again(seqs: Longs, features: Sequence[Feature], read: ReadTable) -> Columns:
    """What joins compare of items that the log has; nothing of one that it has not."""
    table = read(seqs.tolist(), ["seq", *columns_of(features)])
    held = table.column("seq").to_numpy()
    at = np.searchsorted(held, seqs)
    known = (at < len(held)) & (np.append(held, -1)[np.minimum(at, len(held))] == seqs)
    places = np.where(known, at, len(held)).astype(np.int64)
    batch = whole_batch(table)
    return {feature: extract(feature, batch).take_known(places) for feature in features}
