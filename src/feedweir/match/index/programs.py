"""What is left to verify of a conjunction, as code for the kernel's small stack machine.

Values on the stack are FALSE < UNKNOWN < TRUE; UNKNOWN is what only `meaning` can decide. Each top-level part ends with
`REQUIRE`, which stops the program when the part is false; equal programs are stored once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from feedweir.match.atoms import Ask, Atom, Axis, Ordered, Phrase, Within
from feedweir.match.formula import All, AnyOf, Count, Formula, Without
from feedweir.match.matching.program_kernels import (
    OP_ALL,
    OP_ALL_ATOMS,
    OP_ANY,
    OP_ASK,
    OP_ATOM,
    OP_COUNT,
    OP_NOT,
    OP_PHRASE,
    OP_REQUIRE,
    OP_WITHIN,
)


@dataclass(slots=True)
class Programs:
    """Code of all programs one after the other, with the phrases and bounds that it refers to."""

    atom_id: Callable[[Atom], int]
    code: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=lambda: [0])
    phrases: dict[Phrase, int] = field(default_factory=dict)
    axes: dict[Axis, int] = field(default_factory=dict)
    bounds: dict[tuple[int, int], int] = field(default_factory=dict)
    known: dict[tuple[int, ...], int] = field(default_factory=dict)

    def add(self, atoms: tuple[int, ...], rest: tuple[Formula, ...]) -> int:
        """The number of the program that demands these atoms and formulas."""
        code = [OP_ALL_ATOMS, len(atoms), *atoms, OP_REQUIRE] if atoms else []
        for formula in sorted(rest, key=_price):
            code += [*self._code(formula), OP_REQUIRE]
        return self._interned(tuple(code))

    def _interned(self, code: tuple[int, ...]) -> int:
        number = self.known.setdefault(code, len(self.known))
        if number == len(self.starts) - 1:
            self.code += code
            self.starts.append(len(self.code))
        return number

    def _code(self, formula: Formula) -> list[int]:
        match formula:
            case All(parts):
                return [*self._codes(parts), OP_ALL, len(parts)]
            case AnyOf(parts):
                return [*self._codes(parts), OP_ANY, len(parts)]
            case Count(least, parts):
                return [*self._codes(parts), OP_COUNT, len(parts), least]
            case Without(part):
                return [*self._code(part), OP_NOT]
            case Phrase():
                return [OP_PHRASE, self.phrases.setdefault(formula, len(self.phrases))]
            case Within(axis, low, high):
                bound = self.bounds.setdefault((low, high), len(self.bounds))
                return [OP_WITHIN, self.axes.setdefault(axis, len(self.axes)), bound]
            case Ask() | Ordered():
                return [OP_ASK]
            case _:
                return [OP_ATOM, self.atom_id(formula)]

    def _codes(self, parts: tuple[Formula, ...]) -> list[int]:
        return [word for part in parts for word in self._code(part)]


def _price(formula: Formula) -> int:
    """Cheap parts first: atoms and bounds, then connectives, then phrases, then questions."""
    match formula:
        case Without(part):
            return _price(part)
        case Ask() | Ordered():
            return 4
        case Phrase():
            return 3
        case All() | AnyOf() | Count():
            return 2
        case Within():
            return 1
        case _:
            return 0
