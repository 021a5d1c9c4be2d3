"""What can be wrong with a disk or a process's limits, in one sentence with a hint."""

from __future__ import annotations

import errno
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager

from feedweir.errors import StorageError

ENOUGH_OPEN_FILES = 512
"""For logs, connections and worker processes."""
_WANTED_OPEN_FILES = 16_384

_HINTS = {
    errno.EACCES: "give this user the right to write there, or name another directory with --data",
    errno.EPERM: "give this user the right to write there, or name another directory with --data",
    errno.EROFS: "the disk is read-only; name another directory with --data",
    errno.ENOSPC: "make room on the disk",
    errno.EDQUOT: "make room on the disk",
    errno.EMFILE: f"allow more open files: ulimit -n {ENOUGH_OPEN_FILES} or more",
    errno.ENFILE: "this machine has too many files open",
    errno.ENOTDIR: "a part of the path is a file; name another directory with --data",
    errno.EEXIST: "a file is in the way; name another directory with --data",
    errno.ENAMETOOLONG: "name another directory with --data",
    errno.ELOOP: "symbolic links form a loop; name another directory with --data",
    errno.EIO: "the disk reports an error",
}


def is_storage_error(error: OSError) -> bool:
    return error.errno in _HINTS


def storage_error(error: OSError) -> StorageError:
    where = f"{error.filename}: " if error.filename else ""
    return StorageError(f"{where}{os.strerror(error.errno or 0)}", hint=_HINTS.get(error.errno or 0, ""))


@contextmanager
def as_storage_errors() -> Iterator[None]:
    """Errors of the disk become ours, with a hint."""
    try:
        yield
    except OSError as error:
        raise storage_error(error) from error


def open_file_limit() -> int:
    """How many files this process may have open at a time."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def ensure_open_files() -> None:
    """Take as many open files as this process is allowed to; raises `StorageError` where that is too few."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _WANTED_OPEN_FILES if hard == resource.RLIM_INFINITY else min(_WANTED_OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    limit = open_file_limit()
    if limit != resource.RLIM_INFINITY and limit < ENOUGH_OPEN_FILES:
        hint = f"allow more: ulimit -n {ENOUGH_OPEN_FILES} or more"
        raise StorageError(f"this process may open only {limit} files at a time", hint=hint)
