"""Segments of history: the rows, documents and texts of one or more batches, in memory or mapped from Arrow files."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from feedweir import seals
from feedweir.join.rows import BindingRows, no_rows, ranges

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Segment:
    """Batches `first` to `last`. Documents are sorted by number, rows by value."""

    first: int
    last: int
    rows: BindingRows
    number: Longs
    seq: Longs
    sub: Longs
    time: Longs
    derived: Mapping[int, tuple[int, ...]]
    """The items that a derived document was made of, by its number."""
    member_stream: Longs
    """With `member_number`: which documents are in which streams, by the streams' stable numbers."""
    member_number: Longs
    text_number: Longs
    text_node: Ints
    texts: pa.Array
    stem: str = ""
    """The name of its files, when it lies in files."""

    @property
    def nbytes(self) -> int:
        arrays = (self.number, self.seq, self.sub, self.time, self.member_stream, self.member_number)
        return (
            self.rows.nbytes
            + sum(one.nbytes for one in arrays)
            + int(self.texts.nbytes)
            + 12 * len(self.texts)
        )

    def of_values(self, values: Longs) -> BindingRows:
        low = np.searchsorted(self.rows.value, values, "left").astype(np.int64)
        high = np.searchsorted(self.rows.value, values, "right").astype(np.int64)
        return self.rows.take(ranges(low, high))

    def kept(self, is_kept: NDArray[np.bool_]) -> Segment:
        """Only these documents."""
        numbers = self.number[is_kept]
        chosen = set(numbers.tolist()) if self.derived else set()
        in_texts = np.isin(self.text_number, numbers)
        in_members = np.isin(self.member_number, numbers)
        return Segment(
            self.first,
            self.last,
            self.rows.take(np.isin(self.rows.document, numbers)),
            numbers,
            self.seq[is_kept],
            self.sub[is_kept],
            self.time[is_kept],
            {number: parts for number, parts in self.derived.items() if number in chosen},
            self.member_stream[in_members],
            self.member_number[in_members],
            self.text_number[in_texts],
            self.text_node[in_texts],
            self.texts.filter(pa.array(in_texts)),
        )


_NONE = np.empty(0, np.int64)
_NOTHING = Segment(
    *(0, 0, no_rows(1), _NONE, _NONE, _NONE, _NONE, {}, _NONE, _NONE, _NONE),
    text_node=np.empty(0, np.int32),
    texts=pa.array([], pa.string()),
)


def stem_of(segment: Segment) -> str:
    """Names the content: a rewritten segment has other documents, and so another name."""
    if segment.stem:
        return segment.stem
    sizes = (len(segment.number), len(segment.rows), len(segment.member_number))
    ends = (int(segment.number[0]), int(segment.number[-1]), *sizes)
    content = (
        int(np.bitwise_xor.reduce(segment.rows.variable * 31 ^ segment.rows.value))
        if len(segment.rows)
        else 0
    )
    return "-".join(str(one) for one in (segment.first, segment.last, *ends, f"{content & (1 << 64) - 1:x}"))


def saved_segment(folder: Path, segment: Segment) -> Segment:
    """The segment with its rows in files; one that has them stays as it is."""
    stem = stem_of(segment)
    if segment.stem and (folder / f"{stem}.rows.arrow").exists():
        return segment
    for kind, table in _tables(segment).items():
        target = folder / f"{stem}.{kind}.arrow"
        if (table.num_rows or kind == "rows") and not target.exists():
            replaced(target, partial(write_sealed, table, seals.name_of(target)))
    return load_segment(folder, stem)


def write_sealed(table: pa.Table, name: str, path: Path) -> None:
    """Write an Arrow file that will have this name."""
    with path.open("w+b") as sink:
        with pa.ipc.new_file(sink, table.schema, metadata=seals.METADATA) as writer:
            writer.write_table(table.combine_chunks())
        seals.seal(sink, name)
        sink.flush()
        os.fsync(sink.fileno())


def _tables(segment: Segment) -> dict[str, pa.Table]:
    rows = segment.rows
    columns: dict[str, Any] = {
        name: getattr(rows, name) for name in ("value", "check", "variable", "document", "time")
    }
    nodes = pa.array(np.ascontiguousarray(rows.path).ravel())
    columns["path"] = pa.FixedSizeListArray.from_arrays(nodes, rows.path.shape[1])
    derived = sorted(segment.derived.items())
    return {
        "rows": pa.table(columns),
        "documents": pa.table({name: getattr(segment, name) for name in ("number", "seq", "sub", "time")}),
        "members": pa.table({name: getattr(segment, name) for name in ("member_stream", "member_number")}),
        "derived": pa.table(
            {
                "number": pa.array([number for number, _ in derived], pa.int64()),
                "items": pa.array([items for _, items in derived], pa.list_(pa.int64())),
            }
        ),
        "texts": pa.table({"number": segment.text_number, "node": segment.text_node, "text": segment.texts}),
    }


def load_segment(folder: Path, stem: str) -> Segment:
    """The segment with its columns mapped from the files: pages are read when a join touches them."""
    kinds = ("rows", "documents", "members", "derived", "texts")
    blank = {kind: table.schema.empty_table() for kind, table in _tables(_NOTHING).items()}
    paths = {kind: folder / f"{stem}.{kind}.arrow" for kind in kinds}
    # A table without rows has no file; the rows themselves must be there.
    tables = {
        kind: seals.opened_arrow(path) if kind == "rows" or path.exists() else blank[kind]
        for kind, path in paths.items()
    }
    rows, documents, members = tables["rows"], tables["documents"], tables["members"]
    path = _chunk(rows, "path")
    binding = BindingRows(
        _mapped(rows, "value"),
        _mapped(rows, "check"),
        _mapped(rows, "variable"),
        _mapped(rows, "document"),
        _mapped(rows, "time"),
        path.flatten().to_numpy().reshape(-1, path.type.list_size),
    )
    first, last = (int(part) for part in stem.split("-")[:2])
    derived = tables["derived"].to_pydict()
    texts = tables["texts"]
    return Segment(
        first,
        last,
        binding,
        _mapped(documents, "number"),
        _mapped(documents, "seq"),
        _mapped(documents, "sub"),
        _mapped(documents, "time"),
        {number: tuple(items) for number, items in zip(derived["number"], derived["items"], strict=True)},
        _mapped(members, "member_stream"),
        _mapped(members, "member_number"),
        _mapped(texts, "number"),
        _mapped(texts, "node"),
        _chunk(texts, "text"),
        stem,
    )


def _mapped(table: pa.Table, name: str) -> NDArray[Any]:
    column: NDArray[Any] = _chunk(table, name).to_numpy()
    return column


def _chunk(table: pa.Table, name: str) -> pa.Array:
    """A column, which a file has in one piece: nothing is copied."""
    column = table[name]
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def replaced(target: Path, write: Callable[[Path], object]) -> None:
    """Write a file under a draft name, and give it its own when it is whole."""
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    write(draft)
    os.replace(draft, target)
