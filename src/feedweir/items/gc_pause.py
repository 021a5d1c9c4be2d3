"""Pause garbage collection while large batches are built."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[None]:
    """For values that live until the end, such as the rows of a batch or the queries of a set: looking for garbage
    among millions of them takes a sixth to a half of the time and finds none."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
