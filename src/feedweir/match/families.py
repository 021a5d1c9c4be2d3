"""The families of atoms, and predicates as formulas over all of their atoms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from feedweir.match.atoms import Atom
from feedweir.match.family import AtomFamily
from feedweir.match.formula import Formula, all_of, any_of, count_of, negated
from feedweir.match.graphs.graph_family import GraphFamily
from feedweir.match.ranges.comparisons import comparison_formula
from feedweir.match.regexes.regex_family import RegexFamily
from feedweir.match.trees.tree_family import TreeFamily
from feedweir.match.values.link_family import LinkFamily
from feedweir.match.values.value_family import ValueFamily
from feedweir.match.words.word_clauses import contains_formula, similar_formula
from feedweir.plan.predicates import (
    And,
    AtLeast,
    Compare,
    Contains,
    Not,
    Or,
    Predicate,
    Similar,
)

FAMILIES: tuple[AtomFamily, ...] = (
    ValueFamily(),
    LinkFamily(),
    RegexFamily(),
    TreeFamily(),
    GraphFamily(),
)
"""One row for each family; the order is that of their arrays on disk."""

FAMILY_NAMED: dict[str, AtomFamily] = {family.name: family for family in FAMILIES}
_FAMILY_OF_ATOM: dict[type[Atom], AtomFamily] = {kind: family for family in FAMILIES for kind in family.atoms}
ATOM_FORMULAS: dict[type, Callable[[Any], Formula]] = {
    Contains: contains_formula,
    Similar: similar_formula,
    Compare: comparison_formula,
    **{kind: family.formula_of for family in FAMILIES for kind in family.predicates},
}
"""By kind of atomic predicate, its formula over the atoms of families, of words and of ranges."""


def family_of(atom: Atom) -> AtomFamily:
    return _FAMILY_OF_ATOM[type(atom)]


def reduced(predicate: Predicate) -> Formula:
    """A predicate as a formula over atoms, with the same meaning."""
    match predicate:
        case And(parts):
            return all_of(map(reduced, parts))
        case Or(parts):
            return any_of(map(reduced, parts))
        case Not(part):
            return negated(reduced(part))
        case AtLeast(count, parts):
            return count_of(count, map(reduced, parts))
        case _:
            return ATOM_FORMULAS[type(predicate)](predicate)
