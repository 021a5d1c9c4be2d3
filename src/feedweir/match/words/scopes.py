"""Where words are wanted: every attribute that a query asks about is one bit of a scope."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from feedweir.items.attributes import WHOLE_TEXT

EXTENSIONS = "*:*"
"""The field of all extension values, which belong to the whole text."""
WHOLE = (*WHOLE_TEXT, EXTENSIONS)
MAX_FIELDS = 64


@dataclass(frozen=True, slots=True)
class Scopes:
    """The fields of a compiled set: those of the whole text, then others that queries name."""

    fields: tuple[str, ...] = WHOLE

    @classmethod
    def of(cls, names: Iterable[str]) -> Scopes:
        """The scopes for these attributes: as many as there are bits."""
        return cls((*WHOLE, *sorted(set(names) - set(WHOLE)))[:MAX_FIELDS])

    @property
    def whole(self) -> int:
        return (1 << len(WHOLE)) - 1

    def bit(self, name: str | None) -> int:
        """The scope of one attribute; of the whole text when it is None."""
        return self.whole if name is None else 1 << self.fields.index(name)
