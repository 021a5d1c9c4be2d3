"""Precise indexing: which subscriptions contain a new one and which it contains, and the trees that they form.

Only the roots of the trees are in the index: no root is contained by another.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from feedweir.items.triples import Statement
from feedweir.plan.predicates import Constraint, GraphPattern, Triple, Variable
from feedweir.published.graphs.binding_tables import Table, joined, table_of
from feedweir.published.graphs.matchers import MatrixMatcher
from feedweir.published.graphs.subscription_matrix import (
    SubscriptionMatrix,
    Vertex,
    label_of,
    vertices_of,
)

_Pair = tuple[Vertex | str, Vertex | str]
"""The vertices of an edge: a node, or the name of a variable, which other edges of its subscription share."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What containmentChecking returns: whether something contains the new subscription, and the set R."""

    contained: bool
    found: tuple[int, ...]
    """What contains it, if it is contained; otherwise what it contains."""


def containment_checking(new: GraphPattern, matrix: SubscriptionMatrix) -> Checked:
    """Algorithm containmentChecking. Line numbers are those of the paper.

    Its counters count edges of S that have their label in S_i, and the other way round: the condition of lines 11 and
    17 is that one of both has all its edges. `isContained` (lines 15 and 21) asks whether a row of the joined table
    gives every vertex one that it contains, and constraints that imply its own.
    """
    edges = list(dict.fromkeys(new.triples))
    mine: dict[int, set[int]] = {}
    theirs: dict[int, set[Triple]] = {}
    subset: dict[int, None] = {}
    for place, edge in enumerate(edges):  # 2
        for entry in matrix.edges.get(label_of(edge), {}).values():  # 3
            for one in sorted(entry.subscriptions):  # 4
                mine.setdefault(one, set()).add(place)  # 5
                subset[one] = None  # 8
    for one in subset:
        labels = {label_of(edge) for edge in edges}
        theirs[one] = {edge for edge in matrix.written[one].triples if label_of(edge) in labels}
    contains: list[int] = []
    for one in subset:  # 10
        other = matrix.written[one]
        if len(mine[one]) == len(edges) and maps_into(new, other):  # 11-15: S contains S_i
            contains.append(one)  # 16
        if len(theirs[one]) == len(set(other.triples)) and maps_into(other, new):  # 17-21
            return Checked(True, (one,))  # 22, 23
    return Checked(False, tuple(contains))  # 24


def maps_into(one: GraphPattern, other: GraphPattern) -> bool:
    """Whether one contains the other: the join of its edges' binding tables, whose rows are edges of the other."""
    tables: list[Table[Vertex | str]] = []
    for edge in dict.fromkeys(one.triples):
        tables.append(binding_table(edge, other.triples))
        if not tables[-1][1]:
            return False
    names, rows = joined(tables)
    return any(_is_contained(dict(zip(names, row, strict=True)), one, other) for row in rows)


def binding_table(edge: Triple, others: Iterable[Triple]) -> Table[Vertex | str]:
    """The vertices of edges with the same label whose vertices an edge's own contain."""
    own = _vertices(edge)
    alike = [_vertices(other) for other in dict.fromkeys(others) if label_of(other) == label_of(edge)]
    pairs = [
        pair for pair in alike if all(isinstance(a, str) or a == b for a, b in zip(own, pair, strict=True))
    ]
    places = [place for place in range(2) if isinstance(own[place], str)]
    return table_of(
        [str(own[place]) for place in places], ([pair[place] for place in places] for pair in pairs)
    )


def _vertices(edge: Triple) -> _Pair:
    v, w = vertices_of(edge)
    return (
        edge.subject.name if isinstance(edge.subject, Variable) else v,
        edge.object.name if isinstance(edge.object, Variable) else w,
    )


def _is_contained(binding: dict[str, Vertex | str], one: GraphPattern, other: GraphPattern) -> bool:
    """A constraint of the one is implied by those of the other on the same vertex."""
    for asked in one.constraints:
        assert isinstance(asked, Constraint)
        vertex = binding[asked.variable]
        held = [c for c in other.constraints if isinstance(c, Constraint) and c.variable == vertex]
        if not any(implies(c, asked) for c in held):
            return False
    return True


def implies(one: Constraint, other: Constraint) -> bool:
    """Whether every number that keeps one constraint keeps the other."""
    a, b = float(one.value), float(other.value)  # type: ignore[arg-type]
    match one.op, other.op:
        case "=", op:
            return {"=": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[op]
        case ("<", "<" | "<=" | "!=") | ("<=", "<="):
            return a <= b
        case "<=", "<" | "!=":
            return a < b
        case (">", ">" | ">=" | "!=") | (">=", ">="):
            return a >= b
        case ">=", ">" | "!=":
            return a > b
        case op, wanted:
            return op == wanted and a == b


@dataclass(slots=True)
class ContainmentTrees:
    """Subscriptions under those that contain them; only roots are in the index, whose matrix is G_M."""

    index: MatrixMatcher = field(default_factory=MatrixMatcher)
    written: dict[int, GraphPattern] = field(default_factory=dict)
    parent: dict[int, int] = field(default_factory=dict)
    children: dict[int, list[int]] = field(default_factory=dict)

    def add(self, subscription: int, pattern: GraphPattern) -> None:
        """Under the root that contains it; otherwise as a root, above those that it contains."""
        self.written[subscription] = pattern
        self._place(subscription)

    def remove(self, subscription: int) -> None:
        """Section 4.4: the children of an inner node go to its parent, those of a root come back to the index.

        A child that comes back may be contained by a root, or contain some: it is put where a new one would be.
        """
        del self.written[subscription]
        children = self.children.pop(subscription, [])
        above = self.parent.pop(subscription, None)
        for child in children:
            del self.parent[child]
        if above is not None:
            self.children[above].remove(subscription)
            for child in children:
                self._hang(child, above)
            return
        self.index.remove(subscription)
        for child in children:
            self._place(child)

    def match(self, publication: Sequence[Statement]) -> set[int]:
        """The roots by the index; below a root that matches, its children one by one: no other can match."""
        found: set[int] = set()
        open_ = list(self.index.match(publication))
        while open_:
            one = open_.pop()
            found.add(one)
            below = MatrixMatcher()
            for child in self.children.get(one, ()):
                below.add(child, self.written[child])
            open_ += below.match(publication)
        return found

    @property
    def roots(self) -> tuple[int, ...]:
        return tuple(sorted(self.index.matrix.written))

    def _place(self, subscription: int) -> None:
        pattern = self.written[subscription]
        checked = containment_checking(pattern, self.index.matrix)
        if checked.contained:
            self._hang(subscription, checked.found[0])
            return
        for root in checked.found:
            self.index.remove(root)
            self._hang(root, subscription)
        self.index.add(subscription, pattern)

    def _hang(self, subscription: int, above: int) -> None:
        self.parent[subscription] = above
        self.children.setdefault(above, []).append(subscription)
