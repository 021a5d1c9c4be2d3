"""The histories of pattern joins on disk: segments as Arrow files, mapped when they are read, and the states that name
them.

Segments hold the rows of R_L (R_doc joined with R_bin), R_docTS, the texts that constructions need, and which documents
are in which streams.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from feedweir.join.patterns.binding_rows import BindingRows, no_rows
from feedweir.join.patterns.level_history import Asked, Compositions, LevelState, Segment, stem_of
from feedweir.join.ragged import from_arrow, to_arrow
from feedweir.join.state_files import State, StateFiles
from feedweir.logs import seals
from feedweir.logs.files import replace_arrow
from feedweir.storage import Place

_NONE = np.empty(0, np.int64)


_NOTHING = Segment(
    *(0, 0, no_rows(1), _NONE, _NONE, _NONE, _NONE, Compositions.of({}), _NONE, _NONE, _NONE),
    text_node=np.empty(0, np.int32),
    texts=pa.array([], pa.string()),
)


def saved_segment(folder: Place, segment: Segment) -> Segment:
    """The segment with its rows in files; one that has them stays as it is."""
    stem = stem_of(segment)
    if segment.stem and (folder / f"{stem}.rows.arrow").exists():
        return segment
    targets = {folder / f"{stem}.{kind}.arrow": table for kind, table in _tables(segment).items()}
    absent = {
        target: table
        for target, table in targets.items()
        if (table.num_rows or target.name.endswith(".rows.arrow")) and not target.exists()
    }
    # Each waits for the disk: together they wait once.
    with ThreadPoolExecutor(len(targets)) as writers:
        list(writers.map(replace_arrow, absent, absent.values()))
    return load_segment(folder, stem)


def _tables(segment: Segment) -> dict[str, pa.Table]:
    rows = segment.rows
    columns: dict[str, Any] = {
        name: getattr(rows, name) for name in ("value", "check", "variable", "document", "time")
    }
    nodes = pa.array(np.ascontiguousarray(rows.path).ravel())
    columns["path"] = pa.FixedSizeListArray.from_arrays(nodes, rows.path.shape[1])
    return {
        "rows": pa.table(columns),
        "documents": pa.table({name: getattr(segment, name) for name in ("number", "seq", "sub", "time")}),
        "members": pa.table({name: getattr(segment, name) for name in ("member_stream", "member_number")}),
        "derived": pa.table(
            {"number": segment.derived.number, "items": to_arrow(segment.derived.items)},
        ),
        "texts": pa.table({"number": segment.text_number, "node": segment.text_node, "text": segment.texts}),
    }


def load_segment(folder: Place, stem: str) -> Segment:
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
    derived = tables["derived"]
    texts = tables["texts"]
    return Segment(
        first,
        last,
        binding,
        _mapped(documents, "number"),
        _mapped(documents, "seq"),
        _mapped(documents, "sub"),
        _mapped(documents, "time"),
        Compositions(_mapped(derived, "number"), from_arrow(derived["items"])),
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


FORMAT = 3
_BESIDE = "beside"


class HistoryStore:
    """The states of pattern joins' levels in a directory: `LEVEL/FIRST-LAST-….KIND.arrow` and a state for each batch.

    `save` is idempotent. `load(batch)` gives the states before that batch, whatever later attempts left behind.
    """

    def __init__(self, directory: Place) -> None:
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self._states = StateFiles(directory, FORMAT, _files_of)

    def save(
        self,
        batch: int,
        states: Mapping[str, LevelState],
        *,
        before: int | None = None,
        note: object = None,
        beside: pa.Table | None = None,
    ) -> dict[str, LevelState]:
        """Keep the states after a batch, which began with those after batch `before` (by default the newest).

        `note` is whatever else must be known with them, as JSON, and `beside` what of it is a table. The same states
        are handed back with their rows on disk, so that what a process holds does not grow with its windows.
        """
        with ThreadPoolExecutor(max(len(states), 1)) as writers:
            mapped = dict(zip(states, writers.map(self._save_level, states, states.values()), strict=True))
        files = {name: self._files(name, one) for name, one in mapped.items()}
        if beside is not None and beside.num_rows:
            replace_arrow(self.directory / _BESIDE / f"{batch:012d}.arrow", beside)
            files[_BESIDE] = [f"{batch:012d}.arrow"]
        levels = {name: _described(one) for name, one in mapped.items()}
        state = {"levels": levels, "note": note, "files": files}
        self._states.write(batch, state, before=batch - 1 if before is None else before)
        return mapped

    def load(self, before: int) -> dict[str, LevelState]:
        """The states after the last batch before this one; none when there is none."""
        last = self._states.last_before(before)
        return {} if last is None else self._states.read(last, self._decoded)[0]

    def load_after(self, batch: int) -> tuple[dict[str, LevelState], Any, pa.Table | None]:
        """The states after exactly this batch, and what was noted with them; none when they are not there."""
        return (
            self._states.read(batch, self._decoded) if batch in self._states.batches() else ({}, None, None)
        )

    def missing(self) -> list[Place]:
        """The files that states name and that are not there."""
        return self._states.missing()

    def _files(self, name: str, state: LevelState) -> list[str]:
        """The files of a level: a table without rows has none."""
        found = (self.directory / name).glob("*.arrow")
        stems = {stem_of(segment) for segment in state.segments}
        return sorted(path.name for path in found if path.name.split(".")[0] in stems)

    def _save_level(self, name: str, state: LevelState) -> LevelState:
        folder = self.directory / name
        folder.mkdir(exist_ok=True)
        return replace(state, segments=tuple(saved_segment(folder, segment) for segment in state.segments))

    def _decoded(self, state: State) -> tuple[dict[str, LevelState], Any, pa.Table | None]:
        levels = {name: self._level(name, one) for name, one in state["levels"].items()}
        beside = [
            seals.opened_arrow(self.directory / _BESIDE / name)
            for name in state.get("files", {}).get(_BESIDE, ())
        ]
        return levels, state["note"], beside[0] if beside else None

    def _level(self, name: str, level: State) -> LevelState:
        segments = tuple(load_segment(self.directory / name, stem) for stem in level["segments"])
        next_number, clock, last = (int(level[key]) for key in ("next_number", "clock", "last_batch"))
        asked = Asked(**{name: frozenset(numbers) for name, numbers in level.get("asked", {}).items()})
        # Older states call the latest time their clock.
        return LevelState(segments, next_number, clock, last, asked, int(level.get("latest", clock)))


def _files_of(state: State) -> list[str]:
    """Older states do not name their files, but a segment always has one with its rows."""
    stems = {
        name: [f"{stem}.rows.arrow" for stem in one["segments"]] for name, one in state["levels"].items()
    }
    return [f"{name}/{file}" for name, files in state.get("files", stems).items() for file in files]


def _described(state: LevelState) -> dict[str, object]:
    return {
        "segments": [stem_of(segment) for segment in state.segments],
        "next_number": state.next_number,
        "clock": state.clock,
        "latest": state.latest,
        "last_batch": state.last_batch,
        "asked": {
            "streams": sorted(state.asked.streams),
            "variables": sorted(state.asked.variables),
            "texts": sorted(state.asked.texts),
        },
    }
