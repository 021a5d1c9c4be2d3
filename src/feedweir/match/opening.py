"""The one door to compiled sets on disk."""

from __future__ import annotations

from pathlib import Path

from feedweir.match.compiled import CompiledSet, open_compiled
from feedweir.match.versions import is_segmented, open_version


def open_set(directory: Path, version: int | None = None) -> CompiledSet:
    """The compiled set of a directory; of one that changes, the newest version or the one that is named.

    `CompiledSetError` when it is damaged or of another format: it can be compiled again from its queries.
    """
    return open_version(directory, version) if is_segmented(directory) else open_compiled(directory)
