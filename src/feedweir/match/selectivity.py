"""How likely an item satisfies an atom: by the rarest a query is found. A wrong guess costs time, never answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from feedweir.match.arrays import Array
from feedweir.match.atoms import (
    Enumerated,
    Equal,
    EqualNumber,
    Every,
    Link,
    Origin,
    Prefix,
    Segment,
    Tree,
    Word,
)

_ORIGIN = 0.002
_EQUAL = 0.001
_LINK = {"url": 0.001, "opening": 0.005, "host": 0.01, "domain": 0.02}
_SEGMENT = 0.2
_TREE = 0.0005
"""Below that of sources: many patterns are asked of one source, and each is found by itself."""
SCOPED = 0.5
"""How much less likely a word is in one attribute than in the whole item."""


@dataclass(frozen=True, slots=True)
class Frequencies:
    """In how many of `documents` items each word was seen, and of how many each source was the source."""

    documents: float
    words: Mapping[str, float] = field(default_factory=dict)
    sources: Mapping[str, float] | None = None
    """None when nobody counted them."""


@dataclass(frozen=True, slots=True)
class Rarity:
    """Probabilities of atoms. Those of words are observed, or guessed from how often queries name them."""

    words: Mapping[str, float]
    unseen: float
    sources: Mapping[str, float] | None = None
    """The shares of sources, where they were observed."""

    def __call__(self, atom: Enumerated) -> float:
        match atom:
            case Word(scope, word):
                return self.of_word(word) * (1.0 if scope is None else SCOPED)
            case Prefix(scope, prefix):
                return max(0.5 ** len(prefix), self.of_word(prefix)) * (1.0 if scope is None else SCOPED)
            case Origin(names) if self.sources is not None:
                return min(sum(self.sources.get(name, self.unseen) for name in names), 1.0)
            case Origin(names):
                return min(_ORIGIN * len(names), 0.5)
            case Equal() | EqualNumber():
                return _EQUAL
            case Link(_, kind, _):
                return _LINK[kind]
            case Segment():
                return _SEGMENT
            case Tree():
                return _TREE
            case Every():
                return 1.0

    def of_word(self, word: str) -> float:
        return self.words.get(word, self.unseen)


def probabilities_of(texts: pa.Array, counts: Array, n_queries: int, observed: Frequencies | None) -> Array:
    """Those of words that stand in so many places of queries.

    What was observed is taken with one item more that is as guessed: it decides between words that nobody has seen.
    """
    guessed: Array = counts / (counts + _usual(n_queries))
    if observed is None:
        return guessed
    places = pc.fill_null(pc.index_in(texts, pa.array(observed.words, pa.string())), -1)
    seen = np.append(np.fromiter(observed.words.values(), np.float64, len(observed.words)), 0.0)
    found: Array = (seen[np.asarray(places)] + guessed) / (observed.documents + 1.0)
    return found


def probability_of_unseen(n_queries: int, observed: Frequencies | None) -> float:
    """That of a word which no query names, or no item had."""
    return 0.5 / (_usual(n_queries) if observed is None else observed.documents + 1.0)


def _usual(n_queries: int) -> float:
    return max(n_queries / 30.0, 1000.0)
