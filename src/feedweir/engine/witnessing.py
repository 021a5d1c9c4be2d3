"""Witnesses of tree patterns, written down by item tasks for the join step: R_binW and R_docW by item number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from feedweir.engine.batches import Assignment, Manifest, attempt_name
from feedweir.engine.files import open_arrow, replace_arrow
from feedweir.errors import DocumentError
from feedweir.items.tree import roots_in
from feedweir.match.trees import DocumentTree, TreeSet

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

_PAIRS = ("document", "pattern", "variable", "node1", "node2")
_VALUES = ("document", "node", "text")
_PAIR_SCHEMA = pa.schema([("document", pa.int64()), *((name, pa.int32()) for name in _PAIRS[1:])])
_VALUE_SCHEMA = pa.schema([("document", pa.int64()), ("node", pa.int32()), ("text", pa.string())])


@dataclass(frozen=True, slots=True)
class Tables:
    """Witnesses as the join room reads them."""

    document: Ints
    pattern: Ints
    variable: Ints
    node1: Ints
    node2: Ints
    value_document: Ints
    value_node: Ints
    values: Sequence[str]


@dataclass(frozen=True, slots=True)
class WitnessRows:
    """Witnesses of documents that are numbered anyhow, as Arrow columns."""

    pairs: pa.Table
    values: pa.Table
    refused: tuple[tuple[int, str], ...] = ()
    """(document, reason) of those beyond a bound, which give none."""

    @staticmethod
    def none() -> WitnessRows:
        return WitnessRows(_PAIR_SCHEMA.empty_table(), _VALUE_SCHEMA.empty_table())

    def joined(self, other: WitnessRows) -> WitnessRows:
        return WitnessRows(
            pa.concat_tables([self.pairs, other.pairs]), pa.concat_tables([self.values, other.values])
        )

    def of(self, documents: Longs) -> WitnessRows:
        """Only these documents."""
        wanted = pa.array(documents, pa.int64())
        chosen = (table.filter(pc.is_in(table["document"], wanted)) for table in (self.pairs, self.values))
        return WitnessRows(*chosen)

    def renamed(self, documents: Longs, numbers: Longs) -> WitnessRows:
        """With other numbers for documents; the old ones ascend."""

        def change(table: pa.Table) -> pa.Table:
            places = np.searchsorted(documents, table["document"].to_numpy())
            return table.set_column(0, "document", pa.array(numbers[places], pa.int64()))

        return WitnessRows(change(self.pairs), change(self.values))

    def tables(self) -> Tables:
        values = self.values.sort_by([("document", "ascending"), ("node", "ascending")])
        document, pattern, variable, node1, node2 = (
            self.pairs[name].to_numpy().astype(np.int32) for name in _PAIRS
        )
        return Tables(
            document,
            pattern,
            variable,
            node1,
            node2,
            values["document"].to_numpy().astype(np.int32),
            values["node"].to_numpy(),
            values["text"].to_pylist(),
        )


def witnesses_of(trees: TreeSet, documents: Sequence[str | Any], numbers: Longs) -> WitnessRows:
    """Of documents (XML text, or lxml elements) under their numbers."""
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
    """Of the items with these numbers."""
    chosen = items.filter(pc.is_in(items.column("seq"), pa.array(wanted, pa.int64())))
    return witnesses_of(trees, roots_in(chosen), chosen.column("seq").to_numpy())


class WitnessLog:
    """The witnesses of a batch, by task and shard; of no use once the batch is published."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def write(self, assignment: Assignment, shard: int, rows: WitnessRows) -> None:
        if rows.pairs.num_rows:
            name = f"{attempt_name(assignment)}-{shard}-{assignment.parts[0]:03d}"
            replace_arrow(self._directory / f"{name}.values.arrow", rows.values)
            replace_arrow(self._directory / f"{name}.pairs.arrow", rows.pairs)

    def read(self, batch: Assignment | Manifest, shard: int) -> WitnessRows:
        """What all tasks of a batch found for a shard."""
        found = WitnessRows.none()
        for path in sorted(self._directory.glob(f"{attempt_name(batch)}-{shard}-*.pairs.arrow")):
            values = path.with_name(path.name.replace(".pairs.", ".values."))
            found = found.joined(WitnessRows(open_arrow(path), open_arrow(values)))
        return found

    def forget(self, batch: int) -> None:
        """Remove what batches up to this one have left."""
        for path in self._directory.glob("[0-9]*.arrow"):
            if int(path.name.split("-")[0]) <= batch:
                path.unlink(missing_ok=True)
