"""The flat arrays of a compiled set, by name: what is saved, mapped and handed to the kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from feedweir.match.arrays import Array, frozen, load_arrays, save_arrays
from feedweir.match.atoms import Axis
from feedweir.match.dictionary_kernels import Dictionary
from feedweir.match.factored_kernels import Forest
from feedweir.match.match_kernels import Checks, Trie, Vocabulary
from feedweir.match.orders import TextOrder
from feedweir.match.scopes import Scopes
from feedweir.match.tree_atoms import TreeAtoms

FILE = "index.arrays"
_PARTS: dict[str, Any] = {
    "words": Dictionary,
    "prefixes": Dictionary,
    "values": Dictionary,
    "vocabulary": Vocabulary,
    "trie": Trie,
    "checks": Checks,
    "forest": Forest,
}


@dataclass(frozen=True, slots=True)
class SegmentTree:
    """Atoms of the nodes of a segment tree whose leaves are the slots between `cuts`; -1 where no query is found."""

    axis: Axis
    cuts: Array
    node_atoms: Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """Query q reports `keys[q]`. Words are entries 0 to `n_words`, prefixes follow them."""

    keys: Array
    scopes: Scopes
    axes: tuple[Axis, ...]
    value_kinds: tuple[tuple[str, str], ...]
    """(kind, attribute) of value atoms that there are: what must be read of an item."""
    words: Dictionary
    prefixes: Dictionary
    prefix_masks: Array
    values: Dictionary
    value_starts: Array
    value_atoms: Array
    """Value v satisfies the atoms `value_atoms[value_starts[v] : value_starts[v + 1]]`."""
    vocabulary: Vocabulary
    trie: Trie
    checks: Checks
    segment_trees: tuple[SegmentTree, ...]
    text_orders: tuple[TextOrder, ...]
    tree_atoms: TreeAtoms
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
    """Write the arrays; what else there is to remember comes back as plain values."""
    save_arrays(directory / FILE, _arrays_of(index))
    return {
        "fields": list(index.scopes.fields),
        "axes": [asdict(axis) for axis in index.axes],
        "value_kinds": [list(kind) for kind in index.value_kinds],
        "text_orders": [order.attribute for order in index.text_orders],
        "segment_axes": [asdict(tree.axis) for tree in index.segment_trees],
        "trees": [list(tree) for tree in index.trees],
        "tree_sources": index.tree_atoms.sources,
    }


def load_index(directory: Path, details: Mapping[str, Any]) -> Index:
    arrays = load_arrays(directory / FILE)
    parts: dict[str, Any] = {
        name: part(*(arrays[f"{name}.{field}"] for field in part._fields)) for name, part in _PARTS.items()
    }
    parts |= {name: arrays[name] for name in _SINGLE}
    segment_axes = [Axis(**axis) for axis in details["segment_axes"]]
    return Index(
        scopes=Scopes(tuple(details["fields"])),
        axes=tuple(Axis(**axis) for axis in details["axes"]),
        value_kinds=tuple((kind, attribute) for kind, attribute in details["value_kinds"]),
        trees=tuple((source, plan) for source, plan in details["trees"]),
        tree_atoms=TreeAtoms(arrays["tree_atoms.atoms"], arrays["tree_atoms.text"], details["tree_sources"]),
        text_orders=tuple(
            TextOrder(attribute, arrays[f"orders.{number}.text"], arrays[f"orders.{number}.starts"])
            for number, attribute in enumerate(details["text_orders"])
        ),
        segment_trees=tuple(
            SegmentTree(axis, arrays[f"segments.{number}.cuts"], arrays[f"segments.{number}.node_atoms"])
            for number, axis in enumerate(segment_axes)
        ),
        **parts,
    )


_SINGLE = ("keys", "prefix_masks", "value_starts", "value_atoms")


def _arrays_of(index: Index) -> dict[str, Array]:
    arrays: dict[str, Array] = {name: getattr(index, name) for name in _SINGLE}
    for name, part in _PARTS.items():
        arrays |= {f"{name}.{field}": getattr(getattr(index, name), field) for field in part._fields}
    arrays |= {"tree_atoms.atoms": index.tree_atoms.atoms, "tree_atoms.text": index.tree_atoms.text}
    for number, order in enumerate(index.text_orders):
        arrays |= {f"orders.{number}.text": order.text, f"orders.{number}.starts": order.starts}
    for number, tree in enumerate(index.segment_trees):
        arrays[f"segments.{number}.cuts"] = tree.cuts
        arrays[f"segments.{number}.node_atoms"] = tree.node_atoms
    return arrays


def starts_of(counts: Array) -> Array:
    """Where each of consecutive stretches of these lengths begins, and where the last ends."""
    return frozen(np.concatenate([[0], np.cumsum(counts)]).astype(np.int32))
