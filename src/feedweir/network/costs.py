"""What an operator says of costs: how resources weigh against each other, and what work takes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Weights:
    """Utilisation of a rewriting: CPU seconds and bytes at all sites, added up by these weights."""

    cpu_s: float = 1e8
    """A second of CPU weighs as much as so many bytes."""
    bytes_out: float = 1.0
    bytes_in: float = 1.0
    tuple_s: float = 1e-6
    """CPU seconds for a tuple that is read, filtered or joined."""
    node_s: float = 2e-8
    """CPU seconds for each node of a document, for a view that is filled from its source."""
