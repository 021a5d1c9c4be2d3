"""What the routes for incoming documents need from the house behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol


class Answer(Protocol):
    """What to tell a hub that verifies."""

    @property
    def status(self) -> int: ...

    @property
    def body(self) -> str: ...


class Intake(Protocol):
    """Called from many threads at once; what it took in is on disk."""

    def check_source(self, name: str) -> object:
        """Raises `CatalogError` when there is no source of this name."""

    def push(self, name: str, body: bytes, media_type: str) -> int:
        """Land a document or items; raises `DocumentError` and `CatalogError`."""

    def verify(self, source: str, token: str, query: Mapping[str, str]) -> Answer | None:
        """A hub asks whether we meant our subscription; None when there is none of this token."""

    def receive(
        self, source: str, token: str, body: bytes, headers: Sequence[tuple[str, str]], media_type: str
    ) -> bool:
        """A hub brings content; whether there is a subscription of this token."""
