"""A dictionary of values: byte strings of kind, attribute and value, each with the atoms that it satisfies.

strings  v0            v1            v2 …     `equal\\0title\\0storm`, `host\\0links\\0x.org`
 starts  0             1             3 …
  atoms  a             a     b       c …      value v satisfies atoms[starts[v] : starts[v + 1]]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from feedweir.items.attributes import attribute_named
from feedweir.items.columns import Batch, distinct_values, keeps_empty
from feedweir.match.arrays import Array, frozen, ranges_of, starts_of
from feedweir.match.words.dictionary import dictionary_of, entries_of_strings, string_at
from feedweir.match.words.dictionary_kernels import Dictionary

Forms: TypeAlias = Callable[[str, str], tuple[str, ...]]
"""Of a kind and an item's value the forms in which it is looked up."""
_SHOWN_AS_EQUAL = ("origin", "equal", "number")


class Key(NamedTuple):
    """What a value is filed under."""

    kind: str
    attribute: str
    string: bytes


def key_of(kind: str, attribute: str, value: str) -> Key:
    return Key(kind, attribute, _string(kind, attribute, value))


@lru_cache(maxsize=65536)
def strings_of_value(forms: Forms, kind: str, attribute: str, value: str) -> tuple[bytes, ...]:
    """The byte strings under which an item's value is looked up."""
    return tuple(_string(kind, attribute, form) for form in forms(kind, value))


def _string(kind: str, attribute: str, value: str) -> bytes:
    return f"{kind}\0{attribute}\0{value}".encode("utf-8", "surrogatepass")


@dataclass(frozen=True, slots=True)
class ValueTable:
    strings: Dictionary
    starts: Array
    atoms: Array
    kinds: tuple[tuple[str, str], ...]
    """(kind, attribute) of all values: what must be read of an item."""
    forms: Forms

    @classmethod
    def loaded(cls, arrays: Mapping[str, Array], details: Any, forms: Forms) -> ValueTable:
        strings = Dictionary(*(arrays[f"strings.{part}"] for part in Dictionary._fields))
        kinds = tuple((kind, attribute) for kind, attribute in details)
        return cls(strings, arrays["starts"], arrays["atoms"], kinds, forms)

    def stored(self) -> tuple[dict[str, Array], Any]:
        parts = zip(Dictionary._fields, self.strings, strict=True)
        strings = {f"strings.{name}": array for name, array in parts}
        return {**strings, "starts": self.starts, "atoms": self.atoms}, [list(kind) for kind in self.kinds]

    def facts(self, items: Batch) -> Iterator[tuple[Array, Array]]:
        for kind, name in self.kinds:
            yield self._facts_of(items, kind, name)

    def describe(self, atom: int) -> str | None:
        """An atom with all values of which one satisfies it, as one of several sources does."""
        places = np.flatnonzero(self.atoms == atom)
        if not len(places):
            return None
        values = (np.searchsorted(self.starts, places, side="right") - 1).tolist()
        kind, attribute, *_ = string_at(self.strings, values[0]).split("\0", 2)
        texts = [string_at(self.strings, value).split("\0", 2)[2] for value in values]
        return f"{attribute} {'=' if kind in _SHOWN_AS_EQUAL else kind} {' or '.join(texts)}"

    def _facts_of(self, items: Batch, kind: str, name: str) -> tuple[Array, Array]:
        """(rows, atoms) of one kind of value of one attribute; each distinct value is looked up once."""
        attribute = attribute_named(name)
        assert attribute is not None, name
        rows, texts, indices = distinct_values(items, attribute)
        has_empty = kind == "origin" or keeps_empty(attribute)
        found = [
            strings_of_value(self.forms, kind, name, text) if text or has_empty else () for text in texts
        ]
        entries = entries_of_strings(self.strings, [string for group in found for string in group])
        counts = np.where(entries >= 0, self.starts[entries + 1] - self.starts[entries], 0)
        atoms = self.atoms[ranges_of(self.starts[entries], counts)]
        ends = np.concatenate([[0], np.cumsum(counts)])
        group_ends = ends[np.cumsum([0, *map(len, found)])]
        sizes = np.diff(group_ends)[indices]
        return np.repeat(rows, sizes), atoms[ranges_of(group_ends[indices], sizes)]


def value_table(keys: Mapping[Any, Sequence[Key]], numbers: Mapping[Any, int], forms: Forms) -> ValueTable:
    """The table of atoms, each with the keys of the values that satisfy it."""
    atoms_of: dict[bytes, list[int]] = {}
    kinds: set[tuple[str, str]] = set()
    for atom, number in numbers.items():
        for kind, attribute, string in keys[atom]:
            kinds.add((kind, attribute))
            atoms_of.setdefault(string, []).append(number)
    return ValueTable(
        dictionary_of(list(atoms_of)),
        starts_of(np.array([len(atoms) for atoms in atoms_of.values()], np.int64)),
        frozen(np.array([atom for atoms in atoms_of.values() for atom in atoms], np.int32)),
        tuple(sorted(kinds)),
        forms,
    )
