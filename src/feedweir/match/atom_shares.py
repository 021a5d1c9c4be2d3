"""How likely an item satisfies an atom: a query is found by its rarest. A wrong guess costs time, never answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from feedweir.match.arrays import Array
from feedweir.match.atoms import Atom, Every, Prefix, Word
from feedweir.match.families import family_of
from feedweir.match.ranges.segment_trees import Segment

_SEGMENT = 0.2
SCOPED = 0.5
"""How much less likely a word is in one attribute than in the whole item."""


@dataclass(frozen=True, slots=True)
class Frequencies:
    """In how many of `documents` items each word occurred, and how many came from each source."""

    documents: float
    words: Mapping[str, float] = field(default_factory=dict)
    sources: Mapping[str, float] | None = None
    """None when they were not counted."""


@dataclass(frozen=True, slots=True)
class Rarity:
    """Probabilities of atoms. Those of words are observed, or guessed from how often queries name them."""

    words: Mapping[str, float]
    unseen: float
    sources: Mapping[str, float] | None = None
    """The shares of sources, where they were observed."""

    def __call__(self, atom: Atom) -> float:
        match atom:
            case Word(scope, word):
                return self.of_word(word) * (1.0 if scope is None else SCOPED)
            case Prefix(scope, prefix):
                return max(0.5 ** len(prefix), self.of_word(prefix)) * (1.0 if scope is None else SCOPED)
            case Segment():
                return _SEGMENT
            case Every():
                return 1.0
            case _:
                return family_of(atom).share_of(atom, self)

    def of_word(self, word: str) -> float:
        return self.words.get(word, self.unseen)


def probabilities_of(texts: pa.Array, counts: Array, n_queries: int, observed: Frequencies | None) -> Array:
    """Those of words, by how often queries name each.

    Observed frequencies count one more item, with the guessed share: it decides between words that were never seen.
    """
    guessed: Array = counts / (counts + _usual(n_queries))
    if observed is None:
        return guessed
    places = pc.fill_null(pc.index_in(texts, pa.array(observed.words, pa.string())), -1)
    seen = np.append(np.fromiter(observed.words.values(), np.float64, len(observed.words)), 0.0)
    found: Array = (seen[np.asarray(places)] + guessed) / (observed.documents + 1.0)
    return found


def probability_of_unseen(n_queries: int, observed: Frequencies | None) -> float:
    """That of a word that no query names, or that no item contained."""
    return 0.5 / (_usual(n_queries) if observed is None else observed.documents + 1.0)


def _usual(n_queries: int) -> float:
    return max(n_queries / 30.0, 1000.0)
