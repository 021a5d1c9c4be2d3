"""What pattern joins newly ask of documents that they remember: matched again, with the items from the log."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from feedweir.engine.comparing import ReadTable
from feedweir.engine.constructed import Construction, is_whole, item_of
from feedweir.engine.patterns import PatternRounds, PatternState
from feedweir.engine.witnessing import Tables, WitnessRows, witnesses_in, witnesses_of
from feedweir.items.schema import ITEM_SCHEMA, items_of
from feedweir.join.recall import Recall
from feedweir.match.trees import TreeSet

Longs = NDArray[np.int64]

_AT_ONCE = 5_000
"""So many documents are read from the log at once: there may be as many as windows hold."""


def with_recalled(
    rounds: PatternRounds,
    state: PatternState,
    others: Callable[[], Sequence[PatternState]],
    read: ReadTable,
    after: int,
) -> PatternState:
    """The state after a batch with all that the joins of now ask of the streams that it, or another shard's, remembers.

    An edit may ask for other paths, or take a feed to another shard. Everything comes from what was published before:
    a batch that is repeated finds the same.
    """
    if not rounds.lacks(state.levels):
        return state
    known = [state, *others()]
    parts = {id_: one for other in reversed(known) for id_, one in other.parts.items()}
    # All have seen the end of one stream: who has seen the most of it knows best.
    clock = max((one.clock for one in known), key=lambda one: one.passed)
    recall = Recall(
        [level for one in known for _, level in sorted(one.levels.items())],
        clock.now,
        lambda ids: _witnesses(rounds.trees, ids, parts, read),
        after,
    )
    return replace(state, levels=rounds.recalled(state.levels, recall), parts=parts, clock=clock)


def _witnesses(trees: TreeSet, ids: Longs, parts: Mapping[int, Construction], read: ReadTable) -> Tables:
    """Of documents by what they are called in the state."""
    found = WitnessRows.none()
    for first in range(0, len(ids), _AT_ONCE):
        places = np.arange(first, min(first + _AT_ONCE, len(ids)))
        is_made = ids[places] < 0
        found = found.joined(_of_items(trees, ids, places[~is_made], read))
        found = found.joined(_of_constructions(trees, ids, places[is_made], parts, read))
    return found.tables()


def _of_items(trees: TreeSet, ids: Longs, places: Longs, read: ReadTable) -> WitnessRows:
    if not len(places):
        return WitnessRows.none()
    seqs = ids[places]
    return witnesses_in(trees, read(seqs.tolist(), ITEM_SCHEMA.names), seqs).renamed(seqs, places)


def _of_constructions(
    trees: TreeSet, ids: Longs, places: Longs, parts: Mapping[int, Construction], read: ReadTable
) -> WitnessRows:
    made = {place: parts[id_] for place, id_ in zip(places.tolist(), ids[places].tolist(), strict=True)}
    if not made:
        return WitnessRows.none()
    seqs = sorted({seq for one in made.values() for seq in one.made_of})
    items = {item.seq: item for item in items_of(read(seqs, ITEM_SCHEMA.names))}
    # What lies in a damaged file cannot be matched again; the rest can.
    documents = {place: item_of(one, items).raw for place, one in made.items() if is_whole(one, items)}
    return witnesses_of(trees, list(documents.values()), np.array(list(documents), np.int64))
