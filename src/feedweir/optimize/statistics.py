"""What is known of a source: how often it publishes, and what share of its items satisfies which atoms.

Counts decay, so that a source that changes its habits is believed after a while. They are kept as numbers of
items in a fading memory; shares are derived.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from feedweir.plan.predicates import Atom

HALF_LIFE_S = 7 * 86_400.0
PRIOR_ITEMS = 4.0
"""How many imagined items stand behind the share that is assumed of an atom before any item was seen."""
PRIOR_SHARE = 0.05

Pair = tuple[Atom, Atom]
_Key = TypeVar("_Key")


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


def observe(
    known: SourceStatistics,
    *,
    items: int,
    seconds: float,
    atoms: Mapping[Atom, int],
    pairs: Mapping[Pair, int] | None = None,
    half_life_s: float = HALF_LIFE_S,
) -> SourceStatistics:
    """The statistics after a batch that took `seconds` to arrive; what it does not name was satisfied by
    no item.
    """
    keep = 0.5 ** (seconds / half_life_s)
    return replace(
        known,
        items=known.items * keep + items,
        seconds=known.seconds * keep + seconds,
        atoms=_faded(known.atoms, keep, atoms),
        pairs=_faded(known.pairs, keep, pairs or {}),
    )


def _faded(known: Mapping[_Key, float], keep: float, new: Mapping[_Key, int]) -> dict[_Key, float]:
    names = dict.fromkeys((*known, *new))
    return {name: known.get(name, 0.0) * keep + new.get(name, 0) for name in names}


def watch(known: SourceStatistics, atoms: Iterable[Atom], pairs: Iterable[Pair]) -> SourceStatistics:
    """Count exactly these from now on: newly watched ones start at what is assumed, others are forgotten."""
    new_atoms = {atom: known.atoms.get(atom, known.items * PRIOR_SHARE) for atom in atoms}
    bare = replace(known, atoms=new_atoms, pairs={})
    assumed = {pair: bare.share_of(pair[0]) * bare.share_of(pair[1]) * known.items for pair in pairs}
    return replace(bare, pairs={pair: known.pairs.get(pair, assumed[pair]) for pair in assumed})


def pairs_that_matter(uses: Mapping[Pair, int], known: SourceStatistics, *, most: int) -> tuple[Pair, ...]:
    """The pairs worth watching: those whose joint frequency decides most about the cost of plans.

    A pair that many predicates have is evaluated often; a rare atom in it already makes it cheap, whatever
    the joint frequency.
    """

    def weight(pair: Pair) -> float:
        return uses[pair] * min(known.share_of(pair[0]), known.share_of(pair[1]))

    ranked = sorted(uses, key=lambda pair: (-weight(pair), repr(pair)))
    return tuple(ranked[:most])
