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
from feedweir.match.dictionary import find_tokens, hashes_of
from feedweir.match.dictionary_kernels import ABSENT, ASK, Dictionary, look_up, translate


@dataclass(frozen=True, slots=True)
class LookedUp:
    """What a dictionary has of all fields of a batch, found out when it is first asked for."""

    dictionary: Dictionary
    tokens: Mapping[str, Tokens]
    _found: list[Array] = field(default_factory=list)

    def entries(self) -> Array:
        """The entry of every token, field by field."""
        if not self._found:
            found = np.empty(_count(self.tokens), np.int32)
            for name, place in places_of(self.tokens).items():
                find_tokens(self.dictionary, self.tokens[name], found[place])
            self._found.append(found)
        return self._found[0]


def places_of(tokens: Mapping[str, Tokens]) -> dict[str, slice]:
    """Where the tokens of each field lie when all lie one after the other."""
    ends = np.cumsum([len(one.hashes) for one in tokens.values()]).tolist()
    return {name: slice(first, last) for name, first, last in zip(tokens, [0, *ends], ends, strict=False)}


def _count(tokens: Mapping[str, Tokens]) -> int:
    return sum(len(one.hashes) for one in tokens.values())


def known_in(largest: Dictionary, other: Dictionary) -> Array:
    """For every entry of a dictionary the one that has the same word in the largest, or -1."""
    starts = other.starts.astype(np.int64)
    lengths = np.diff(starts).astype(np.int32)
    found = np.full(len(lengths), -1, np.int32)
    if len(lengths) and len(largest.starts) > 1:
        hashes = hashes_of(other.text, starts[:-1], lengths)
        look_up(largest, hashes, frozen(other.text), starts[:-1], lengths, found)
    return frozen(found)


def translation_of(largest: Dictionary, known: Array) -> Array:
    """Entry e of one is entry `translation[e + 1]` of the other; the first is for words that it does not have."""
    translation = np.full(len(largest.starts), ABSENT, np.int32)
    translation[known[known >= 0] + 1] = np.flatnonzero(known >= 0)
    translation[0] = ASK if (known < 0).any() else ABSENT
    return frozen(translation)


def translated_entries(words: Dictionary, translation: Array, looked_up: LookedUp) -> Array:
    """The entry of every token in another dictionary than the one that they were looked up in."""
    found = looked_up.entries()
    entries = np.empty(len(found), np.int32)
    for name, place in places_of(looked_up.tokens).items():
        tokens = looked_up.tokens[name]
        if len(tokens.hashes):
            translate(
                words, translation, frozen(found[place]), tokens.hashes, frozen(tokens.text), tokens.starts,
                tokens.lengths, entries[place],
            )  # fmt: skip
    return entries
