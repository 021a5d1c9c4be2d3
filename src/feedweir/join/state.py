"""History: immutable segments of rows, each of one or more batches, in memory or on disk.

A segment holds the rows of R_L (R_doc joined with R_bin), R_docTS, the texts that constructions need, and stream
membership for windows in documents. Segments of similar size are merged, so that there are few; what no window in use
can reach is dropped on the way. `HistoryStore` keeps them as Arrow files that are written under a temporary name and
renamed, with a manifest that says which segments make up the state after which batch.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from feedweir.errors import CompiledSetError
from feedweir.join.rows import BindingRows, concatenated, no_rows, ranges

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

FORMAT = 2
_MERGE = 4
"""As many segments of about one size become one: rows are rewritten a few times each, and few segments remain."""


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
    """With `member_number`: which documents are in streams that windows count, by the streams' stable numbers."""
    member_number: Longs
    text_number: Longs
    text_node: Ints
    texts: pa.Array

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


@dataclass(frozen=True, slots=True)
class JoinState:
    """The history of one level after some batch: a value, never changed."""

    segments: tuple[Segment, ...] = ()
    next_number: int = 0
    clock: int = -(1 << 62)
    last_batch: int = -1

    @property
    def documents(self) -> int:
        return sum(len(segment.number) for segment in self.segments)

    @property
    def nbytes(self) -> int:
        return sum(segment.nbytes for segment in self.segments)

    @property
    def oldest(self) -> int:
        return min((int(one.number[0]) for one in self.segments if len(one.number)), default=self.next_number)

    def of_values(self, values: Longs, width: int) -> BindingRows:
        """The rows of history with one of these values, sorted: slices of R_L."""
        parts = [segment.of_values(values) for segment in self.segments]
        found = concatenated([part for part in parts if len(part)], width)
        return found.sorted() if len(self.segments) > 1 else found

    def of_documents(self, numbers: Longs, variables: Longs, width: int) -> BindingRows:
        """The rows of these documents with one of these variables."""
        parts = [no_rows(width)]
        for segment in self.segments:
            held = numbers[np.isin(numbers, segment.number)]
            if len(held):
                rows = segment.rows
                parts.append(rows.take(np.isin(rows.document, held) & np.isin(rows.variable, variables)))
        return concatenated(parts, width)

    def sequence(self, numbers: Longs) -> tuple[Longs, Longs]:
        """(seq, sub) of documents by number."""
        seq, sub = np.full(len(numbers), -1, np.int64), np.zeros(len(numbers), np.int64)
        for segment in self.segments:
            if not len(segment.number):
                continue
            at = np.minimum(np.searchsorted(segment.number, numbers), len(segment.number) - 1)
            here = segment.number[at] == numbers
            seq[here], sub[here] = segment.seq[at[here]], segment.sub[at[here]]
        return seq, sub

    def time_of(self, number: int) -> int:
        for segment in self.segments:
            at = int(np.searchsorted(segment.number, number))
            if at < len(segment.number) and segment.number[at] == number:
                return int(segment.time[at])
        raise KeyError(number)

    def items_of(self, number: int) -> tuple[int, ...]:
        """The items of a document: its own, or those it was made of."""
        for segment in self.segments:
            if number in segment.derived:
                return segment.derived[number]
        return (int(self.sequence(np.array([number]))[0][0]),)

    def text(self, number: int, node: int) -> str:
        for segment in self.segments:
            low, high = np.searchsorted(segment.text_number, [number, number + 1])
            for place in range(int(low), int(high)):
                if segment.text_node[place] == node:
                    return str(segment.texts[place])
        return ""

    def stream_documents(self, stream: int) -> Longs:
        """The numbers of a counted stream's documents, in order."""
        parts = [one.member_number[one.member_stream == stream] for one in self.segments]
        return np.sort(np.concatenate(parts)) if parts else np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class Reach:
    """What windows in use can still reach: by time (microseconds since the epoch), or by stream the first number."""

    time: int
    number: int
    """Nothing before this number, whatever the windows."""
    streams: Mapping[int, int]


def extended(state: JoinState, segment: Segment, clock: int) -> JoinState:
    """The state with the segment of one more batch."""
    count = len(segment.number)
    segments = (*state.segments, segment) if count else state.segments
    return JoinState(segments, state.next_number + count, clock, segment.last)


def compacted(state: JoinState, reach: Reach) -> JoinState:
    """The same state with fewer segments, without what is out of reach. The newest segment stays as it is: until the
    batch after it begins, its batch may be repeated and must find the state before it."""
    if len(state.segments) < 2:
        return state
    *older, newest = state.segments
    merged: list[Segment] = []
    for segment in older:
        merged.append(segment)
        while len(merged) >= _MERGE and _is_run(merged[-_MERGE:]):
            merged[-_MERGE:] = [_merged(merged[-_MERGE:], reach)]
    swept = [_swept(segment, reach) for segment in merged]
    kept = [segment for segment in swept if len(segment.number)]
    return JoinState((*kept, newest), state.next_number, state.clock, state.last_batch)


