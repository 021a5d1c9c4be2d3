"""What was seen before: the state that tells a new item from a repeat and from an edit.

State and logic are a pair: `Seen.judge` decides over arrays and keeps nothing; `SeenLog` keeps what was decided as
immutable files, one a batch, so that a batch that is run again finds exactly what it found the first time.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from feedweir.errors import DamagedFileError
from feedweir.items.key_groups import KEY_GROUPS, divided, groups_of
from feedweir.logs.files import open_arrow, replace_arrow, retry_when_compacted
from feedweir.storage import Place

_log = logging.getLogger(__name__)

PARTS = 16
"""What was seen lies in so many parts, each a sixteenth of the key groups: what one task judges is some of them."""
RANGES = divided(PARTS)
"""The key groups of each part."""

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

    def rows(self, rows: npt.NDArray[np.intp] | slice) -> Keys:
        """The keys of some rows."""
        return Keys(self.high[rows], self.low[rows])

    def parts(self) -> npt.NDArray[np.int64]:
        """The part that each key is in."""
        return groups_of(self.high).astype(np.int64) // (KEY_GROUPS // PARTS)


def keys_of(sources: Sequence[str], identities: Sequence[str]) -> Keys:
    """The keys of items, by the names of their sources and their identities."""
    blake = hashlib.blake2b
    digests = b"".join(
        blake(f"{source}\0{identity}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
        for source, identity in zip(sources, identities, strict=True)
    )
    pairs = np.frombuffer(digests, dtype=np.uint64).reshape(-1, 2)
    return Keys(high=pairs[:, 0].copy(), low=pairs[:, 1].copy())


def keys_of_sources(sources: Sequence[str]) -> Keys:
    """The keys by which sources themselves are remembered: no item has such an identity."""
    return keys_of(sources, [_THE_SOURCE] * len(sources))


_THE_SOURCE = "\0"


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

    def newcomers(self, sources: Sequence[str]) -> Verdict:
        """Which sources are seen for the first time."""
        return self.judge(keys_of_sources(sources), np.zeros(len(sources), np.int64))

    def after(self, sightings: Sightings) -> Seen:
        """What is known once these are known too."""
        runs = [*self.runs, sightings] if len(sightings) else [*self.runs]
        while len(runs) > 1 and 2 * len(runs[-1]) >= len(runs[-2]):
            newer, older = runs.pop(), runs.pop()
            runs.append(merged(older, newer))
        return Seen(tuple(runs))

    def flat(self) -> Sightings:
        """Everything in one run."""
        flat = NO_SIGHTINGS
        for run in self.runs:
            flat = merged(flat, run)
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


def merged(older: Sightings, newer: Sightings) -> Sightings:
    """Both in one run, in order of the keys' high halves; of a key that is in both the newer sighting."""
    at, is_there = _find(older.keys, newer.keys)
    is_added = ~is_there
    places = at[is_added] + np.arange(np.count_nonzero(is_added))
    is_old = np.ones(len(older) + len(places), np.bool_)
    is_old[places] = False

    def woven(old: npt.NDArray[S], new: npt.NDArray[S], *, overrules: bool = False) -> npt.NDArray[S]:
        result = np.empty(len(is_old), old.dtype)
        if overrules:
            old = old.copy()
            old[at[is_there]] = new[is_there]
        result[is_old] = old
        result[places] = new[is_added]
        return result

    return Sightings(
        Keys(woven(older.keys.high, newer.keys.high), woven(older.keys.low, newer.keys.low)),
        woven(older.fingerprints, newer.fingerprints, overrules=True),
        woven(older.revisions, newer.revisions, overrules=True),
    )


def _unsorted(order: npt.NDArray[np.intp], values: npt.NDArray[S]) -> npt.NDArray[S]:
    result = np.empty_like(values)
    result[order] = values
    return result


