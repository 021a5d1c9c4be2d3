"""Graph patterns as atoms: the items of a batch are read as triples once, and all patterns found together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from feedweir.items.columns import Batch, is_from
from feedweir.match.arrays import Array, frozen
from feedweir.match.family import SeenShares
from feedweir.match.formula import Formula
from feedweir.match.graphs.graph_builder import compile_graphs
from feedweir.match.graphs.graph_forms import Graph, Undecided, graph_formula
from feedweir.match.graphs.graph_set import GraphSet
from feedweir.match.graphs.graph_wording import text_at
from feedweir.match.graphs.triple_batches import triples_in
from feedweir.plan.predicates import GraphPattern
from feedweir.plan.taxonomies import in_taxonomy

_SHARE, _UNDECIDED_SHARE = 0.0005, 0.000001


class GraphFamily:
    name = "graphs"
    predicates = (GraphPattern,)
    atoms = (Graph, Undecided)

    def formula_of(self, predicate: GraphPattern) -> Formula:
        return graph_formula(in_taxonomy(predicate))

    def share_of(self, atom: Graph, seen: SeenShares) -> float:
        return _UNDECIDED_SHARE if isinstance(atom, Undecided) else _SHARE

    def compiled(self, numbers: Mapping[Graph, int], sources: Sequence[str] | None) -> GraphAtoms:
        parts = list(dict.fromkeys(graph.part for graph in numbers))
        places = {part: place for place, part in enumerate(parts)}
        found, undecided = (np.full(len(parts), -1, np.int32) for _ in range(2))
        for graph, number in numbers.items():
            (undecided if isinstance(graph, Undecided) else found)[places[graph.part]] = number
        return GraphAtoms(compile_graphs(parts), frozen(found), frozen(undecided), sources)

    def loaded(self, arrays: Mapping[str, Array], details: Any) -> GraphAtoms:
        return GraphAtoms(
            GraphSet.loaded(arrays, details["set"]), arrays["found"], arrays["undecided"], details["sources"]
        )


@dataclass(frozen=True)
class GraphAtoms:
    graphs: GraphSet
    found: Array
    """By part the atom of an item that has it, -1 for none."""
    undecided: Array
    """By part the atom of an item of which that was not found out, -1 for none."""
    sources: Sequence[str] | None = None
    """Only items of these sources are read as triples; None for all."""

    def stored(self) -> tuple[dict[str, Array], Any]:
        arrays, details = self.graphs.stored()
        own = {"found": self.found, "undecided": self.undecided}
        return arrays | own, {"set": details, "sources": self.sources}

    def facts(self, items: Batch) -> Iterator[tuple[Array, Array]]:
        rows = self._read_rows(items)
        if len(rows):
            has = self.graphs.matches(triples_in(items, rows, self.graphs.wants))
            for places, parts, atoms in (
                (has.rows, has.parts, self.found),
                (has.undecided_rows, has.undecided_parts, self.undecided),
            ):
                numbers = atoms[parts]
                yield rows[places[numbers >= 0]], numbers[numbers >= 0]

    def describe(self, atom: int) -> str | None:
        for atoms, text in ((self.found, "graph"), (self.undecided, "undecided graph")):
            places = np.flatnonzero(atoms == atom)
            if len(places):
                return f"{text} {text_at(self.graphs, int(places[0]))}"
        return None

    def _read_rows(self, items: Batch) -> Array:
        if self.sources is None:
            return np.arange(items.num_rows)
        return np.flatnonzero(is_from(items, self._sources))

    @cached_property
    def _sources(self) -> frozenset[str]:
        return frozenset(self.sources or ())
