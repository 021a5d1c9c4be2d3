"""What a step is given: documents in sequence order, their streams and witnesses; and what one level reads of it.

A level reads the items of its streams and the results of the joins below it, in sequence order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from feedweir.items.string_keys import NO_VALUE, keys_of, stable_number
from feedweir.join.patterns.binding_rows import BindingRows, Texts
from feedweir.join.patterns.inner_results import Derived
from feedweir.join.patterns.level_history import Segment
from feedweir.join.patterns.pattern_set import Level
from feedweir.join.patterns.variables import result_variable
from feedweir.join.window_bounds import running_clock
from feedweir.match.trees.witnesses import Witnesses

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class DocumentBatch:
    """Documents in the order of the stream: by `seq`, and by `sub` where several stand at one number.

    `members` says for each stream (by `query.stream_name`) which rows are in it. `ids` are what matches report, the
    numbers themselves unless others are given; `clock_us` is the clock at each row (`join.clock`), or the latest time
    so far when it is not given; `peaks` are where it went back, in the batch or before.
    """

    seq: Longs
    time_us: Longs
    members: Mapping[str, Ints]
    witnesses: Witnesses
    sub: Longs | None = None
    ids: Longs | None = None
    clock_us: Longs | None = None
    peaks: Longs = field(default_factory=lambda: np.empty((0, 2), np.int64))

    def __len__(self) -> int:
        return len(self.seq)

    @property
    def subs(self) -> Longs:
        return np.zeros(len(self.seq), np.int64) if self.sub is None else self.sub

    def clocks(self, before: int) -> Longs:
        """The clock at each row, given the clock before them."""
        return running_clock(self.time_us, before) if self.clock_us is None else self.clock_us


@dataclass(frozen=True, slots=True)
class LevelInput:
    """The documents of a batch that one level reads, in order; `rows` are of those not given by witnesses."""

    seq: Longs
    sub: Longs
    time: Longs
    members: Mapping[str, NDArray[np.bool_]]
    base: Longs
    """By document its row in the batch, or -1."""
    derived: tuple[Derived | None, ...]
    ids: Longs | None = None
    """By row of the batch, the id that matches report."""

    def made_of(self, first: int) -> dict[int, tuple[int, ...]]:
        """By number, from `first` on, the items of documents that are not just the item of their number."""
        found = {first + place: one.items for place, one in enumerate(self.derived) if one is not None}
        if self.ids is not None:
            own = np.where(self.base >= 0, self.ids[self.base], self.seq)
            for place in np.flatnonzero((self.base >= 0) & (own != self.seq)).tolist():
                found[first + place] = (int(own[place]),)
        return found


def input_of(level: Level, batch: DocumentBatch, made: Sequence[Derived]) -> LevelInput:
    """Those of the batch's documents and of the results of the levels below that a level reads, in sequence order."""
    wanted = set(level.streams)
    marks = np.zeros(len(batch), np.bool_)
    for stream in level.streams:
        if stream in batch.members:
            marks[batch.members[stream]] = True
    base = np.flatnonzero(marks)
    derived = [one for one in made if one.stream in wanted]
    seq = np.concatenate([batch.seq[base], np.array([one.seq for one in derived], np.int64)])
    sub = np.concatenate([batch.subs[base], np.array([one.sub for one in derived], np.int64)])
    time = np.concatenate([batch.time_us[base], np.array([one.time_us for one in derived], np.int64)])
    order = np.lexsort((sub, seq))
    origin = np.concatenate([base, np.full(len(derived), -1)])[order]
    documents = tuple(None if place < len(base) else derived[place - len(base)] for place in order.tolist())
    members = _members(level, batch, origin, documents)
    return LevelInput(seq[order], sub[order], time[order], members, origin, documents, batch.ids)


def _members(
    level: Level, batch: DocumentBatch, origin: Longs, documents: Sequence[Derived | None]
) -> dict[str, NDArray[np.bool_]]:
    members = {}
    for stream in level.streams:
        marks = np.array([one is not None and one.stream == stream for one in documents], np.bool_)
        if stream in batch.members:
            marks |= np.isin(origin, batch.members[stream])
        members[stream] = marks
    return members


def segment_of(
    level: Level, number: int, given: LevelInput, rows: BindingRows, texts: Texts, first: int
) -> Segment:
    numbers = np.arange(first, first + len(given.seq), dtype=np.int64)
    members = [(stable_number(stream), numbers[given.members[stream]]) for stream in level.streams]
    none = np.empty(0, np.int64)
    return Segment(
        number,
        number,
        rows,
        numbers,
        given.seq,
        given.sub,
        given.time,
        given.made_of(first),
        np.concatenate([none, *(np.full(len(held), stream, np.int64) for stream, held in members)]),
        np.concatenate([none, *(held for _, held in members)]),
        texts.document,
        texts.node,
        pa.array(texts.text, pa.string()),
    )


def inner_rows(
    level: Level, inner: list[tuple[int, Derived]], numbers: Longs, times: Longs
) -> tuple[BindingRows, Texts]:
    """Results of inner joins: each variable is bound once, below one root, which joins without equalities meet on."""
    known = {variable.number: place for place, variable in enumerate(level.variables)}
    rows: list[tuple[int, int, int, int, int, int]] = []
    texts: list[tuple[int, int, str]] = []
    for place, document in inner:
        root = result_variable(document.stream, "").number
        if root in known:
            rows.append((NO_VALUE, NO_VALUE, root, int(numbers[place]), int(times[place]), -1))
        for column, name in enumerate(document.names):
            number = result_variable(document.stream, name).number
            if number not in known:
                continue
            rows.append(
                (*_keys_at(document, column), number, int(numbers[place]), int(times[place]), column + 1)
            )
            if known[number] in level.text_variables:
                texts.append((int(numbers[place]), column + 1, document.texts[column]))
    columns = np.array(rows, np.int64).reshape(-1, 6).T
    path = np.column_stack([np.zeros(len(rows), np.int32), columns[5].astype(np.int32)])
    found = BindingRows(columns[0], columns[1], columns[2], columns[3], columns[4], path)
    texts.sort()
    return found, Texts(
        np.array([one[0] for one in texts], np.int64),
        np.array([one[1] for one in texts], np.int32),
        [one[2] for one in texts],
    )


def _keys_at(document: Derived, column: int) -> tuple[int, int]:
    """The key of a variable's value; a loose end's comes from its text."""
    if document.keys[column] != (0, 0):
        return document.keys[column]
    value, check = keys_of([document.texts[column]])
    return int(value[0]), int(check[0])


def joined_texts(parts: Sequence[Texts]) -> Texts:
    document = np.concatenate([np.empty(0, np.int64), *(part.document for part in parts)])
    node = np.concatenate([np.empty(0, np.int32), *(part.node for part in parts)])
    text = [one for part in parts for one in part.text]
    order = np.lexsort((node, document))
    return Texts(document[order], node[order], [text[place] for place in order.tolist()])
