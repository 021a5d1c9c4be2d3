"""Label paths by number: they repeat within a document and from document to document."""

from __future__ import annotations

import numpy as np

from feedweir.match.trees.documents.read_kernels import PathRoom, placed_again

_SLOTS = 1024


class PathTable:
    """Path 0 is the empty one above the root. Names that no pattern has count as one, so that the table grows
    with the names in patterns and the shapes of documents."""

    def __init__(self) -> None:
        self.room = _room(_SLOTS)
        self.room.used[0] = 1

    def __len__(self) -> int:
        return int(self.room.used[0])

    def grow(self) -> None:
        old = self.room
        self.room = _room(2 * len(old.keys))
        self.room.parent[: len(old.parent)] = old.parent
        self.room.label[: len(old.label)] = old.label
        self.room.used[0] = old.used[0]
        placed_again(old, self.room.keys, self.room.places)

    def labels(self, path: int) -> tuple[int, ...]:
        """The labels from the root down."""
        above: list[int] = []
        while path > 0:
            above.append(int(self.room.label[path]))
            path = int(self.room.parent[path])
        return tuple(reversed(above))


def _room(slots: int) -> PathRoom:
    return PathRoom(
        np.full(slots, -1, np.int64),
        np.zeros(slots, np.int32),
        np.zeros(slots // 2, np.int32),
        np.zeros(slots // 2, np.int32),
        np.zeros(1, np.int64),
    )
