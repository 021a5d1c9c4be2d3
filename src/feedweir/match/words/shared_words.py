"""Several dictionaries for one text: words are looked up in the largest, and the others translate its entries.

Entries of frequent words are low, so that a translation reads from the nearest cache; another look-up of each word
would cost a cache miss each time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from feedweir.match.arrays import Array, frozen
from feedweir.match.words.dictionary import find_tokens, hashes_of
from feedweir.match.words.dictionary_kernels import ABSENT, ASK, Dictionary, look_up, translate
from feedweir.text.analyser import Tokens


@dataclass(frozen=True, slots=True)
class LookedUp:
    """The entries that a dictionary has for the words of a batch, looked up when first needed."""

    dictionary: Dictionary
    parts: tuple[Tokens, ...]
    _found: list[Array] = field(default_factory=list)

    def entries(self) -> Array:
        """The entry of every token, one part after the other."""
        if not self._found:
            found = np.empty(sum(len(one.hashes) for one in self.parts), np.int32)
            for tokens, entries in self.each(found):
                find_tokens(self.dictionary, tokens, entries)
            self._found.append(found)
        return self._found[0]

    def each(self, entries: Array) -> Iterator[tuple[Tokens, Array]]:
        """The parts, each with its share of an array that has one element for every token."""
        first = 0
        for tokens in self.parts:
            yield tokens, entries[first : first + len(tokens.hashes)]
            first += len(tokens.hashes)


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
    parts = zip(looked_up.each(found), looked_up.each(entries), strict=True)
    for (tokens, known), (_, own) in parts:
        if len(known):
            translate(
                words, translation, frozen(known), tokens.hashes, frozen(tokens.text), tokens.starts,
                tokens.lengths, own,
            )  # fmt: skip
    return entries
