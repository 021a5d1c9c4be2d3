"""The synthetic workload of the paper on filtering RSS documents: publications and subscriptions as labelled graphs.

Its parameters are the paper's: nodes and edges of publications (30, 90) and of subscriptions (5, 10), stars, the share
of subscriptions that have any, the share that another one contains, and how many a publication matches. How its graphs
were drawn it does not say. Ours are made of circles: five nodes with edges among them. A publication is six circles and
some edges of noise; a subscription is ten edges of one circle with two of its nodes as stars, or, for the share of
overlap, another subscription with the stars replaced by what they were. So as many subscriptions as there are to a
circle, times six, is what a publication matches.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from feedweir.items.triples import Node, Statement
from feedweir.plan.predicates import Constraint, GraphPattern, GraphTerm, Iri, Triple, Variable

_NODES, _CIRCLES = 5, 6
_BASE = "http://g.example/"
Edge = tuple[int, int, int]
"""(node of the circle, label, node of the circle)."""


@dataclass(frozen=True, slots=True)
class Workload:
    """The paper's parameters; those that it does not give have the values of the issue."""

    subscriptions: int = 100_000
    edges: int = 10
    stars: int = 2
    with_stars: float = 0.9
    overlap: float = 0.5
    matches: int = 100
    labels: int = 200
    publication_edges: int = 90
    noise: int = 10
    """Edges of a publication that are noise."""


class GraphWorld:
    """Subscriptions and publications of one workload; the same for the same seed."""

    def __init__(self, workload: Workload, seed: int = 3) -> None:
        self.workload = workload
        self._chance = random.Random(seed)
        self.per_circle = max(1, round(workload.matches / _CIRCLES))
        self.n_circles = max(_CIRCLES, workload.subscriptions // self.per_circle)
        self._labels = [Iri(f"{_BASE}label#{number}") for number in range(workload.labels)]
        self._size = (workload.publication_edges - workload.noise) // _CIRCLES

    def circle(self, number: int) -> list[Edge]:
        """The edges of a circle: every node has one, and none is there twice."""
        chance = random.Random(number * 7919 + 17)
        around = [(n, chance.randrange(self.workload.labels), (n + 1) % _NODES) for n in range(_NODES)]
        edges = dict.fromkeys(around)
        while len(edges) < self._size:
            one, other = chance.sample(range(_NODES), 2)
            edges[one, chance.randrange(self.workload.labels), other] = None
        return list(edges)

    def subscriptions(self) -> Iterator[GraphPattern]:
        """Circle by circle; what is contained follows what contains it."""
        made = 0
        for circle in itertools.count():
            fresh: list[tuple[list[Edge], set[int]]] = []
            for _ in range(self.per_circle):
                if made == self.workload.subscriptions:
                    return
                made += 1
                edges, stars = self._drawn(circle % self.n_circles, fresh)
                yield self._pattern(circle % self.n_circles, edges, stars)

    def _drawn(self, circle: int, fresh: list[tuple[list[Edge], set[int]]]) -> tuple[list[Edge], set[int]]:
        """Edges and stars: some of a circle's, or those of a subscription that contains it."""
        chance, work = self._chance, self.workload
        if fresh and chance.random() < work.overlap * self.per_circle / (self.per_circle - 1):
            edges, stars = chance.choice(fresh)
            kept = set(chance.sample(sorted(stars), max(0, len(stars) - 1)))
            return edges, kept if chance.random() < work.with_stars else set()
        known = self.circle(circle)
        edges = known[:_NODES] + chance.sample(known[_NODES:], min(work.edges, len(known)) - _NODES)
        has_stars = not fresh or chance.random() < work.with_stars
        stars = set(chance.sample(range(_NODES), work.stars)) if has_stars else set()
        fresh.append((edges, stars))
        return edges, stars

    def _pattern(self, circle: int, edges: Sequence[Edge], stars: set[int]) -> GraphPattern:
        def term(node: int) -> GraphTerm:
            return Variable(f"s{node}") if node in stars else Iri(self._name(circle, node))

        return GraphPattern(tuple(Triple(term(a), self._labels[label], term(b)) for a, label, b in edges))

    def publications(self, count: int, seed: int) -> Iterator[list[Statement]]:
        """Publications, which differ from seed to seed."""
        chance = random.Random(seed)
        for _ in range(count):
            circles = chance.sample(range(self.n_circles), _CIRCLES)
            facts = {
                Statement(
                    self._node(circle, a), Node("iri", self._labels[label].iri), self._node(circle, b)
                ): None
                for circle in circles
                for a, label, b in self.circle(circle)
            }
            while len(facts) < self.workload.publication_edges:
                ends = [self._node(chance.choice(circles), chance.randrange(_NODES)) for _ in range(2)]
                label = Node("iri", self._labels[chance.randrange(self.workload.labels)].iri)
                facts[Statement(ends[0], label, ends[1])] = None
            found = list(facts)
            chance.shuffle(found)
            yield found

    def _name(self, circle: int, node: int) -> str:
        return f"{_BASE}node/{circle * _NODES + node}"

    def _node(self, circle: int, node: int) -> Node:
        return Node("iri", self._name(circle, node))


def same_structure(count: int, matched: int, seed: int = 5) -> tuple[list[GraphPattern], list[Statement]]:
    """Figure 9 (b): subscriptions of one structure that differ in what they compare with, of which some are matched.

    (project, supervisor, ?who), (project, year, ?y), (?who, publications, ?n) and what is asked of ?y and ?n.
    """
    chance = random.Random(seed)
    project, who, year, papers = (Iri(_BASE + name) for name in ("project", "supervisor", "year", "papers"))
    triples = (
        Triple(Variable("p"), project, Variable("w")),
        Triple(Variable("w"), who, Variable("a")),
        Triple(Variable("w"), year, Variable("y")),
        Triple(Variable("a"), papers, Variable("n")),
    )
    years = [1000.0 + number for number in range(count - matched)]
    chance.shuffle(years)
    wanted = [("=", year_) for year_ in years] + [(">", -1.0 - number) for number in range(matched)]
    asked = [
        GraphPattern(triples, (Constraint("y", op, value),))  # type: ignore[arg-type]
        for op, value in wanted
    ]
    page, node, person = (Node("iri", f"{_BASE}{name}") for name in ("page", "filter", "ann"))
    facts = [
        Statement(page, Node("iri", project.iri), node),
        Statement(node, Node("iri", who.iri), person),
        Statement(node, Node("iri", year.iri), Node("literal", "7")),
        Statement(person, Node("iri", papers.iri), Node("literal", "12")),
    ]
    return asked, facts


def as_ntriples(facts: Sequence[Statement]) -> str:
    """Triples as a document."""

    def written(node: Node) -> str:
        return f"<{node.value}>" if node.kind == "iri" else f'"{node.value}"'

    return "".join(f"{written(a)} {written(b)} {written(c)} .\n" for a, b, c in facts)
