"""A file that always holds the feed's newest entries, or what the stylesheet makes of them; replaced as a whole.

Guarantee: exactly once. The same parcel written again leaves the same bytes.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path

from feedweir.deliver.assets import standing_alone
from feedweir.deliver.parcel import Parcel
from feedweir.deliver.render import Format, render
from feedweir.errors import DeliveryError

_FORMATS = {
    ".rss": Format.RSS,
    ".xml": Format.RSS,
    ".atom": Format.ATOM,
    ".json": Format.JSON,
    ".html": Format.PAGE,
    ".htm": Format.PAGE,
}


@dataclass(frozen=True, slots=True)
class FileChannel:
    """Writes below `directory` and nowhere else."""

    directory: Path
    newest: int = 50

    async def send(self, parcel: Parcel) -> None:
        path = self.path_of(parcel.destination.target)
        content = content_of(parcel, path.suffix)
        try:
            await asyncio.to_thread(replace_file, path, content, parcel.key)
        except OSError as error:
            raise DeliveryError(f"{path.name} cannot be written: {error.strerror or error}") from error

    def path_of(self, target: str) -> Path:
        """Where a target lies; raises DeliveryError for one that leads out of the directory."""
        root = self.directory.resolve()
        try:
            path = (root / target).resolve()
        except (ValueError, OSError):
            path = root
        if path == root or not path.is_relative_to(root):
            raise DeliveryError(
                f"{target!r} is not a file below the directory of outputs",
                is_final=True,
                hint="a relative path such as 'news.rss'",
            )
        return path


def content_of(parcel: Parcel, suffix: str) -> bytes:
    """The transform's output, or the feed in the format of the suffix."""
    if parcel.transformed is not None:
        return parcel.transformed.text.encode("utf-8", "replace")
    format_ = format_of(suffix)
    written = render(parcel.view, format_, parcel.destination.address)
    return standing_alone(written, parcel.destination.address) if format_ is Format.PAGE else written


def format_of(suffix: str) -> Format:
    """The format that a suffix stands for; raises DeliveryError, final, for one that stands for none."""
    format_ = _FORMATS.get(suffix.lower())
    if format_ is None:
        raise DeliveryError(
            f"a feed cannot be written as {suffix or 'a file without a suffix'}",
            is_final=True,
            hint=f"one of {', '.join(_FORMATS)}, or apply a stylesheet",
        )
    return format_


def replace_file(path: Path, content: bytes, mark: str) -> None:
    """Write beside, then rename: a reader sees the old file or the new one, also after a power cut."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{mark}.{os.getpid()}")
    try:
        with beside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
