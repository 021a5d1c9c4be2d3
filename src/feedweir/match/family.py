"""What a family of atoms is: one kind of question about items, from its predicates to the facts of a batch.

Each family is one folder, or one module, and one row of the table in `families.py`. Words and intervals are not
families: kernels know them, since they also verify phrases by positions and bounds by numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from feedweir.items.columns import Batch
from feedweir.match.arrays import Array
from feedweir.match.atoms import Atom
from feedweir.match.formula import Formula
from feedweir.plan.predicates import Predicate


class AtomFamily(Protocol):
    """The predicates that a family claims, the atoms that they become, and how these are compiled."""

    @property
    def name(self) -> str:
        """Under which its arrays are stored."""

    @property
    def predicates(self) -> tuple[type[Predicate], ...]:
        """The kinds of predicates that it claims."""

    @property
    def atoms(self) -> tuple[type[Atom], ...]:
        """The classes of its atoms."""

    def formula_of(self, predicate: Any) -> Formula:
        """A predicate that it claims as a formula over atoms, which need not all be its own."""

    def share_of(self, atom: Any, seen: SeenShares) -> float:
        """How likely an item satisfies one of its atoms. A wrong guess costs time, never answers."""

    def compiled(self, numbers: Mapping[Any, int], sources: Sequence[str] | None) -> AtomIndex:
        """Its atoms, of which there is at least one, under their numbers in a set.

        Only items of `sources` need be examined, since no query needs these atoms of others; None means all.
        """

    def loaded(self, arrays: Mapping[str, Array], details: Any) -> AtomIndex:
        """What `AtomIndex.stored` returned, read again from disk."""


class AtomIndex(Protocol):
    """The atoms of one family in one compiled set."""

    def facts(self, items: Batch) -> Iterable[tuple[Array, Array]]:
        """(rows, atoms) of the atoms that the items of a batch satisfy, in one list or several; pairs may repeat."""

    def describe(self, atom: int) -> str | None:
        """One of its atoms in words, for explanations; None for a number that is not one of them."""

    def stored(self) -> tuple[Mapping[str, Array], Any]:
        """The arrays to be saved, by name, and what else there is to remember, as plain JSON values."""


class SeenShares(Protocol):
    """What was observed of items."""

    @property
    def unseen(self) -> float:
        """The share of what was never seen."""

    @property
    def sources(self) -> Mapping[str, float] | None:
        """The share of each source, where they were counted."""
