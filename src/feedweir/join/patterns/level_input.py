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
from feedweir.join.patterns.binding_rows import BindingRows, Texts, concatenated
from feedweir.join.patterns.inner_results import Derived, nothing_derived
from feedweir.join.patterns.level_history import Compositions, Segment
from feedweir.join.patterns.pattern_set import Level
from feedweir.join.patterns.variables import result_variable
from feedweir.join.ragged import Ragged
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
    """The documents of a batch that one level reads, in order."""

    seq: Longs
    sub: Longs
    time: Longs
    members: Mapping[str, NDArray[np.bool_]]
    base: Longs
    """By document its row in the batch, or -1."""
    inner: Longs
    """By document its row in `derived`, or -1."""
    derived: Derived
    ids: Longs | None = None
    """By row of the batch, the id that matches report."""

    def made_of(self, first: int) -> Compositions:
        """The items of documents, numbered from `first` on, that are not just the item of their number."""
        own = self.seq if self.ids is None else np.where(self.base >= 0, self.ids[self.base], self.seq)
        named = np.flatnonzero(own != self.seq)
        made = np.flatnonzero(self.inner >= 0)
        items = Ragged(np.arange(len(named) + 1), own[named]).joined(
            self.derived.items.take(self.inner[made])
        )
        numbers = np.concatenate([named, made])
        order = np.argsort(numbers)
        return Compositions(first + numbers[order], items.take(order))


def input_of(level: Level, batch: DocumentBatch, made: Derived | None = None) -> LevelInput:
    """Those of the batch's documents and of the results of the levels below that a level reads, in sequence order."""
    marks = np.zeros(len(batch), np.bool_)
    for stream in level.streams:
        if stream in batch.members:
            marks[batch.members[stream]] = True
    base = np.flatnonzero(marks)
    derived = (made or nothing_derived()).of_streams(level.streams)
    seq = np.concatenate([batch.seq[base], derived.seq])
    sub = np.concatenate([batch.subs[base], derived.sub])
    time = np.concatenate([batch.time_us[base], derived.time_us])
    order = np.lexsort((sub, seq))
    origin = np.concatenate([base, np.full(len(derived), -1)])[order]
    inner = np.where(order >= len(base), order - len(base), -1)
    members = _members(level, batch, origin, inner, derived)
    return LevelInput(seq[order], sub[order], time[order], members, origin, inner, derived, batch.ids)


def _members(
    level: Level, batch: DocumentBatch, origin: Longs, inner: Longs, derived: Derived
) -> dict[str, NDArray[np.bool_]]:
    members = {}
    made = np.flatnonzero(inner >= 0)
    for stream in level.streams:
        marks = np.zeros(len(origin), np.bool_)
        if stream in derived.streams:
            marks[made] = derived.stream[inner[made]] == derived.streams.index(stream)
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


def inner_rows(level: Level, derived: Derived, numbers: Longs, times: Longs) -> tuple[BindingRows, Texts]:
    """Results of inner joins, numbered: each variable is bound once, below one root, which joins without equalities
    meet on."""
    known = {variable.number: place for place, variable in enumerate(level.variables)}
    rows: list[BindingRows] = []
    texts: list[Texts] = []
    for place, stream in enumerate(derived.streams):
        own = np.flatnonzero(derived.stream == place)
        nobody = np.full(len(own), NO_VALUE, np.int64)
        root = result_variable(stream, "").number
        if root in known:
            rows.append(_bound(root, nobody, nobody, numbers[own], times[own], -1))
        for column, name in enumerate(derived.names[place]):
            number = result_variable(stream, name).number
            if number not in known:
                continue
            value, check = _keys_at(derived, own, column)
            rows.append(_bound(number, value, check, numbers[own], times[own], column + 1))
            if known[number] in level.text_variables:
                nodes = np.full(len(own), column + 1, np.int32)
                texts.append(Texts(numbers[own], nodes, derived.texts[own, column].tolist()))
    return concatenated(rows, 2), joined_texts(texts)


def _bound(variable: int, value: Longs, check: Longs, number: Longs, time: Longs, node: int) -> BindingRows:
    path = np.tile(np.array([0, node], np.int32), (len(number), 1))
    return BindingRows(value, check, np.full(len(number), variable, np.int64), number, time, path)


def _keys_at(derived: Derived, rows: Longs, column: int) -> tuple[Longs, Longs]:
    """The keys of a variable's values; a loose end's comes from its text."""
    value, check = derived.keys[rows, column].T.copy()
    open_ = np.flatnonzero((value == 0) & (check == 0))
    if len(open_):
        value[open_], check[open_] = keys_of(derived.texts[rows[open_], column].tolist())
    return value, check


def joined_texts(parts: Sequence[Texts]) -> Texts:
    document = np.concatenate([np.empty(0, np.int64), *(part.document for part in parts)])
    node = np.concatenate([np.empty(0, np.int32), *(part.node for part in parts)])
    text = [one for part in parts for one in part.text]
    order = np.lexsort((node, document))
    return Texts(document[order], node[order], [text[place] for place in order.tolist()])
