"""Directories that are written completely or not at all, with checksums of their files."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4
from zlib import crc32

from feedweir.errors import CompiledSetError

FORMAT = 13
MANIFEST = "manifest.json"
_READ_AT_ONCE = 1 << 18
_REBUILD = "it can be rebuilt from its queries"


def write_sealed(directory: Path, write: Callable[[Path], dict[str, Any]]) -> None:
    """Have `write` fill a directory under a temporary name, seal it with a manifest, and put it in place.

    What `write` returns is kept in the manifest. A directory that is there already is replaced.
    """
    directory.parent.mkdir(parents=True, exist_ok=True)
    scratch = directory.parent / f".{directory.name}.{uuid4().hex}"
    scratch.mkdir()
    try:
        details = write(scratch)
        seal(scratch, details)
        replace_directory(scratch, directory)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def seal(directory: Path, details: dict[str, Any]) -> None:
    """Write the manifest of a directory's files, which is sealed itself."""
    files = {
        path.name: {"bytes": path.stat().st_size, "digest": _digest(path)}
        for path in sorted(directory.iterdir())
    }
    manifest = {"format": FORMAT, "files": files, "details": details}
    text = json.dumps({**manifest, "digest": _digest_of(manifest)}, indent=1)
    (directory / MANIFEST).write_text(text, encoding="utf-8")


def open_sealed(directory: Path) -> dict[str, Any]:
    """The details a sealed directory was written with; `CompiledSetError` when any of its bytes has changed."""
    manifest = read_manifest(directory)
    for name, expected in manifest["files"].items():
        _check_file(directory / name, expected)
    details: dict[str, Any] = manifest["details"]
    return details


def check_file(directory: Path, name: str) -> None:
    """Verify one file of a sealed directory; `CompiledSetError` when any of its bytes has changed."""
    _check_file(directory / name, read_manifest(directory)["files"][name])


def read_manifest(directory: Path) -> dict[str, Any]:
    try:
        manifest = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
        version = manifest["format"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CompiledSetError(f"{directory.name} is not a compiled set: {error}", hint=_REBUILD) from error
    if version != FORMAT:
        raise CompiledSetError(f"{directory.name} has format {version}, not {FORMAT}", hint=_REBUILD)
    if manifest.pop("digest", "") != _digest_of(manifest):
        raise CompiledSetError(f"{MANIFEST} of {directory.name} is damaged", hint=_REBUILD)
    return dict(manifest)


def replace_directory(new: Path, old: Path) -> None:
    """Move `new` to the place of `old`; processes that have the old one open keep it."""
    if old.exists():
        aside = old.parent / f".{old.name}.{uuid4().hex}"
        os.rename(old, aside)
        os.rename(new, old)
        shutil.rmtree(aside, ignore_errors=True)
    else:
        os.rename(new, old)


def _check_file(path: Path, expected: dict[str, Any]) -> None:
    if not path.is_file():
        raise CompiledSetError(f"{path.parent.name} lacks {path.name}", hint=_REBUILD)
    if path.stat().st_size != expected["bytes"] or _digest(path) != expected["digest"]:
        raise CompiledSetError(f"{path.name} of {path.parent.name} is damaged", hint=_REBUILD)


def _digest_of(manifest: dict[str, Any]) -> str:
    return f"{crc32(json.dumps(manifest).encode()):08x}"


def _digest(path: Path) -> str:
    """A checksum against damage, not against tampering."""
    digest = 0
    with path.open("rb") as file:
        while data := file.read(_READ_AT_ONCE):
            digest = crc32(data, digest)
    return f"{digest:08x}"
