"""Who runs the batches of a data directory: one process, because two would undo each other's work.

`runner.lock` keeps a second process out. The lock (`flock`) ends with the process that holds it, however that ends, and
the file names the holder, for the error message of the second. Not every file system has such locks, and a machine that
was cut off loses what it held. So whoever takes charge also takes the next epoch, `epochs/NUMBER.json`, which nobody
can take twice, and before it publishes anything it looks whether a later one has been taken.
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
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any

from feedweir.errors import DisplacedError, StorageError
from feedweir.logs.disk_errors import as_storage_errors
from feedweir.storage import Place, own_place, put_absent

FILE_NAME = "runner.lock"
_EPOCHS = "epochs"
_KEPT = 8
"""The newest epochs, for whoever wants to know who was in charge."""
_NOT_SUPPORTED = frozenset({errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})

_ATTEMPTS = 3
_PAUSE_S = 0.05

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Charge:
    """One process's charge of a data directory, until another takes the next epoch."""

    root: Place
    epoch: int

    def check(self) -> None:
        """Raises `DisplacedError` if another process has taken charge since."""
        newest = max(_epochs(self.root), default=0)
        if newest > self.epoch:
            raise DisplacedError(f"{_signed(_path(self.root, newest))} has taken charge of {self.root}")


@contextmanager
def in_charge(root: Place) -> Iterator[Charge]:
    """Be in charge during the block; raises `StorageError` if another process is and can be seen to be."""
    path = own_place(root) / FILE_NAME
    path.parent.mkdir(parents=True, exist_ok=True)
    with as_storage_errors():
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        _lock(descriptor, path)
        with as_storage_errors():
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, _signature(), 0)
            charge = Charge(root, _next_epoch(root))
        yield charge
    finally:
        os.close(descriptor)


def is_running(root: Place) -> bool:
    """Whether some process runs batches in this directory now."""
    try:
        descriptor = os.open(own_place(root) / FILE_NAME, os.O_RDONLY | os.O_CLOEXEC)
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
        hint = "stop it first; `feedweir exec`, `status` and other commands work while it runs"
        raise StorageError(f"{path.parent} is in use by {_signed(path)}", hint=hint) from None
    except OSError as error:
        if error.errno not in _NOT_SUPPORTED:
            raise
        _log.warning(
            "%s: this file system has no locks; make sure that only one process runs batches here",
            path.parent,
        )


def _locked(descriptor: int) -> None:
    for _ in range(_ATTEMPTS):
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_PAUSE_S)  # `is_running` in another process holds it for a moment
    return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _next_epoch(root: Place) -> int:
    taken = sorted(_epochs(root))
    for number in taken[: -_KEPT + 1]:
        _path(root, number).unlink(missing_ok=True)
    number = max(taken, default=0) + 1
    while not put_absent(_path(root, number), _signature()):
        number += 1
    return number


def _epochs(root: Place) -> list[int]:
    return [int(path.stem) for path in (root / _EPOCHS).glob("[0-9]*.json")]


def _path(root: Place, epoch: int) -> Place:
    return root / _EPOCHS / f"{epoch:012d}.json"


def _signature() -> bytes:
    return (
        json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "token": token_hex(4)}).encode() + b"\n"
    )


def _signed(path: Place) -> str:
    """Who wrote its signature into a file."""
    try:
        who: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return f"process {who['pid']} on {who['host']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
