"""What reading one document may cost."""

from __future__ import annotations

from dataclasses import dataclass

_MEGABYTE = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """Processor time and memory for one document; 0 is no bound."""

    seconds: float = 5.0
    """For a small document."""
    seconds_per_megabyte: float = 1.0
    """And in addition for a large one."""
    memory_bytes: int = 1 << 30
    """Beyond what the process that reads documents has when it begins."""

    def seconds_for(self, size: int) -> float:
        """The processor time that a document of this many bytes may take."""
        return self.seconds and self.seconds + self.seconds_per_megabyte * size / _MEGABYTE


DEFAULT_ALLOWANCE = Allowance()
NO_BOUND = Allowance(seconds=0.0, memory_bytes=0)
