"""How far back windows reach: what history must hold, and the windows that need it to be decided."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from feedweir.items.string_keys import stable_number
from feedweir.join.clock import LONG_AGO, highest
from feedweir.join.patterns.evaluate import Found
from feedweir.join.patterns.level_history import LevelState, Reach
from feedweir.join.patterns.pattern_set import Level, TemplateRelation
from feedweir.join.patterns.variables import is_inner
from feedweir.join.window_bounds import FOREVER, JoinBounds

Longs = NDArray[np.int64]


def within_counts(found: Found, level: Level, state: LevelState) -> Found:
    """The matches within windows of documents, by how many documents of its stream the earlier one is back."""
    relation = level.relations[found.relation]
    is_count = relation.mode[found.row] >= 2
    if not is_count.any():
        return found
    needed = found.needed.copy()
    later, earlier = np.maximum(found.left, found.right), np.minimum(found.left, found.right)
    sides = np.array(relation.template.sides)
    side = np.where(found.left < found.right, 0, 1)
    first_end = [int(np.flatnonzero(sides == one)[0]) for one in (0, 1)]
    for stream in sorted(level.horizon_documents):
        dense = {place for place, variable in enumerate(level.variables) if variable.stream == stream}
        variable = np.where(
            side == 0,
            relation.variables[found.row, first_end[0]],
            relation.variables[found.row, first_end[1]],
        )
        chosen = is_count & np.isin(variable, list(dense))
        if not chosen.any():
            continue
        numbers = state.stream_documents(stable_number(stream))
        back = _events_back if is_inner(stream) else _documents_back
        needed[chosen] = back(numbers, later[chosen], earlier[chosen], state)
    within = ~is_count | (needed <= relation.length[found.row])
    counted = Found(found.relation, found.row, found.left, found.right, needed, found.paths, found.values)
    return counted.take(within)


def _events_back(numbers: Longs, later: Longs, earlier: Longs, state: LevelState) -> Longs:
    """The matches of an inner join that one document completes are one event, which comes after that document."""
    completed = np.unique(state.sequence(numbers)[0])
    place = np.searchsorted(numbers, earlier)
    held = np.append(numbers, FOREVER)[place] == earlier
    first, last = state.sequence(earlier)[0], state.sequence(later)[0]
    back = np.searchsorted(completed, last) - np.searchsorted(completed, first, "right") + 1
    return np.where(held, back, FOREVER)


def without_own_parts(found: Found, state: LevelState) -> Found:
    """The matches without those that have an item twice: a result of an inner join does not join its own parts."""
    if not len(found) or not state.has_derived:
        return found
    left, right = state.items_of(found.left), state.items_of(found.right)
    codes = np.unique(np.concatenate([left.longs, right.longs]), return_inverse=True)[1]
    match = [np.repeat(np.arange(len(found)), np.diff(one.ptr)) for one in (left, right)]
    ours, theirs = codes[: len(match[0])], codes[len(match[0]) :]
    width = int(codes.max()) + 1
    kept = np.ones(len(found), np.bool_)
    kept[match[0][np.isin(match[0] * width + ours, match[1] * width + theirs)]] = False
    return found.take(kept)


def _documents_back(numbers: Longs, later: Longs, earlier: Longs, _state: LevelState) -> Longs:
    """By the numbers that history holds; the view cache may have documents that have left every window."""
    place = np.searchsorted(numbers, earlier)
    held = np.append(numbers, FOREVER)[place] == earlier
    return np.where(held, np.searchsorted(numbers, later) - place, FOREVER)


def within_memory(found: Found, level: Level, state: LevelState, peaks: Longs, lateness_us: int) -> Found:
    """The matches without what was forgotten before the clock went back: kernels know that of the later one only."""
    relation = level.relations[found.relation]
    is_timed = relation.mode[found.row] < 2
    if not len(peaks) or not is_timed.any():
        return found
    earlier, later = np.minimum(found.left, found.right), np.maximum(found.left, found.right)
    first, last = state.sequence(earlier)[0], state.sequence(later)[0]
    clock = highest(np.full(len(found), LONG_AGO), peaks, first, last)
    needed = np.where(
        is_timed, np.maximum(found.needed, clock - state.times(earlier) - lateness_us), found.needed
    )
    kept = ~is_timed | ((first >= 0) & (needed <= relation.length[found.row]))
    remembered = Found(found.relation, found.row, found.left, found.right, needed, found.paths, found.values)
    return remembered.take(kept)


def reach_of(level: Level, state: LevelState, bounds: JoinBounds) -> Reach:
    time = state.clock - level.horizon_us - bounds.lateness_us if level.horizon_us >= 0 else FOREVER
    streams = {}
    for stream, count in level.horizon_documents.items():
        numbers = state.stream_documents(stable_number(stream))
        if is_inner(stream):
            # All matches that one document completed are one event, and are kept as long as it is.
            numbers = numbers[np.unique(state.sequence(numbers)[0], return_index=True)[1]]
        streams[stable_number(stream)] = int(numbers[-count]) if len(numbers) >= count else 0
    return Reach(time, state.next_number - bounds.max_documents, streams)


def cut_short(level: Level, state: LevelState, bounds: JoinBounds) -> list[int]:
    """The results whose windows of time reach further back than the documents that may be kept."""
    first = state.next_number - bounds.max_documents
    if first <= 0 or level.horizon_us < 0:
        return []
    held = [one for segment in state.segments for one in segment.time[segment.number >= first][:1].tolist()]
    reached = state.clock - min(held, default=state.clock)
    return [
        place
        for relation in level.relations
        for place in relation.members[(relation.member_length > reached) & is_timed(relation)].tolist()
    ]


def is_timed(relation: TemplateRelation) -> NDArray[np.bool_]:
    """For each member of a relation, whether its window is one of time."""
    return np.repeat(relation.mode < 2, np.diff(relation.members_ptr))
