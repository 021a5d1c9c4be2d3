"""A file with the feed's newest entries, or the stylesheet's output; always replaced as a whole.

Guarantee: exactly once. Writing the same parcel again produces the same bytes.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from feedweir.deliver.channels.channel_types import ChannelContext, ChannelType
from feedweir.deliver.pages.assets import standing_alone
from feedweir.deliver.render.formats import Format, render
from feedweir.deliver.send.parcel import Parcel
from feedweir.deliver.send.retry import RetryPolicy
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
    """Writes only below `directory`."""

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
        """The path of a target; raises DeliveryError if it leads out of the directory."""
        root = self.directory.resolve()
        try:
            path = (root / target).resolve()
        except (ValueError, OSError):
            path = root
        if path == root or not path.is_relative_to(root):
            raise DeliveryError(
                f"{target!r} is not a path below the directory `outputs`",
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
    """The format of a suffix; raises a final DeliveryError if it has none."""
    format_ = _FORMATS.get(suffix.lower())
    if format_ is None:
        raise DeliveryError(
            f"{suffix or 'no suffix'} is not the suffix of a feed format",
            is_final=True,
            hint=f"one of {', '.join(_FORMATS)}, or apply a stylesheet",
        )
    return format_


def replace_file(path: Path, content: bytes, mark: str) -> None:
    """Write a temporary file, then rename it: readers see the old file or the new one, even after a power failure."""
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


_ANYWHERE = FileChannel(Path("/outputs"))
"""Whether a path leads out of a directory does not depend on which one it is."""


def _open(context: ChannelContext, stack: ExitStack) -> FileChannel:
    return FileChannel(context.outputs)


def _check_target(target: str, has_stylesheet: bool) -> None:
    path = _ANYWHERE.path_of(target)
    if not has_stylesheet:
        format_of(path.suffix)


CHANNEL = ChannelType(
    open=_open,
    check_target=_check_target,
    retry=RetryPolicy(first_s=1, factor=2, most_s=600, attempts=20),
    at_once=2,
)
