"""What is compiled although it was not compiled ahead: it is told once, and written down where kernels are kept.

A kernel that another one calls is compiled with it; only what Python asked for is noted. Kernels of published
algorithms are compiled when a test or a benchmark first calls them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from numba.core import event

from feedweir.kernels.notation import written

ASKED = "asked.txt"
_log = logging.getLogger("feedweir.kernels")


def notice_compiling(directory: Callable[[], Path]) -> None:
    event.register("numba:compile", _Noticing(directory))


class _Noticing(event.Listener):  # type: ignore[misc]
    """Numba compiles one thing at a time, in whatever thread."""

    is_expected = False
    """In processes that compile ahead."""

    def __init__(self, directory: Callable[[], Path]) -> None:
        self._directory = directory
        self._depth = 0

    def on_start(self, started: Any) -> None:
        self._depth += 1
        function = started.data["dispatcher"].py_func
        if self._depth > 1 or self.is_expected or not _is_of_the_product(function.__module__):
            return
        tell_once(self._directory())
        line = f"{function.__module__}:{function.__qualname__}({written(started.data['args'])})\n"
        with suppress(OSError), (self._directory() / ASKED).open("a", encoding="utf-8") as file:
            file.write(line)

    def on_end(self, ended: Any) -> None:
        self._depth -= 1


def _is_of_the_product(module: str) -> bool:
    return module.startswith("feedweir.") and not module.startswith("feedweir.published.")


@cache
def tell_once(directory: Path) -> None:
    _log.warning(
        "kernels are compiled for the first time, which takes a minute or two; "
        "`feedweir warm-up` does so ahead of time (stored in %s)",
        directory,
    )


def expect_compiling() -> None:
    """This process compiles ahead: no message is needed."""
    _Noticing.is_expected = True


def compiled_in(directory: Path) -> list[str]:
    """What was compiled because Python asked for it, oldest first."""
    with suppress(OSError):
        return (directory / ASKED).read_text(encoding="utf-8").splitlines()
    return []
