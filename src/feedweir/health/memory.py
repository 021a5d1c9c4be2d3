"""Returns memory to the system: allocators would otherwise hold what one search or compaction needed for as long as we
run.

The C library keeps a pool for every thread that allocated beside others, eight for each core: a process with many
threads and little memory in use holds several hundred megabytes of freed pieces.
"""

from __future__ import annotations

import ctypes

import pyarrow as pa

_M_ARENA_MAX = -8  # malloc.h
_MOST_POOLS = 2


def share_pools() -> None:
    """Have all threads allocate from few pools; to be called before there are threads."""
    _call("mallopt", _M_ARENA_MAX, _MOST_POOLS)


def give_back() -> None:
    """Return to the system what is free."""
    pa.default_memory_pool().release_unused()
    _call("malloc_trim", 0)


def _call(name: str, *arguments: int) -> None:
    """Call a function of the C library, if it is glibc; others have neither these functions nor their pools."""
    function = getattr(ctypes.CDLL(None), name, None)
    if function is not None:
        function(*arguments)
