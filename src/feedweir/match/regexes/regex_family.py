"""Regular expressions as atoms: all expressions of a set are matched against a batch together.

Expressions that need some plain piece of text are tried only where one of their pieces occurs; all others are tried
together, as sets that RE2 runs over a text once.

 text   r0 ⏎ r1 ⏎ r2 …     [attribute, expression, flags] as JSON, each on a line
atoms   a0    a1    a2 …     an item with a match of expression i satisfies atoms[i]
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import re2
from numpy.typing import NDArray

from feedweir.items.attributes import AttributeType, attribute_named
from feedweir.items.columns import Batch, is_from, values_in
from feedweir.match.arrays import Array, frozen
from feedweir.match.atoms import Atom
from feedweir.match.family import SeenShares
from feedweir.match.formula import NO, Formula
from feedweir.match.regexes.piece_finder import PieceFinder, piece_finder
from feedweir.match.regexes.regex_literals import levelled, pieces_of
from feedweir.match.words.scopes import EXTENSIONS, WHOLE
from feedweir.match.words.word_clauses import has_text, scope_of
from feedweir.plan.predicates import Matches
from feedweir.text.html import text_of
from feedweir.text.regular_expressions import as_compiled, compiled, options

_TOGETHER = 256
"""Expressions in one of RE2's sets, as far as they fit its memory."""
_SET_BYTES = 64 << 20
_TEXT_AT_ONCE = 1 << 20
_BETWEEN = b"\0"
_SHARE = 0.0005


@dataclass(frozen=True, slots=True)
class Regex(Atom):
    """A value of the attribute, or of the item's text (None), has a match of this."""

    attribute: str | None
    pattern: str
    flags: str


class RegexFamily:
    name = "regexes"
    predicates = (Matches,)
    atoms = (Regex,)

    def formula_of(self, predicate: Matches) -> Formula:
        scope = scope_of(predicate.attribute)
        return Regex(scope, predicate.pattern, predicate.flags) if has_text(scope) else NO

    def share_of(self, atom: Regex, seen: SeenShares) -> float:
        return _SHARE

    def compiled(self, numbers: Mapping[Regex, int], sources: Sequence[str] | None) -> RegexAtoms:
        lines = [json.dumps([regex.attribute, regex.pattern, regex.flags]) for regex in numbers]
        return RegexAtoms(
            frozen(np.fromiter(numbers.values(), np.int32, len(numbers))),
            frozen(np.frombuffer("\n".join(lines).encode(), np.uint8)),
            sources,
        )

    def loaded(self, arrays: Mapping[str, Array], details: Any) -> RegexAtoms:
        return RegexAtoms(arrays["atoms"], arrays["text"], details)


@dataclass(frozen=True)
class RegexAtoms:
    atoms: Array
    text: Array
    sources: Sequence[str] | None = None
    """Only items of these sources are examined; None for all."""

    def stored(self) -> tuple[dict[str, Array], Any]:
        return {"atoms": self.atoms, "text": self.text}, self.sources

    def facts(self, items: Batch) -> Iterator[tuple[Array, Array]]:
        pairs = np.array(sorted(self._pairs(items)), np.int64).reshape(-1, 2)
        yield pairs[:, 0], self.atoms[pairs[:, 1]]

    def describe(self, atom: int) -> str | None:
        places = np.flatnonzero(self.atoms == atom)
        if not len(places):
            return None
        one = self._regexes[int(places[0])]
        return " ".join(filter(None, (one.attribute, f"matches /{one.pattern}/{one.flags}")))

    def _pairs(self, items: Batch) -> set[tuple[int, int]]:
        found: set[tuple[int, int]] = set()
        is_read = None if self.sources is None else is_from(items, self._sources)
        for attribute, group in self._groups.items():
            rows, texts = _texts_of(items, attribute, is_read)
            found.update((rows[text], regex) for text, regex in group.found_in(texts))
        return found

    @cached_property
    def _sources(self) -> frozenset[str]:
        return frozenset(self.sources or ())

    @cached_property
    def _regexes(self) -> tuple[Regex, ...]:
        return tuple(Regex(*json.loads(line)) for line in self.text.tobytes().decode().split("\n"))

    @cached_property
    def _groups(self) -> dict[str | None, _Group]:
        """The expressions of each attribute."""
        numbers: dict[str | None, list[int]] = {}
        for number, regex in enumerate(self._regexes):
            numbers.setdefault(regex.attribute, []).append(number)
        return {name: _group_of({n: self._regexes[n] for n in some}) for name, some in numbers.items()}


