"""String values as keys: equal keys mean equal strings.

A key is a 128-bit BLAKE2 digest in two 64-bit halves, so that no dictionary of all strings must be kept or shared
between tasks: the same string has the same key everywhere, and two strings with one key are not to be found.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Longs = NDArray[np.int64]

NO_VALUE = 0
"""Both halves of the key that stands for `there`: blocks without value joins meet on it."""


def keys_of(texts: Sequence[str] | pa.Array) -> tuple[Longs, Longs]:
    """The two halves of each string's key; a repeated string is digested once."""
    column = texts if isinstance(texts, pa.Array) else pa.array(texts, pa.string())
    coded = column.dictionary_encode()
    digests = b"".join(
        blake2b(text.encode(), digest_size=16).digest() for text in coded.dictionary.to_pylist()
    )
    halves = np.frombuffer(digests, np.int64).reshape(-1, 2)
    places = np.asarray(coded.indices)
    return np.ascontiguousarray(halves[places, 0]), np.ascontiguousarray(halves[places, 1])


def item_keys(names: Iterable[tuple[str, str]]) -> Longs:
    """Of items by source and identity the keys that tell which wordings are of one item."""
    texts = [f"{len(source)} {source} {identity}" for source, identity in names]
    return keys_of(texts)[0] if texts else np.empty(0, np.int64)


def stable_number(text: str) -> int:
    """A 63-bit number of a definition, the same in every process: names variables and streams in stored state."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little") >> 1
