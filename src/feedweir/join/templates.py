"""Query templates: join graphs of one shape are one template, whatever their variables are called.

A graph is first given colours that depend on its shape only; graphs with the same colours are compared node by node.
The graph that comes first stands for the template, and every other is mapped onto it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from feedweir.join.graph import JoinGraph


@dataclass(frozen=True, slots=True)
class Template:
    """`graph` is a minor; its ends, in order, are the columns of the template's relation R_T."""

    number: int
    graph: JoinGraph

    @property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """The value edges as pairs of columns."""
        column = {node: place for place, node in enumerate(self.graph.ends)}
        return tuple((column[one], column[other]) for one, other in self.graph.edges)

    @property
    def sides(self) -> tuple[int, ...]:
        return tuple(self.graph.sides[node] for node in self.graph.ends)

    @property
    def outputs(self) -> tuple[int, ...]:
        column = {node: place for place, node in enumerate(self.graph.ends)}
        return tuple(column[node] for node in self.graph.outputs)

    def describe(self) -> str:
        """`2·3 nodes, 2 value joins`: for reports."""
        left = self.graph.sides.count(0)
        return f"{left}·{len(self.graph.sides) - left} nodes, {len(self.graph.edges)} value joins"


@dataclass(slots=True)
class Templates:
    """The templates met so far."""

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

    Colours are refined by those of their neighbours until no more nodes are told apart; they are hashes of numbers
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
