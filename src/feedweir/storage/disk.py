"""A directory: files appear by a rename when their bytes are on disk."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex

from feedweir.errors import StorageError
from feedweir.storage.seam import Stored

_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})
"""What file systems without hard links say."""


class DiskStorage:
    """One directory of a file system that all machines share, or that one machine has for itself."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @property
    def place(self) -> str:
        return str(self._root)

    def put(self, key: str, data: bytes | Path) -> None:
        with _told(self._root), self._drafted(key, data) as draft:
            draft.replace(self._root / key)

    def put_absent(self, key: str, data: bytes) -> bool:
        path = self._root / key
        with _told(self._root), self._drafted(key, data) as draft:
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
        return True

    def get(self, key: str) -> bytes:
        with _told(self._root):
            return (self._root / key).read_bytes()

    def local(self, key: str) -> Path:
        path = self._root / key
        if not path.exists():
            raise FileNotFoundError(path)
        return path

    def keys(self, folder: str, after: str = "") -> Iterator[Stored]:
        with _told(self._root):
            found = sorted(self._below(self._root / folder))
        for key in found:
            if key > after:
                with suppress(FileNotFoundError):
                    state = (self._root / key).stat()
                    yield Stored(key, state.st_size, datetime.fromtimestamp(state.st_mtime, UTC))

    def delete(self, key: str) -> None:
        with _told(self._root):
            (self._root / key).unlink(missing_ok=True)

    def _below(self, folder: Path) -> Iterator[str]:
        for parent, _, names in os.walk(folder):
            for name in names:
                if not name.startswith("."):  # a draft
                    yield (Path(parent) / name).relative_to(self._root).as_posix()

    @contextmanager
    def _drafted(self, key: str, data: bytes | Path) -> Iterator[Path]:
        """A draft on disk; its name is the writer's own, so that two cannot mix their bytes."""
        path = self._root / key
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.{os.getpid()}.{token_hex(4)}")
        try:
            with draft.open("wb") as file:
                if isinstance(data, Path):
                    with data.open("rb") as source:
                        shutil.copyfileobj(source, file)
                else:
                    file.write(data)
                file.flush()
                os.fsync(file.fileno())
            yield draft
        finally:
            draft.unlink(missing_ok=True)


@contextmanager
def _told(root: Path) -> Iterator[None]:
    """Errors of the file system, but for a missing file, as one sentence."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        hint = "make room there, or have `data` name another place" if error.errno == errno.ENOSPC else ""
        raise StorageError(f"{root} cannot be used: {error.strerror or error}", hint=hint) from error
