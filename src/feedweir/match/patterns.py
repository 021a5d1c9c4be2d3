"""Tree and graph patterns, judged on one item."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from math import isfinite
from operator import eq, ge, gt, le, lt

from feedweir.errors import DocumentError
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
Binding = dict[str, tuple[str, str]]
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
            here = (node.kind, node.value)
            if binding.get(term.name, here) != here:
                return None
            binding = {**binding, term.name: here}
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


def _keeps(node: tuple[str, str], constraint: Constraint) -> bool:
    """A constraint compares numbers with numbers and texts with texts; `!=` is the negation of `=`."""
    kind, text = node
    if constraint.op == "!=":
        return not _keeps(node, Constraint(constraint.variable, "=", constraint.value))
    if isinstance(constraint.value, str):
        return bool(_COMPARISONS[constraint.op](text, constraint.value))
    number = _number(text) if kind == "literal" else None
    return number is not None and bool(_COMPARISONS[constraint.op](number, constraint.value))


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None
