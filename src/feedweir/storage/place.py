"""The seam between logs and where they are kept.

A place is a path: of a disk, where it is `pathlib`'s own, or of a store of objects. Six things are asked of it: write a
file whole (`replacing`), write it unless it is there (`put_absent`), read it (`read_bytes`), have it as a file of this
machine that can be mapped (`local`), list a folder (`glob`), delete (`unlink`, `remove_tree`). A file is there as a
whole or not at all, and its name is never given to other bytes, but for the few small files that are always read anew.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TypeAlias

from feedweir.errors import StorageError
from feedweir.storage import disk
from feedweir.storage.object_path import ObjectPath, Stat, StoreAddress

Place: TypeAlias = Path | ObjectPath


def place_of(
    named: str | Place, *, options: tuple[tuple[str, str], ...] = (), cache: str = "", cache_bytes: int = 0
) -> Place:
    """The place that a setting names: a directory, or `s3://bucket/folder` and the like."""
    if isinstance(named, ObjectPath):
        return named
    if not is_store(named):
        return Path(named).resolve()
    return ObjectPath(StoreAddress(str(named).rstrip("/"), options, cache, cache_bytes))


def is_store(named: str | Path) -> bool:
    """Whether a setting names a store of objects."""
    return isinstance(named, str) and "://" in named


def local(place: Place) -> Path:
    """A file of this machine with the same bytes, to be mapped; `FileNotFoundError` if there is none in a store."""
    return place.fetched() if isinstance(place, ObjectPath) else place


@contextmanager
def replacing(place: Place, *, is_synced: bool = True) -> Iterator[IO[bytes]]:
    """A file to write that takes the place of what was there once it is complete and, unless the caller can do without
    it after a crash, safe."""
    if isinstance(place, ObjectPath):
        with place.drafted() as file:
            yield file
    else:
        with disk.replacing(place, is_synced=is_synced) as file:
            yield file


def put_absent(place: Place, data: bytes, *, is_synced: bool = True) -> bool:
    """Write a file unless there is one of this name; whether it was written. Of several writers one succeeds."""
    if isinstance(place, ObjectPath):
        return place.put_absent(data)
    return disk.put_absent(place, data, is_synced=is_synced)


def remove_tree(place: Place) -> None:
    """Delete a folder with all that is in it."""
    if isinstance(place, ObjectPath):
        for one in place.rglob("*"):
            one.unlink()
    else:
        shutil.rmtree(place, ignore_errors=True)


def places_in(folder: Place, pattern: str) -> list[Place]:
    """What is in a folder under names that fit a pattern, by name; `**/` is any folder below it, too."""
    return sorted(folder.rglob(pattern[3:]) if pattern.startswith("**/") else folder.glob(pattern), key=str)


def listed(folder: Place, pattern: str) -> Iterator[tuple[Place, Stat]]:
    """The files in a folder whose names fit a pattern, by name, with their sizes and times."""
    if isinstance(folder, ObjectPath):
        yield from folder.listed(pattern)
        return
    for path in sorted(folder.glob(pattern)):
        with suppress(FileNotFoundError):
            state = path.stat()
            yield path, Stat(state.st_size, state.st_mtime, state.st_mtime_ns)


def below(folder: Place, place: Place) -> str:
    """What a place is called in a folder that it is in, with `/` between folders."""
    return str(place).removeprefix(str(folder)).lstrip("/")


def on_disk(place: Place) -> Path:
    """A directory; `StorageError` for a store of objects."""
    if isinstance(place, ObjectPath):
        raise StorageError(
            f"{place} is not a directory",
            hint="restore the objects from their older versions, or from a backup",
        )
    return place


def own_place(root: Place) -> Path:
    """Where this machine keeps what is its own: in the data directory, or beside what it fetched of a store."""
    return root.own() if isinstance(root, ObjectPath) else root


def options_of(place: Place) -> dict[str, str]:
    """What a library of others needs to know to open a place as we do."""
    if not isinstance(place, ObjectPath):
        return {}
    options = dict(place.address.options)
    is_plain = options.get("endpoint", "").startswith("http://")
    return {**options, **({"allow_http": "true"} if is_plain else {})}
