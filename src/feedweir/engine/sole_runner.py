"""One runner for each data directory: two pipelines over the same logs would undo each other's work.

The lock is the kernel's (`flock`): it ends with the process that holds it, however that ends. The file says who it is,
for whoever comes second. A disk without such locks is used without one.
"""

from __future__ import annotations

import errno
import fcntl
import json
import logging
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from feedweir.engine.storage import storage_errors_told
from feedweir.errors import StorageError

FILE_NAME = "runner.lock"
_NOT_SUPPORTED = frozenset({errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})

_ATTEMPTS = 3
_PAUSE_S = 0.05

_log = logging.getLogger(__name__)


@contextmanager
def sole_runner(root: Path) -> Iterator[None]:
    """While the block runs, nobody else runs batches in this directory; raises `StorageError` when another does."""
    path = root / FILE_NAME
    with storage_errors_told():
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        _lock(descriptor, path)
        _sign(descriptor)
        yield
    finally:
        os.close(descriptor)


def is_running(root: Path) -> bool:
    """Whether some process runs batches in this directory now."""
    try:
        descriptor = os.open(root / FILE_NAME, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False


def _lock(descriptor: int, path: Path) -> None:
    try:
        _locked(descriptor)
    except BlockingIOError:
        hint = "stop it first; `feedweir exec`, `status` and everything else work beside it"
        raise StorageError(f"{path.parent} is in use by {_holder(path)}", hint=hint) from None
    except OSError as error:
        if error.errno not in _NOT_SUPPORTED:
            raise
        _log.warning("%s: this disk has no locks; take care that only one process runs here", path.parent)


def _locked(descriptor: int) -> None:
    for _ in range(_ATTEMPTS):
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_PAUSE_S)  # whoever only looks whether it is locked holds it for a moment
    return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _sign(descriptor: int) -> None:
    text = json.dumps({"pid": os.getpid(), "host": socket.gethostname()}) + "\n"
    with storage_errors_told():
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, text.encode(), 0)


def _holder(path: Path) -> str:
    try:
        who = json.loads(path.read_text(encoding="utf-8"))
        return f"process {who['pid']} on {who['host']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