def _is_run(segments: list[Segment]) -> bool:
    sizes = [max(len(segment.rows), 1) for segment in segments]
    return max(sizes) <= _MERGE * min(sizes)


def _in_reach(segment: Segment, reach: Reach) -> NDArray[np.bool_]:
    kept = segment.time >= reach.time
    for stream, first in reach.streams.items():
        counted = segment.member_number[segment.member_stream == stream]
        kept |= np.isin(segment.number, counted[counted >= first])
    return np.asarray(kept & (segment.number >= reach.number))


def _swept(segment: Segment, reach: Reach) -> Segment:
    """Without what is out of reach, when that is at least a quarter: less is not worth rewriting."""
    kept = _in_reach(segment, reach)
    return segment.kept(kept) if 4 * int(kept.sum()) <= 3 * len(kept) else segment


def _merged(segments: list[Segment], reach: Reach) -> Segment:
    parts = [segment.kept(_in_reach(segment, reach)) for segment in segments]

    def column(name: str) -> NDArray[np.int64]:
        return np.concatenate([getattr(part, name) for part in parts])

    return Segment(
        segments[0].first,
        segments[-1].last,
        concatenated([part.rows for part in parts], 1).sorted(),
        column("number"),
        column("seq"),
        column("sub"),
        column("time"),
        {number: items for part in parts for number, items in part.derived.items()},
        column("member_stream"),
        column("member_number"),
        column("text_number"),
        np.concatenate([part.text_node for part in parts]),
        pa.concat_arrays([part.texts for part in parts]),
    )


