"""How large the next batch may be, so that it takes about as long as it should: decided by what the last ones took."""

from __future__ import annotations

from dataclasses import dataclass

LEAST_BYTES = 256 << 10
"""Smaller batches take hardly less time, since most of it passes before the first document is read."""
_TELLING = 2
"""A batch that is more than so many times smaller than it might have been tells nothing of larger ones."""
_STEP = 2.0
"""By how much the size changes from one batch to the next, at most."""


@dataclass(frozen=True, slots=True)
class Pace:
    """The sizes of batches, in bytes of documents as they landed."""

    most_bytes: int
    seconds: float = 0.0
    """How long a batch should take; 0 is as long as it may."""
    limit: int = 0
    """What has been learned; 0 is nothing yet."""

    @property
    def bytes_at_once(self) -> int:
        return self.limit or self.most_bytes

    def after(self, size: int, took_s: float) -> Pace:
        """What a batch of so many bytes teaches."""
        if not self.seconds or size <= 0 or took_s <= 0:
            return self
        if took_s <= self.seconds and size * _TELLING < self.bytes_at_once:
            return self
        wanted = size * self.seconds / took_s
        near = min(max(wanted, self.bytes_at_once / _STEP), self.bytes_at_once * _STEP)
        least = min(LEAST_BYTES, self.most_bytes)
        return Pace(self.most_bytes, self.seconds, int(min(max(near, least), self.most_bytes)))
