"""Folders that are written as a whole and opened by many: in a store of objects each is one file, an archive."""

from __future__ import annotations

import os
import shutil
import tarfile
from pathlib import Path
from secrets import token_hex

from feedweir.storage.object_path import ObjectPath
from feedweir.storage.place import replacing

_VERSION = ".version"


def put_folder(place: ObjectPath, folder: Path) -> None:
    """Write a folder of files into a store."""
    with replacing(place) as file, tarfile.open(fileobj=file, mode="w") as archive:
        for path in sorted(folder.iterdir()):
            if path.name != _VERSION:
                archive.add(path, path.name)
    (folder / _VERSION).write_text(place.version(), encoding="ascii")


def fetch_folder(place: ObjectPath, folder: Path) -> bool:
    """Have a folder of a store on this machine, as it is there now; whether it is there."""
    version = place.version()
    if not version:
        return False
    if _version_of(folder) != version:
        _unpack(place, folder, version)
    return True


def _version_of(folder: Path) -> str:
    try:
        return (folder / _VERSION).read_text(encoding="ascii")
    except FileNotFoundError:
        return ""


def _unpack(place: ObjectPath, folder: Path, version: str) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = folder.with_name(f".{folder.name}.{token_hex(4)}")
    place.forget_fetched()  # names of versions are given again when one was damaged
    with tarfile.open(place.fetched()) as archive:
        archive.extractall(draft, filter="data")
    place.forget_fetched()
    (draft / _VERSION).write_text(version, encoding="ascii")
    aside = folder.with_name(f".{folder.name}.{token_hex(4)}")
    try:
        if folder.exists():
            folder.rename(aside)  # who has it open keeps it
        os.rename(draft, folder)
    except OSError:  # another process of this machine was first
        if _version_of(folder) != version:
            raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        shutil.rmtree(aside, ignore_errors=True)
