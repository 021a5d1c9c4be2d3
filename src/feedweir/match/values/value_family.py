"""Sources, strings and numbers as atoms: values compared whole with those that queries name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from feedweir.match.arrays import Array
from feedweir.match.atoms import Atom
from feedweir.match.family import SeenShares
from feedweir.match.formula import NO, Formula
from feedweir.match.meaning.item_meaning import number_in
from feedweir.match.values.value_table import Key, ValueTable, key_of, value_table
from feedweir.plan.predicates import FromFeeds
from feedweir.text.analyser import fold

_ORIGIN, _EQUAL, _NUMBER = "origin", "equal", "number"
_SHARE_OF_SOURCE, _SHARE_OF_VALUE = 0.002, 0.001


@dataclass(frozen=True, slots=True)
class Origin(Atom):
    """The item came from one of these sources."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Equal(Atom):
    """A value of the attribute is this folded string."""

    attribute: str
    value: str


@dataclass(frozen=True, slots=True)
class EqualNumber(Atom):
    """A value of the attribute is a text that reads as this number."""

    attribute: str
    number: float


class ValueFamily:
    """Claims conditions on sources; comparisons (`ranges`) use its atoms for equality."""

    name = "values"
    predicates = (FromFeeds,)
    atoms = (Origin, Equal, EqualNumber)

    def formula_of(self, predicate: FromFeeds) -> Formula:
        return Origin(tuple(sorted(set(predicate.names)))) if predicate.names else NO

    def share_of(self, atom: Origin | Equal | EqualNumber, seen: SeenShares) -> float:
        match atom:
            case Origin(names) if seen.sources is not None:
                return min(sum(seen.sources.get(name, seen.unseen) for name in names), 1.0)
            case Origin(names):
                return min(_SHARE_OF_SOURCE * len(names), 0.5)
            case _:
                return _SHARE_OF_VALUE

    def compiled(
        self, numbers: Mapping[Origin | Equal | EqualNumber, int], sources: Sequence[str] | None
    ) -> ValueTable:
        return value_table({atom: list(keys_of(atom)) for atom in numbers}, numbers, forms_of_value)

    def loaded(self, arrays: Mapping[str, Array], details: Any) -> ValueTable:
        return ValueTable.loaded(arrays, details, forms_of_value)


def keys_of(atom: Origin | Equal | EqualNumber) -> Iterator[Key]:
    """What an item's value may be looked up as to satisfy an atom."""
    match atom:
        case Origin(names):
            for name in names:
                yield key_of(_ORIGIN, "source", name)
        case Equal(attribute, value):
            yield key_of(_EQUAL, attribute, value)
        case EqualNumber(attribute, number):
            yield key_of(_NUMBER, attribute, repr(number))


def forms_of_value(kind: str, value: str) -> tuple[str, ...]:
    """The forms in which an item's value is looked up."""
    match kind:
        case "equal":
            return (fold(value),)
        case "number":
            number = number_in(value)
            return () if number is None else (repr(number + 0.0),)  # both zeros are one
        case _:
            return (value,)
