"""What is known of a source: how often it publishes, and what share of its items satisfies which atoms.

Counts decay, so that a source that changes its habits is believed after a while. They are kept as numbers of
items in a fading memory; shares are derived.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from feedweir.plan.predicates import Atom

HALF_LIFE_S = 7 * 86_400.0
HALF_LIFE_ITEMS = 500.0
"""Sampled items after which earlier ones count half: a share of 5 % is then known to within a sixth of itself."""
PRIOR_ITEMS = 4.0
"""How many imagined items stand behind the share that is assumed of an atom before any item was seen."""
PRIOR_SHARE = 0.05

Pair = tuple[Atom, Atom]


@dataclass(frozen=True, slots=True)
class SourceStatistics:
    """Decayed counts of one source. Atoms without a count were not watched, and are assumed rare."""

    items: float = 0.0
    """Items in memory."""
    seconds: float = 0.0
    """The time that the memory covers."""
    atoms: Mapping[Atom, float] = field(default_factory=dict)
    """Items in memory that satisfy an atom."""
    pairs: Mapping[Pair, float] = field(default_factory=dict)
    """Items in memory that satisfy both atoms, for the pairs that are watched; in the order of their text."""

    @property
    def rate(self) -> float:
        """Items a second."""
        return self.items / self.seconds if self.seconds else 0.0

    def share_of(self, atom: Atom) -> float:
        """The share of items that satisfy an atom; with few items seen, pulled towards what is assumed."""
        if atom not in self.atoms:
            return PRIOR_SHARE
        return (self.atoms[atom] + PRIOR_ITEMS * PRIOR_SHARE) / (self.items + PRIOR_ITEMS)

    def joint_share_of(self, one: Atom, other: Atom) -> float | None:
        """The share of items that satisfy both; None when the pair is not watched."""
        seen = self.pairs.get(pair_of(one, other))
        if seen is None:
            return None
        assumed = self.share_of(one) * self.share_of(other)
        return (seen + PRIOR_ITEMS * assumed) / (self.items + PRIOR_ITEMS)


def pair_of(one: Atom, other: Atom) -> Pair:
    """Two atoms in the order of their text."""
    return (one, other) if repr(one) <= repr(other) else (other, one)


def pairs_that_matter(uses: Mapping[Pair, int], known: SourceStatistics, *, most: int) -> tuple[Pair, ...]:
    """The pairs worth watching: those whose joint frequency decides most about the cost of plans.

    A pair that many predicates have is evaluated often; a rare atom in it already makes it cheap, whatever
    the joint frequency.
    """

    def weight(pair: Pair) -> float:
        return uses[pair] * min(known.share_of(pair[0]), known.share_of(pair[1]))

    ranked = sorted(uses, key=lambda pair: (-weight(pair), repr(pair)))
    return tuple(ranked[:most])