class SeenLog:
    """The state on disk: `BATCH-TASK-ATTEMPT.arrow` what a task of a batch added, `BATCH.all.arrow` everything up to
    there. What no manifest names was never published, and is not read."""

    def __init__(
        self,
        directory: Place,
        named: Callable[[], Iterable[str]] = tuple,
        from_items: Callable[[Sequence[int], int], dict[int, Seen]] | None = None,
    ) -> None:
        """`named` are the files that manifests name; `from_items` knows the same from the item log, at a price."""
        self._directory = directory
        self._named = named
        self._from_items = from_items
        self._known: dict[int, tuple[int, Seen]] = {}
        """By part: up to which batch it was read, and what was found."""

    def state(self, parts: Sequence[int], batch: int) -> dict[int, Seen]:
        """What was seen in each of these parts up to and including `batch`; only what was added since is read."""
        try:
            retry_when_compacted(lambda: self._load(parts, batch))
        except (FileNotFoundError, DamagedFileError) as error:
            if self._from_items is None:
                raise
            _log.error("the record of seen items is rebuilt from the item log: %s", error)
            self._known |= {part: (batch, seen) for part, seen in self._from_items(parts, batch).items()}
        return {part: self._known[part][1] for part in parts}

    def write(self, attempt: str, sightings: Mapping[int, Sightings]) -> str:
        """Keep what an attempt of a task added to its parts; the file's name."""
        if not any(len(each) for each in sightings.values()):
            return ""
        name = f"{attempt}.arrow"
        replace_arrow(self._directory / name, _table(sightings))
        return name

    def missing(self, batch: int) -> list[str]:
        """The files up to a batch that manifests name and that are neither there nor part of a later snapshot."""
        there = {path.name for path in self._directory.glob("[0-9]*.arrow")}
        return [path.name for path in self.paths(batch) if path.name not in there]

    def base(self) -> int:
        """The batch up to which one file holds everything."""
        return max((int(path.name[:12]) for path in self._directory.glob(f"*{_SNAPSHOT}")), default=0)

    def paths(self, batch: int) -> list[Place]:
        """What is known up to a batch is in these files."""
        return [self._directory / name for name in self._names(batch)]

    def compact(self, parts: Sequence[int], batch: int, *, most_files: int = 64) -> bool:
        """Put everything up to `batch` into one file, if it lies in many; no batch before it can be asked for again."""
        obsolete = [path for path in self._directory.glob("[0-9]*.arrow") if int(path.name[:12]) <= batch]
        if len(obsolete) <= most_files:
            return False
        flat = {part: seen.flat() for part, seen in self.state(parts, batch).items()}
        replace_arrow(self._directory / f"{batch:012d}{_SNAPSHOT}", _table(flat))
        for path in obsolete:
            path.unlink(missing_ok=True)
        return True

    def _forget(self, parts: Iterable[int]) -> None:
        self._known |= {part: (-1, Seen()) for part in parts}

    def _load(self, parts: Sequence[int], batch: int) -> None:
        # Parts that were read up to one batch go on together: a process may be given others than the last time.
        self._forget(part for part in parts if self._known.get(part, (batch + 1,))[0] > batch)
        behind: dict[int, list[int]] = {}
        for part in parts:
            behind.setdefault(self._known[part][0], []).append(part)
        behind.pop(batch, None)
        names = self._names(batch) if behind else []
        if behind and (missing := self.missing(batch)):
            self._forget(parts)
            raise DamagedFileError(self._directory / missing[0], "it is missing")
        for since, group in sorted(behind.items()):
            self._read_since(since, group, names)
            self._known |= {part: (batch, self._known[part][1]) for part in group}

    def _read_since(self, since: int, parts: list[int], names: list[str]) -> None:
        names = [name for name in names if int(name[:12]) > since]
        if names and names[0].endswith(_SNAPSHOT):
            self._forget(parts)
        try:
            self._read_all(names, parts)
        except (FileNotFoundError, DamagedFileError):
            self._forget(parts)
            raise

    def _read_all(self, names: list[str], parts: list[int]) -> None:
        for name in names:
            for part, sightings in _read(self._directory / name, parts):
                read_to, seen = self._known[part]
                self._known[part] = (read_to, seen.after(sightings))

    def _names(self, batch: int) -> list[str]:
        """In order, the newest snapshot up to a batch, and what manifests name after it."""
        snapshots = (path.name for path in self._directory.glob(f"*{_SNAPSHOT}"))
        newest = max((name for name in snapshots if int(name[:12]) <= batch), default="")
        named = {name for name in self._named() if newest[:12] < name[:12] and int(name[:12]) <= batch}
        return [*filter(None, [newest]), *sorted(named)]


_SNAPSHOT = ".all.arrow"


def _table(sightings: Mapping[int, Sightings]) -> pa.Table:
    """Rows sorted by key, since parts are ranges of keys."""
    parts = sorted(sightings)
    columns: dict[str, list[npt.NDArray[Any]]] = {
        "high": [sightings[part].keys.high for part in parts],
        "low": [sightings[part].keys.low for part in parts],
        "fingerprint": [sightings[part].fingerprints for part in parts],
        "revision": [sightings[part].revisions for part in parts],
    }
    return pa.table({name: np.concatenate(arrays) for name, arrays in columns.items()})


def seen_in(items: pa.Table, parts: Sequence[int]) -> dict[int, Seen]:
    """What was seen by part, from the log of items (seq, source, identity, fingerprint, revision) in stream order."""
    sources = items["source"].to_pylist()
    keys = keys_of(sources, items["identity"].to_pylist())
    prints, revisions = items["fingerprint"].to_numpy(), items["revision"].to_numpy()
    order = np.lexsort((keys.low, keys.high))
    own = keys.rows(order)
    is_last = np.ones(len(order), np.bool_)
    is_last[:-1] = (own.high[1:] != own.high[:-1]) | (own.low[1:] != own.low[:-1])
    last = order[is_last]
    known = Sightings(keys.rows(last), prints[last], revisions[last].astype(np.int32))
    everything = merged(known, Seen().newcomers(sorted(set(sources))).sightings)
    return {part: Seen((run,)) if len(run) else Seen() for part, run in _parted(everything, parts)}


def _parted(run: Sightings, parts: Iterable[int]) -> Iterator[tuple[int, Sightings]]:
    """By part, what is in a run."""
    for part in parts:
        rows = RANGES[part].slice_of(run.keys.high)
        yield part, Sightings(run.keys.rows(rows), run.fingerprints[rows], run.revisions[rows])


def _read(path: Place, parts: Iterable[int]) -> Iterator[tuple[int, Sightings]]:
    """What a file holds of these parts."""
    table = open_arrow(path)
    names = ("high", "low", "fingerprint", "revision")
    high, low, fingerprints, revisions = (table.column(name).to_numpy() for name in names)
    if "part" in table.column_names:  # older versions sorted by a part of the source first
        order = np.lexsort((low, high))
        high, low, fingerprints, revisions = (
            column[order] for column in (high, low, fingerprints, revisions)
        )
    run = Sightings(Keys(high, low), fingerprints, revisions)
    return ((part, some) for part, some in _parted(run, parts) if len(some))