@dataclass(frozen=True, slots=True)
class _Group:
    """Expressions that are matched against the same texts."""

    regexes: Mapping[int, Regex]
    finder: PieceFinder | None
    owners: Array
    """The expression that needs each piece, or one of several."""
    sets: tuple[tuple[Any, tuple[int, ...]], ...]
    """RE2's sets, with the numbers of their expressions."""
    searched: dict[int, Any] = field(default_factory=dict)
    """Expressions that were compiled alone."""

    def found_in(self, texts: list[bytes]) -> Iterator[tuple[int, int]]:
        """(text, expression) of all matches."""
        if self.finder is not None:
            yield from self._by_pieces(self.finder, texts)
        for together, numbers in self.sets:
            for place, text in enumerate(texts):
                yield from ((place, numbers[one]) for one in together.Match(text) or ())

    def _by_pieces(self, finder: PieceFinder, texts: list[bytes]) -> Iterator[tuple[int, int]]:
        """Each expression is tried where a piece of it occurs."""
        for first, last in _portions(texts):
            small = [levelled(text) for text in texts[first:last]]
            ends = np.cumsum([len(text) + 1 for text in small])
            joined = np.frombuffer(_BETWEEN.join((*small, b"")), np.uint8)
            places, pieces = finder.found_in(joined, ends)
            tried = dict.fromkeys(zip((first + places).tolist(), self.owners[pieces].tolist(), strict=True))
            for place, number in tried:
                if self._is_in(number, texts[place]):
                    yield place, number

    def _is_in(self, number: int, text: bytes) -> bool:
        if number not in self.searched:
            regex = self.regexes[number]
            self.searched[number] = compiled(regex.pattern, regex.flags)
        return self.searched[number].search(text) is not None


def _group_of(regexes: Mapping[int, Regex]) -> _Group:
    pieces = {number: pieces_of(regex.pattern, regex.flags) for number, regex in regexes.items()}
    listed = [(number, piece) for number, some in pieces.items() for piece in some]
    without = [number for number, some in pieces.items() if not some]
    return _Group(
        regexes,
        piece_finder([piece for _, piece in listed]) if listed else None,
        np.array([number for number, _ in listed], np.int64),
        tuple(_sets_of(regexes, without)),
    )


def _sets_of(regexes: Mapping[int, Regex], numbers: Sequence[int]) -> Iterator[tuple[Any, tuple[int, ...]]]:
    """As few of RE2's sets as possible; a set that does not fit its memory is halved."""
    for first in range(0, len(numbers), _TOGETHER):
        some = tuple(numbers[first : first + _TOGETHER])
        try:
            yield _set_of([regexes[number] for number in some]), some
        except re2.error:
            if len(some) == 1:
                raise
            half = len(some) // 2
            yield from _sets_of(regexes, some[:half])
            yield from _sets_of(regexes, some[half:])


def _set_of(regexes: Sequence[Regex]) -> Any:
    how = options()
    how.max_mem = _SET_BYTES
    together = re2.Set.SearchSet(how)
    for regex in regexes:
        ignores_case = "(?i)" if "i" in regex.flags else ""
        together.Add(ignores_case + as_compiled(regex.pattern, regex.flags))
    together.Compile()
    return together


def _portions(texts: list[bytes]) -> Iterator[tuple[int, int]]:
    """Stretches of texts that are searched at once."""
    first, size = 0, 0
    for place, text in enumerate(texts):
        if size and size + len(text) > _TEXT_AT_ONCE:
            yield first, place
            first, size = place, 0
        size += len(text) + 1
    if size:
        yield first, len(texts)


def _texts_of(
    items: Batch, attribute: str | None, is_read: NDArray[np.bool_] | None
) -> tuple[list[int], list[bytes]]:
    """(row of each text, texts) of an attribute, or of the whole text, of the items that are read."""
    rows: list[int] = []
    texts: list[bytes] = []
    for name in WHOLE if attribute is None else (attribute,):
        one = None if name == EXTENSIONS else attribute_named(name)
        is_html = one is not None and one.type is AttributeType.HTML
        for row, text in values_in(items, one):
            if is_read is None or is_read[row]:
                rows.append(row)
                texts.append((text_of(text) if is_html else text).encode())
    return rows, texts
