"""Feedweir: standing queries over everything that is published.

`Weir` is an installation: statements and documents in, feeds out. `parse`, `format_statement` and `parse_search` are
the language by itself. Every error that Feedweir raises on purpose is a `FeedweirError`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from feedweir.errors import (
    CatalogError,
    CompiledSetError,
    DeliveryError,
    DocumentError,
    FeedweirError,
    LanguageError,
    SettingsError,
    StorageError,
)

if TYPE_CHECKING:
    from feedweir.items.model import Enclosure, Item
    from feedweir.language import format_statement, parse, parse_search
    from feedweir.service.execution import Outcome
    from feedweir.service.installation import Weir

__version__ = "0.1.0"

__all__ = [
    "CatalogError",
    "CompiledSetError",
    "DeliveryError",
    "DocumentError",
    "Enclosure",
    "FeedweirError",
    "Item",
    "LanguageError",
    "Outcome",
    "SettingsError",
    "StorageError",
    "Weir",
    "__version__",
    "format_statement",
    "parse",
    "parse_search",
]

# Imported when they are first used: a worker that wants one room should not pay for all of them.
_HOMES = {
    "Enclosure": "feedweir.items.model",
    "Item": "feedweir.items.model",
    "Outcome": "feedweir.service.execution",
    "Weir": "feedweir.service.installation",
    "format_statement": "feedweir.language",
    "parse": "feedweir.language",
    "parse_search": "feedweir.language",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'feedweir' has no attribute {name!r}")
