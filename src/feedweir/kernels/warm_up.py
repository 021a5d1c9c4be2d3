"""Compile all kernels ahead, so that nothing is compiled while feeds are served.

python -m feedweir.kernels.warm_up
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from feedweir.kernels.compilation import Done, compile_entries, missing, process_count
from feedweir.kernels.declare import directory_in_use, keep_kernels_in
from feedweir.kernels.kernel_files import can_be_written, chosen_place, forget_old_kernels, temporary_place
from feedweir.kernels.signatures import Signature

_SECONDS_EACH = 1.1
"""Of a processor, on average, where it was measured."""
_log = logging.getLogger(__name__)


def warm_up(console: Console | None = None, spare: Path | None = None) -> tuple[Done, ...]:
    """Compile what is missing, and show the progress; returns the outcome of each.

    `spare` is a directory that can be written where nothing else can, as on a system without a temporary directory.
    """
    console = console or Console(stderr=True, highlight=False)
    wanted = _to_be_compiled(spare)
    forget_old_kernels(directory_in_use())
    if not wanted:
        return ()
    processes = process_count()
    console.print(_announcement(len(wanted), processes), soft_wrap=True)
    done = []
    with _shown(console, len(wanted)) as shown:
        for one in compile_entries(wanted, processes):
            done.append(one)
            shown.advance()
    for one in done:
        if one.failure:
            _log.error("%s was not compiled: %s", one.entry, one.failure)
    return tuple(done)


def _to_be_compiled(spare: Path | None) -> tuple[Signature, ...]:
    wanted, place = missing(), chosen_place()
    if wanted and not can_be_written(directory_in_use()):
        with suppress(OSError):
            keep_kernels_in(temporary_place())
        if spare is not None and not can_be_written(directory_in_use()):
            keep_kernels_in(spare)
        wanted = missing()
    if wanted and directory_in_use().parent != place:
        _log.warning(
            "kernels are missing in %s, which cannot be written: they are stored in %s",
            place,
            directory_in_use(),
        )
    return wanted if can_be_written(directory_in_use()) else ()


def _announcement(count: int, processes: int) -> str:
    minutes = max(1, round(count * _SECONDS_EACH / processes / 60))
    about = "about a minute" if minutes == 1 else f"about {minutes} minutes"
    return f"Compiling {count} kernels, once: {about}. They are stored in {directory_in_use()}"


class _Shown(Protocol):
    def advance(self) -> None: ...


class _Bar:
    def __init__(self, progress: Progress, count: int) -> None:
        self._progress = progress
        self._task = progress.add_task("Compiling", total=count)

    def advance(self) -> None:
        self._progress.advance(self._task)


class _Lines:
    """For logs: a line for every tenth."""

    def __init__(self, console: Console, count: int) -> None:
        self._console, self._count, self._done = console, count, 0

    def advance(self) -> None:
        before, self._done = self._done, self._done + 1
        if 10 * before // self._count != 10 * self._done // self._count:
            self._console.print(f"compiled {self._done} of {self._count} kernels")


@contextmanager
def _shown(console: Console, count: int) -> Iterator[_Shown]:
    if not console.is_terminal:
        yield _Lines(console, count)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        yield _Bar(progress, count)


if __name__ == "__main__":
    sys.exit(any(one.failure for one in warm_up()))
