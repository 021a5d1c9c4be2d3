"""Predicates in numbers: clauses are numbered, a predicate is a sorted run of clause numbers.

Literals and clauses are numbered once, and related once, for a whole set.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from feedweir.optimize.atom_relations import relate
from feedweir.optimize.boolean_forms import Clause, Cnf, Literal, clause_predicate, literal_key, to_cnf
from feedweir.optimize.selectivity import Selectivity, clause_lift, clause_share
from feedweir.optimize.subsumption import signed
from feedweir.plan.predicates import And, AtLeast, Atom, Not, Or, Predicate

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def no_runs(count: int) -> Longs:
    """The starts of `count` empty runs."""
    return np.zeros(count + 1, np.int64)


def no_numbers() -> Ints:
    return np.empty(0, np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class CodedPredicates:
    """Conjunctions of numbered clauses, as runs of a flat array; the empty conjunction is `true`.

    A run is sorted, has each clause once, and no clause that another of the run implies: so two predicates
    are equivalent exactly when their runs are equal.
    """

    starts: Longs
    clauses: Ints
    selectivity: Floats
    """Of each clause: the share of items that satisfy it."""
    weaker_starts: Longs
    weaker: Ints
    """For each clause, as runs, all other clauses that it implies."""
    pair_keys: Longs = field(default_factory=lambda: np.empty(0, np.int64))
    """Pairs of clauses (lower << 32 | higher), sorted, whose joint frequency is known."""
    pair_lifts: Floats = field(default_factory=lambda: np.empty(0, np.float64))
    """Their joint frequency over that of independent clauses."""

    @property
    def count(self) -> int:
        return int(self.starts.size - 1)

    def run(self, predicate: int) -> tuple[int, ...]:
        return tuple(self.clauses[self.starts[predicate] : self.starts[predicate + 1]].tolist())


def conjunctions(runs: list[tuple[int, ...]], selectivity: list[float] | Floats) -> CodedPredicates:
    """Predicates over clauses that do not imply each other."""
    weights = np.asarray(selectivity, np.float64)
    starts = np.zeros(len(runs) + 1, np.int64)
    np.cumsum([len(set(run)) for run in runs], out=starts[1:])
    clauses = np.array([clause for run in runs for clause in sorted(set(run))], np.int32)
    return CodedPredicates(starts, clauses, weights, no_runs(weights.size), no_numbers())


def flat(runs: Sequence[tuple[int, ...]]) -> tuple[Longs, Ints]:
    """Runs in one array, with their starts."""
    starts = np.zeros(len(runs) + 1, np.int64)
    np.cumsum([len(run) for run in runs], out=starts[1:])
    return starts, np.array([clause for run in runs for clause in run], np.int32)


MAX_WEAKER = 64
"""The weaker clauses that are kept for a clause: the most selective ones, since those make the best
parents.
"""

Numbers = frozenset[int]


@dataclass(frozen=True, slots=True)
class Book:
    """What the numbers mean."""

    literals: tuple[Literal, ...]
    """Literal 2·n is an atom (or an unexpanded part), literal 2·n + 1 its negation."""
    clauses: tuple[Numbers, ...]
    """The literals of each clause."""

    def clause(self, number: int) -> Clause:
        return frozenset(self.literals[literal] for literal in self.clauses[number])

    def predicate_of(self, run: Iterable[int]) -> Predicate:
        """The predicate that a run of clauses says."""
        parts = tuple(clause_predicate(self.clause(number)) for number in run)
        return parts[0] if len(parts) == 1 else And(parts)


@dataclass(frozen=True, slots=True)
class LiteralRelations:
    """For each literal the literals it implies, itself included, and those it contradicts."""

    implied: Sequence[AbstractSet[int]]
    contradicted: Sequence[AbstractSet[int]]

    def clause_implies(self, one: Numbers, other: Numbers) -> bool:
        return all(not self.implied[literal].isdisjoint(other) for literal in one)

    def lowest(self, literal: int) -> int:
        """The one that stands for all literals equivalent to it: `B` and `b` are one word."""
        return min(other for other in self.implied[literal] if literal in self.implied[other])

    def weakest(self, clause: Numbers) -> Numbers:
        """A clause without literals that imply another of its literals."""
        kept: list[int] = []
        for literal in sorted({self.lowest(literal) for literal in clause}):
            if self.implied[literal].isdisjoint(kept):
                kept = [other for other in kept if literal not in self.implied[other]]
                kept.append(literal)
        return frozenset(kept)

    def strongest(self, clauses: Iterable[Numbers]) -> list[Numbers]:
        """Clauses without those that another one implies."""
        kept: list[Numbers] = []
        for clause in sorted(set(clauses), key=lambda clause: (len(clause), sorted(clause))):
            if not any(self.clause_implies(other, clause) for other in kept):
                kept = [other for other in kept if not self.clause_implies(clause, other)]
                kept.append(clause)
        return kept

    def is_never(self, clauses: list[Numbers]) -> bool:
        """Whether unit propagation finds a contradiction."""
        refuted: set[int] = set()
        rest = clauses
        while True:
            units = [clause for clause in rest if len(clause) <= 1]
            new = set().union(*(self.contradicted[literal] for unit in units for literal in unit))
            if any(not clause for clause in rest):
                return True
            if new <= refuted:
                return False
            refuted |= new
            rest = [clause - refuted for clause in rest]


def encode(predicates: Sequence[Predicate], known: Selectivity) -> tuple[CodedPredicates, Book]:
    """Number the clauses of all predicates, relate them, and estimate how often they hold.

    A predicate that can never hold becomes the empty clause, which never does.
    """
    forms = {predicate: to_cnf(predicate) for predicate in dict.fromkeys(predicates)}
    atoms, literals = _number_literals(forms.values())
    relations = _literal_relations(atoms)
    runs = {predicate: _clauses_of(form, literals, relations) for predicate, form in forms.items()}
    clauses = tuple(dict.fromkeys(clause for run in runs.values() for clause in run))
    number = {clause: at for at, clause in enumerate(clauses)}
    by_number = tuple(Not(atom) if negated else atom for atom in atoms for negated in (False, True))
    book = Book(by_number, clauses)
    coded_runs = [sorted(number[clause] for clause in runs[predicate]) for predicate in predicates]
    return _coded(coded_runs, book, relations, known), book


def _number_literals(forms: Iterable[Cnf]) -> tuple[list[Predicate], dict[Literal, int]]:
    atoms: dict[Predicate, int] = {}
    literals: dict[Literal, int] = {}
    seen = (literal for form in forms for clause in form for literal in clause)
    # Sets come in any order: numbers must not depend on it.
    for literal in sorted(set(seen), key=literal_key):
        atom, is_negated = signed(literal)
        literals[literal] = 2 * atoms.setdefault(atom, len(atoms)) + is_negated
    return list(atoms), literals


def _literal_relations(atoms: list[Predicate]) -> LiteralRelations:
    plain: list[Atom] = [atom for atom in atoms if not isinstance(atom, (And, Or, AtLeast, Not))]
    known = relate(plain)
    place = {atom: at for at, atom in enumerate(atoms)}
    implied: list[set[int]] = [{literal} for literal in range(2 * len(atoms))]
    for atom, others, excluded in zip(plain, known.implied, known.excluded, strict=True):
        here = place[atom]
        for other in (place[plain[n]] for n in others):
            implied[2 * here].add(2 * other)
            implied[2 * other + 1].add(2 * here + 1)
        implied[2 * here] |= {2 * place[plain[n]] + 1 for n in excluded}
    contradicted = tuple(frozenset(literal ^ 1 for literal in each) for each in implied)
    return LiteralRelations(tuple(frozenset(each) for each in implied), contradicted)


def _clauses_of(form: Cnf, literals: dict[Literal, int], relations: LiteralRelations) -> list[Numbers]:
    clauses = [relations.weakest(frozenset(literals[literal] for literal in clause)) for clause in form]
    strongest = relations.strongest(clauses)
    return [frozenset()] if relations.is_never(strongest) else strongest


def _coded(
    runs: list[list[int]], book: Book, relations: LiteralRelations, known: Selectivity
) -> CodedPredicates:
    clauses = [book.clause(number) for number in range(len(book.clauses))]
    selectivity = np.array([clause_share(clause, known) if clause else 0.0 for clause in clauses], np.float64)
    starts = np.zeros(len(runs) + 1, np.int64)
    np.cumsum([len(run) for run in runs], out=starts[1:])
    weaker_starts, weaker = weaker_clauses(book.clauses, relations.implied, selectivity)
    keys, lifts = _pairs(runs, clauses, known)
    flat = np.array([clause for run in runs for clause in run], np.int32)
    return CodedPredicates(starts, flat, selectivity, weaker_starts, weaker, keys, lifts)


def weaker_clauses(
    clauses: Sequence[Numbers], implied: Sequence[AbstractSet[int]], selectivity: np.ndarray
) -> tuple[Longs, Ints]:
    """For each clause, as runs, the clauses it implies: each of its literals must imply one of theirs."""
    with_literal: dict[int, list[int]] = {}
    for number, clause in enumerate(clauses):
        for literal in sorted(clause):
            with_literal.setdefault(literal, []).append(number)
    runs: list[list[int]] = []
    for number, clause in enumerate(clauses):
        reach = [{n for i in implied[literal] for n in with_literal.get(i, ())} for literal in sorted(clause)]
        found = set.intersection(*reach) - {number} if reach else set()
        runs.append(sorted(found, key=lambda n: (selectivity[n], n))[:MAX_WEAKER])
    starts = np.zeros(len(runs) + 1, np.int64)
    np.cumsum([len(run) for run in runs], out=starts[1:])
    return starts, np.array([clause for run in runs for clause in run], np.int32)


def _pairs(runs: list[list[int]], clauses: list[Clause], known: Selectivity) -> tuple[Longs, np.ndarray]:
    """The lifts of pairs that stand together in a predicate and are known."""
    together = sorted({pair for run in runs for pair in combinations(run, 2)})
    lifts = {(one << 32) | two: clause_lift(clauses[one], clauses[two], known) for one, two in together}
    found = [(key, lift) for key, lift in lifts.items() if lift is not None]
    return (
        np.array([key for key, _ in found], np.int64),
        np.array([lift for _, lift in found], np.float64),
    )
