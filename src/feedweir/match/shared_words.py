"""Several dictionaries about one text: words are looked up in the largest, the others translate what it found.

Entries of frequent words are low, so that what a translation reads lies in the nearest cache; looking up each word
once more in each of the others would cost a miss each time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from feedweir.items.text import Tokens
from feedweir.match.arrays import Array, frozen
from feedweir.match.dictionary import entries_of_tokens, hashes_of
from feedweir.match.dictionary_kernels import ABSENT, ASK, Dictionary, look_up, translate


@dataclass(frozen=True, slots=True)
class LookedUp:
    """What a dictionary has of the fields of a batch, found out when it is first asked for."""

    dictionary: Dictionary
    tokens: Mapping[str, Tokens]
    _entries: dict[str, Array] = field(default_factory=dict)

    def entries(self, name: str) -> Array:
        if name not in self._entries:
            self._entries[name] = entries_of_tokens(self.dictionary, self.tokens[name])
        return self._entries[name]


def translation_of(largest: Dictionary, other: Dictionary) -> Array:
    """Entry e of one is entry `translation[e + 1]` of the other; the first is for words that it does not have."""
    starts = other.starts.astype(np.int64)
    lengths = np.diff(starts).astype(np.int32)
    found = np.full(len(lengths), -1, np.int32)
    if len(lengths) and len(largest.starts) > 1:
        hashes = hashes_of(other.text, starts[:-1], lengths)
        look_up(largest, hashes, frozen(other.text), starts[:-1], lengths, found)
    translation = np.full(len(largest.starts), ABSENT, np.int32)
    translation[found[found >= 0] + 1] = np.flatnonzero(found >= 0)
    translation[0] = ASK if (found < 0).any() else ABSENT
    return frozen(translation)


def translated_entries(words: Dictionary, translation: Array, looked_up: LookedUp, name: str) -> Array:
    """The entry of every token of a field in another dictionary than the one that they were looked up in."""
    tokens, found = looked_up.tokens[name], looked_up.entries(name)
    entries = np.empty(len(found), np.int32)
    if len(found):
        translate(
            words, translation, frozen(found), tokens.hashes, frozen(tokens.text), tokens.starts, tokens.lengths,
            entries,
        )  # fmt: skip
    return entries
