"""Paths in a store of objects, with the methods of `pathlib` that logs use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from feedweir.storage.object_store import ObjectStore


@dataclass(frozen=True, slots=True, order=True)
class StoreAddress:
    """What a process needs to open a store, wherever it runs."""

    url: str
    """`s3://bucket/folder`, `gs://…`, `az://…`."""
    options: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """What the environment does not say: the endpoint, the region, credentials."""
    cache: str = ""
    cache_bytes: int = 0


class Stat(NamedTuple):
    """What `os.stat` tells of a file, as far as it is asked."""

    st_size: int
    st_mtime: float
    st_mtime_ns: int


@cache
def opened(address: StoreAddress) -> ObjectStore:
    from feedweir.storage.object_store import ObjectStore  # most installations need none

    return ObjectStore(address)


@dataclass(frozen=True, slots=True, order=True)
class ObjectPath:
    """A key below the place that an address names; folders are there when something is in them."""

    address: StoreAddress
    key: str = ""

    def __truediv__(self, name: str) -> ObjectPath:
        return ObjectPath(self.address, f"{self.key}/{name}" if self.key else str(name))

    def __str__(self) -> str:
        return f"{self.address.url}/{self.key}" if self.key else self.address.url

    @property
    def name(self) -> str:
        return str(self).rpartition("/")[2]

    @property
    def stem(self) -> str:
        return PurePosixPath(self.name).stem

    @property
    def suffix(self) -> str:
        return PurePosixPath(self.name).suffix

    @property
    def parent(self) -> ObjectPath:
        return ObjectPath(self.address, self.key.rpartition("/")[0])

    def with_name(self, name: str) -> ObjectPath:
        return self.parent / name

    def relative_to(self, other: ObjectPath) -> PurePosixPath:
        return PurePosixPath(self.key).relative_to(other.key)

    def resolve(self) -> ObjectPath:
        return self

    # What is there

    def exists(self) -> bool:
        return self._store.find(self.key) is not None

    def is_file(self) -> bool:
        return self.exists()

    def is_dir(self) -> bool:
        return next(self._store.keys(f"{self.key}/"), None) is not None

    def stat(self) -> Stat:
        found = self._store.find(self.key)
        if found is None:
            raise FileNotFoundError(str(self))
        return Stat(found.size, found.changed.timestamp(), int(found.changed.timestamp() * 1e9))

    def glob(self, pattern: str) -> Iterator[ObjectPath]:
        """As `pathlib`: `*` stays within a folder; the folders of what is found are found, too."""
        return (one for one, _ in self.listed(pattern))

    def rglob(self, pattern: str) -> Iterator[ObjectPath]:
        prefix = f"{self.key}/" if self.key else ""
        for found in self._store.keys(prefix):
            if fnmatchcase(found.key.rpartition("/")[2], pattern):
                yield ObjectPath(self.address, found.key)

    def iterdir(self) -> Iterator[ObjectPath]:
        return self.glob("*")

    def listed(self, pattern: str) -> Iterator[tuple[ObjectPath, Stat]]:
        """As `glob`, with the size and the time of each."""
        parts = pattern.split("/")
        prefix = f"{self.key}/" if self.key else ""
        known: set[str] = set()
        for found in self._store.keys(prefix + _literal(pattern)):
            names = found.key.removeprefix(prefix).split("/")[: len(parts)]
            key = prefix + "/".join(names)
            if key in known or len(names) < len(parts):
                continue
            if all(fnmatchcase(*pair) for pair in zip(names, parts, strict=True)):
                known.add(key)
                time = found.changed.timestamp()
                yield ObjectPath(self.address, key), Stat(found.size, time, int(time * 1e9))

    def size_of_all(self) -> int:
        """The bytes of all that is in a folder and below it."""
        return sum(found.size for found in self._store.keys(f"{self.key}/"))

    # Reading and writing

    def read_bytes(self) -> bytes:
        return self._store.get(self.key)

    def read_text(self, encoding: str = "utf-8") -> str:
        return self.read_bytes().decode(encoding)

    def write_bytes(self, data: bytes) -> None:
        self._store.put(self.key, data)

    def put_absent(self, data: bytes) -> bool:
        return self._store.put_absent(self.key, data)

    def fetched(self) -> Path:
        return self._store.local(self.key)

    @contextmanager
    def drafted(self) -> Iterator[IO[bytes]]:
        with self._store.drafted(self.key) as file:
            yield file

    def unlink(self, missing_ok: bool = True) -> None:
        self._store.delete(self.key)

    def mkdir(self, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        """Folders need not be made."""

    def own(self) -> Path:
        return self._store.own

    def probe(self) -> None:
        """Raises `StorageError` unless the store can be relied upon."""
        self._store.probe()

    def version(self) -> str:
        """Tells apart what was written under this name at different times; empty if nothing is there."""
        found = self._store.find(self.key)
        return found.version if found else ""

    def forget_fetched(self) -> None:
        """Fetch it anew when it is asked for again: what this machine has is damaged."""
        self._store.forget_local(self.key)

    @property
    def _store(self) -> ObjectStore:
        return opened(self.address)


def _literal(pattern: str) -> str:
    """What all that fits a pattern begins with."""
    return pattern[: min((at for at in map(pattern.find, "*?[") if at >= 0), default=len(pattern))]
