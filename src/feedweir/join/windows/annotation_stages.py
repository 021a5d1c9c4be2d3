"""The annotation joins and the stories of a join set, evaluated by stages: all of a stage together.

Joins of one stage read nothing that another of the same stage, or of a later one, gives. `AnnotationLogic` finds the
pairs; here they become elements with their partners.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from feedweir.join.batch_documents import NOTHING, BatchDocuments, Elements, notes_of
from feedweir.join.streams import JoinSet, Stream
from feedweir.join.window_bounds import JoinBounds, microseconds
from feedweir.join.windows.annotation_batch import (
    AnnotationBatch,
    Annotations,
    Columns,
    StoryPairs,
    first_reports,
)
from feedweir.join.windows.annotation_logic import AnnotationLogic
from feedweir.join.windows.annotation_set import AnnotationQuery, compile_annotations
from feedweir.join.windows.features import Feature, ReadTable, columns_of, compared_of, whole_batch
from feedweir.join.windows.window_state import WindowState
from feedweir.plan.nodes import AnnotationJoin, Distinct, LastItems, WindowSpec

Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LatePartner:
    """A partner of this batch for an element of an earlier one."""

    stream: int
    seq: int
    """The number of the element."""
    item: int
    """The key of the item that it is a revision of (`features.IDENTITY`)."""
    identifier: str
    partner: int


TOO_MANY = (
    "it would find or try too many partners in one batch: ask for more in common, or take a shorter window"
)


@dataclass(frozen=True, slots=True)
class StageElements:
    """What the joins of a stage give."""

    elements: Mapping[int, Elements]
    """By stream, where there is anything."""
    late: tuple[LatePartner, ...] = ()
    """What is added to elements of earlier batches."""
    failures: Mapping[int, str] = field(default_factory=dict)
    """Per stream, the reason it gives nothing."""


class AnnotationStages:
    """The annotation joins of a join set, compiled; streams go by their keys."""

    def __init__(self, joins: JoinSet, bounds: JoinBounds | None = None) -> None:
        found = [stream for stream in joins.computed.values() if stream.is_annotating]
        self._stages = sorted({(stream.round, stream.depth) for stream in found})
        self._streams = {stream.key: stream for stream in found}
        self.queries = tuple(
            _query(stream, self._stages.index((stream.round, stream.depth))) for stream in found
        )
        self.names = sorted({_identifier(stream) for stream in found})
        """The identifiers of joins: notes refer to them by place."""
        self._name = {name: place for place, name in enumerate(self.names)}
        self.logic = AnnotationLogic(compile_annotations(self.queries, bounds=bounds))

    def take_over(self, other: AnnotationStages) -> None:
        """Go on with the indexes of another one that has the same joins. It lets go of them: they may be large."""
        if (other.queries, other._stages) == (self.queries, self._stages):
            self.logic = other.logic
        other.logic = AnnotationLogic(other.logic.joins)

    @property
    def features(self) -> tuple[Feature, ...]:
        return self.logic.joins.features

    def depths(self, round: int) -> list[int]:
        """The depths of a round that have annotation joins, and 0."""
        return [0, *(depth for one, depth in self._stages if one == round and depth)]

    def streams(self, round: int, depth: int) -> list[Stream]:
        return [one for one in self._streams.values() if (one.round, one.depth) == (round, depth)]

    def failures(self) -> dict[int, str]:
        """By key of a stream why it cannot be evaluated."""
        return {key: str(error) for key, error in self.logic.joins.failures.items()}

    def notices(self, clock: int) -> dict[int, str]:
        """By key of a stream a warning when its window does not reach as far back as asked."""
        cut, most = self.logic.cut(), self.logic.joins.bounds.max_documents
        message = f"its window is cut to the last {most:,} items"
        return {
            query.key: message
            for query in (self.queries if cut else ())
            if query.window in cut and _reaches(query.spec, clock, cut[query.window], most)
        }

    def pairs_of(self, stream: Stream, elements: Elements) -> int:
        """How many partners the elements of a join have."""
        return int((elements.notes[:, 1] == self._name[_identifier(stream)]).sum())

    def resume(self, state: WindowState, read: ReadTable) -> None:
        self.logic.resume(state, lambda seqs, features: _read_again(seqs, features, read))

    def run(
        self, round: int, depth: int, results: Mapping[int, Elements], documents: BatchDocuments
    ) -> StageElements:
        """What a stage gives."""
        stage = self._stages.index((round, depth))
        if stage >= len(self.logic.joins.stages):
            return StageElements({})
        inputs = {int(key) for side in self.logic.joins.inputs(stage) for key in side}
        members = {
            key: results.get(self._streams[key].inputs[0] if self._is_decided(key, stage) else key, NOTHING)
            for key in sorted(inputs)
        }
        rows, given = _read(members, documents)
        found = self.logic.stage(stage, given)
        elements = dict(self._annotated(found.annotations, rows, results))
        late: list[LatePartner] = []
        for key in sorted(self._stories(stage)):
            reports, more = self._first_reports(key, found.stories, results, rows, given.seq)
            late += more
            if len(reports):
                elements[key] = reports
        return StageElements(elements, tuple(late), dict.fromkeys(found.dropped, TOO_MANY))

    def after(self, results: Mapping[int, Elements], documents: BatchDocuments, clock: int) -> WindowState:
        """What windows hold after a batch."""
        members = {key: results.get(key, NOTHING) for key in self.logic.joins.horizons}
        return self.logic.after(_read(members, documents)[1], clock)

    def _stories(self, stage: int) -> list[int]:
        return [query.key for query in self.queries if query.stage == stage and query.is_story]

    def _is_decided(self, key: int, stage: int) -> bool:
        """Whether this stage decides what the stream lets through: until then all that it reads may come out."""
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

    def _first_reports(
        self, key: int, found: StoryPairs, results: Mapping[int, Elements], rows: Longs, seqs: Longs
    ) -> tuple[Elements, list[LatePartner]]:
        stream = self._streams[key]
        assert isinstance(stream.node, Distinct)
        input = results.get(stream.inputs[0], NOTHING)
        low, high = np.searchsorted(found.key, [key, key + 1])
        if low == high:
            return input, []
        places = np.empty(int(rows.max()) + 1, np.int64)
        places[rows] = np.arange(len(rows))
        spec = stream.node.spec
        most = spec.count if isinstance(spec, LastItems) else self.logic.joins.bounds.max_documents
        first = first_reports(places[input.rows], found, slice(int(low), int(high)), most)
        name = self._name[stream.node.identifier]
        notes = [(int(rows[one]), name, int(seqs[again])) for one, again in first.again]
        late = [
            LatePartner(key, number, item, stream.node.identifier, int(seqs[again]))
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


def _read(members: Mapping[int, Elements], documents: BatchDocuments) -> tuple[Longs, AnnotationBatch]:
    """The rows of all members of some streams, and the documents as joins compare them."""
    filled = {key: elements.rows for key, elements in members.items() if len(elements)}
    rows = documents.in_order(np.concatenate([np.empty(0, np.int64), *filled.values()]))
    places = np.empty(int(rows.max(initial=-1)) + 1, np.int64)
    places[rows] = np.arange(len(rows))
    return rows, documents.compared(rows, {key: places[own] for key, own in filled.items()})


def _read_again(seqs: Longs, features: Sequence[Feature], read: ReadTable) -> Columns:
    """What joins compare of items, from the log; an item that it does not have gets empty columns."""
    table = read(seqs.tolist(), sorted({"seq", *columns_of(features)}))
    held = table.column("seq").to_numpy()
    at = np.searchsorted(held, seqs)
    known = (at < len(held)) & (np.append(held, -1)[np.minimum(at, len(held))] == seqs)
    places = np.where(known, at, len(held)).astype(np.int64)
    batch = whole_batch(table)
    return {feature: compared_of(feature, batch).take_known(places) for feature in features}
