"""Where compiled kernels are kept: in a directory that is named by the text of all of them.

Numba looks only at the file that a kernel is written in. One that calls a kernel of another file would go on calling
what that was before it changed, with whatever arguments it takes now.

The directory lies where `FEEDWEIR_KERNELS` or else `NUMBA_CACHE_DIR` says, or among what the user's programs keep for
themselves. One that cannot be written is read: an image may hold it.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path
from shutil import rmtree

SETTING = "FEEDWEIR_KERNELS"
_PACKAGE = Path(__file__).parent.parent
_PREFIX = "kernels-"
_KEPT_OTHERS = 3
_DAY_S = 86_400


def chosen_place(environment: Mapping[str, str] = os.environ) -> Path:
    """The directory for kernels of all versions, whether or not it is there."""
    given = environment.get(SETTING) or environment.get("NUMBA_CACHE_DIR")
    if given:
        return Path(given).absolute()
    return Path(environment.get("XDG_CACHE_HOME") or _home(environment) / ".cache") / "feedweir"


def _home(environment: Mapping[str, str]) -> Path:
    with suppress(RuntimeError):  # a user whom the system does not know
        return Path(environment.get("HOME") or Path.home())
    return Path("/")


def usable_directory(place: Path, name: str) -> Path:
    """The directory of that name in a place; a temporary one when it is not there and cannot be made."""
    directory = place / name
    if can_be_written(directory) or directory.is_dir():
        return directory
    with suppress(OSError):  # nowhere can anything be written: each process compiles for itself
        (temporary_place() / name).mkdir(exist_ok=True)
        return temporary_place() / name
    return directory


def can_be_written(directory: Path) -> bool:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(directory, os.W_OK | os.X_OK)


@cache
def temporary_place() -> Path:
    """The same for all processes of a user; nobody else may write there, since code is loaded from it."""
    root = tempfile.gettempdir()
    if root == os.getcwd() and root not in _temporary_roots():
        raise OSError(
            "there is no temporary directory"
        )  # what comes after all others is where a command is given
    place = Path(root) / f"feedweir-{os.getuid()}"
    with suppress(FileExistsError):
        place.mkdir(mode=0o700)
    found = place.lstat()
    if found.st_uid == os.getuid() and not found.st_mode & 0o022 and place.is_dir():
        return place
    return Path(tempfile.mkdtemp(prefix="feedweir-"))


def _temporary_roots() -> set[str]:
    directories = (os.environ.get(name, "") for name in ("TMPDIR", "TEMP", "TMP"))
    return {*map(os.path.abspath, filter(None, directories)), "/tmp", "/var/tmp", "/usr/tmp"}


def name_of(package: Path = _PACKAGE, *, made_by: str) -> str:
    """What the directory of these kernels is called; `made_by` is the compiler's version."""
    digest = blake2b(made_by.encode(), digest_size=8)
    for path in sorted(package.rglob("*_kernels.py")):
        digest.update(f"{path.relative_to(package)}\n".encode() + path.read_bytes())
    return f"{_PREFIX}{digest.hexdigest()}"


def note_use(directory: Path) -> None:
    """So that it is not taken for an old one."""
    with suppress(OSError):
        os.utime(directory)


def forget_old_kernels(directory: Path, now: float | None = None) -> None:
    """Remove what other versions compiled, but the three that were used last and what was used within a day."""
    found = [path for path in directory.parent.glob(f"{_PREFIX}*") if path != directory]
    by_age = sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)
    before = (time.time() if now is None else now) - _DAY_S
    for path in by_age[_KEPT_OTHERS:]:
        if path.stat().st_mtime < before:
            rmtree(path, ignore_errors=True)


@contextmanager
def sole_writer(directory: Path) -> Iterator[None]:
    """Numba reads an index, adds to it and writes it back: two processes at once would lose what one of them added."""
    with (directory / "lock").open("ab") as file:
        with suppress(OSError):  # a disk without locks
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
