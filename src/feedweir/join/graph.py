"""The join graph of a query, and its minor.

Nodes are the pattern nodes of the two blocks; structural edges are pattern edges, value edges are the equalities. The
minor keeps what joins must look at: the nodes with a value edge or needed in the output (*ends*), and the least common
ancestors of ends. What is dropped has been checked by the tree matcher.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from feedweir.errors import LanguageError
from feedweir.plan.predicates import PatternNode

LEFT, RIGHT = 0, 1


@dataclass(frozen=True, slots=True)
class JoinGraph:
    """Nodes in pre-order, the left block first. `parents[n]` is -1 for a root."""

    sides: tuple[int, ...]
    parents: tuple[int, ...]
    edges: tuple[tuple[int, int], ...]
    """(left node, right node), sorted, each once."""
    outputs: tuple[int, ...] = ()

    @property
    def ends(self) -> tuple[int, ...]:
        return tuple(sorted({node for edge in self.edges for node in edge} | set(self.outputs)))


@dataclass(frozen=True, slots=True)
class BlockTree:
    """The nodes of one block in pre-order."""

    nodes: tuple[PatternNode, ...]
    parents: tuple[int, ...]

    def named(self) -> dict[str, int]:
        places: dict[str, int] = {}
        for place, node in enumerate(self.nodes):
            if node.variable and places.setdefault(node.variable, place) != place:
                raise LanguageError(
                    f"variable {node.variable} is bound twice in one block",
                    hint="give each node a name of its own",
                )
        return places


def block_tree(root: PatternNode) -> BlockTree:
    nodes: list[PatternNode] = []
    parents: list[int] = []
    above = [(root, -1)]
    while above:
        node, parent = above.pop()
        above.extend((child, len(nodes)) for child in reversed(node.children))
        nodes.append(node)
        parents.append(parent)
    return BlockTree(tuple(nodes), tuple(parents))


def join_graph(
    left: BlockTree,
    right: BlockTree,
    equalities: Sequence[tuple[str, str]],
    outputs: Mapping[str, object] | Sequence[str] = (),
) -> JoinGraph:
    """The graph of two blocks; `LanguageError` for a variable that no block binds."""
    shift = len(left.nodes)
    lefts, rights = left.named(), {name: place + shift for name, place in right.named().items()}
    twice = sorted(set(lefts) & set(rights))
    if twice:
        raise LanguageError(
            f"variable {twice[0]} is bound in both blocks", hint="use another name in one of them"
        )
    edges = sorted({_edge(one, other, lefts, rights) for one, other in equalities})
    wanted = sorted({_place(name, lefts | rights) for name in outputs})
    parents = left.parents + tuple(parent if parent < 0 else parent + shift for parent in right.parents)
    sides = (LEFT,) * shift + (RIGHT,) * len(right.nodes)
    return JoinGraph(sides, parents, tuple(edges), tuple(wanted))


def _edge(one: str, other: str, lefts: Mapping[str, int], rights: Mapping[str, int]) -> tuple[int, int]:
    known = {**lefts, **rights}
    places = _place(one, known), _place(other, known)
    if one in rights:
        places = places[::-1]
    if (one in lefts) == (other in lefts):
        raise LanguageError(
            f"{one} = {other} compares two variables of one block",
            hint="a join compares a variable of each block",
        )
    return places


def _place(name: str, known: Mapping[str, int]) -> int:
    if name not in known:
        names = ", ".join(sorted(known)) or "none"
        raise LanguageError(f"no pattern binds variable {name}", hint=f"variables that are bound: {names}")
    return known[name]


def minor(graph: JoinGraph) -> tuple[JoinGraph, tuple[int, ...]]:
    """The reduced graph, and which node of the given one each of its nodes is.

    Leaves that are no ends are removed, over and over; then nodes above the least common ancestor of all ends of a
    block; then nodes with one child that are no ends.
    """
    ends = set(graph.ends)
    branches = _branches(graph, ends)
    kept = [node for node in range(len(graph.parents)) if node in ends or branches[node] > 1]
    number = {node: place for place, node in enumerate(kept)}
    parents = tuple(_kept_above(graph, node, number) for node in kept)
    reduced = JoinGraph(
        tuple(graph.sides[node] for node in kept),
        parents,
        tuple((number[one], number[other]) for one, other in graph.edges),
        tuple(number[node] for node in graph.outputs),
    )
    return reduced, tuple(kept)


def _branches(graph: JoinGraph, ends: set[int]) -> list[int]:
    """Of each node, how many of its children lead to ends."""
    leads = [node in ends for node in range(len(graph.parents))]
    branches = [0] * len(graph.parents)
    for node in range(len(graph.parents) - 1, -1, -1):
        parent = graph.parents[node]
        if leads[node] and parent >= 0:
            leads[parent] = True
            branches[parent] += 1
    return branches


def _kept_above(graph: JoinGraph, node: int, number: Mapping[int, int]) -> int:
    above = graph.parents[node]
    while above >= 0 and above not in number:
        above = graph.parents[above]
    return number[above] if above >= 0 else -1
