"""How an item says that a triple was deleted: by a property of another name, which no vocabulary has."""

from __future__ import annotations

DELETED = "urn:feedweir:deleted:"
"""Before the IRI of the property of a deleted triple. What was added is said as it is."""
OPERATION = "urn:feedweir:operation"
"""Says of a thing what was done to it, as the stream calls it."""
