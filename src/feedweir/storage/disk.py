"""Files of a disk that are complete or absent: written under a draft name, synced, then renamed."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import IO

_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})
"""What file systems without hard links say: there the lock of whoever is in charge has to do."""


@contextmanager
def replacing(path: Path, *, is_synced: bool = True) -> Iterator[IO[bytes]]:
    """A file to write that takes the place of `path` once it is complete and on disk.

    The draft's name is the writer's own, so that two writers of the same file cannot mix their bytes, on whichever
    machines they are.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = draft_of(path)
    with draft.open("w+b") as file:
        yield file
        if is_synced:
            file.flush()
            os.fsync(file.fileno())
    draft.replace(path)


def put_absent(path: Path, data: bytes, *, is_synced: bool = True) -> bool:
    """Write a file unless there is one of this name; whether it was written. Of several writers one succeeds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = draft_of(path)
    with draft.open("wb") as file:
        file.write(data)
        if is_synced:
            file.flush()
            os.fsync(file.fileno())
    try:
        os.link(draft, path)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if path.exists():
            return False
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return True


def draft_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}-{token_hex(4)}")
