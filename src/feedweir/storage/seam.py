"""What is asked of a storage: six things, which a disk and every store of objects can do.

A key is a path below the storage's place, with `/` between folders. What is put is there as a whole or not at all, and
is seen at once by whoever asks for it, and by whoever lists.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, Protocol


class Stored(NamedTuple):
    """A file in a list."""

    key: str
    size: int
    changed: datetime


class Storage(Protocol):
    """All raise `StorageError` when the storage cannot be used, and `FileNotFoundError` for a key that is not there."""

    @property
    def place(self) -> str:
        """What people call it, without secrets."""

    def put(self, key: str, data: bytes | Path) -> None:
        """Write bytes, or a local file, in the place of what was there."""

    def put_absent(self, key: str, data: bytes) -> bool:
        """Write unless there is something; whether it was written. Of several writers one succeeds."""

    def get(self, key: str) -> bytes:
        """The bytes of a file."""

    def local(self, key: str) -> Path:
        """A file on this machine with those bytes, to be mapped. Only for keys that are never written twice."""

    def keys(self, folder: str, after: str = "") -> Iterator[Stored]:
        """What is in a folder and below it, in the order of keys; only keys behind one, if one is given."""

    def delete(self, key: str) -> None:
        """Remove a file, if it is there."""
