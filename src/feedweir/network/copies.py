"""From kinds of views to views: which of equal views is filled from elsewhere, and from which of them the others
are."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from feedweir.network.choice import Columns
from feedweir.network.circles import circles_in
from feedweir.network.problem import Problem
from feedweir.network.views import UNLIMITED


@dataclass(frozen=True, slots=True)
class Filling:
    """What one view is filled from: other views by number, or its sources."""

    view: int
    feeders: tuple[int, ...]
    cost: float
    is_hosted: bool = False
    """The first feeder joins what the others send it, and sends the result."""

    @property
    def is_direct(self) -> bool:
        return not self.feeders


def filled(problem: Problem, columns: Columns, times: NDArray[np.float64]) -> tuple[Filling, ...]:
    """One filling for each view. Views of a kind are taken breadth first, so that trees of copies stay flat."""
    members: list[list[int]] = [[] for _ in problem.copies]
    for view, kind in enumerate(problem.kind_of.tolist()):
        members[kind].append(view)
    room = [view.feeds_at_most if view.feeds_at_most < UNLIMITED else 1 << 60 for view in problem.views]
    chosen: dict[int, list[int]] = {}
    for column in np.flatnonzero(times > 0.5).tolist():
        if column < columns.begin_copies:
            kind = int(columns.target[column])
            chosen.setdefault(kind, []).extend([column] * round(times[column]))
    assert not circles_in(problem, columns, times)
    servers: list[deque[int]] = [deque() for _ in problem.copies]
    found: dict[int, Filling] = {}
    waiting: list[tuple[int, list[int], bool, int]] = []
    # First the copies, each kind by itself: whoever has the most room comes first.
    for kind, views in enumerate(members):
        views.sort(key=lambda view: (-room[view], view))
        outside = chosen.get(kind, [])
        for view, column in zip(views, outside, strict=False):
            feeders = [] if column >= columns.begin_direct else columns.covers.members[column]
            hosted = column < columns.begin_direct and bool(columns.covers.is_hosted[column])
            waiting.append((view, [int(v) for v in feeders if v >= 0], hosted, column))
        order = deque(view for view in views if room[view] > 0)
        filled_so_far = set(views[: len(outside)])
        for view in views[len(outside) :]:
            while order and (room[order[0]] <= 0 or order[0] not in filled_so_far):
                order.popleft()
            if not order:
                break
            room[order[0]] -= 1
            found[view] = Filling(view, (order[0],), float(problem.copy_cost[kind]), True)
            filled_so_far.add(view)
        servers[kind] = deque(view for view in views if room[view] > 0)
    for view, kinds, hosted, column in waiting:
        feeders = []
        for kind in kinds:
            while len(servers[kind]) > 1 and room[servers[kind][0]] <= 0:
                servers[kind].popleft()
            server = servers[kind][0] if servers[kind] else members[kind][0]
            room[server] -= 1
            feeders.append(server)
        found[view] = Filling(view, tuple(feeders), float(columns.cost[column]), hosted)
    return tuple(found[view] for view in range(len(problem.views)))
