"""Numbers for atoms: words and prefixes anywhere in the text first, frequent words lowest, then all others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from feedweir.match.arrays import Array, frozen, starts_of
from feedweir.match.atoms import Atom, Every, Leaf, Phrase, Prefix, Word
from feedweir.match.families import FAMILY_NAMED
from feedweir.match.family import AtomIndex
from feedweir.match.matching.match_kernels import Vocabulary
from feedweir.match.ranges.segment_trees import Segment
from feedweir.match.words.scopes import Scopes


@dataclass(frozen=True, slots=True)
class ScopedWords:
    """Words that are wanted in one attribute: their entries, and the bits of the attributes."""

    entries: Array
    bits: Array


@dataclass(slots=True)
class Numbering:
    """Words are entries and whole-text atoms 0 to `n_words`; prefixes follow them, then words in attributes that plain
    queries name, then all other atoms."""

    n_words: int
    words: Mapping[str, int]
    """Those that atoms name."""
    prefixes: dict[str, int]
    scoped: ScopedWords
    others: dict[Atom, int] = field(default_factory=dict)

    @property
    def n_entries(self) -> int:
        return self.n_words + len(self.prefixes)

    @property
    def n_atoms(self) -> int:
        return self._n_before_others + len(self.others)

    @property
    def _n_before_others(self) -> int:
        return self.n_entries + len(self.scoped.entries)

    def atom_id(self, atom: Atom) -> int:
        match atom:
            case Word(None, word):
                return self.words[word]
            case Prefix(None, prefix):
                return self.prefixes[prefix]
            case _:
                return self.others.setdefault(atom, self._n_before_others + len(self.others))

    def entry_of(self, part: Word | Prefix) -> int:
        return self.words[part.word] if isinstance(part, Word) else self.prefixes[part.prefix]

    def segments(self) -> dict[Segment, int]:
        return {atom: number for atom, number in self.others.items() if isinstance(atom, Segment)}

    def of_families(self, sources: Mapping[str, Sequence[str] | None]) -> dict[str, AtomIndex]:
        """The compiled atoms of each family that has any; `sources` are those that each must examine, None for all."""
        found: dict[str, AtomIndex] = {}
        for family in FAMILY_NAMED.values():
            numbers = {atom: number for atom, number in self.others.items() if type(atom) in family.atoms}
            if numbers:
                found[family.name] = family.compiled(numbers, sources.get(family.name))
        return found


def numbered(
    n_words: int, words: Mapping[str, int], prefixes: Sequence[str], scoped: ScopedWords
) -> Numbering:
    numbers = {prefix: n_words + number for number, prefix in enumerate(prefixes)}
    return Numbering(n_words, words, numbers, scoped)


def texts_in(leaves: Iterable[Leaf]) -> tuple[list[str], list[str]]:
    """(words, prefixes) that leaves name, with repetitions."""
    words: list[str] = []
    prefixes: list[str] = []
    for leaf in leaves:
        for part in leaf.parts() if isinstance(leaf, Phrase) else (leaf,):
            if isinstance(part, Word):
                words.append(part.word)
            elif isinstance(part, Prefix):
                prefixes.append(part.prefix)
    return words, prefixes


def vocabulary_of(numbering: Numbering, scopes: Scopes) -> Vocabulary:
    """How entries become atoms in scopes other than the whole text."""
    entries, bits, atoms = _scoped_atoms(numbering, scopes)
    # fields outside the whole text need entries by scope even when only phrases are wanted there
    is_needed = bool(len(entries)) or len(scopes.fields) > len(Scopes().fields)
    counts = np.bincount(entries.astype(np.int64), minlength=numbering.n_entries)
    every = [number for atom, number in numbering.others.items() if isinstance(atom, Every)]
    return Vocabulary(
        frozen(np.array([scopes.whole], np.uint64)),
        starts_of(counts) if is_needed else frozen(np.zeros(1, np.int32)),
        frozen(bits),
        frozen(atoms.astype(np.int32)),
        frozen(np.array(every, np.int32)),
    )


def _scoped_atoms(numbering: Numbering, scopes: Scopes) -> tuple[Array, Array, Array]:
    """(entry, bit of the attribute, atom) of all atoms of words in attributes, sorted."""
    named = [
        (numbering.entry_of(atom), scopes.bit(atom.scope), number)
        for atom, number in numbering.others.items()
        if isinstance(atom, (Word, Prefix))
    ]
    others = np.array(named, np.uint64).reshape(-1, 3).T
    numbers = numbering.n_entries + np.arange(len(numbering.scoped.entries))
    own = (numbering.scoped.entries, numbering.scoped.bits, numbers)
    entries, bits, atoms = (
        np.concatenate([one.astype(np.uint64), other]) for one, other in zip(own, others, strict=True)
    )
    order = np.lexsort((atoms, bits, entries))
    return entries[order], bits[order], atoms[order]
