"""Histories on disk: segments as Arrow files, and manifests that say which of them make up the state after a batch.

Files are written under a draft name and renamed. Segments hold the rows of R_L (R_doc joined with R_bin), R_docTS, the
texts that constructions need, and which documents are in which streams.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from feedweir import seals
from feedweir.errors import CompiledSetError, DamagedFileError
from feedweir.join.history import Asked, JoinState
from feedweir.join.segments import load_segment, replaced, saved_segment, stem_of

FORMAT = 3


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
    ) -> dict[str, JoinState]:
        """Keep the states after a batch, which began with those `before` it (the newest that are there, if not said).

        `note` is whatever else must be known with them, as JSON. The same states are handed back with their rows on
        disk, so that what a process holds does not grow with its windows.
        """
        mapped = {name: self._save_level(name, one) for name, one in states.items()}
        manifest = {
            "format": FORMAT,
            "levels": {name: _described(one) for name, one in mapped.items()},
            "note": note,
            "files": {name: self._files(name, one) for name, one in mapped.items()},
        }
        target = self._path(batch)
        replaced(target, lambda path: path.write_bytes(seals.sealed_json(manifest, seals.name_of(target))))
        self._sweep(batch, batch if before is None else before + 1)
        return mapped

    def load(self, before: int) -> dict[str, JoinState]:
        """The states after the last batch before this one; none when there is none."""
        usable = [number for number in self._batches() if number < before]
        return self._loaded(usable[-1])[0] if usable else {}

    def load_after(self, batch: int) -> tuple[dict[str, JoinState], Any]:
        """The states after exactly this batch, and what was noted with them; none when they are not there."""
        return self._loaded(batch) if batch in self._batches() else ({}, None)

    def missing(self) -> list[Path]:
        """The files that the states here are made of and that are not there."""
        found = (self._missing_of(batch) for batch in self._batches())
        return sorted({path for many in found for path in many})

    def _loaded(self, batch: int) -> tuple[dict[str, JoinState], Any]:
        path = self._path(batch)
        try:
            manifest = seals.read_json(path)
            if manifest["format"] != FORMAT:
                raise CompiledSetError(
                    f"join state {path.name} is of format {manifest['format']}, not {FORMAT}"
                )
            for missing in self._absent(manifest):
                raise DamagedFileError(missing, "it is missing")
            levels = {name: self._load_level(name, one) for name, one in manifest["levels"].items()}
            return levels, manifest["note"]
        except (OSError, KeyError, ValueError, TypeError, pa.ArrowException, DamagedFileError) as error:
            raise CompiledSetError(
                f"join state {path.name} is damaged: {error}", hint="restore it, or replay the item log"
            ) from error

    def _files(self, name: str, state: JoinState) -> list[str]:
        """The files of a level: a table without rows has none."""
        found = (self.directory / name).glob("*.arrow")
        stems = {stem_of(segment) for segment in state.segments}
        return sorted(path.name for path in found if path.name.split(".")[0] in stems)

    def _missing_of(self, batch: int) -> list[Path]:
        path = self._path(batch)
        try:
            absent = self._absent(seals.read_json(path))
        except (OSError, DamagedFileError):
            return []  # the state itself is what is told
        return absent if path.exists() else []  # a later batch may have swept it away meanwhile

    def _absent(self, manifest: Mapping[str, Any]) -> list[Path]:
        named = (
            self.directory / name / each
            for name, names in manifest.get("files", {}).items()
            for each in names
        )
        return [path for path in named if not path.exists()]

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
            levels = seals.read_json(self._path(batch))["levels"]
        except (OSError, ValueError, KeyError, DamagedFileError):
            return []
        return [f"{name}/{stem}" for name, level in levels.items() for stem in level["segments"]]

    def _save_level(self, name: str, state: JoinState) -> JoinState:
        folder = self.directory / name
        folder.mkdir(exist_ok=True)
        return replace(state, segments=tuple(saved_segment(folder, segment) for segment in state.segments))

    def _load_level(self, name: str, level: Mapping[str, object]) -> JoinState:
        folder = self.directory / name
        stems = level["segments"]
        assert isinstance(stems, list)
        segments = tuple(load_segment(folder, stem) for stem in stems)
        next_number, clock, last = (int(str(level[key])) for key in ("next_number", "clock", "last_batch"))
        asked = level.get("asked", {})
        assert isinstance(asked, dict)
        taken = Asked(**{name: frozenset(numbers) for name, numbers in asked.items()})
        # Older states call the latest time their clock.
        return JoinState(segments, next_number, clock, last, taken, int(str(level.get("latest", clock))))


def _described(state: JoinState) -> dict[str, object]:
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
