"""When one tree pattern implies another: every document that has the one has the other.

It does when the other's steps can be laid onto the one's (a homomorphism). `*` steps that only count levels become
distances first, so that `a/*//b` and `a//*/b` are one. Sound always; complete unless a `*` branches or is compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from feedweir.match.trees.tree_codes import (
    EQ,
    EXISTS,
    GE,
    GT,
    LE,
    LT,
    NE,
    TEXT_EQ,
    TEXT_NE,
    comparison_of,
    number_of,
)
from feedweir.optimize.tree_names import Name, names_asked, names_reached
from feedweir.plan.predicates import PatternNode, TreePattern

Condition = tuple[int, str, float]
"""(operation, text, number) of a step's comparison."""

_ORDER = {
    EQ: lambda found, wanted: found == wanted,
    LT: lambda found, wanted: found < wanted,
    LE: lambda found, wanted: found <= wanted,
    GT: lambda found, wanted: found > wanted,
    GE: lambda found, wanted: found >= wanted,
}


_KEPT = 1 << 13
"""Patterns whose forms are kept: those of one source, which are compared with each other."""


def tree_implies(one: TreePattern, other: TreePattern) -> bool:
    """Whether every document that has one pattern has the other; `False` also where that is not known."""
    there, wanted = _there(one), _wanted(other)
    return wanted.names <= there.names and wanted.lies_on(there.nodes)


def condition_implies(one: Condition, other: Condition) -> bool:
    """Whether every value that satisfies one comparison satisfies the other."""
    op, text, number = other
    if one == other or op == EXISTS:
        return True
    if one[0] == TEXT_EQ:
        return satisfies(one[1], other)
    if op == TEXT_NE:
        return one[0] != EXISTS and not satisfies(text, one)
    if op == TEXT_EQ or one[0] in (EXISTS, TEXT_NE):
        return False
    return _numbers_imply(one[0], one[2], op, number)


def satisfies(value: str, condition: Condition) -> bool:
    """Whether a value satisfies a comparison, as XPath compares."""
    op, text, number = condition
    if op in (EXISTS, TEXT_EQ, TEXT_NE):
        return op == EXISTS or (value == text) == (op == TEXT_EQ)
    found = number_of(value)
    return found != number if op == NE else _ORDER[op](found, number)


def _numbers_imply(op: int, value: float, other: int, bound: float) -> bool:
    """Of comparisons with numbers; what is no number satisfies only `!=`."""
    if op == NE:
        return False
    if op == EQ or other == NE:
        return (
            value != bound
            if op == EQ and other == NE
            else (_ORDER[other](value, bound) if other != NE else not _ORDER[op](bound, value))
        )
    if op in (GT, GE) and other in (GT, GE):
        return value > bound or (value == bound and not (op == GE and other == GT))
    if op in (LT, LE) and other in (LT, LE):
        return value < bound or (value == bound and not (op == LE and other == LT))
    return False


# The pattern that must be there: steps, joined by distances


@dataclass(frozen=True, slots=True)
class _Wanted:
    top: _Spot
    names: frozenset[Name]

    def lies_on(self, nodes: tuple[_Step, ...]) -> bool:
        """Whether all steps can be laid onto these."""
        known: dict[tuple[int, int], bool] = {}

        def lies_at(spot: _Spot, place: int) -> bool:
            """Whether everything below the spot has its place below this node, the nearest to the document first."""
            key = (id(spot), place)
            if key not in known:
                known[key] = all(_has_place(edge, place, nodes, lies_at) for edge in spot.edges)
            return known[key]

        return lies_at(self.top, 0)


@lru_cache(maxsize=_KEPT)
def _wanted(pattern: TreePattern) -> _Wanted:
    return _Wanted(_Spot("", (EXISTS, "", 0.0), (_edge(pattern.root),)), frozenset(names_asked(pattern)))


@dataclass(frozen=True, slots=True, eq=False)
class _Spot:
    """A step; the first one stands for the document."""

    name: str
    condition: Condition
    edges: tuple[_Edge, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Edge:
    levels: int
    is_exact: bool
    below: _Spot


def _edge(node: PatternNode) -> _Edge:
    """The way to a step, past the `*` steps that only count levels."""
    levels, is_exact = 1, node.axis == "/"
    while _only_counts(node) and node.children:
        (node,) = node.children
        levels += 1
        is_exact &= node.axis == "/"
    # Whatever has something at some depth has something at every depth above it.
    is_exact &= not _only_counts(node)
    return _Edge(levels, is_exact, _Spot(node.name, comparison_of(node), tuple(map(_edge, node.children))))


def _only_counts(node: PatternNode) -> bool:
    return node.name == "*" and node.op is None and len(node.children) <= 1


# The pattern that is there: its steps with their ways up


@dataclass(frozen=True, slots=True)
class _There:
    nodes: tuple[_Step, ...]
    names: frozenset[Name]


@lru_cache(maxsize=_KEPT)
def _there(pattern: TreePattern) -> _There:
    return _There(tuple(_laid_open(pattern.root)), frozenset(names_reached(pattern)))


@dataclass(frozen=True, slots=True)
class _Step:
    above: int
    is_child: bool
    name: str
    condition: Condition


def _laid_open(root: PatternNode) -> Iterator[_Step]:
    """The document, then all steps, each after the one above it."""
    yield _Step(-1, False, "", (EXISTS, "", 0.0))
    number, waiting = 0, [(root, 0)]
    while waiting:
        node, above = waiting.pop()
        number += 1
        yield _Step(above, node.axis == "/", node.name, comparison_of(node))
        waiting += [(child, number) for child in node.children]


def _has_place(edge: _Edge, above: int, nodes: tuple[_Step, ...], lies_at) -> bool:  # type: ignore[no-untyped-def]
    return any(
        _accepts(edge.below, nodes[place])
        and _leads(edge, above, place, nodes)
        and lies_at(edge.below, place)
        for place in range(1, len(nodes))
    )


def _accepts(spot: _Spot, step: _Step) -> bool:
    if spot.name == "*":
        is_named = not step.name.startswith("@")
    else:
        is_named = spot.name == step.name or (spot.name == "@*" and step.name.startswith("@"))
    return is_named and condition_implies(step.condition, spot.condition)


def _leads(edge: _Edge, above: int, place: int, nodes: tuple[_Step, ...]) -> bool:
    """Whether the way down between two steps has the levels that are asked for."""
    levels, is_exact = 0, True
    while place != above:
        if place <= 0:
            return False
        levels += 1
        is_exact &= nodes[place].is_child
        place = nodes[place].above
    return (is_exact and levels == edge.levels) if edge.is_exact else levels >= edge.levels
