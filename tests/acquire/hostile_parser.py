"""A process that reads documents as ours does, but for those that do something to it."""

from __future__ import annotations

import ctypes
import os
import re
import time
from pathlib import Path
from typing import Any

from feedweir.acquire import push as pushing
from feedweir.acquire.parse import parser as ours
from feedweir.acquire.parse.parse_worker import main

_read_feed = ours.read_feed


def _hang() -> None:
    re.match(rb"(a|a)*b", b"a" * 64)


def _spin(body: bytes) -> None:
    """Takes as many seconds of the processor as a document says."""
    until = time.process_time() + float(body.split(b"spin:")[1].split(b"<")[0])
    while time.process_time() < until:
        pass


def _hoard() -> None:
    bytearray(2 << 30)


def _segfault() -> None:
    ctypes.string_at(0)


def _crash_once(body: bytes) -> None:
    """Crashes when the file that a document names is not there, and makes it."""
    path = Path(body.split(b"once:")[1].split(b"<")[0].decode())
    if not path.exists():
        path.touch()
        os._exit(3)


def read_feed(body: bytes, **given: Any) -> Any:
    for word, act in ((b"hang", _hang), (b"hoard", _hoard), (b"segfault", _segfault)):
        if b"<title>" + word in body:
            act()
    if b"exit" in body:
        os._exit(3)
    if b"spin:" in body:
        _spin(body)
    if b"once:" in body:
        _crash_once(body)
    return _read_feed(body, **given)


if __name__ == "__main__":
    ours.read_feed = pushing.read_feed = read_feed
    main()
