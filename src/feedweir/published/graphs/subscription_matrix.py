"""The subscription matrix G_M: all subscriptions as one graph, by edge label and then by pair of vertices.

   label   (v, w)     entry
   year    (*, *)     subscriptions without constraint · constraint tables of v and of w
   year    (A, *)     …

A star stands for every variable. In a constraint table there is a list for each operator, in the order of values, so
that looking through it stops at the first value that no longer fits.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from dataclasses import dataclass, field

from feedweir.items.rdf_values import number_of
from feedweir.items.triples import Node, Statement
from feedweir.plan.predicates import Constraint, GraphPattern, GraphTerm, Iri, Triple, Variable

STAR = None
Use = tuple[int, int]
"""A subscription, and which of its edges: two of them may be between stars, and have one label."""
Vertex = Node | None
"""A vertex of a subscription; `STAR` for a variable."""


@dataclass(slots=True)
class ConstraintTable:
    """Subscriptions by what they ask of one vertex of an edge: for each operator its values, in order."""

    values: dict[str, list[float]] = field(default_factory=dict)
    uses: dict[tuple[str, float], set[Use]] = field(default_factory=dict)

    def add(self, op: str, value: float, use: Use) -> None:
        key = (op, value)
        if key not in self.uses:
            insort(self.values.setdefault(op, []), value)
        self.uses.setdefault(key, set()).add(use)

    def remove(self, op: str, value: float, use: Use) -> None:
        held = self.uses[op, value]
        held.discard(use)
        if not held:
            del self.uses[op, value]
            self.values[op].remove(value)

    def satisfied(self, node: Node) -> set[Use]:
        """Those that ask something that holds."""
        number = number_of(node)
        found: set[Use] = set()
        for op, values in self.values.items():
            for value in self._fitting(op, values, number):
                found |= self.uses[op, value]
        return found

    def _fitting(self, op: str, values: list[float], number: float | None) -> Iterator[float]:
        if number is None:
            return iter(values if op == "!=" else ())
        low, high = bisect_left(values, number), bisect_right(values, number)
        match op:
            case "=":
                return iter(values[low:high])
            case "!=":
                return iter(values[:low] + values[high:])
            case "<":
                return iter(values[high:])
            case "<=":
                return iter(values[low:])
            case ">":
                return iter(values[:low])
            case _:
                return iter(values[:high])


@dataclass(slots=True)
class MatrixEdge:
    """An edge of the matrix, with the subscriptions that have it."""

    unconstrained: set[Use] = field(default_factory=set)
    asked: dict[Use, list[tuple[int, str, float]]] = field(default_factory=dict)
    """What is asked of the edge's vertices: (0 or 1, operator, value)."""
    tables: tuple[ConstraintTable, ConstraintTable] = field(
        default_factory=lambda: (ConstraintTable(), ConstraintTable())
    )

    @property
    def uses(self) -> set[Use]:
        return self.unconstrained | self.asked.keys()

    @property
    def subscriptions(self) -> set[int]:
        return {subscription for subscription, _ in self.uses}

    def add(self, use: Use, asked: list[tuple[int, str, float]]) -> None:
        if not asked:
            self.unconstrained.add(use)
            return
        self.asked[use] = list(dict.fromkeys(asked))
        for side, op, value in self.asked[use]:
            self.tables[side].add(op, value, use)

    def remove(self, use: Use) -> None:
        self.unconstrained.discard(use)
        for side, op, value in self.asked.pop(use, ()):
            self.tables[side].remove(op, value, use)

    def satisfied(self, v: Node, w: Node) -> set[Use]:
        """Those whose constraints on both vertices hold: those without, and those that the tables find."""
        found = set(self.unconstrained)
        if self.asked:
            kept = self.tables[0].satisfied(v) | self.tables[1].satisfied(w)
            found |= {one for one in kept if self._keeps(one, v, w)}
        return found

    def _keeps(self, use: Use, v: Node, w: Node) -> bool:
        return all(holds((v, w)[side], op, value) for side, op, value in self.asked[use])


def holds(node: Node, op: str, value: float) -> bool:
    table = ConstraintTable()
    table.add(op, value, (0, 0))
    return bool(table.satisfied(node))


@dataclass(slots=True)
class SubscriptionMatrix:
    """G_M, and the edges of each subscription as it wrote them."""

    edges: dict[Node, dict[tuple[Vertex, Vertex], MatrixEdge]] = field(default_factory=dict)
    written: dict[int, GraphPattern] = field(default_factory=dict)

    def add(self, subscription: int, pattern: GraphPattern) -> None:
        self.written[subscription] = pattern
        for place, triple in enumerate(dict.fromkeys(pattern.triples)):
            self.edge(triple).add((subscription, place), _asked(triple, pattern))

    def remove(self, subscription: int) -> None:
        pattern = self.written.pop(subscription)
        for place, triple in enumerate(dict.fromkeys(pattern.triples)):
            label, pair = label_of(triple), vertices_of(triple)
            edge = self.edges[label][pair]
            edge.remove((subscription, place))
            if not edge.uses:
                del self.edges[label][pair]
            if not self.edges[label]:
                del self.edges[label]

    def edge(self, triple: Triple) -> MatrixEdge:
        return self.edges.setdefault(label_of(triple), {}).setdefault(vertices_of(triple), MatrixEdge())

    def edges_for(self, fact: Statement) -> Iterator[MatrixEdge]:
        """The edges that an edge of a publication may be: with its label, and each vertex its own or a star."""
        by_pair = self.edges.get(fact.predicate)
        if by_pair:
            for v in (fact.subject, STAR):
                for w in (fact.object, STAR):
                    if (v, w) in by_pair:
                        yield by_pair[v, w]


def label_of(triple: Triple) -> Node:
    """Edges have labels: a subscription of the paper has no variable there."""
    if not isinstance(triple.predicate, Iri):
        raise ValueError(f"an edge has a label, but {triple.predicate} is not one")
    return Node("iri", triple.predicate.iri)


def vertices_of(triple: Triple) -> tuple[Vertex, Vertex]:
    return vertex_of(triple.subject), vertex_of(triple.object)


def vertex_of(term: GraphTerm) -> Vertex:
    match term:
        case Variable():
            return STAR
        case Iri(iri):
            return Node("iri", iri)
        case _:
            raise ValueError(f"a vertex is an IRI or a star, but {term} is neither")


def _asked(triple: Triple, pattern: GraphPattern) -> list[tuple[int, str, float]]:
    found: list[tuple[int, str, float]] = []
    for side, term in enumerate((triple.subject, triple.object)):
        for one in pattern.constraints:
            if not isinstance(one, Constraint) or not isinstance(one.value, float | int):
                raise ValueError(f"constraints compare with numbers, but {one} does not")
            if isinstance(term, Variable) and term.name == one.variable:
                found.append((side, one.op, float(one.value)))
    return found
