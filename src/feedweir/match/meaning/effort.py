"""How much one query may cost on one item, in counted steps: not by the time that passes, so that a replay answers the
same on any machine."""

from __future__ import annotations

from feedweir.errors import WorkError

MAX_STEPS = 1_000_000
"""A step is a few dozen nanoseconds of work; all of them are some tenths of a second."""


class Effort:
    """The steps that are left."""

    def __init__(self, most: int = MAX_STEPS) -> None:
        self._most = self._left = most

    @property
    def spent(self) -> int:
        return self._most - self._left

    def take(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise WorkError(
                f"it would take more than {self._most:,} steps",
                hint="ask for fewer things that can be combined in many ways, or cut the query into several feeds",
            )
