"""What the tasks of one batch hand to each other, by files that are needed only until it is published.

```
ATTEMPT.items.arrow   parsed ──▶ matched    all items of a share of the documents, in the order of the stream
ATTEMPT.keys.arrow    parsed ──▶ judged     their keys, sorted, so that a part of the key groups is a slice
ATTEMPT.news.arrow    judged ──▶ gathered   which of them are news
ATTEMPT.news.arrow    gathered ▶ matched    the same of the whole batch, in the order of the stream
```

Keys are exchanged and items are not: an item is written once and read once, and a repeat, as most are, is never read.
Files are mapped, and nothing is synced: what a crash takes away is made again under another name.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from feedweir.items.schema import ITEM_SCHEMA
from feedweir.pipeline.seen import RANGES, Keys, Seen, Sightings
from feedweir.pipeline.stage import judged, keyed
from feedweir.storage import Place, local, replacing

_I64 = npt.NDArray[np.int64]
_COST_OF_ITEM = 500
"""What an item weighs besides its text, in characters: it is parsed, looked up and written however short it is."""
_IS_SOURCE = -1
"""The revision under which the record says that the source of an item is seen for the first time."""


@dataclass(frozen=True, slots=True)
class News:
    """Items that are news, in the order of the stream."""

    seqs: _I64
    revisions: npt.NDArray[np.int32]
    weights: _I64

    def __len__(self) -> int:
        return len(self.seqs)

    def cut(self, tasks: int) -> list[tuple[int, int]]:
        """Into ranges of numbers, first and end, of about the same weight; none if there is nothing."""
        if not len(self):
            return []
        sums = np.cumsum(self.weights)
        wanted = sums[-1] * np.arange(1, tasks) / tasks
        places = np.unique(np.concatenate([[0], np.searchsorted(sums, wanted, "left") + 1]))
        firsts = self.seqs[places[places < len(self)]].tolist()
        return list(zip(firsts, [*firsts[1:], int(self.seqs[-1]) + 1], strict=True))


@dataclass(frozen=True, slots=True)
class Slice:
    """The items that one task matches, and the names of their sources that are seen for the first time."""

    items: pa.RecordBatch
    revisions: npt.NDArray[np.int32]
    newcomers: frozenset[str]


class Exchange:
    """The files of one data directory."""

    def __init__(self, directory: Place) -> None:
        self._directory = directory

    def put_parsed(self, attempt: str, items: pa.RecordBatch) -> tuple[int, int]:
        """Hand on what a task parsed, in the order of the stream; its first and its last number, 0 if it has none."""
        if not len(items):
            return 0, 0
        keys, prints, _, firsts = keyed(items)
        seqs = items.column("seq").to_numpy()
        every = np.concatenate([seqs, seqs[firsts]])
        is_source = np.arange(len(every)) >= len(seqs)
        weights = np.concatenate([_weights(items), np.zeros(len(firsts), np.int64)])
        order = np.lexsort((every, keys.low, keys.high))
        table = pa.table(
            {
                "high": keys.high[order],
                "low": keys.low[order],
                "fingerprint": prints[order],
                "seq": every[order],
                "weight": weights[order],
                "is_source": is_source[order],
            }
        )
        self._write(f"{attempt}.items.arrow", pa.Table.from_batches([items]))
        self._write(f"{attempt}.keys.arrow", table)
        return int(seqs[0]), int(seqs[-1])

    def judge(self, attempt: str, seen: dict[int, Seen], parsed: Sequence[str]) -> dict[int, Sightings]:
        """Judge the keys of some parts; by part, what to add to the record of seen items."""
        tables = [_opened(self._path(f"{one}.keys.arrow")) for one in parsed]
        sorted_keys = [table["high"].to_numpy() for table in tables]
        found = [
            table.slice(rows.start, rows.stop - rows.start)
            for table, highs in zip(tables, sorted_keys, strict=True)
            for part in sorted(seen)
            for rows in [RANGES[part].slice_of(highs)]
        ]
        asked = pa.concat_tables(found).combine_chunks() if found else _KEYS_SCHEMA.empty_table()
        keys = Keys(asked["high"].to_numpy(), asked["low"].to_numpy())
        # Shares follow each other in the order of the stream, and so do the rows of one key in a share.
        verdict = judged(keys, asked["fingerprint"].to_numpy(), seen)
        is_source = asked["is_source"].to_numpy(zero_copy_only=False)
        revisions = np.where(is_source, np.int32(_IS_SOURCE), verdict.revisions).astype(np.int32)
        rows = np.flatnonzero(verdict.is_news)
        seqs = asked["seq"].to_numpy()[rows]
        order = np.argsort(seqs, kind="stable")
        news = pa.table(
            {
                "seq": seqs[order],
                "revision": revisions[rows][order],
                "weight": asked["weight"].to_numpy()[rows][order],
            }
        )
        self._write(f"{attempt}.news.arrow", news)
        return verdict.sightings

    def gather(self, attempt: str, judged: Iterable[str]) -> News:
        """Put together what is news of a batch, for those who match it."""
        tables = [_opened(self._path(f"{name}.news.arrow")) for name in judged]
        table = pa.concat_tables([_NEWS_SCHEMA.empty_table(), *tables]).sort_by("seq")
        self._write(f"{attempt}.news.arrow", table)
        seqs, revisions, weights = (table[name].to_numpy() for name in ("seq", "revision", "weight"))
        is_item = revisions != _IS_SOURCE
        return News(seqs[is_item], revisions[is_item], weights[is_item])

    def slice_of(self, first: int, end: int, parsed: Sequence[str], news: str) -> Slice:
        """The news among the items `first <= seq < end`, of the shares that have any of these."""
        own = _within(_opened(self._path(f"{news}.news.arrow")), first, end)
        seqs, revisions = own["seq"].to_numpy(), own["revision"].to_numpy()
        is_item = revisions != _IS_SOURCE
        newcomers = seqs[~is_item]
        seqs, revisions = seqs[is_item], revisions[is_item]
        taken: list[pa.Table] = []
        for name in parsed:
            items = _opened(self._path(f"{name}.items.arrow"))
            known = items["seq"].to_numpy()
            here = seqs[slice(*np.searchsorted(seqs, [known[0], known[-1] + 1]).tolist())]
            taken.append(items.take(pa.array(np.searchsorted(known, here))))
        table = pa.concat_tables([ITEM_SCHEMA.empty_table(), *taken]).combine_chunks()
        items = (
            table.to_batches()[0] if table.num_rows else pa.RecordBatch.from_pylist([], schema=ITEM_SCHEMA)
        )
        places = np.searchsorted(seqs, newcomers)
        names = items.column("source").take(pa.array(places)).to_pylist()
        return Slice(items, revisions, frozenset(names))

    def forget(self, upto: int) -> None:
        """Delete what the tasks of batches up to this one handed to each other."""
        for path in self._directory.glob("[0-9]*.arrow"):
            if int(path.name[:12]) <= upto:
                path.unlink(missing_ok=True)

    def _write(self, name: str, table: pa.Table) -> None:
        path = self._path(name)
        with replacing(path, is_synced=False) as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table.combine_chunks())

    def _path(self, name: str) -> Place:
        return self._directory / name


_NEWS_SCHEMA = pa.schema([("seq", pa.int64()), ("revision", pa.int32()), ("weight", pa.int64())])
_KEYS_SCHEMA = pa.schema(
    [
        ("high", pa.uint64()),
        ("low", pa.uint64()),
        ("fingerprint", pa.int64()),
        ("seq", pa.int64()),
        ("weight", pa.int64()),
        ("is_source", pa.bool_()),
    ]
)


def _opened(path: Place) -> pa.Table:
    return pa.ipc.open_file(pa.memory_map(os.fspath(local(path)))).read_all()


def _within(table: pa.Table, first: int, end: int) -> pa.Table:
    start, stop = np.searchsorted(table["seq"].to_numpy(), [first, end]).tolist()
    return table.slice(start, stop - start)


def _weights(items: pa.RecordBatch) -> _I64:
    """What matching an item costs, by the length of its texts."""
    lengths = [np.asarray(pc.binary_length(items.column(name))) for name in ("title", "summary", "content")]
    weights: _I64 = np.sum(lengths, axis=0).astype(np.int64) + _COST_OF_ITEM
    return weights
