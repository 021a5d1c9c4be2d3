"""What was seen before: the state that tells a new item from a repeat and from an edit.

State and logic are a pair: `Seen.judge` decides over arrays and keeps nothing; `SeenLog` keeps what was decided as
immutable files, one a batch, so that a batch that is run again finds exactly what it found the first time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from feedweir.engine.files import open_arrow, replace_arrow

_U64 = npt.NDArray[np.uint64]
_I64 = npt.NDArray[np.int64]
_I32 = npt.NDArray[np.int32]
_Bool = npt.NDArray[np.bool_]
S = TypeVar("S", bound=np.generic)


@dataclass(frozen=True, slots=True)
class Keys:
    """128-bit keys of (source, identity): wide enough that two things never share one."""

    high: _U64
    low: _U64

    def __len__(self) -> int:
        return len(self.high)

    def rows(self, rows: npt.NDArray[np.intp]) -> Keys:
        """The keys of some rows."""
        return Keys(self.high[rows], self.low[rows])


def keys_of(sources: Sequence[str], identities: Sequence[str]) -> Keys:
    """The keys of items, by the names of their sources and their identities."""
    blake = hashlib.blake2b
    digests = b"".join(
        blake(f"{source}\0{identity}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
        for source, identity in zip(sources, identities, strict=True)
    )
    pairs = np.frombuffer(digests, dtype=np.uint64).reshape(-1, 2)
    return Keys(high=pairs[:, 0].copy(), low=pairs[:, 1].copy())


@dataclass(frozen=True, slots=True)
class Sightings:
    """The last known fingerprint and revision of some items, sorted by key."""

    keys: Keys
    fingerprints: _I64
    revisions: _I32

    def __len__(self) -> int:
        return len(self.keys)


NO_SIGHTINGS = Sightings(
    Keys(np.empty(0, np.uint64), np.empty(0, np.uint64)), np.empty(0, np.int64), np.empty(0, np.int32)
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Which of the judged items are news, under which revision, and what is known after them."""

    is_news: _Bool
    revisions: _I32
    sightings: Sightings


@dataclass(frozen=True, slots=True)
class Seen:
    """Everything seen so far, in runs of falling size; a later run overrules an earlier one."""

    runs: tuple[Sightings, ...] = ()

    def judge(self, keys: Keys, fingerprints: _I64) -> Verdict:
        """Judge items in stream order: first sightings and edits are news, repeats are not."""
        if not len(keys):
            return Verdict(np.empty(0, np.bool_), np.empty(0, np.int32), NO_SIGHTINGS)
        order = np.lexsort((keys.low, keys.high))
        high, low, prints = keys.high[order], keys.low[order], fingerprints[order]
        is_first = np.ones(len(order), np.bool_)
        is_first[1:] = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
        firsts = np.flatnonzero(is_first)
        is_known, known_prints, known_revisions = self._look_up(Keys(high[firsts], low[firsts]))
        previous = np.empty_like(prints)
        previous[1:] = prints[:-1]
        previous[firsts] = known_prints
        is_news = prints != previous
        is_news[firsts] |= ~is_known
        news_so_far = np.cumsum(is_news)
        group = np.cumsum(is_first) - 1
        before_group = news_so_far[firsts] - is_news[firsts]
        base = np.where(is_known, known_revisions, -1)
        revisions = (base[group] + news_so_far - before_group[group]).astype(np.int32)
        last_of_group = np.append(firsts[1:], len(order)) - 1
        changed = last_of_group[news_so_far[last_of_group] > before_group]
        sightings = Sightings(Keys(high[changed], low[changed]), prints[changed], revisions[changed])
        return Verdict(_unsorted(order, is_news), _unsorted(order, revisions), sightings)

    def after(self, sightings: Sightings) -> Seen:
        """What is known once these are known too."""
        runs = [*self.runs, sightings] if len(sightings) else [*self.runs]
        while len(runs) > 1 and 2 * len(runs[-1]) >= len(runs[-2]):
            newer, older = runs.pop(), runs.pop()
            runs.append(_merge(older, newer))
        return Seen(tuple(runs))

    def flat(self) -> Sightings:
        """Everything in one run."""
        flat = NO_SIGHTINGS
        for run in self.runs:
            flat = _merge(flat, run)
        return flat

    def _look_up(self, keys: Keys) -> tuple[_Bool, _I64, _I32]:
        is_known = np.zeros(len(keys), np.bool_)
        fingerprints = np.zeros(len(keys), np.int64)
        revisions = np.zeros(len(keys), np.int32)
        for run in self.runs:
            at, is_there = _find(run.keys, keys)
            is_known |= is_there
            fingerprints[is_there] = run.fingerprints[at[is_there]]
            revisions[is_there] = run.revisions[at[is_there]]
        return is_known, fingerprints, revisions


