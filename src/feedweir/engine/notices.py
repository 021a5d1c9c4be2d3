"""What should be known of feeds with joins after a batch, although they go on: what they could not meet any more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from feedweir.engine.join_plans import JoinSet, Stream
from feedweir.join.clock import Clock
from feedweir.plan import postorder
from feedweir.plan.nodes import AnnotationJoin, Distinct, Node, PatternJoin, TimeSpan

Longs = NDArray[np.int64]

_DAY_US = 24 * 3_600_000_000


def late_notices(
    streams: Iterable[Stream],
    members: Mapping[int, NDArray[np.int32]],
    is_late: NDArray[np.bool_],
    lateness_us: int,
) -> dict[int, str]:
    """By pattern join how many documents of its streams came too late to meet all that they should."""
    late = {key: rows[is_late[rows]] for key, rows in members.items()} if is_late.any() else {}
    found: dict[int, str] = {}
    for stream in streams if late else ():
        rows = [late[key] for key in {*stream.inputs} if key in late]
        count = len(np.unique(np.concatenate(rows))) if rows else 0
        if count and _has_time(stream.node):
            days = lateness_us // _DAY_US
            items = "1 item" if count == 1 else f"{count:,} items"
            told = f"{items} came more than {days} days late, and joined only with what is still remembered"
            found[stream.key] = told
    return found


def setback_notices(
    joins: JoinSet, before: Clock, peaks: Longs, clock_us: Longs, lateness_us: int
) -> dict[int, str]:
    """By join with a window of time that the clock went back so far in a batch that something is missing."""
    new = peaks[len(before.peaks) :, 1]
    back_us = int(new.max()) - int(clock_us.min()) if len(new) else 0
    if back_us <= lateness_us:
        return {}
    days = back_us // _DAY_US
    told = f"the times of arrival went back by {days} days: what its window had forgotten by then is missing"
    return {stream.key: told for stream in joins.made.values() if _has_time(stream.node)}


def told_of_feeds(joins: JoinSet, told: Mapping[int, str]) -> Sequence[tuple[int, str]]:
    """(feed, what is told of it, or of a join that it reads)."""
    if not told:
        return ()
    known = dict(told)
    for key, stream in joins.made.items():
        below = next((known[input] for input in stream.inputs if input in known), None)
        if below is not None:
            known.setdefault(key, below)
    return [(feed, known[key]) for feed, key in joins.roots if key in known]


def _has_time(node: Node) -> bool:
    """Whether a stream is a join with a window of time."""
    match node:
        case AnnotationJoin():
            return isinstance(node.window.spec, TimeSpan)
        case Distinct():
            return isinstance(node.spec, TimeSpan)
        case PatternJoin():
            joins = (one for one in postorder(node) if isinstance(one, PatternJoin))
            return any(isinstance(join.window, TimeSpan) for join in joins)
    return False
