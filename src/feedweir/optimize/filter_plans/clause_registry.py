"""Clauses in numbers that only grow: those of each new predicate are related to those that are there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from feedweir.optimize.atom_relations import Key, atom_implies, atoms_exclude, keys_of, reach_of
from feedweir.optimize.boolean_forms import Clause, Literal, clause_key, literal_key, to_cnf
from feedweir.optimize.filter_plans.numbered_clauses import LiteralRelations, Numbers
from feedweir.optimize.subsumption import signed
from feedweir.plan.predicates import And, AtLeast, Atom, Not, Or, Predicate

Run = tuple[int, ...]

MOST_RELATED = 256
"""Atoms under one key that a new one is compared with: an implication that is missed costs sharing only."""


@dataclass(slots=True)
class ClauseRegistry:
    """Every clause ever seen, and which imply which. Nothing is forgotten: atoms are few beside
    predicates.
    """

    atoms: list[Predicate] = field(default_factory=list)
    implied: list[set[int]] = field(default_factory=list)
    contradicted: list[set[int]] = field(default_factory=list)
    clauses: list[Numbers] = field(default_factory=list)
    weaker: list[set[int]] = field(default_factory=list)
    stronger: list[set[int]] = field(default_factory=list)
    compared: int = 0
    """Pairs of atoms that were looked at because one may imply the other."""
    _atom_number: dict[Predicate, int] = field(default_factory=dict)
    _clause_number: dict[Numbers, int] = field(default_factory=dict)
    _related: dict[int, Atom] = field(default_factory=dict)
    """What is not composed of others, by number."""
    _filed: dict[Key, list[int]] = field(default_factory=dict)
    """Atoms by the keys under which they may be implied."""
    _reaching: dict[Key, list[int]] = field(default_factory=dict)
    """Atoms by the keys of what they may imply."""
    _with_literal: dict[int, set[int]] = field(default_factory=dict)

    @property
    def relations(self) -> LiteralRelations:
        return LiteralRelations(self.implied, self.contradicted)

    def run_of(self, predicate: Predicate) -> Run:
        """The clauses of a predicate, none implied by another; the empty clause alone when it can never
        hold.
        """
        form = to_cnf(predicate)
        clauses = [
            self.relations.weakest(
                frozenset(self._literal(literal) for literal in sorted(clause, key=literal_key))
            )
            for clause in sorted(form, key=clause_key)
        ]
        strongest = self.relations.strongest(clauses)
        kept = [frozenset[int]()] if self.relations.is_never(strongest) else strongest
        return tuple(sorted(self._clause(clause) for clause in kept))

    def clause(self, number: int) -> Clause:
        return frozenset(
            Not(self.atoms[literal >> 1]) if literal & 1 else self.atoms[literal >> 1]
            for literal in self.clauses[number]
        )

    def closure_of(self, run: Run) -> set[int]:
        """The clauses that a run implies one by one."""
        return set(run).union(*(self.weaker[clause] for clause in run))

    def _literal(self, literal: Literal) -> int:
        atom, is_negated = signed(literal)
        if atom not in self._atom_number:
            self._add_atom(atom)
        return 2 * self._atom_number[atom] + is_negated

    def _add_atom(self, atom: Predicate) -> None:
        number = len(self.atoms)
        self._atom_number[atom] = number
        self.atoms.append(atom)
        for literal in (2 * number, 2 * number + 1):
            self.implied.append({literal})
            self.contradicted.append({literal ^ 1})
        if not isinstance(atom, (And, Or, AtLeast, Not)):
            self._relate(atom, number)

    def _relate(self, atom: Atom, number: int) -> None:
        """Whatever it may imply is filed under a key that it reaches; what may imply it reaches one of its keys."""
        keys, reach = keys_of(atom), list(dict.fromkeys(reach_of(atom)))
        below = _near(self._filed, reach)
        above = _near(self._reaching, keys)
        self.compared += len(below) + len(above)
        for other in below:
            if atom_implies(atom, self._related[other]):
                self._imply(2 * number, 2 * other)
        for other in above:
            if atom_implies(self._related[other], atom):
                self._imply(2 * other, 2 * number)
        for other in sorted({*below, *above}):
            if atoms_exclude(atom, self._related[other]):
                self._imply(2 * number, 2 * other + 1)
        self._related[number] = atom
        for key in keys:
            self._filed.setdefault(key, []).append(number)
        for key in reach:
            self._reaching.setdefault(key, []).append(number)

    def _imply(self, one: int, other: int) -> None:
        """One literal implies the other, and their negations the other way round."""
        for here, there in ((one, other), (other ^ 1, one ^ 1)):
            self.implied[here].add(there)
            self.contradicted[here].add(there ^ 1)

    def _clause(self, clause: Numbers) -> int:
        if clause not in self._clause_number:
            self._add_clause(clause)
        return self._clause_number[clause]

    def _add_clause(self, clause: Numbers) -> None:
        number = len(self.clauses)
        self._clause_number[clause] = number
        self.clauses.append(clause)
        weaker, stronger = self._weaker_than(clause), self._stronger_than(clause)
        self.weaker.append(weaker)
        self.stronger.append(stronger)
        for other in weaker:
            self.stronger[other].add(number)
        for other in stronger:
            self.weaker[other].add(number)
        for literal in clause:
            self._with_literal.setdefault(literal, set()).add(number)

    def _weaker_than(self, clause: Numbers) -> set[int]:
        reach = [
            {n for literal in self.implied[own] for n in self._with_literal.get(literal, ())}
            for own in clause
        ]
        return set.intersection(*reach) if reach else set()

    def _stronger_than(self, clause: Numbers) -> set[int]:
        """Every literal of a stronger clause implies one of these; its contrapositive is filed with the
        negation.
        """
        implying = {literal ^ 1 for own in clause for literal in self.implied[own ^ 1]}
        near = {n for literal in implying for n in self._with_literal.get(literal, ())}
        return {n for n in near if self.clauses[n] <= implying}


def _near(filed: Mapping[Key, list[int]], keys: Iterable[Key]) -> list[int]:
    """The atoms under some keys, of each key the last ones."""
    return sorted({number for key in keys for number in filed.get(key, ())[-MOST_RELATED:]})
