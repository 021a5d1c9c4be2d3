"""What other tasks of a batch write down for its join tasks: members of streams, witnesses of tree patterns, and what
slices found of joins that are divided by value.

It is removed when the batch is published: what later batches need is in the history of joins.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from secrets import token_hex
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from feedweir.errors import DocumentError
from feedweir.items.tree import roots_in
from feedweir.logs.batches import Assignment, Manifest
from feedweir.logs.files import open_arrow, replace_arrow
from feedweir.logs.sorted_files import Run
from feedweir.match.trees import DocumentTree, TreeSet
from feedweir.match.trees.witnesses import Witnesses
from feedweir.storage import Place, places_in, replacing

Longs = NDArray[np.int64]


def shown_and_hidden(elements: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Elements split in two: those of feeds, and those of streams, whose keys are negative."""
    first = int(np.searchsorted(elements.column("feed").to_numpy(), 0))
    return elements.slice(first), elements.slice(0, first)


class StreamLog:
    """The members of streams that no reader sees; its files lie beside the witnesses and are removed with them."""

    def __init__(self, directory: Place) -> None:
        self._directory = directory

    def write(self, assignment: Assignment, number: int, hidden: pa.Table) -> None:
        """Write a part of what an attempt found."""
        replace_arrow(self._directory / f"{assignment.name}-streams-{number:06d}.arrow", hidden)

    def read(self, batch: Manifest) -> Streams:
        """What the tasks of a batch found, by the attempts that count."""
        found = (places_in(self._directory, f"{name}-streams-*.arrow") for name in batch.attempts)
        return Streams(tuple(_columns(open_arrow(path)) for paths in found for path in paths))


@dataclass(frozen=True, slots=True)
class Streams:
    """The members of a batch's streams in sorted runs in files: only what is asked for is read."""

    runs: tuple[Run, ...]

    def members(self, keys: Iterable[int]) -> dict[int, Longs]:
        """By stream, if it has any, the numbers of its members."""
        asked = np.array(sorted(keys), np.int64)
        found: dict[int, list[Longs]] = {}
        for stream, seqs in self.runs:
            low, high = (np.searchsorted(stream, asked, side) for side in ("left", "right"))
            for place in np.flatnonzero(low < high).tolist():
                found.setdefault(int(asked[place]), []).append(seqs[low[place] : high[place]])
        return {
            key: parts[0] if len(parts) == 1 else np.unique(np.concatenate(parts))
            for key, parts in found.items()
        }


def _columns(table: pa.Table) -> Run:
    return table.column("feed").to_numpy(), table.column("seq").to_numpy()


_PAIRS = ("document", "pattern", "variable", "node1", "node2")


_VALUES = ("document", "node", "text")


_PAIR_SCHEMA = pa.schema([("document", pa.int64()), *((name, pa.int32()) for name in _PAIRS[1:])])


_VALUE_SCHEMA = pa.schema([("document", pa.int64()), ("node", pa.int32()), ("text", pa.string())])


@dataclass(frozen=True, slots=True)
class WitnessRows:
    """Witnesses of documents with arbitrary numbers, as Arrow columns."""

    pairs: pa.Table
    values: pa.Table
    refused: tuple[tuple[int, str], ...] = ()
    """(document, reason) for documents over a limit, which have none."""

    @staticmethod
    def none() -> WitnessRows:
        return WitnessRows(_PAIR_SCHEMA.empty_table(), _VALUE_SCHEMA.empty_table())

    def joined(self, other: WitnessRows) -> WitnessRows:
        return WitnessRows(
            pa.concat_tables([self.pairs, other.pairs]), pa.concat_tables([self.values, other.values])
        )

    def of(self, documents: Longs) -> WitnessRows:
        """Those of some documents."""
        wanted = pa.array(documents, pa.int64())
        chosen = (table.filter(pc.is_in(table["document"], wanted)) for table in (self.pairs, self.values))
        return WitnessRows(*chosen)

    def renamed(self, documents: Longs, numbers: Longs) -> WitnessRows:
        """With other numbers for the documents; `documents` are the old ones, ascending."""

        def change(table: pa.Table) -> pa.Table:
            places = np.searchsorted(documents, table["document"].to_numpy())
            return table.set_column(0, "document", pa.array(numbers[places], pa.int64()))

        return WitnessRows(change(self.pairs), change(self.values))

    def tables(self) -> Witnesses:
        values = self.values.sort_by([("document", "ascending"), ("node", "ascending")])
        document, pattern, variable, node1, node2 = (
            self.pairs[name].to_numpy().astype(np.int32) for name in _PAIRS
        )
        return Witnesses(
            document,
            pattern,
            variable,
            node1,
            node2,
            values["document"].to_numpy().astype(np.int32),
            values["node"].to_numpy(),
            values["text"].to_pylist(),
            refused={},
        )


