"""Checksums that lie in the files they guard, so that whoever opens a file can tell whether it is as it was written.

A seal is a CRC-32 over the file's name and all its bytes but the seal: a changed, shortened or emptied file does not
fit it, nor does a file that was put in another's place. It guards against damage, not against malice. Arrow and Parquet
files carry it in the metadata of their footer and stay readable by anything else, JSON files as their last key.
Files without a seal were written before there were any and are taken as they are.
"""

from __future__ import annotations

import json
import mmap
import os
from pathlib import Path
from typing import IO, Any
from zlib import crc32

import pyarrow as pa
import pyarrow.parquet as pq

from feedweir.errors import DamagedFileError
from feedweir.storage import ObjectPath, Place, local

_MARK = b"feedweir-seal:"
_WIDTH = 8
METADATA = {"seal": (_MARK + b"0" * _WIDTH).decode()}
"""To be written into the footer of a file that `seal` will close."""

_PARQUET = b"PAR1"
_MOST_REMEMBERED = 100_000
_JSON_MARK = b', "seal": "'


def seal(file: IO[bytes], name: str) -> None:
    """Close a file that was written with `METADATA` in its footer; it is open for reading, too."""
    file.flush()
    with mmap.mmap(file.fileno(), 0) as data:
        at = _place(data)
        data[at : at + _WIDTH] = _checksum(data, at, name)


def fits(data: bytes | mmap.mmap, name: str) -> bool:
    """Whether the bytes of a file are as they were written, as far as a seal can tell."""
    at = _place(data)
    if at < 0:
        return not _had_seal(data)
    return data[at : at + _WIDTH] == _checksum(data, at, name)


class Inspector:
    """Checks every byte of a file when a process first opens it; files of logs never change."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[int, int, int]] = {}

    def check(self, place: Place) -> None:
        """Raises `DamagedFileError` if a file is damaged, and `FileNotFoundError` if it does not exist."""
        path = local(place)
        state = os.stat(path)
        looks = (state.st_ino, state.st_size, state.st_mtime_ns)
        if self._known.get(path) == looks:
            return
        if not _is_whole(path, state.st_size):
            if isinstance(place, ObjectPath):
                place.forget_fetched()
            raise DamagedFileError(place, "its checksum is wrong")
        if len(self._known) >= _MOST_REMEMBERED:
            self._known.clear()
        self._known[path] = looks


INSPECTOR = Inspector()
"""The files that this process has checked."""


def name_of(path: Place) -> str:
    """The name of a file that its seal covers: the log and the file name."""
    return f"{path.parent.name}/{path.name}"


def opened_arrow(path: Place) -> pa.Table:
    """An Arrow file, mapped into memory; `DamagedFileError` when it is not as it was written."""
    INSPECTOR.check(path)
    try:
        with pa.memory_map(str(local(path))) as source:
            return pa.ipc.open_file(source).read_all()
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError) as error:
        raise DamagedFileError(path, str(error)) from error


def sealed_json(value: dict[str, Any], name: str) -> bytes:
    """A JSON object with its seal."""
    text = json.dumps(value, ensure_ascii=False).encode()
    return text[:-1] + _JSON_MARK + _of_text(text[:-1], name) + b'"}'


def read_json(path: Place) -> dict[str, Any]:
    """What a sealed JSON file holds; `DamagedFileError` when it is not as it was written."""
    data = path.read_bytes()
    head, mark, tail = data.rpartition(_JSON_MARK)
    is_spoilt = tail != _of_text(head, name_of(path)) + b'"}' if mark else _had_json_seal(data, name_of(path))
    if is_spoilt:
        raise DamagedFileError(path, "its checksum is wrong")
    try:
        value = json.loads(data)
    except ValueError as error:
        raise DamagedFileError(path, f"it is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise DamagedFileError(path, "it is not a JSON object")
    value.pop("seal", None)
    return value


def is_sealed_json(path: Place) -> bool:
    """Whether a JSON file has a seal, be it a good one or not."""
    return path.exists() and _JSON_MARK in path.read_bytes()


def _is_whole(path: Path, size: int) -> bool:
    if not size:
        return False
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return fits(data, name_of(path))


def _place(data: bytes | mmap.mmap) -> int:
    """Where the checksum stands; negative when there is none."""
    at = data.rfind(_MARK)
    return at + len(_MARK) if at >= 0 else at


def _had_seal(data: bytes | mmap.mmap) -> bool:
    """Whether the footer of a file without a checksum names one all the same: then the mark itself is damaged."""
    file = pa.BufferReader(data[:])
    try:
        footer = pq.read_metadata(file) if data[:4] == _PARQUET else pa.ipc.open_file(file)
    except (pa.ArrowException, OSError):
        return False  # readers report why it cannot be read
    return b"seal" in (footer.metadata or {})


def _had_json_seal(data: bytes, name: str) -> bool:
    """Whether the end of a JSON file is a good checksum behind a mark that is damaged."""
    size = len(_JSON_MARK) + _WIDTH + len(b'"}')
    return data[-size:][len(_JSON_MARK) : -len(b'"}')] == _of_text(data[:-size], name)


def _checksum(data: bytes | mmap.mmap, at: int, name: str) -> bytes:
    with memoryview(data) as whole, whole[:at] as head, whole[at + _WIDTH :] as tail:
        return b"%08x" % crc32(tail, crc32(head, crc32(name.encode())))


def _of_text(text: bytes, name: str) -> bytes:
    return b"%08x" % crc32(text, crc32(name.encode()))