def _find(sorted_keys: Keys, wanted: Keys) -> tuple[_I64, _Bool]:
    at = np.searchsorted(sorted_keys.high, wanted.high).astype(np.int64)
    is_there = np.zeros(len(wanted), np.bool_)
    while True:
        inside = np.minimum(at, max(len(sorted_keys) - 1, 0))
        is_candidate = (
            (at < len(sorted_keys)) & ~is_there & (sorted_keys.high[inside] == wanted.high)
            if len(sorted_keys)
            else np.zeros(len(wanted), np.bool_)
        )
        if not is_candidate.any():
            return at, is_there
        is_there |= is_candidate & (sorted_keys.low[inside] == wanted.low)
        at[is_candidate & ~is_there] += 1


def _merge(older: Sightings, newer: Sightings) -> Sightings:
    high = np.concatenate((older.keys.high, newer.keys.high))
    low = np.concatenate((older.keys.low, newer.keys.low))
    order = np.lexsort((low, high))
    high, low = high[order], low[order]
    # A stable sort leaves the newer of two equal keys behind the older: keep the last of each group.
    is_last = np.ones(len(order), np.bool_)
    is_last[:-1] = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
    kept = order[is_last]
    fingerprints = np.concatenate((older.fingerprints, newer.fingerprints))[kept]
    revisions = np.concatenate((older.revisions, newer.revisions))[kept]
    return Sightings(Keys(high[is_last], low[is_last]), fingerprints, revisions)


def _unsorted(order: npt.NDArray[np.intp], values: npt.NDArray[S]) -> npt.NDArray[S]:
    result = np.empty_like(values)
    result[order] = values
    return result


class SeenLog:
    """The state of every part on disk: `PART/BATCH.arrow` what a batch added, `PART/BATCH.all.arrow` everything."""

    def __init__(self, directory: Path, *, most_files: int = 32) -> None:
        self._directory = directory
        self._most_files = most_files
        self._loaded: dict[int, tuple[int, Seen]] = {}

    def state(self, part: int, batch: int) -> Seen:
        """What was seen in `part` up to and including `batch`."""
        loaded_batch, seen = self._loaded.get(part, (-1, Seen()))
        if loaded_batch > batch:
            loaded_batch, seen = -1, Seen()
        if loaded_batch < batch:
            seen = self._load(part, batch, loaded_batch, seen)
            self._loaded[part] = (batch, seen)
        return seen

    def write(self, part: int, batch: int, sightings: Sightings) -> None:
        """Keep what a batch added; writing it again replaces it by itself."""
        if len(sightings):
            replace_arrow(self._path(part, f"{batch:012d}"), _table(sightings))

    def _load(self, part: int, batch: int, loaded_batch: int, seen: Seen) -> Seen:
        names = self._names(part, batch)
        snapshots = [name for name in names if name.endswith(".all")]
        if snapshots and int(snapshots[-1][:12]) > loaded_batch:
            loaded_batch = int(snapshots[-1][:12])
            seen = Seen((self._read(part, snapshots[-1]),))
        deltas = [name for name in names if not name.endswith(".all")]
        for name in deltas:
            if int(name) > loaded_batch:
                seen = seen.after(self._read(part, name))
        if len(deltas) > self._most_files:
            self._compact(part, int(deltas[-1]), seen, names)
        return seen

    def _compact(self, part: int, batch: int, seen: Seen, obsolete: list[str]) -> None:
        snapshot = f"{batch:012d}.all"
        replace_arrow(self._path(part, snapshot), _table(seen.flat()))
        for name in obsolete:
            if name != snapshot:
                self._path(part, name).unlink(missing_ok=True)

    def _names(self, part: int, batch: int) -> list[str]:
        paths = (self._directory / str(part)).glob("*.arrow")
        names = (path.name.removesuffix(".arrow") for path in paths if path.name[:12].isdigit())
        return sorted(name for name in names if int(name[:12]) <= batch)

    def _path(self, part: int, name: str) -> Path:
        return self._directory / str(part) / f"{name}.arrow"

    def _read(self, part: int, name: str) -> Sightings:
        table = open_arrow(self._path(part, name))
        columns = [table.column(column).to_numpy() for column in _COLUMNS]
        return Sightings(Keys(columns[0], columns[1]), columns[2], columns[3])


_COLUMNS = ("high", "low", "fingerprint", "revision")


def _table(sightings: Sightings) -> pa.Table:
    keys = sightings.keys
    columns = (keys.high, keys.low, sightings.fingerprints, sightings.revisions)
    return pa.table(dict(zip(_COLUMNS, columns, strict=True)))
