"""When one predicate implies another: literals by their atoms, clauses by their literals, CNF by refutation.

Everything reported is true of every item. Not everything that is true is reported.
"""

from __future__ import annotations

from collections.abc import Iterable

from feedweir.optimize.atom_relations import atom_implies, atoms_exclude
from feedweir.optimize.boolean_forms import NEVER, Clause, Cnf, Literal, clause_key, is_large, simplify
from feedweir.plan.predicates import And, AtLeast, Atom, Compare, Contains, Not, Or, Predicate


def negation(literal: Literal) -> Literal:
    return simplify(Not(literal))


def literal_implies(one: Literal, other: Literal) -> bool:
    """Whether every item that satisfies one literal satisfies the other."""
    if one == other:
        return True
    if isinstance(one, (And, Or, AtLeast)) or isinstance(other, (And, Or, AtLeast)):
        return _structure_implies(one, other)
    (atom, is_negated), (target, is_target_negated) = signed(one), signed(other)
    if isinstance(atom, (And, Or, AtLeast, Not)) or isinstance(target, (And, Or, AtLeast, Not)):
        return False
    if is_negated:
        return is_target_negated and atom_implies(target, atom)
    return atoms_exclude(atom, target) if is_target_negated else atom_implies(atom, target)


def _structure_implies(one: Predicate, other: Predicate) -> bool:
    """Parts that stayed unexpanded, by what `and` and `or` mean; of very many, none are kept."""
    if is_large(one) or is_large(other):
        return False
    match one, other:
        case Or(parts), _:
            return all(literal_implies(part, other) for part in parts)
        case _, And(parts):
            return all(literal_implies(one, part) for part in parts)
        case And(parts), _:
            return any(literal_implies(part, other) for part in parts)
        case _, Or(parts):
            return any(literal_implies(one, part) for part in parts)
        case _:
            return False


def signed(literal: Literal) -> tuple[Predicate, bool]:
    """The atom of a literal, and whether it is negated; `!=` is a negated `=`."""
    match literal:
        case Not(part):
            atom, is_negated = signed(part)
            return atom, not is_negated
        case Compare(attribute, "!=", value, part):
            return Compare(attribute, "=", value, part), True
        case _:
            return literal, False


def clause_implies(one: Clause, other: Clause) -> bool:
    """Each way to satisfy one clause satisfies the other."""
    return all(any(literal_implies(literal, target) for target in other) for literal in one)


def is_never(cnf: Cnf) -> bool:
    """Whether no item can satisfy all clauses, as far as unit propagation sees.

    Literals that a single-literal clause contradicts are struck from the others until a clause is empty or
    nothing changes, or so many were compared that a query of ten thousand terms would hold its writer up.
    """
    open_clauses = {clause for clause in cnf if len(clause) != 1}
    pending = [literal for clause in cnf if len(clause) == 1 for literal in clause]
    units: dict[str, list[Literal]] = {}
    comparisons_left = _MOST_COMPARED
    while pending and frozenset() not in open_clauses and comparisons_left > 0:
        unit = pending.pop()
        kind = _kind(unit)
        others = [other for each, some in units.items() if _may_contradict(kind, each) for other in some]
        if any(_contradicts(unit, other) for other in others[:comparisons_left]):
            return True
        units.setdefault(kind, []).append(unit)
        comparisons_left -= len(others) + sum(map(len, open_clauses))
        struck = {frozenset(x for x in clause if not _contradicts(unit, x)) for clause in open_clauses}
        pending += [literal for clause in struck if len(clause) == 1 for literal in clause]
        open_clauses = {clause for clause in struck if len(clause) != 1}
    return frozenset() in open_clauses


_MOST_COMPARED = 50_000


def _kind(literal: Literal) -> str:
    """What decides which literals it can contradict at all."""
    atom, is_negated = signed(literal)
    if isinstance(atom, (And, Or, AtLeast)):
        return "structure"
    if is_negated:
        return "negated"
    return "words" if isinstance(atom, Contains) else "other"


def _may_contradict(kind: str, other: str) -> bool:
    """Nothing that is wanted to be absent excludes another such, and no wanted words exclude others."""
    return kind != other or kind not in ("words", "negated")


def _contradicts(one: Literal, other: Literal) -> bool:
    if is_large(one) or is_large(other):
        return False
    return literal_implies(one, negation(other)) or literal_implies(other, negation(one))


def cnf_implies(one: Cnf, other: Cnf) -> bool:
    """Whether one implies every clause of the other: it does when it cannot hold without that clause."""
    return all(_implies_clause(one, clause) for clause in other)


def _implies_clause(cnf: Cnf, clause: Clause) -> bool:
    if any(clause_implies(own, clause) for own in cnf):
        return True
    return is_never(cnf | {frozenset({negation(literal)}) for literal in clause})


def minimal_by_implication(clauses: Iterable[Clause]) -> list[Clause]:
    """Without clauses that another one implies; of equivalent ones the first stays."""
    kept: list[Clause] = []
    for clause in clauses:
        if any(clause_implies(other, clause) for other in kept):
            continue
        kept = [other for other in kept if not clause_implies(clause, other)]
        kept.append(clause)
    return kept


def reduced(cnf: Cnf) -> Cnf:
    """A CNF without clauses that the others imply; `NEVER` when it cannot hold."""
    if is_never(cnf):
        return NEVER
    return frozenset(minimal_by_implication(sorted(cnf, key=clause_key)))


def atoms_of(literal: Literal) -> list[Atom]:
    """The atoms of a literal, of an unexpanded one too."""
    match literal:
        case And(parts) | Or(parts) | AtLeast(_, parts):
            return [atom for part in parts for atom in atoms_of(part)]
        case Not(part):
            return atoms_of(part)
        case _:
            return [literal]
