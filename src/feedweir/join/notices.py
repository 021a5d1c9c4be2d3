"""Warnings about feeds with joins that go on although they missed something: items too late, a clock set back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from feedweir.join.clock import Clock
from feedweir.join.streams import JoinSet, Stream
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
    """By pattern join a warning when documents of its streams came too late to meet all that they should."""
    late = {key: rows[is_late[rows]] for key, rows in members.items()} if is_late.any() else {}
    found: dict[int, str] = {}
    for stream in streams if late else ():
        rows = [late[key] for key in {*stream.inputs} if key in late]
        count = len(np.unique(np.concatenate(rows))) if rows else 0
        if count and _has_time(stream.node):
            found[stream.key] = late_message(count, lateness_us)
    return found


def late_message(count: int, lateness_us: int) -> str:
    """What is said of so many items that came too late."""
    days = lateness_us // _DAY_US
    items = "1 item" if count == 1 else f"{count:,} items"
    return f"{items} came more than {days} days late, and joined only with what is still remembered"


def setback_message(before: Clock, peaks: Longs, clock_us: Longs, lateness_us: int) -> str:
    """A warning for joins with windows of time when the clock went back so far that something is missing."""
    new = peaks[len(before.peaks) :, 1]
    back_us = int(new.max()) - int(clock_us.min()) if len(new) else 0
    if back_us <= lateness_us:
        return ""
    days = back_us // _DAY_US
    return f"arrival times went back by {days} days: what the window had forgotten by then is missing"


def setback_notices(
    joins: JoinSet, before: Clock, peaks: Longs, clock_us: Longs, lateness_us: int
) -> dict[int, str]:
    """The same by join with a window of time."""
    message = setback_message(before, peaks, clock_us, lateness_us)
    timed = (stream.key for stream in joins.computed.values() if message and _has_time(stream.node))
    return dict.fromkeys(timed, message)


def messages_by_feed(joins: JoinSet, messages: Mapping[int, str]) -> Sequence[tuple[int, str]]:
    """(feed, message about it or about a join that it reads)."""
    if not messages:
        return ()
    known = dict(messages)
    for key, stream in joins.computed.items():
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
