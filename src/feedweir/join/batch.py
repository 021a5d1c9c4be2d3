"""What a step is given: documents in sequence order, the streams they are in, and their witnesses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from feedweir.join.windows import running_clock

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


class WitnessTables(Protocol):
    """R_binW and R_docW of a batch, as the tree matcher gives them: documents are rows of the batch.

    `variable` is the place of the lower variable in its pattern; node1 is -1 for a variable that binds alone.
    """

    @property
    def document(self) -> Ints: ...
    @property
    def pattern(self) -> Ints: ...
    @property
    def variable(self) -> Ints: ...
    @property
    def node1(self) -> Ints: ...
    @property
    def node2(self) -> Ints: ...
    @property
    def value_document(self) -> Ints: ...
    @property
    def value_node(self) -> Ints: ...
    @property
    def values(self) -> Sequence[str]: ...


@dataclass(frozen=True, slots=True)
class DocumentBatch:
    """Documents in the order of the stream: by `seq`, and by `sub` where several stand at one number.

    `members` says for each stream (by `query.stream_name`) which rows are in it. `ids` are what matches report, the
    numbers themselves unless others are given; `clock_us` is the clock at each row (`join.clock`), or the latest time
    so far when it is not given; `peaks` are where it went back, in the batch or before.
    """

    seq: Longs
    time_us: Longs
    members: Mapping[str, Ints]
    witnesses: WitnessTables
    sub: Longs | None = None
    ids: Longs | None = None
    clock_us: Longs | None = None
    peaks: Longs = field(default_factory=lambda: np.empty((0, 2), np.int64))

    def __len__(self) -> int:
        return len(self.seq)

    @property
    def subs(self) -> Longs:
        return np.zeros(len(self.seq), np.int64) if self.sub is None else self.sub

    def clocks(self, before: int) -> Longs:
        """The clock at each row, given the clock before them."""
        return running_clock(self.time_us, before) if self.clock_us is None else self.clock_us
