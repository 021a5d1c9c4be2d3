"""How much a word says of what a text is about: the rarer it is, the more.

The static embeddings that `wordllama` brings along tell it without counting anything: they were trained so that the
sum of the vectors of a text's words tells texts apart, and so the vector of *the* came out short and that of *volcano*
long. The square root of that length is the word's weight. It depends on nothing but the word, so that the same item
weighs the same in every process, every batch and every replay.

Only the two data files are read, not the package: importing it costs a second, and it looks for the second on the web.
"""

from __future__ import annotations

import json
import math
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tokenizers import Tokenizer

LONGEST = 40
"""Characters of a word that count."""


@lru_cache(maxsize=200_000)
def weight(word: str) -> float:
    """The weight of a word of the analyser; between about 0.6 and 10."""
    pieces = _tokenizer().encode(word[:LONGEST], add_special_tokens=False).ids
    vector = _vectors()[pieces].sum(axis=0, dtype=np.float64)
    return math.sqrt(math.sqrt(float(vector @ vector)))


@cache
def _tokenizer() -> Tokenizer:
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(_folder() / "tokenizers" / "l2_supercat_tokenizer_config.json"))


@cache
def _vectors() -> NDArray[np.float16]:
    """By the number of a word piece; memory-mapped, so that all processes of a machine share them."""
    path = _folder() / "weights" / "l2_supercat_256.safetensors"
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))["embedding.weight"]
    start = 8 + size + header["data_offsets"][0]
    return np.memmap(path, np.float16, "r", start, tuple(header["shape"]))


def _folder() -> Path:
    found = find_spec("wordllama")
    assert found is not None, "a dependency of this project"
    assert found.origin is not None
    return Path(found.origin).parent
