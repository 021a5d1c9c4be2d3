"""What feeds with joins would make of items that came next: tried out on what joins remember, and kept nowhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from feedweir.engine.directory import DataDirectory
from feedweir.engine.join_plans import load_joins, shards_in
from feedweir.engine.join_states import JoinStates
from feedweir.engine.joined import Joined
from feedweir.engine.replaying import Replay
from feedweir.engine.sets import joins_path
from feedweir.engine.store import Store
from feedweir.items.model import Item
from feedweir.items.numbering import document_number, first_seq
from feedweir.items.schema import batch_of
from feedweir.match import Matches


def coming_next(items: Sequence[Item], store: Store) -> list[Item]:
    """The items of a document, numbered as the next in the stream."""
    first = first_seq(document_number(store.latest() + 1, 0))
    return [replace(item, seq=first + item.seq) for item in items]


def joined_next(
    directory: DataDirectory, store: Store, version: int, items: Sequence[Item], matches: Matches
) -> Iterator[Joined]:
    """What each shard of a version would make of items of which the matcher found these."""
    sets, batch = joins_path(directory.sets, version), batch_of(items)
    numbers = batch.column("seq").to_numpy()
    keys, seqs = np.asarray(matches.keys), numbers[matches.rows]
    for shard in shards_in(sets):
        replay = Replay(load_joins(sets, shard), store)
        found = {key: np.sort(seqs[keys == key]) for key in replay.joins.found if (keys == key).any()}
        if found:
            states = JoinStates(directory.joins)
            replay.go_on_from(
                states.after(store.latest(), shard, replay.rounds, replay.stages, replay.columns)
            )
            yield replay.step(batch, found)