def witnesses_of(trees: TreeSet, documents: Sequence[str | Any], numbers: Longs) -> WitnessRows:
    """The witnesses of documents (XML text, or lxml elements), under their numbers."""
    read: list[DocumentTree] = []
    kept: list[int] = []
    refused: list[tuple[int, str]] = []
    for document, number in zip(documents, numbers.tolist(), strict=True):
        try:
            read.append(trees.read(document))
            kept.append(number)
        except DocumentError as error:
            refused.append((number, str(error)))
    found = trees.witnesses_of_trees(read)
    refused += [(kept[place], str(error)) for place, error in sorted(found.refused.items())]
    named = np.array(kept, np.int64)
    columns = (found.pattern, found.variable, found.node1, found.node2)
    pairs = [named[found.document], *columns] if len(kept) else [[]] * len(_PAIRS)
    values = [named[found.value_document], found.value_node, found.values] if len(kept) else [[]] * 3
    return WitnessRows(
        pa.table([pa.array(one, two.type) for one, two in zip(pairs, _PAIR_SCHEMA, strict=True)], _PAIRS),
        pa.table([pa.array(one, two.type) for one, two in zip(values, _VALUE_SCHEMA, strict=True)], _VALUES),
        tuple(refused),
    )


def witnesses_in(trees: TreeSet, items: pa.RecordBatch | pa.Table, wanted: Longs) -> WitnessRows:
    """The witnesses of the items with these numbers."""
    chosen = items.filter(pc.is_in(items.column("seq"), pa.array(wanted, pa.int64())))
    return witnesses_of(trees, roots_in(chosen, range(len(chosen))), chosen.column("seq").to_numpy())


class WitnessLog:
    """The witnesses of a batch, by task and shard, until it is published."""

    def __init__(self, directory: Place) -> None:
        self._directory = directory

    def write(self, assignment: Assignment, shard: int, rows: WitnessRows) -> None:
        if rows.pairs.num_rows:
            pairs, values = self._paths(assignment.name, shard)
            replace_arrow(values, rows.values)
            replace_arrow(pairs, rows.pairs)

    def read(self, batch: Manifest, shard: int) -> WitnessRows:
        """What the tasks of a batch found for a shard, by the attempts that count."""
        found = WitnessRows.none()
        for name in batch.attempts:
            pairs, values = self._paths(name, shard)
            if pairs.exists():
                found = found.joined(WitnessRows(open_arrow(pairs), open_arrow(values)))
        return found

    def _paths(self, attempt: str, shard: int) -> tuple[Place, Place]:
        """Of the pairs, and of the values that they have."""
        stem = f"{attempt}-{shard}"
        return self._directory / f"{stem}.pairs.arrow", self._directory / f"{stem}.values.arrow"

    def forget(self, batch: int) -> None:
        """Remove the output of tasks of batches up to this one."""
        for path in self._directory.glob("[0-9]*.arrow"):
            if int(path.name.split("-")[0]) <= batch:
                path.unlink(missing_ok=True)


_DIVIDED = pa.schema([("join", pa.int64()), ("left", pa.int64()), ("right", pa.int64())])


class DividedJoins:
    """What slices of a batch's joins found: rows (join, left, right) of numbers, for the task that puts them together.

    They go by file and not through Spark's shuffle: they are written and read as they lie in memory. The files are in
    the exchange, which is emptied when the batch is published.
    """

    def __init__(self, directory: Place) -> None:
        self._directory = directory

    def write(self, batch: int, shard: int, found: Iterable[Longs]) -> str:
        """Write rows; the name of the file, which is not synced: the batch ends soon."""
        name = f"{batch:012d}-joins-{shard}-{token_hex(4)}.arrow"
        path = self._directory / name
        with replacing(path, is_synced=False) as file, pa.ipc.new_file(file, _DIVIDED) as writer:
            for rows in found:
                writer.write_batch(pa.record_batch([pa.array(column) for column in rows], schema=_DIVIDED))
        return name

    def read(self, names: Sequence[str]) -> list[Longs]:
        """The rows of some files."""
        return [
            np.stack([batch.column(place).to_numpy() for place in range(len(_DIVIDED))])
            for name in names
            for batch in open_arrow(self._directory / name).to_batches()
        ]
