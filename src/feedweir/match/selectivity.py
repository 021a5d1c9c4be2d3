"""How likely an item satisfies an atom: by the rarest a query is found. A wrong guess costs time, never answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from feedweir.match.atoms import Enumerated, Equal, Every, Link, Origin, Prefix, Segment, Word

_ORIGIN = 0.002
_EQUAL = 0.001
_LINK = {"url": 0.001, "opening": 0.005, "host": 0.01, "domain": 0.02}
_SEGMENT = 0.2
_SCOPED = 0.5
"""How much less likely a word is in one attribute than in the whole item."""


@dataclass(frozen=True, slots=True)
class Frequencies:
    """In how many of `documents` items each word was seen."""

    documents: int
    words: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rarity:
    """Probabilities of atoms. Those of words are observed, or guessed from how often queries name them."""

    words: Mapping[str, float]
    unseen: float

    @classmethod
    def of(cls, counts: Mapping[str, int], n_queries: int, observed: Frequencies | None = None) -> Rarity:
        if observed is not None:
            scale = 1.0 / (observed.documents + 1.0)
            seen = {word: (observed.words.get(word, 0) + 0.5) * scale for word in counts}
            return cls(seen, 0.5 * scale)
        usual = max(n_queries / 30.0, 1000.0)
        return cls({word: count / (count + usual) for word, count in counts.items()}, 0.5 / usual)

    def __call__(self, atom: Enumerated) -> float:
        match atom:
            case Word(scope, word):
                return self.of_word(word) * (1.0 if scope is None else _SCOPED)
            case Prefix(scope, prefix):
                return max(0.5 ** len(prefix), self.of_word(prefix)) * (1.0 if scope is None else _SCOPED)
            case Origin(names):
                return min(_ORIGIN * len(names), 0.5)
            case Equal():
                return _EQUAL
            case Link(_, kind, _):
                return _LINK[kind]
            case Segment():
                return _SEGMENT
            case Every():
                return 1.0

    def of_word(self, word: str) -> float:
        return self.words.get(word, self.unseen)
