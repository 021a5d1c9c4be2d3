"""Join graphs, their minors, and templates: queries whose minors have one shape share a template.

Nodes of a join graph are the pattern nodes of the two blocks; structural edges are pattern edges, value edges are the
equalities. The minor keeps what joins must look at: the nodes with a value edge or needed in the output (*ends*), and
the least common ancestors of ends. What is dropped has been checked by the tree matcher.

A minor is first given colours that depend on its shape only; graphs with the same colours are compared node by node.
The graph that comes first stands for the template, and every other is mapped onto it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

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


@dataclass(frozen=True)
class Template:
    """`graph` is a minor; its ends, in order, are the columns of the template's relation R_T."""

    number: int
    graph: JoinGraph

    @cached_property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """The value edges as pairs of columns."""
        column = {node: place for place, node in enumerate(self.graph.ends)}
        return tuple((column[one], column[other]) for one, other in self.graph.edges)

    @cached_property
    def sides(self) -> tuple[int, ...]:
        return tuple(self.graph.sides[node] for node in self.graph.ends)

    @cached_property
    def outputs(self) -> tuple[int, ...]:
        column = {node: place for place, node in enumerate(self.graph.ends)}
        return tuple(column[node] for node in self.graph.outputs)

    def describe(self) -> str:
        """`2·3 nodes, 2 value joins`: for reports."""
        left = self.graph.sides.count(0)
        return f"{left}·{len(self.graph.sides) - left} nodes, {len(self.graph.edges)} value joins"


@dataclass(slots=True)
class Templates:
    """The templates found so far."""

    all: list[Template] = field(default_factory=list)
    _by_colours: dict[tuple[int, ...], list[int]] = field(default_factory=dict)
    _known: dict[JoinGraph, tuple[int, tuple[int, ...]]] = field(default_factory=dict)

    def place(self, graph: JoinGraph) -> tuple[Template, tuple[int, ...]]:
        """The template of a minor, and the minor's node for each node of the template."""
        if graph not in self._known:
            self._known[graph] = self._find(graph)
        number, mapping = self._known[graph]
        return self.all[number], mapping

    def _find(self, graph: JoinGraph) -> tuple[int, tuple[int, ...]]:
        colours = colours_of(graph)
        bucket = self._by_colours.setdefault(tuple(sorted(colours)), [])
        for number in bucket:
            mapping = isomorphism(self.all[number].graph, graph, colours)
            if mapping is not None:
                return number, mapping
        number = len(self.all)
        self.all.append(Template(number, graph))
        bucket.append(number)
        return number, tuple(range(len(graph.sides)))


def colours_of(graph: JoinGraph) -> list[int]:
    """A colour for each node: equal shapes have equal colours, whatever the order of their nodes.

    Colours are refined by those of their neighbours until that tells no more nodes apart; they are hashes of numbers
    only, which are the same in every process.
    """
    size = len(graph.sides)
    children: list[list[int]] = [[] for _ in range(size)]
    for node, parent in enumerate(graph.parents):
        if parent >= 0:
            children[parent].append(node)
    joined: list[list[int]] = [[] for _ in range(size)]
    for one, other in graph.edges:
        joined[one].append(other)
        joined[other].append(one)
    outputs = set(graph.outputs)
    colours = [hash((side, node in outputs)) for node, side in enumerate(graph.sides)]
    while True:
        finer = [
            hash(
                (
                    colours[node],
                    colours[parent] if (parent := graph.parents[node]) >= 0 else 0,
                    tuple(sorted(colours[child] for child in children[node])),
                    tuple(sorted(colours[other] for other in joined[node])),
                )
            )
            for node in range(size)
        ]
        if len(set(finer)) == len(set(colours)):
            return finer
        colours = finer


def isomorphism(model: JoinGraph, graph: JoinGraph, colours: Sequence[int]) -> tuple[int, ...] | None:
    """For each node of the model a node of the graph, so that they are the same graph; None when they are not."""
    wanted = colours_of(model)
    edges = set(graph.edges)
    model_edges = set(model.edges)
    chosen: list[int] = []

    def fits(node: int, candidate: int) -> bool:
        parent = model.parents[node]
        if graph.parents[candidate] != (chosen[parent] if parent >= 0 else -1):
            return False
        return all(
            ((other, node) in model_edges) == ((chosen[other], candidate) in edges) for other in range(node)
        )

    def extend() -> bool:
        node = len(chosen)
        if node == len(wanted):
            return True
        for candidate in range(len(colours)):
            if colours[candidate] == wanted[node] and candidate not in chosen and fits(node, candidate):
                chosen.append(candidate)
                if extend():
                    return True
                chosen.pop()
        return False

    return tuple(chosen) if extend() else None
