"""From parts of patterns to the arrays of a `GraphSet`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise

import numpy as np

from feedweir.match.arrays import Array, frozen, starts_of
from feedweir.match.graphs.compared_values import OPS, Axes, microseconds, type_of
from feedweir.match.graphs.graph_forms import about, compared_value, is_compared
from feedweir.match.graphs.graph_set import (
    IRIS,
    LITERALS,
    NUMBERS,
    TEXTS,
    Constants,
    GraphSet,
)
from feedweir.match.graphs.join_kernels import MOMENT, NUMBER, TEXT, TIME, Shapes
from feedweir.match.graphs.triple_kernels import (
    IN_OBJECT,
    IN_PREDICATE,
    IN_SUBJECT,
    SAME_PO,
    SAME_SO,
    SAME_SP,
    Atoms,
    Names,
    atom_keys,
    fill_atoms,
)
from feedweir.match.words.dictionary import dictionary_of
from feedweir.match.words.dictionary_kernels import Dictionary
from feedweir.plan.graph_variables import variables_of
from feedweir.plan.predicates import (
    Constant,
    Constraint,
    GraphConstraint,
    GraphPattern,
    GraphTerm,
    Iri,
    RdfLiteral,
    Triple,
    Variable,
)
from feedweir.text.dates import instant_of

_MOST_SHARED = 255
_Key = tuple[int, int, int, int]
"""The constants of an atom, -1 where it is open, and its mask."""
_Tests = tuple[tuple[int, int], ...]
"""(place, number of a test): what must be true of the terms of a triple."""
_Wanted = tuple[int, int, int, int]
"""A triple of a shape: its atom (~i for the i-th condition), and its variables or -1."""
_Slot = tuple[int, int, int]
"""A comparison of a shape: variable, operator, kind of value."""
_Value = str | float | datetime
_Values = tuple[_Value, ...]
_Shape = tuple[tuple[_Wanted, ...], tuple[_Slot, ...]]


@dataclass(slots=True)
class _Draft:
    """What parts consist of, each thing once."""

    is_in_tables: Callable[[GraphConstraint], bool]
    constants: dict[GraphTerm, int] = field(default_factory=dict)
    atoms: dict[_Key, int] = field(default_factory=dict)
    tests: dict[GraphConstraint, int] = field(default_factory=dict)
    conditions: dict[tuple[int, _Tests], int] = field(default_factory=dict)
    shapes: dict[_Shape, list[tuple[int, _Values]]] = field(default_factory=dict)


def compile_graphs(
    parts: Sequence[GraphPattern], is_in_tables: Callable[[GraphConstraint], bool] = is_compared
) -> GraphSet:
    """Parts in their one form (`graph_forms.parts_of`), the i-th of which is reported as i.

    Those constraints that are not looked up in sorted tables are tested on each term.
    """
    draft = _Draft(is_in_tables)
    read = [_read(draft, part) for part in parts]
    ranks = _ranks(draft, [wanted for wanted, _, _ in read])
    for number, (wanted, slots, values) in enumerate(read):
        ordered = tuple(sorted(wanted, key=lambda one: (ranks[one[0]], one[1:])))
        draft.shapes.setdefault((ordered, slots), []).append((number, values))
    names, dictionary, constants, number_names, types, renamed = _named(draft)
    atoms, masks = _atoms(draft, renamed)
    shapes, axes, part_numbers, compared = _shapes(draft, ranks)
    return GraphSet(
        constants, dictionary, names, types, number_names, atoms, masks, compared, tuple(draft.tests),
        tuple(draft.conditions), shapes, axes, part_numbers,
    )  # fmt: skip


# Parts


def _read(draft: _Draft, part: GraphPattern) -> tuple[list[_Wanted], tuple[_Slot, ...], _Values]:
    tests: dict[int, list[int]] = {}
    compared: list[tuple[_Slot, _Value]] = []
    for one in part.constraints:
        (name,) = variables_of(one)
        variable = int(name)
        if draft.is_in_tables(one):
            assert isinstance(one, Constraint)
            value = compared_value(one.value)
            assert value is not None
            compared.append(((variable, OPS[one.op], _kind_of(value)), value))
        else:
            test = about(one, "")
            tests.setdefault(variable, []).append(draft.tests.setdefault(test, len(draft.tests)))
    compared.sort(key=lambda one: (one[0], str(one[1])))
    wanted = [_wanted(draft, triple, tests) for triple in part.triples]
    return wanted, tuple(slot for slot, _ in compared), tuple(value for _, value in compared)


def _kind_of(value: _Value) -> int:
    if isinstance(value, str):
        return TEXT if instant_of(value) is None else TIME
    return MOMENT if isinstance(value, datetime) else NUMBER


def _wanted(draft: _Draft, triple: Triple, tests: dict[int, list[int]]) -> _Wanted:
    """A triple as an atom with its variables; what is tested of these is tested where they first stand."""
    constants, variables = [-1, -1, -1], [-1, -1, -1]
    conditions: list[tuple[int, int]] = []
    for place, term in enumerate((triple.subject, triple.predicate, triple.object)):
        if isinstance(term, Variable):
            variables[place] = int(term.name)
            conditions += [(place, test) for test in tests.pop(variables[place], ())]
        else:
            constants[place] = draft.constants.setdefault(term, len(draft.constants))
    s, p, o = variables
    mask = (IN_SUBJECT if s < 0 else 0) | (IN_PREDICATE if p < 0 else 0) | (IN_OBJECT if o < 0 else 0)
    mask |= (
        (SAME_SO if s == o >= 0 else 0) | (SAME_SP if s == p >= 0 else 0) | (SAME_PO if p == o >= 0 else 0)
    )
    atom = draft.atoms.setdefault((*constants, mask), len(draft.atoms))  # type: ignore[arg-type]
    if conditions:
        key = (atom, tuple(sorted(conditions)))
        atom = ~draft.conditions.setdefault(key, len(draft.conditions))
    return atom, s, p, o


def _ranks(draft: _Draft, read: Sequence[Iterable[_Wanted]]) -> dict[int, int]:
    """Atoms by how rarely a triple is expected to satisfy them, the rarest first.

    A constant is taken to be as common in triples as it is in patterns: of two atoms of one kind, that with the rarer
    constants comes first. A wrong guess costs time only.
    """
    counts = [dict[int, int](), dict[int, int](), dict[int, int]()]
    n = 1
    keys = list(draft.atoms)
    for wanted in read:
        for atom, *_ in wanted:
            key = keys[atom if atom >= 0 else list_at(draft, atom)]
            n += 1
            for place in range(3):
                if key[place] >= 0:
                    counts[place][key[place]] = counts[place].get(key[place], 0) + 1

    def share(key: _Key) -> float:
        found = 1.0 if key[3] < SAME_SO else 0.1
        for place in range(3):
            if key[place] >= 0:
                found *= counts[place].get(key[place], 1) / n
        return found

    shares = {atom: share(key) for key, atom in draft.atoms.items()}
    shares |= {~i: shares[atom] * 0.1 for (atom, _), i in draft.conditions.items()}
    return {atom: rank for rank, atom in enumerate(sorted(shares, key=lambda one: (shares[one], one)))}


def list_at(draft: _Draft, condition: int) -> int:
    return next(atom for (atom, _), i in draft.conditions.items() if i == ~condition)


# Constants


def _named(
    draft: _Draft,
) -> tuple[Names, Dictionary, Constants, Array, dict[tuple[str, str], int], Array]:
    """The strings of constants as a dictionary, what each means, and constants in a new order: numbers come last."""
    strings: dict[bytes, int] = {}
    kinds: list[int] = []
    entries: list[int] = []
    literal_types: list[int] = []
    types: dict[tuple[str, str], int] = {}
    renamed = np.empty(len(draft.constants), np.int32)
    numbers = sorted(set(map(_number, filter(_is_number, draft.constants))))
    place_of = {value: place for place, value in enumerate(numbers)}
    n_strings = sum(not _is_number(one) for one in draft.constants)
    for term, number in draft.constants.items():
        if _is_number(term):
            renamed[number] = n_strings + place_of[_number(term)]
            continue
        renamed[number] = len(kinds)
        text, kind, type_ = _string_of(term, types)
        kinds.append(kind)
        literal_types.append(type_)
        entries.append(strings.setdefault(text.encode("utf-8", "surrogatepass"), len(strings)))
    kinds += [NUMBERS] * len(numbers)
    entries += range(len(numbers))
    literal_types += [-1] * len(numbers)
    constants = Constants(
        frozen(np.array(kinds, np.int8)),
        frozen(np.array(entries, np.int32)),
        frozen(np.array(literal_types, np.int32)),
    )
    return (
        _names(constants, len(strings)), dictionary_of(list(strings)), constants,
        frozen(np.array(numbers, np.float64)), types, renamed,
    )  # fmt: skip


def _is_number(term: GraphTerm) -> bool:
    return isinstance(term, Constant) and not isinstance(term.value, str)


def _number(term: GraphTerm) -> float:
    assert isinstance(term, Constant)
    return float(term.value)


def _string_of(term: GraphTerm, types: dict[tuple[str, str], int]) -> tuple[str, int, int]:
    match term:
        case Iri(iri):
            return iri, IRIS, -1
        case Constant(str(text)):
            return text, TEXTS, -1
        case RdfLiteral(text, datatype, language):
            return text, LITERALS, types.setdefault(type_of(datatype, language), len(types))
        case _:
            raise TypeError(f"{term!r} cannot be a constant of a triple")


def _names(constants: Constants, n_strings: int) -> Names:
    kinds, entries = constants.kinds, constants.entries

    def by_entry(kind: int) -> Array:
        found = np.full(n_strings, -1, np.int32)
        some = np.flatnonzero(kinds == kind)
        found[entries[some]] = some
        return frozen(found)

    literals = np.flatnonzero(kinds == LITERALS)
    literals = literals[np.argsort(entries[literals], kind="stable")]
    counts = np.bincount(entries[literals], minlength=n_strings)
    return Names(
        by_entry(IRIS),
        by_entry(TEXTS),
        starts_of(counts),
        frozen(constants.types[literals].astype(np.int32)),
        frozen(literals.astype(np.int32)),
        frozen(np.array([(kinds == TEXTS).any()], np.bool_)),
    )


def _atoms(draft: _Draft, renamed: Array) -> tuple[Atoms, Array]:
    parts = np.array(list(draft.atoms), np.int64).reshape(-1, 4)
    names = np.append(renamed, -1).astype(np.int64)  # the last is for open places
    keys = frozen(atom_keys(np.concatenate([names[parts[:, :3]], parts[:, 3:]], axis=1)))
    slots = np.full(2 * len(keys) + 2, -1, np.int32)
    fill_atoms(Atoms(slots, keys))
    return Atoms(frozen(slots), keys), frozen(np.unique(parts[:, 3]).astype(np.int8))


# Shapes


def _shapes(draft: _Draft, ranks: dict[int, int]) -> tuple[Shapes, Axes, Array, Array]:
    n_base = len(draft.atoms)
    order = sorted(draft.shapes, key=lambda one: [(ranks[wanted[0]], wanted[1:]) for wanted in one[0]])
    wanted = np.array([row for shape in order for row in shape[0]], np.int64).reshape(-1, 4)
    atoms = np.where(wanted[:, 0] < 0, n_base + ~wanted[:, 0], wanted[:, 0]).astype(np.int32)
    lengths = np.array([len(shape[0]) for shape in order], np.int64)
    starts = starts_of(lengths)
    variables = wanted[:, 1:].astype(np.int16)
    n_atoms = n_base + len(draft.conditions)
    # blocks lie in the order of ranks: here they are put in the order of atoms
    by_atom = np.argsort(atoms[starts[:-1]], kind="stable")
    order = [order[place] for place in by_atom.tolist()]
    moved = _stretches(starts, lengths, by_atom)
    atoms, variables, lengths = atoms[moved], variables[moved], lengths[by_atom]
    starts = starts_of(lengths)
    firsts = np.bincount(atoms[starts[:-1]], minlength=n_atoms)
    members = [draft.shapes[shape] for shape in order]
    axes = _axes(members, order)
    slots = [slot for shape in order for slot in shape[1]]
    counts = _variable_counts(starts, variables)
    slot_starts = starts_of(np.array([len(shape[1]) for shape in order], np.int64))
    columns, places, orders = _columns(order, members, axes)
    shapes = Shapes(
        starts_of(firsts),
        frozen(_shared(starts, atoms)),
        starts,
        frozen(atoms),
        frozen(variables),
        frozen(counts),
        slot_starts,
        frozen(np.array([slot[0] for slot in slots], np.int16)),
        frozen(np.array([slot[1] for slot in slots], np.int8)),
        frozen(np.array([slot[2] for slot in slots], np.int8)),
        frozen(np.array(columns, np.int64)),
        starts_of(np.array([len(some) for some in members], np.int64)),
        frozen(places),
        frozen(orders),
        frozen(np.array([counts.max(initial=0), lengths.max(initial=0)], np.int64)),
    )
    numbers = np.array([number for some in members for number, _ in some], np.int32)
    return shapes, axes, frozen(numbers), frozen(_compared(shapes, n_atoms, draft))


def _stretches(starts: Array, lengths: Array, order: Array) -> Array:
    found = [np.arange(starts[one], starts[one] + lengths[one]) for one in order.tolist()]
    return np.concatenate([np.empty(0, np.int64), *found])


def _variable_counts(starts: Array, variables: Array) -> Array:
    if len(starts) == 1:
        return np.empty(0, np.int16)
    most: Array = np.maximum.reduceat(variables.max(axis=1), starts[:-1])
    return most + np.int16(1)


def _shared(starts: Array, atoms: Array) -> Array:
    """How many first atoms each shape has in common with the one before."""
    found = np.zeros(len(starts) - 1, np.uint8)
    rows = [atoms[a:b].tolist() for a, b in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)]
    for number in range(1, len(rows)):
        common = 0
        for one, other in zip(rows[number - 1], rows[number], strict=False):
            if one != other or common == _MOST_SHARED:
                break
            common += 1
        found[number] = common
    return found


def _axes(members: Sequence[Sequence[tuple[int, _Values]]], order: Sequence[_Shape]) -> Axes:
    numbers: set[float] = set()
    texts: set[bytes] = set()
    times: set[int] = set()
    for shape, some in zip(order, members, strict=True):
        for at, (_, _, kind) in enumerate(shape[1]):
            for _, values in some:
                value = values[at]
                if kind == NUMBER:
                    assert isinstance(value, float)
                    numbers.add(value)
                if kind in (TEXT, TIME):
                    texts.add(str(value).encode("utf-8", "surrogatepass"))
                if kind in (TIME, MOMENT):
                    times.add(_moment(value))
    in_order = sorted(texts)
    lengths = np.array([len(text) for text in in_order], np.int64)
    return Axes(
        frozen(np.array(sorted(numbers), np.float64)),
        frozen(np.frombuffer(b"".join(in_order), np.uint8)),
        frozen(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)),
        frozen(np.array(sorted(times), np.int64)),
    )


def _columns(
    order: Sequence[_Shape], members: Sequence[Sequence[tuple[int, _Values]]], axes: Axes
) -> tuple[list[int], Array, Array]:
    """(where the column of each slot begins, places, orders); a time has a second column, for terms that are none."""
    texts = axes.text.tobytes()
    ends = axes.text_starts.tolist()
    place_of_text = {texts[a:b]: 2 * i + 1 for i, (a, b) in enumerate(pairwise(ends))}
    place_of_number = {value: 2 * i + 1 for i, value in enumerate(axes.numbers.tolist())}
    place_of_time = {value: 2 * i + 1 for i, value in enumerate(axes.times.tolist())}
    columns: list[int] = []
    places: list[Array] = [np.empty(0, np.int32)]
    orders: list[Array] = [np.empty(0, np.int32)]
    at = 0
    for shape, some in zip(order, members, strict=True):
        for slot, (_, _, kind) in enumerate(shape[1]):
            columns.append(at)
            values = [of_part[slot] for _, of_part in some]
            found = []
            if kind == NUMBER:
                found.append([place_of_number[value] for value in values])
            if kind in (TIME, MOMENT):
                found.append([place_of_time[_moment(value)] for value in values])
            if kind in (TIME, TEXT):
                found.append([place_of_text[str(value).encode("utf-8", "surrogatepass")] for value in values])
            for column in found:
                array = np.array(column, np.int32)
                places.append(array)
                orders.append(np.argsort(array, kind="stable").astype(np.int32))
                at += len(array)
    return columns, np.concatenate(places), np.concatenate(orders)


def _moment(value: _Value) -> int:
    return microseconds(value if isinstance(value, datetime) else instant_of(str(value)))


def _compared(shapes: Shapes, n_atoms: int, draft: _Draft) -> Array:
    """By atom which places are compared with which kinds of values: bit 3 · kind + place. A time is a text, too."""
    found = np.zeros(n_atoms, np.int16)
    starts, slots = shapes.starts.tolist(), shapes.slots.tolist()
    for shape in range(len(starts) - 1):
        for slot in range(slots[shape], slots[shape + 1]):
            kind = int(shapes.slot_kinds[slot])
            for at in range(starts[shape], starts[shape + 1]):
                for place in np.flatnonzero(shapes.variables[at] == shapes.slot_variables[slot]).tolist():
                    for read in (TEXT, MOMENT) if kind == TIME else (kind,):
                        found[shapes.atoms[at]] |= 1 << (3 * read + place)
    return found
