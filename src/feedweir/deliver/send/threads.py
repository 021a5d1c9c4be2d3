"""Threads for blocking calls. Each kind of work has its own, so that one that hangs blocks no other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Threads:
    """At most `most` calls at a time; further ones wait, and are never made if their caller is cancelled."""

    def __init__(self, most: int, name: str) -> None:
        self._pool = ThreadPoolExecutor(most, thread_name_prefix=name)

    async def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, partial(call, *args, **kwargs))
