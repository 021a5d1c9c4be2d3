"""Dry-run joins on hypothetical next items, against the stored history; nothing is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from feedweir.items.model import Item
from feedweir.items.numbering import document_number, first_seq
from feedweir.items.schema import batch_of
from feedweir.join.replay import Replay
from feedweir.join.result_tables import Joined
from feedweir.join.states import JoinStates
from feedweir.join.stored.join_versions import open_joins
from feedweir.logs.directory import DataDirectory
from feedweir.logs.store import Store
from feedweir.match import Matches
from feedweir.pipeline.sets import joins_path


def numbered_next(items: Sequence[Item], store: Store) -> list[Item]:
    """The items of a document, numbered as the next in the stream."""
    first = first_seq(document_number(store.latest() + 1, 0))
    return [replace(item, seq=first + item.seq) for item in items]


def join_dry_run(
    directory: DataDirectory, store: Store, version: int, items: Sequence[Item], matches: Matches
) -> Iterator[Joined]:
    """The join results of each shard of a version for items with these matches."""
    stored, batch = open_joins(joins_path(directory.sets, version)), batch_of(items)
    numbers = batch.column("seq").to_numpy()
    keys, seqs = np.asarray(matches.keys), numbers[matches.rows]
    for shard in stored.shards:
        replay = Replay(stored.compiled(shard), store)
        hidden = set(np.unique(keys[keys < 0]).tolist()) & replay.compiled.matched
        found = {key: np.sort(seqs[keys == key]) for key in sorted(hidden)}
        if found:
            states = JoinStates(directory.joins)
            replay.resume(states.state_after(store.latest(), shard, replay.compiled, replay.columns))
            yield replay.step(batch, found)
