"""Parts of graph patterns compiled into one matcher.

A batch of triples goes through four kernels: terms to the constants that they are, triples to the atoms that they
satisfy (`triple_kernels`), terms to places among the values that are compared, atoms to parts (`join_kernels`). Between
them Python decides only what constraints say of single terms beyond comparing them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from feedweir.items.triples import Node, Statement
from feedweir.match.arrays import Array, frozen
from feedweir.match.graphs.compared_values import Axes, numbers_of, placed, type_of
from feedweir.match.graphs.join_kernels import (
    MOMENT,
    NUMBER,
    TEXT,
    Facts,
    Room,
    Shapes,
    find_parts,
)
from feedweir.match.graphs.triple_batches import TripleBatch, batch_of_statements
from feedweir.match.graphs.triple_kernels import (
    IN_PREDICATE,
    LITERAL,
    Atoms,
    Names,
    Terms,
    hits_of_rows,
    names_of_terms,
    places_of_texts,
)
from feedweir.match.meaning.term_tests import keeps
from feedweir.match.words.dictionary_kernels import Dictionary
from feedweir.plan.predicate_wire import predicate_from_json, predicate_to_json
from feedweir.plan.predicates import (
    GraphConstraint,
    GraphPattern,
)

_PREDICATES_KEPT = 10_000
_LAST_ROW = 2**31 - 1
IRIS, TEXTS, LITERALS, NUMBERS = 0, 1, 2, 3


Hits = tuple[Array, Array, Array]
"""(where those of each row begin, atoms, triples)."""
Places = tuple[Array, Array, Array]
"""By kind of value and term the place among all values of the kind, -1 for none."""


class Constants(NamedTuple):
    """What is written in triples: of which kind each is, its entry in the dictionary (of a number its place among the
    numbers), and of a typed literal the number of its type."""

    kinds: Any
    entries: Any
    types: Any


class _Workroom:
    """Room that is kept from one batch to the next, for one caller at a time."""

    def __init__(self) -> None:
        self.turn = Lock()
        self.room: Room | None = None
        self.next_row = 0

    def of(self, n_atoms: int, n_parts: int, n_terms: int, n_rows: int) -> tuple[Room, int]:
        """The room, and the number under which the first row is known in it."""
        room = self.room
        if room is None or self.next_row + n_rows >= _LAST_ROW:
            room = Room(
                np.full(n_atoms, -1, np.int32),
                np.full(n_terms, -1, np.int32),
                np.full(n_parts, -1, np.int32),
            )
            self.next_row = 0
        elif len(room.local) < n_terms:
            room = room._replace(local=np.full(2 * n_terms, -1, np.int32))
        first = self.next_row
        self.next_row += n_rows
        self.room = None  # a caller that fails leaves nothing behind
        return room, first


@dataclass(frozen=True)
class GraphSet:
    """An immutable set of parts; `parts[i]` is reported as `part_numbers[i]`."""

    constants: Constants
    dictionary: Dictionary
    names: Names
    literal_types: Mapping[tuple[str, str], int]
    number_names: Array
    """The numbers that triples name, in order; they are the last of the constants."""
    atoms: Atoms
    masks: Array
    compared: Array
    """By atom which of its places are compared, three bits for each kind of value."""
    tests: Sequence[GraphConstraint]
    """What is asked of terms beyond comparing them; Python decides, for each term once."""
    conditions: Sequence[tuple[int, tuple[tuple[int, int], ...]]]
    """(atom, (place, test) …): each makes an atom of its own, behind those of triples alone."""
    shapes: Shapes
    axes: Axes
    part_numbers: Array
    """By part as shapes have them the number of the pattern that was given."""

    def __len__(self) -> int:
        return len(self.part_numbers)

    @property
    def nbytes(self) -> int:
        """What its arrays take."""
        own = (self.number_names, self.masks, self.compared, self.part_numbers)
        groups = (self.dictionary, self.names, self.atoms, self.shapes, self.axes)
        return sum(array.nbytes for group in (*groups, own) for array in group)

    def matches(self, batch: TripleBatch) -> GraphMatches:
        """The parts that each row has, and those that were left undecided."""
        hits = self.hits_of(batch, *self.names_of(batch))
        if self.conditions:
            hits = self.with_conditions(batch, hits, lambda test, term: keeps(test, {"": batch.node(term)}))
        places = self.places_of(batch, hits)
        return self.found(batch, hits, places, places)

    def found(self, batch: TripleBatch, hits: Hits, least: Places, most: Places) -> GraphMatches:
        """The parts whose atoms and values are there; terms lie between two places of each kind."""
        hit_ptr, hit_atoms, hit_triples = hits
        facts = Facts(
            batch.row_ptr, batch.subjects, batch.predicates, batch.objects, frozen(hit_ptr), frozen(hit_atoms),
            frozen(hit_triples), *least, *most,
        )  # fmt: skip
        work = self._workroom
        with work.turn:
            room, first_row = work.of(
                len(self.shapes.first) - 1, len(self.part_numbers), batch.n_terms, len(batch)
            )
            rows, parts, tried = find_parts(facts, self.shapes, room, first_row)
            work.room = room
        is_found = parts >= 0
        return GraphMatches(
            rows[is_found],
            self.part_numbers[parts[is_found]],
            rows[~is_found],
            self.part_numbers[~parts[~is_found]],
            int(tried),
        )

    def wants(self, predicate: str) -> bool:
        """Whether any atom can be satisfied by triples with a predicate."""
        if predicate not in self._wanted:
            if len(self._wanted) >= _PREDICATES_KEPT:
                self._wanted.clear()
            statement = Statement(Node("blank", ""), Node("iri", predicate), Node("blank", ""))
            _, names = self.names_of(batch_of_statements([[statement]]))
            has_open = bool((self.masks & IN_PREDICATE == 0).any())
            self._wanted[predicate] = has_open or bool(np.isin(names, self.atoms.keys[:, 1]).any())
        return self._wanted[predicate]

    @cached_property
    def _wanted(self) -> dict[str, bool]:
        return {}

    # Terms

    def names_of(self, batch: TripleBatch) -> tuple[Array, Array]:
        known = self.literal_types
        types = np.array([known.get(type_of(*pair), -1) for pair in batch.types], np.int32)
        name_ptr = np.zeros(batch.n_terms + 1, np.int64)
        found = np.empty(2 * batch.n_terms + 16, np.int32)
        count = names_of_terms(batch.terms, self.dictionary, self.names, frozen(types), name_ptr, found)
        if count > len(found):
            found = np.empty(count, np.int32)
            names_of_terms(batch.terms, self.dictionary, self.names, frozen(types), name_ptr, found)
        if len(self.number_names) and batch.n_terms:
            return self._with_numbers(batch, name_ptr, found[:count])
        return frozen(name_ptr), frozen(found[:count])

    def _with_numbers(self, batch: TripleBatch, name_ptr: Array, names: Array) -> tuple[Array, Array]:
        values = numbers_of(batch, np.arange(batch.n_terms, dtype=np.int32))
        found = self.names_of_numbers(values)
        terms = np.flatnonzero(found >= 0)
        joined = np.insert(names, name_ptr[terms + 1], found[terms].astype(np.int32))
        more = np.zeros(len(name_ptr), np.int64)
        more[terms + 1] = 1
        return frozen(name_ptr + np.cumsum(more)), frozen(joined)

    def names_of_numbers(self, values: Array) -> Array:
        """The constants that are these numbers, -1 for others."""
        places = np.searchsorted(self.number_names, values)
        is_known = np.append(self.number_names, np.nan)[places] == values
        return np.where(is_known, len(self.constants.kinds) - len(self.number_names) + places, -1)

    def places_of_strings(self, text: Array, starts: Array, chosen: Array) -> Array:
        """Where some of many strings, one after the other, lie among those that are compared."""
        lengths = (starts[1:] - starts[:-1]).astype(np.int32)
        kinds = np.full(len(lengths), LITERAL, np.int8)
        terms = Terms(text, frozen(starts[:-1]), frozen(lengths), frozen(kinds), frozen(lengths))
        places = np.empty(len(chosen), np.int32)
        places_of_texts(terms, frozen(chosen.astype(np.int32)), self.axes.text, self.axes.text_starts, places)
        return places

    # Hits

    def hits_of(self, batch: TripleBatch, name_ptr: Array, names: Array) -> tuple[Array, Array, Array]:
        hit_ptr = np.zeros(len(batch) + 1, np.int64)
        room = 4 * len(batch.subjects) + 16
        while True:
            hit_atoms, hit_triples = np.empty(room, np.int32), np.empty(room, np.int32)
            count = hits_of_rows(
                batch.row_ptr, batch.subjects, batch.predicates, batch.objects, name_ptr, names, self.atoms,
                self.masks, hit_ptr, hit_atoms, hit_triples,
            )  # fmt: skip
            if count <= room:
                return hit_ptr, hit_atoms[:count], hit_triples[:count]
            room = count

    def with_conditions(
        self, batch: TripleBatch, hits: Hits, passes: Callable[[GraphConstraint, int], bool]
    ) -> Hits:
        """Hits with those of atoms that are conditions on the terms of others."""
        hit_ptr, hit_atoms, hit_triples = hits
        by_atom = self._conditions_of
        more: list[tuple[int, int, int]] = []
        known: dict[tuple[int, int], bool] = {}
        columns = (batch.subjects, batch.predicates, batch.objects)

        def is_kept(test: int, term: int) -> bool:
            if (test, term) not in known:
                known[test, term] = passes(self.tests[test], term)
            return known[test, term]

        rows = np.repeat(np.arange(len(batch)), np.diff(hit_ptr))
        concerned = np.flatnonzero(np.isin(hit_atoms, np.fromiter(by_atom, np.int32, len(by_atom))))
        for hit in concerned.tolist():
            triple = int(hit_triples[hit])
            for number in by_atom[int(hit_atoms[hit])]:
                if all(
                    is_kept(test, int(columns[place][triple])) for place, test in self.conditions[number][1]
                ):
                    more.append((int(rows[hit]), len(self.atoms.keys) + number, triple))
        if not more:
            return hit_ptr, hit_atoms, hit_triples
        added = np.array(more, np.int64)
        rows = np.concatenate([rows, added[:, 0]])
        order = np.argsort(rows, kind="stable")
        counts = np.bincount(rows, minlength=len(batch))
        return (
            np.concatenate([[0], np.cumsum(counts)]),
            np.concatenate([hit_atoms, added[:, 1].astype(np.int32)])[order],
            np.concatenate([hit_triples, added[:, 2].astype(np.int32)])[order],
        )

    @cached_property
    def _conditions_of(self) -> dict[int, list[int]]:
        by_atom: dict[int, list[int]] = {}
        for number, (atom, _) in enumerate(self.conditions):
            by_atom.setdefault(atom, []).append(number)
        return by_atom

    @cached_property
    def _workroom(self) -> _Workroom:
        return _Workroom()

    # Values

    def places_of(self, batch: TripleBatch, hits: Hits) -> Places:
        """By kind the places of those terms that some part compares among all values of the kind; -1 for others."""
        _, hit_atoms, hit_triples = hits
        found = tuple(np.full(batch.n_terms, -1, np.int32) for _ in range(3))
        flags = self.compared[hit_atoms]
        for kind in (NUMBER, TEXT, MOMENT):
            some = np.flatnonzero(flags >> (3 * kind) & 7)
            if not len(some):
                continue
            terms = [
                column[hit_triples[some[flags[some] >> (3 * kind + place) & 1 != 0]]]
                for place, column in enumerate((batch.subjects, batch.predicates, batch.objects))
            ]
            chosen = np.unique(np.concatenate(terms))
            found[kind][chosen] = placed(self.axes, kind, batch, chosen)
        return frozen(found[NUMBER]), frozen(found[TEXT]), frozen(found[MOMENT])

    # On disk

    def stored(self) -> tuple[dict[str, Array], Any]:
        groups: dict[str, Any] = {"constants": self.constants, "dictionary": self.dictionary}
        groups |= {"names": self.names, "atoms": self.atoms, "shapes": self.shapes, "axes": self.axes}
        arrays = {
            f"{group}.{name}": array
            for group, held in groups.items()
            for name, array in held._asdict().items()
        }
        for name in ("number_names", "masks", "compared", "part_numbers"):
            arrays[name] = getattr(self, name)
        details = {
            "literal_types": [[*pair, number] for pair, number in self.literal_types.items()],
            "tests": predicate_to_json(GraphPattern((), tuple(self.tests))),
            "conditions": self.conditions,
        }
        return arrays, details

    @classmethod
    def loaded(cls, arrays: Mapping[str, Array], details: Any) -> GraphSet:
        def group(kind: Any, name: str) -> Any:
            return kind(*(arrays[f"{name}.{part}"] for part in kind._fields))

        return cls(
            group(Constants, "constants"),
            group(Dictionary, "dictionary"),
            group(Names, "names"),
            {(datatype, language): number for datatype, language, number in details["literal_types"]},
            arrays["number_names"],
            group(Atoms, "atoms"),
            arrays["masks"],
            arrays["compared"],
            predicate_from_json(details["tests"]).constraints,  # type: ignore[union-attr]
            tuple((atom, tuple(map(tuple, tests))) for atom, tests in details["conditions"]),
            group(Shapes, "shapes"),
            group(Axes, "axes"),
            arrays["part_numbers"],
        )


@dataclass(frozen=True, slots=True)
class GraphMatches:
    """Pairs of a row and a part that it has, and pairs that were left undecided; how many shapes were tried."""

    rows: Array
    parts: Array
    undecided_rows: Array
    undecided_parts: Array
    tried: int
