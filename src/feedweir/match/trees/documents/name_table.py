"""Texts as the kernels find them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from feedweir.match.trees.documents.name_table_kernels import NameTable, table_of
from feedweir.match.trees.patterns.postings import offsets


def names_of(texts: Sequence[str]) -> NameTable:
    """Distinct texts, numbered in the given order."""
    written = [text.encode("utf-8", "surrogatepass") for text in texts]
    ptr = offsets(np.fromiter(map(len, written), np.int64, len(written)))
    chars = np.frombuffer(bytearray().join(written), np.uint8) if ptr[-1] else np.empty(0, np.uint8)
    size = 1 << max(4, (2 * len(written)).bit_length())
    slots, hashes = table_of(ptr, chars, size)
    return NameTable(slots, hashes, ptr, chars)
