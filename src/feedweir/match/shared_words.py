"""Several dictionaries about one text: words are looked up in the largest, the others translate what it found.

Entries of frequent words are low, so that what a translation reads lies in the nearest cache; looking up each word
once more in each of the others would cost a miss each time. Where nobody asks in which field or at which place a word
stands, each is translated once for a row, however often it stands there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from feedweir.items.text import Tokens
from feedweir.match.arrays import Array, frozen
from feedweir.match.atom_kernels import entries_once
from feedweir.match.dictionary import find_tokens, hashes_of, known_tokens
from feedweir.match.dictionary_kernels import ABSENT, ASK, Dictionary, look_up, translate, translate_known

Rows: TypeAlias = tuple[Array, Array]
"""(offsets of rows, entries of dictionaries)."""


@dataclass(frozen=True, slots=True)
class LookedUp:
    """What a dictionary has of all fields of a batch, found out when it is first asked for."""

    dictionary: Dictionary
    tokens: Mapping[str, Tokens]
    _found: list[Array] = field(default_factory=list)
    _once: dict[tuple[str, ...], Rows] = field(default_factory=dict)
    _unknown: dict[str, Tokens] = field(default_factory=dict)

    def entries(self) -> Array:
        """The entry of every token, field by field."""
        if not self._found:
            found = np.empty(_count(self.tokens), np.int32)
            for name, place in places_of(self.tokens).items():
                find_tokens(self.dictionary, self.tokens[name], found[place])
            self._found.append(found)
        return self._found[0]

    def once(self, fields: tuple[str, ...]) -> Rows:
        """The entries that stand anywhere in some fields of each row, each once."""
        if fields not in self._once:
            places = places_of(self.tokens)
            offsets = np.stack([places[name].start + self.tokens[name].offsets for name in fields])
            n_entries = len(self.dictionary.starts) - 1
            self._once[fields] = entries_once(frozen(offsets), frozen(self.entries()), n_entries)
        return self._once[fields]

    def unknown(self, name: str) -> Tokens:
        """The words of a field that the dictionary does not have; not where they stand."""
        if name not in self._unknown:
            tokens = self.tokens[name]
            places = np.flatnonzero(self.entries()[places_of(self.tokens)[name]] < 0)
            self._unknown[name] = replace(
                tokens,
                offsets=np.searchsorted(places, tokens.offsets),
                hashes=tokens.hashes[places],
                starts=tokens.starts[places],
                lengths=tokens.lengths[places],
            )
        return self._unknown[name]


def places_of(tokens: Mapping[str, Tokens]) -> dict[str, slice]:
    """Where the tokens of each field lie when all lie one after the other."""
    ends = np.cumsum([len(one.hashes) for one in tokens.values()]).tolist()
    return {name: slice(first, last) for name, first, last in zip(tokens, [0, *ends], ends, strict=False)}


def _count(tokens: Mapping[str, Tokens]) -> int:
    return sum(len(one.hashes) for one in tokens.values())


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


def translated_once(
    words: Dictionary, translation: Array, looked_up: LookedUp, fields: tuple[str, ...]
) -> list[Rows]:
    """What stands anywhere in some fields of each row, in another dictionary than the one it was looked up in: what
    both know, each once, and then of every field what only the other knows."""
    offsets, entries = looked_up.once(fields)
    found = [translate_known(translation, frozen(offsets), frozen(entries))]
    if translation[0] == ASK:
        found += [known_tokens(words, looked_up.unknown(name))[:2] for name in fields]
    return found


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
