"""Tree and graph patterns, judged on one item."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cached_property, lru_cache
from math import isfinite
from operator import eq, ge, gt, le, lt

from feedweir.errors import DocumentError
from feedweir.items.dates import instant_of
from feedweir.items.graph import Node, Statement, triples_of
from feedweir.items.model import Item
from feedweir.items.tree import tree_of
from feedweir.match.trees import DocumentTree, TreeSet, compile_trees
from feedweir.match.trees import tree_of as document_of
from feedweir.plan.predicates import (
    Constant,
    Constraint,
    GraphPattern,
    GraphTerm,
    Iri,
    TreePattern,
    Triple,
    Variable,
)

_COMPARISONS = {"=": eq, "<": lt, "<=": le, ">": gt, ">=": ge}
Binding = dict[str, Node]
_KEPT = 256


@lru_cache(maxsize=_KEPT)
def _set_of(pattern: TreePattern) -> TreeSet:
    """A pattern by itself: sets of queries find their patterns together, as atoms; this is for a single question."""
    return compile_trees([pattern])


class Patterns:
    """The patterns of one item: its tree and its triples are made once, and equal patterns are judged once."""

    def __init__(self, item: Item) -> None:
        self._item = item
        self._judged: dict[TreePattern | GraphPattern, bool] = {}

    def has(self, pattern: TreePattern | GraphPattern) -> bool:
        if pattern not in self._judged:
            self._judged[pattern] = (
                self._has_tree(pattern) if isinstance(pattern, TreePattern) else self._has_graph(pattern)
            )
        return self._judged[pattern]

    def _has_tree(self, pattern: TreePattern) -> bool:
        return self._tree is not None and len(_set_of(pattern).matches_of([self._tree]).patterns) > 0

    def _has_graph(self, pattern: GraphPattern) -> bool:
        # triples with fewest variables first: they leave fewest ways open
        wanted = sorted(pattern.triples, key=_openness)
        return _has_subgraph(wanted, self._triples, pattern.constraints, {})

    @cached_property
    def _tree(self) -> DocumentTree | None:
        """The item's XML tree; an item beyond the bounds of trees has none."""
        try:
            return document_of(tree_of(self._item))
        except DocumentError:
            return None

    @cached_property
    def _triples(self) -> tuple[Statement, ...]:
        return triples_of(self._item)


def _openness(triple: Triple) -> int:
    return sum(isinstance(term, Variable) for term in (triple.subject, triple.predicate, triple.object))


def _has_subgraph(
    wanted: Sequence[Triple], facts: Sequence[Statement], constraints: Sequence[Constraint], binding: Binding
) -> bool:
    if not wanted:
        return True
    for fact in facts:
        further = _bound(wanted[0], fact, binding)
        if (
            further is not None
            and _keep(constraints, binding, further)
            and _has_subgraph(wanted[1:], facts, constraints, further)
        ):
            return True
    return False


def _bound(triple: Triple, fact: Statement, binding: Binding) -> Binding | None:
    """The binding with what this fact adds; None when it does not fit."""
    for term, node in zip((triple.subject, triple.predicate, triple.object), fact, strict=True):
        if isinstance(term, Variable):
            if binding.get(term.name, node) != node:
                return None
            binding = {**binding, term.name: node}
        elif not _is(term, node):
            return None
    return binding


def _is(term: GraphTerm, node: Node) -> bool:
    """A constant is a literal of that text or number, or an IRI that ends with it after `/`, `#` or `:`."""
    match term:
        case Iri(iri):
            return node.kind == "iri" and node.value == iri
        case Constant(str(text)):
            ends_so = node.value == text or node.value.endswith((f"/{text}", f"#{text}", f":{text}"))
            return node.value == text if node.kind == "literal" else node.kind == "iri" and ends_so
        case Constant(value):
            return node.kind == "literal" and _number(node.value) == value
        case _:
            return False


def _keep(constraints: Sequence[Constraint], before: Binding, now: Binding) -> bool:
    """Whether the constraints on what has just been bound hold."""
    return all(
        _keeps(now[c.variable], c) for c in constraints if c.variable in now and c.variable not in before
    )


def _keeps(node: Node, constraint: Constraint) -> bool:
    """A constraint compares numbers by value, times by the moment they name, everything else as text, and no blank
    node; `!=` is the negation of `=`."""
    if constraint.op == "!=":
        return not _keeps(node, Constraint(constraint.variable, "=", constraint.value))
    compare = _COMPARISONS[constraint.op]
    if isinstance(constraint.value, float | int):
        number = _number(node.value) if node.kind == "literal" else None
        return number is not None and bool(compare(number, constraint.value))
    ours, theirs = _moment(node), instant_of(constraint.value)
    if ours is not None and theirs is not None:
        return bool(compare(ours, theirs))
    return node.kind != "blank" and bool(compare(node.value, constraint.value))


def _moment(node: Node) -> datetime | None:
    """The moment that a literal names: a whole day at least, since a number of four digits is no year."""
    is_long = node.kind == "literal" and len(node.value) >= len("2026-06-01")
    return instant_of(node.value) if is_long else None


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None
