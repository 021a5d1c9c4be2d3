"""Windows as numbers, and the limits on what joins may cost.

Documents are taken in sequence order. The *clock* at a document follows from all items up to it, of whatever stream
(`join.clock`), so that queries do not depend on each other; it may go back. Let p and c be two documents, c the later
in sequence.

- A time window T holds when 0 < t2 - t1 <= T (`FOLLOWED BY`) or |t2 - t1| <= T (`JOIN`), by item times, whichever of
  the two arrived first. So that state is bounded, p must also not be older by more than T + `lateness` than the clock
  was at any document from p to c: an item that arrives later than that finds only what is still remembered.
- A window of n documents holds when p is one of the last n documents of its stream before c; with `FOLLOWED BY` the
  left document is p. Item times play no part.
- No document joins itself. Whatever the window, p is at most `max_documents` documents back.

Everything follows from the documents up to c, so results do not depend on how the stream is cut into batches. `needed`
is the shortest window with which a pair joins: a query takes the pair when its own window is at least that long.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import numpy as np
from numpy.typing import NDArray

from feedweir.errors import LanguageError
from feedweir.plan.nodes import LastItems, TimeSpan, WindowSpec

Longs = NDArray[np.int64]

TIME_FOLLOWED, TIME_EITHER, COUNT_FOLLOWED, COUNT_EITHER = range(4)
FOREVER = 1 << 60
"""Longer than any stream, and addable without overflow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinBounds:
    """Limits on what joins may cost."""

    lateness: timedelta = timedelta(days=7)
    max_documents: int = 10_000_000
    """How far back any window reaches, counted in documents: bounds the state of windows of years."""
    max_pairs: int = 20_000_000
    """Pairs found for the documents evaluated together; beyond it they are evaluated in smaller groups."""
    max_found: int = 5_000_000
    """Results of all joins in a batch; if there are more, the joins with the most give none in that batch."""
    max_steps: int = 200_000_000
    """Pairs that one join tries in a batch, and the steps to try them: some seconds. Beyond it, it gives none."""
    max_made: int = 500_000
    """Bindings of the variables of constructions and inner joins in a batch; likewise."""
    max_piece: int = 1_000_000
    """Results that are held at a time where a batch may be evaluated in pieces, down to one document: there the bounds
    above hold for what one document completes, not for a batch."""

    @property
    def lateness_us(self) -> int:
        return microseconds(self.lateness)


def microseconds(length: timedelta) -> int:
    return min(length // timedelta(microseconds=1), FOREVER)


def window_code(kind: str, window: WindowSpec | None) -> tuple[int, int]:
    """(mode, length): microseconds or documents."""
    if window is None:
        raise LanguageError("a join needs a window", hint="say how far back to look, for example `3 days`")
    followed = kind == "followed by"
    match window:
        case TimeSpan(length):
            code = (TIME_FOLLOWED if followed else TIME_EITHER, microseconds(length))
        case LastItems(count):
            code = (COUNT_FOLLOWED if followed else COUNT_EITHER, min(count, FOREVER))
    if code[1] <= 0:
        raise LanguageError(
            "the length of a window must be greater than 0", hint="for example `3 days` or `last 10 items`"
        )
    return code


def drop_largest(dropped: NDArray[np.bool_], counts: Longs, room: int) -> None:
    """Mark those with the largest counts as dropped, until the others take half of the room at most."""
    order = np.argsort(-counts, kind="stable")
    left = counts.sum() - np.cumsum(counts[order])
    dropped[order[: 1 + int(np.argmax(left <= room // 2))]] = True


def running_clock(times: Longs, clock: int) -> Longs:
    """The latest time at each document, given the latest before them."""
    return np.maximum(np.maximum.accumulate(times), clock) if len(times) else times
