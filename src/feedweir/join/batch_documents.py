"""The documents of a batch while it is joined, by row, and the elements of its streams as columns of rows.

Items have the rows 0, 1, … in the order of the stream; constructed documents have the rows after those, in the order
in which they were constructed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from feedweir.items.model import Item
from feedweir.items.schema import batch_of
from feedweir.join.clock import Times
from feedweir.join.constructed import item_of, under_a_root
from feedweir.join.ragged import Ragged
from feedweir.join.task_output import WitnessRows
from feedweir.join.windows.annotation_batch import AnnotationBatch
from feedweir.join.windows.features import IDENTITY, Compared, Feature, ReadTable, compared_of
from feedweir.logs.joined_log import Annotations, Construction, Place
from feedweir.match.meaning.item_meaning import Reading

Longs = NDArray[np.int64]


Order = Callable[[Longs], Longs]
"""AnnotationBatch, each once, in the order of the stream."""


def no_notes() -> Longs:
    return np.empty((0, 3), np.int64)


@dataclass(frozen=True, slots=True)
class Elements:
    """AnnotationBatch by their rows in the batch, in the order of the stream."""

    rows: Longs
    notes: Longs = field(default_factory=no_notes)
    """Partners: (row, place of the join's identifier among all, number of the partner); may repeat."""

    def __len__(self) -> int:
        return len(self.rows)

    def only(self, is_kept: NDArray[np.bool_]) -> Elements:
        """Some of them, with their partners."""
        rows = self.rows[is_kept]
        return Elements(rows, notes_of(self.notes, rows))

    def noted(self, notes: Longs) -> Elements:
        """With more partners."""
        return Elements(self.rows, np.concatenate([self.notes, notes])) if len(notes) else self


NOTHING = Elements(np.empty(0, np.int64))


def notes_of(notes: Longs, rows: Longs) -> Longs:
    """The notes of some documents."""
    return notes[np.isin(notes[:, 0], rows)] if len(notes) else notes


def merged(inputs: Sequence[Elements], in_order: Order) -> Elements:
    """The union of inputs: each element once, in the order of the stream, with its partners from all of them."""
    filled = [one for one in inputs if len(one)]
    if len(filled) < 2:
        return filled[0] if filled else NOTHING
    rows = in_order(np.concatenate([one.rows for one in filled]))
    return Elements(rows, np.concatenate([one.notes for one in filled]))


ReadItems = Callable[[Sequence[int]], Mapping[int, Item]]


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


_MICROSECOND = timedelta(microseconds=1)


IsIn = Callable[[Longs, Longs], NDArray[np.bool_]]
"""Which pairs of a feed and a number are elements of earlier batches."""


ReadAnnotations = Callable[[int, Sequence[int]], Annotations]
"""The partners that earlier batches found for elements of a feed, by their numbers."""


@dataclass(frozen=True, slots=True)
class JoinInput:
    """A batch as the join step is given it."""

    number: int
    """The batch's name."""
    found: Mapping[int, Longs]
    """By stream the numbers that the matcher found, ascending."""
    times: Times
    witnesses: WitnessRows
    items: ReadItems
    """Reads items of the batch."""
    compared: Compared
    """What annotation joins compare of the batch's items."""
    older: ReadItems
    """Reads items of earlier batches."""
    older_columns: ReadTable
    """Reads columns of items of earlier batches."""
    is_in: IsIn
    annotations: ReadAnnotations
    firsts: Longs = field(default_factory=lambda: np.empty(0, np.int64))
    """The items of sources that were never seen before."""
    emit: Callable[[pa.Table, pa.Table], None] | None = None
    """Takes elements and documents in runs, when they are more than should be held."""
    divided: Sequence[Longs] | None = None
    """What other tasks found of the joins that are divided by value: rows (join, left, right) by place and number."""


class BatchDocuments:
    """AnnotationBatch by row: their places in the stream, their items, and what joins compare."""

    def __init__(self, batch: JoinInput, features: Sequence[Feature]) -> None:
        self._batch = batch
        self._seq = batch.times.seq
        self._made: list[Construction] = []
        self._row_of: dict[Place, int] = {}
        self._items: dict[int, Item] = {}
        self._readings: dict[int, Reading] = {}
        self._features = tuple(features)

    @property
    def item_count(self) -> int:
        return len(self._seq)

    def rows(self, seqs: Longs) -> Longs:
        """The rows of items."""
        return np.searchsorted(self._seq, seqs).astype(np.int64)

    def seqs(self, rows: Longs) -> Longs:
        """The numbers of documents; for a constructed document, that of the item that completed it."""
        plain = np.minimum(rows, max(self.item_count - 1, 0))
        found: Longs = self._seq[plain] if self.item_count else np.zeros(len(rows), np.int64)
        if self._made:
            found = found.copy()
            for at in np.flatnonzero(rows >= self.item_count).tolist():
                found[at] = self.place(int(rows[at]))[0]
        return found

    def is_made(self, rows: Longs) -> NDArray[np.bool_]:
        """Which of them were constructed."""
        return np.asarray(rows >= self.item_count)

    def construction(self, row: int) -> Construction:
        return self._made[row - self.item_count]

    def place(self, row: int) -> Place:
        if row < self.item_count:
            return int(self._seq[row]), (), ""
        return self._made[row - self.item_count].place

    def at(self, place: Place) -> int:
        """The row of a document."""
        return self._row_of[place] if place[1] else int(np.searchsorted(self._seq, place[0]))

    def in_order(self, rows: Longs) -> Longs:
        """Each once, in the order of the stream."""
        found = np.unique(rows)
        if not len(found) or found[-1] < self.item_count:
            return found
        return np.array(sorted(found.tolist(), key=self.place), np.int64)

    def put(self, construction: Construction) -> int:
        """The row of a constructed document, which is added if it is new."""
        place = construction.place
        if place not in self._row_of:
            self._row_of[place] = self.item_count + len(self._made)
            self._made.append(construction)
        return self._row_of[place]

    def item(self, row: int) -> Item:
        return self.readings([row])[0].item

    def readings(self, rows: Iterable[int]) -> list[Reading]:
        asked = list(rows)
        missing = [row for row in asked if row not in self._readings]
        self._fetch(
            seq
            for row in missing
            for seq in ([int(self._seq[row])] if row < self.item_count else self.construction(row).made_of)
        )
        for row in missing:
            plain = row < self.item_count
            item = self._items[int(self._seq[row])] if plain else item_of(self.construction(row), self._items)
            self._readings[row] = Reading(item)
        return [self._readings[row] for row in asked]

    def older(self, seq: int) -> Reading:
        """An item of an earlier batch."""
        self._fetch([seq])
        return Reading(self._items[seq])

    def were_in(self, feeds: Longs, seqs: Longs) -> NDArray[np.bool_]:
        """Which of these pairs are elements that earlier batches put into feeds."""
        return self._batch.is_in(feeds, seqs)

    def noted(self, feed: int, seq: int) -> Collection[str]:
        """The joins that gave an element of an earlier batch partners in a feed."""
        return self._batch.annotations(feed, [seq]).get(seq, {})

    def side_by_side(self, parts: Sequence[Construction | int]) -> str:
        """Items, by their numbers, and constructed documents under a new root."""
        self._fetch(
            seq for part in parts for seq in (part.made_of if isinstance(part, Construction) else [part])
        )
        return under_a_root(
            [
                item_of(part, self._items) if isinstance(part, Construction) else self._items[part]
                for part in parts
            ]
        )

    def _fetch(self, seqs: Iterable[int]) -> None:
        """Read these items unless they are known."""
        missing = sorted({seq for seq in seqs if seq not in self._items})
        if not missing:
            return
        numbers = np.array(missing, np.int64)
        is_own = np.isin(numbers, self._seq)
        if is_own.any():
            self._items.update(self._batch.items(numbers[is_own].tolist()))
        older = [seq for seq in missing if seq not in self._items]
        self._items.update(self._batch.older(older) if older else {})

    def compared(self, rows: Longs, members: Mapping[int, Longs]) -> AnnotationBatch:
        """AnnotationBatch (each once, in the order of the stream) with what annotation joins compare of them."""
        seqs, is_made = self.seqs(rows), self.is_made(rows)
        time, clock = self._batch.times.at(seqs)
        arrived = np.empty(len(rows), np.int64)
        arrived[~is_made] = self._batch.compared.arrived(rows[~is_made])
        if is_made.any():
            items = [reading.item for reading in self.readings(rows[is_made].tolist())]
            arrived[is_made] = [_microseconds(item.arrived) for item in items]
            time = time.copy()
            time[is_made] = [_microseconds(item.time) for item in items]
        columns = self._columns(rows, self._features)
        return AnnotationBatch(seqs, time, arrived, clock, is_made, columns, members, self._batch.times.peaks)

    def identities(self, rows: Longs) -> Longs:
        """The keys of the items that documents are revisions of."""
        asked, places = np.unique(rows, return_inverse=True)
        found = self._columns(asked, (IDENTITY,))[IDENTITY]
        return found.data[found.ptr[:-1]][places].astype(np.int64)

    def _columns(self, rows: Longs, features: Sequence[Feature]) -> dict[Feature, Ragged]:
        is_made = self.is_made(rows)
        plain, made = rows[~is_made], rows[is_made]
        columns = self._batch.compared.columns(plain, features)
        if not len(made):
            return columns
        batch = batch_of([reading.item for reading in self.readings(made.tolist())])
        order = np.argsort(np.concatenate([np.flatnonzero(~is_made), np.flatnonzero(is_made)]))
        return {
            feature: column.joined(compared_of(feature, batch)).take(order)
            for feature, column in columns.items()
        }


def _microseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND
