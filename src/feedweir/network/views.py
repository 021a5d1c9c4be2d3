"""Views: virtual feeds at sites, as the planning of who feeds whom sees them.

A view has branches, whose union it is. A branch of a *tree view* is a tree pattern over a source's documents that
returns some of its nodes: of each its value or its whole subtree. Every node has a structural id besides, hidden from
users, and by which parent and ancestor are told. A branch of an *item view* lets through the whole items of a source
that satisfy a predicate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from feedweir.plan.predicates import PatternNode, Predicate

Kind: TypeAlias = Literal["val", "cont"]
UNLIMITED = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Returned:
    """What a tree view returns of one of its nodes, under a name of its own."""

    node: int
    """Its place in document order: the root is 0."""
    kind: Kind
    name: str


@dataclass(frozen=True, slots=True)
class TreeBranch:
    source: str
    root: PatternNode
    returned: tuple[Returned, ...]


@dataclass(frozen=True, slots=True)
class ItemBranch:
    source: str
    predicate: Predicate


Branch: TypeAlias = TreeBranch | ItemBranch


@dataclass(frozen=True, slots=True)
class View:
    """The same branches may stand at many sites; each is a view of its own."""

    name: str
    site: str
    branches: tuple[Branch, ...]
    feeds_at_most: int = UNLIMITED
    """How many other views may be filled from it: `B_v^out`."""


@dataclass(frozen=True, slots=True)
class LaidNode:
    """A node of a pattern in document order, and the place of the one above it."""

    node: PatternNode
    above: int


def laid_out(root: PatternNode) -> tuple[LaidNode, ...]:
    """The nodes of a pattern in document order."""
    found: list[LaidNode] = []
    waiting = [(root, -1)]
    while waiting:
        node, above = waiting.pop()
        number = len(found)
        found.append(LaidNode(node, above))
        waiting += [(child, number) for child in reversed(node.children)]
    return tuple(found)
