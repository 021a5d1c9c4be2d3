"""The flat arrays of a compiled set, by name: what is saved, mapped and handed to the kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from feedweir.match.arrays import Array, load_arrays, save_arrays
from feedweir.match.families import FAMILY_NAMED
from feedweir.match.family import AtomIndex
from feedweir.match.matching.forest_kernels import Forest
from feedweir.match.matching.match_kernels import Checks, Trie, Vocabulary
from feedweir.match.ranges.range_index import RangeIndex
from feedweir.match.words.dictionary_kernels import Dictionary
from feedweir.match.words.scopes import Scopes

FILE = "index.arrays"
_PARTS: dict[str, Any] = {
    "words": Dictionary,
    "prefixes": Dictionary,
    "vocabulary": Vocabulary,
    "trie": Trie,
    "checks": Checks,
    "forest": Forest,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """Query q reports `keys[q]`. Words are entries 0 to `n_words`, prefixes follow them."""

    keys: Array
    scopes: Scopes
    words: Dictionary
    prefixes: Dictionary
    prefix_masks: Array
    vocabulary: Vocabulary
    trie: Trie
    checks: Checks
    ranges: RangeIndex
    families: Mapping[str, AtomIndex]
    """Those that have atoms here, by name."""
    forest: Forest
    trees: tuple[tuple[str, str], ...]
    """(source, plan) of each tree of the forest: whose items go through it, and what it is known by."""

    @property
    def n_words(self) -> int:
        return len(self.words.starts) - 1

    @property
    def n_entries(self) -> int:
        return self.n_words + len(self.prefixes.starts) - 1

    @property
    def n_atoms(self) -> int:
        return len(self.trie.roots)

    @property
    def nbytes(self) -> int:
        """Bytes that matching may read."""
        return sum(array.nbytes for array in _arrays_of(self).values())


def save_index(directory: Path, index: Index) -> dict[str, Any]:
    """Write the arrays; returns what else must be stored, as plain JSON values."""
    save_arrays(directory / FILE, _arrays_of(index))
    return {
        "fields": list(index.scopes.fields),
        "ranges": index.ranges.stored()[1],
        "families": {name: atoms.stored()[1] for name, atoms in index.families.items()},
        "trees": [list(tree) for tree in index.trees],
    }


def load_index(directory: Path, details: Mapping[str, Any]) -> Index:
    arrays = load_arrays(directory / FILE)
    parts: dict[str, Any] = {
        name: part(*(arrays[f"{name}.{field}"] for field in part._fields)) for name, part in _PARTS.items()
    }
    parts |= {name: arrays[name] for name in _SINGLE}
    return Index(
        scopes=Scopes(tuple(details["fields"])),
        trees=tuple((source, plan) for source, plan in details["trees"]),
        ranges=RangeIndex.loaded(_below("ranges", arrays), details["ranges"]),
        families={
            name: FAMILY_NAMED[name].loaded(_below(name, arrays), of_family)
            for name, of_family in details["families"].items()
        },
        **parts,
    )


_SINGLE = ("keys", "prefix_masks")


def _arrays_of(index: Index) -> dict[str, Array]:
    arrays: dict[str, Array] = {name: getattr(index, name) for name in _SINGLE}
    for name, part in _PARTS.items():
        arrays |= {f"{name}.{field}": getattr(getattr(index, name), field) for field in part._fields}
    parts = {"ranges": index.ranges.stored()[0]}
    parts |= {name: dict(atoms.stored()[0]) for name, atoms in index.families.items()}
    return arrays | {
        f"{name}.{field}": array for name, part in parts.items() for field, array in part.items()
    }


def _below(name: str, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """The arrays of one part, by its own names for them."""
    prefix = f"{name}."
    return {key.removeprefix(prefix): array for key, array in arrays.items() if key.startswith(prefix)}
