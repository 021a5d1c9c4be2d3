"""What a machine has fetched of a store of objects, each file once, for all of its processes.

Names are never given to other bytes. What was not used for longest goes when there is too much.
"""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from feedweir.errors import StorageError
from feedweir.storage.disk import draft_of

MOST_BYTES = 20 << 30
_RESTS_S = 600.0
"""Somebody may be about to open what was used so recently."""
_LOOKED_AFTER_BYTES = 256 << 20
"""How much is fetched between two looks at how much there is."""


class FetchedFiles:
    """A directory of this machine, which may be deleted whenever nobody runs here."""

    def __init__(self, directory: Path, most_bytes: int = MOST_BYTES) -> None:
        self.directory = directory
        self._most_bytes = most_bytes
        self._turn = threading.Lock()
        self._since_look = 0

    def path(self, key: str) -> Path:
        return self.directory / key

    def find(self, key: str, fetch: Callable[[IO[bytes]], None]) -> Path:
        """The file of a key; `fetch` writes it if it is not there yet."""
        path = self.path(key)
        try:
            os.utime(path)  # when it was last used
        except FileNotFoundError:
            with self.drafted(key) as file:
                fetch(file)
        return path

    @contextmanager
    def drafted(self, key: str) -> Iterator[IO[bytes]]:
        """A file to write that is the file of a key when the block ends well."""
        path = self.path(key)
        draft = draft_of(path)
        with _told(self.directory):
            path.parent.mkdir(parents=True, exist_ok=True)
            file = draft.open("w+b")
        try:
            with file:
                yield file
                with _told(self.directory):
                    file.flush()
                    size = file.tell()
            with _told(self.directory):
                draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
        self._bound(size)

    def forget(self, key: str) -> None:
        self.path(key).unlink(missing_ok=True)

    def _bound(self, size: int) -> None:
        with self._turn:
            self._since_look += size
            is_due = self._since_look >= min(_LOOKED_AFTER_BYTES, self._most_bytes // 8)
            if is_due:
                self._since_look = 0
        if is_due:
            self.shrink(time.time() - _RESTS_S)

    def shrink(self, before: float) -> None:
        """Delete what was used longest ago, until no more than the bound is left, but nothing used since `before`."""
        found = sorted(self._found())
        total = sum(size for _, size, _ in found)
        for used, size, path in found:
            if total <= self._most_bytes or used >= before:
                break
            path.unlink(missing_ok=True)
            total -= size

    def _found(self) -> Iterator[tuple[float, int, Path]]:
        for parent, _, names in os.walk(self.directory):
            for name in names:
                path = Path(parent) / name
                with suppress(FileNotFoundError):
                    state = path.stat()
                    yield state.st_mtime, state.st_size, path


@contextmanager
def _told(directory: Path) -> Iterator[None]:
    """Errors of the machine's disk in one sentence."""
    try:
        yield
    except OSError as error:
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        hint = "make room there, or lower `cache_bytes`" if is_full else "have `cache` name another directory"
        raise StorageError(
            f"{directory} cannot keep what is fetched: {error.strerror or error}", hint=hint
        ) from error