class HistoryStore:
    """The states of a join set's levels in a directory: `LEVEL/FIRST-LAST.KIND.arrow` and a manifest for each batch.

    `save` is idempotent: the state after a batch is a manifest under the batch's name. `load(batch)` gives the states
    before that batch, whatever later attempts left behind.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)

    def save(
        self, batch: int, states: Mapping[str, JoinState], *, before: int | None = None, note: object = None
    ) -> None:
        """Keep the states after a batch, which began with those `before` it (the newest that are there, if not said).

        `note` is whatever else must be known with them, as JSON.
        """
        manifest = {
            "format": FORMAT,
            "levels": {name: self._save_level(name, one) for name, one in states.items()},
            "note": note,
        }
        target = self._path(batch)
        _replace(target, lambda path: path.write_text(json.dumps(manifest, sort_keys=True)))
        self._sweep(batch, batch if before is None else before + 1)

    def load(self, before: int) -> dict[str, JoinState]:
        """The states after the last batch before this one; none when there is none."""
        return self.load_noted(before)[0]

    def load_noted(self, before: int) -> tuple[dict[str, JoinState], Any]:
        """The states, and what was noted with them."""
        usable = [number for number in self._batches() if number < before]
        if not usable:
            return {}, None
        path = self._path(usable[-1])
        try:
            manifest = json.loads(path.read_text())
            if manifest["format"] != FORMAT:
                raise CompiledSetError(
                    f"join state {path.name} is of format {manifest['format']}, not {FORMAT}"
                )
            levels = {name: self._load_level(name, one) for name, one in manifest["levels"].items()}
            return levels, manifest["note"]
        except (OSError, KeyError, ValueError, pa.ArrowException) as error:
            raise CompiledSetError(
                f"join state {path.name} is damaged: {error}", hint="restore it, or replay the item log"
            ) from error

    def _path(self, batch: int) -> Path:
        return self.directory / f"state-{batch:012d}.json"

    def _batches(self) -> list[int]:
        return sorted(int(path.stem.removeprefix("state-")) for path in self.directory.glob("state-*.json"))

    def _sweep(self, batch: int, before: int) -> None:
        """Keep this state and the one it came from: the batch may have to be repeated. What lies between them was
        left behind by an attempt that was cut otherwise."""
        numbers = self._batches()
        came_from = max((number for number in numbers if number < before), default=batch)
        kept = sorted({came_from, batch})
        for number in numbers:
            if number not in kept:
                self._path(number).unlink(missing_ok=True)
        used = {stem for number in kept for stem in self._segments_of(number)}
        for path in sorted(self.directory.glob("*/*.arrow")):
            if f"{path.parent.name}/{path.name.split('.')[0]}" not in used:
                path.unlink(missing_ok=True)

    def _segments_of(self, batch: int) -> list[str]:
        """The segments that a state is made of; none of one that cannot be read."""
        try:
            levels = json.loads(self._path(batch).read_text())["levels"]
        except (ValueError, KeyError):
            return []
        return [f"{name}/{stem}" for name, level in levels.items() for stem in level["segments"]]

    def _save_level(self, name: str, state: JoinState) -> dict[str, object]:
        folder = self.directory / name
        folder.mkdir(exist_ok=True)
        stems = [_save_segment(folder, segment) for segment in state.segments]
        return {
            "segments": stems,
            "next_number": state.next_number,
            "clock": state.clock,
            "last_batch": state.last_batch,
        }

    def _load_level(self, name: str, level: Mapping[str, object]) -> JoinState:
        folder = self.directory / name
        stems = level["segments"]
        assert isinstance(stems, list)
        segments = tuple(_load_segment(folder, stem) for stem in stems)
        numbers = [level[key] for key in ("next_number", "clock", "last_batch")]
        return JoinState(segments, *(int(str(number)) for number in numbers))


def _replace(target: Path, write: object) -> None:
    scratch = target.with_name(f".{target.name}.{os.getpid()}")
    assert callable(write)
    write(scratch)
    os.replace(scratch, target)


def _stem(segment: Segment) -> str:
    """Names the content: a rewritten segment has other documents, and so another name."""
    ends = (int(segment.number[0]), int(segment.number[-1]), len(segment.number), len(segment.rows))
    content = (
        int(np.bitwise_xor.reduce(segment.rows.variable * 31 ^ segment.rows.value))
        if len(segment.rows)
        else 0
    )
    return "-".join(str(one) for one in (segment.first, segment.last, *ends, f"{content & (1 << 64) - 1:x}"))


def _save_segment(folder: Path, segment: Segment) -> str:
    stem = _stem(segment)
    for kind, table in _tables(segment).items():
        target = folder / f"{stem}.{kind}.arrow"
        if (table.num_rows or kind == "rows") and not target.exists():
            _replace(target, lambda path, table=table: _write(path, table))
    return stem


def _write(path: Path, table: pa.Table) -> None:
    with path.open("wb") as sink:
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table.combine_chunks())
        sink.flush()
        os.fsync(sink.fileno())


def _tables(segment: Segment) -> dict[str, pa.Table]:
    rows = segment.rows
    columns = {name: getattr(rows, name) for name in ("value", "check", "variable", "document", "time")}
    columns |= {f"path{place}": rows.path[:, place] for place in range(rows.path.shape[1])}
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


def _load_segment(folder: Path, stem: str) -> Segment:
    """The segment with its columns mapped from the files: pages are read when a join touches them."""
    kinds = ("rows", "documents", "members", "derived", "texts")
    blank = {kind: table.schema.empty_table() for kind, table in _tables(_NOTHING).items()}
    paths = {kind: folder / f"{stem}.{kind}.arrow" for kind in kinds}
    # A table without rows has no file; the rows themselves must be there.
    tables = {
        kind: _read(path) if kind == "rows" or path.exists() else blank[kind] for kind, path in paths.items()
    }
    rows, documents, members = tables["rows"], tables["documents"], tables["members"]
    path = [rows[name].to_numpy() for name in rows.column_names if name.startswith("path")]
    binding = BindingRows(
        rows["value"].to_numpy(),
        rows["check"].to_numpy(),
        rows["variable"].to_numpy(),
        rows["document"].to_numpy(),
        rows["time"].to_numpy(),
        np.ascontiguousarray(np.column_stack(path)),
    )
    first, last = (int(part) for part in stem.split("-")[:2])
    derived = tables["derived"].to_pydict()
    texts = tables["texts"]
    return Segment(
        first,
        last,
        binding,
        documents["number"].to_numpy(),
        documents["seq"].to_numpy(),
        documents["sub"].to_numpy(),
        documents["time"].to_numpy(),
        {number: tuple(items) for number, items in zip(derived["number"], derived["items"], strict=True)},
        members["member_stream"].to_numpy(),
        members["member_number"].to_numpy(),
        texts["number"].to_numpy(),
        texts["node"].to_numpy(),
        texts["text"].combine_chunks() if texts.num_rows else pa.array([], pa.string()),
    )


_NONE = np.empty(0, np.int64)
_NOTHING = Segment(
    *(0, 0, no_rows(1), _NONE, _NONE, _NONE, _NONE, {}, _NONE, _NONE, _NONE),
    text_node=np.empty(0, np.int32),
    texts=pa.array([], pa.string()),
)


def _read(path: Path) -> pa.Table:
    with pa.memory_map(str(path)) as source:
        return pa.ipc.open_file(source).read_all()


def states_named(states: Iterable[JoinState]) -> dict[str, JoinState]:
    """Levels under the names they are stored by."""
    return {f"level{number}": state for number, state in enumerate(states)}
