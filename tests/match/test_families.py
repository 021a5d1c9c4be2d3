"""The seam for families of atoms: what each claims, what is read again from disk, and what one more family takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from feedweir.items.columns import Batch, ItemColumns, item_at
from feedweir.items.model import Item
from feedweir.items.schema import batch_of
from feedweir.items.triples import triples_of
from feedweir.match import compile_set, families
from feedweir.match.arrays import Array, frozen
from feedweir.match.atoms import Atom
from feedweir.match.families import FAMILIES, reduced
from feedweir.match.family import SeenShares
from feedweir.match.formula import Formula, leaves_of
from feedweir.match.meaning.effort import Effort
from feedweir.match.meaning.graph_search import has_subgraph
from feedweir.match.sets import compiled_set
from feedweir.match.sets.compiled_set import compiled_in_memory, open_compiled
from feedweir.match.sets.query_store import table_of
from feedweir.plan.predicate_wire import predicate_from_json, predicate_to_json
from feedweir.plan.predicates import (
    And,
    AtLeast,
    Constant,
    Contains,
    GraphPattern,
    Not,
    Or,
    Predicate,
    Term,
    Triple,
    Variable,
)
from feedweir.plan.query import Query
from tests.match.generated import graph_patterns, items, predicates, queries
from tests.match.test_matching import naive_pairs, pairs_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_no_predicate_and_no_atom_is_claimed_twice() -> None:
    claimed = [kind for family in FAMILIES for kind in family.predicates]
    atoms = [kind for family in FAMILIES for kind in family.atoms]
    assert len(set(claimed)) == len(claimed)
    assert len(set(atoms)) == len(atoms)
    assert len({family.name for family in FAMILIES}) == len(FAMILIES)
    assert set(claimed) <= set(get_args(Predicate))
    assert all(issubclass(atom, Atom) for atom in atoms)


@settings(max_examples=150, deadline=None)
@given(predicates)
def test_every_atom_has_a_share_between_nothing_and_all(predicate: Predicate) -> None:
    known = {kind: family for family in FAMILIES for kind in family.atoms}
    for leaf in leaves_of(reduced(predicate)):
        if type(leaf) in known:
            assert 0 < known[type(leaf)].share_of(leaf, NothingSeen()) <= 1


class NothingSeen:
    unseen = 0.001
    sources = None


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(asked=st.lists(queries, min_size=1, max_size=8), batch=st.lists(items(), min_size=1, max_size=4))
def test_atoms_read_from_disk_find_and_describe_what_those_in_memory_do(
    tmp_path_factory: pytest.TempPathFactory, asked: list[Query], batch: list[Item]
) -> None:
    path = tmp_path_factory.mktemp("families") / "set"
    compile_set(asked, path)
    stored, kept = open_compiled(path).index, compiled_in_memory(table_of(asked)).index
    assert list(stored.families) == list(kept.families)
    for name, atoms in stored.families.items():
        for given_items in (batch_of(batch), ItemColumns(batch)):
            facts = [facts_of(each, given_items) for each in (atoms, kept.families[name])]
            assert facts[0] == facts[1]
        for atom in range(stored.n_atoms):
            assert atoms.describe(atom) == kept.families[name].describe(atom)


def facts_of(atoms: Any, given_items: Batch) -> list[tuple[int, int]]:
    return sorted(
        pair
        for rows, found in atoms.facts(given_items)
        for pair in zip(rows.tolist(), found.tolist(), strict=True)
    )


def test_only_families_that_have_atoms_are_kept() -> None:
    words = Contains(None, (Term("storm"),), 1)
    index = compiled_in_memory(table_of([Query(1, (), words), Query(2, ("s",), words)])).index
    assert list(index.families) == ["values"]


# One more family: graphs, found the plain way


@dataclass(frozen=True, slots=True)
class Graph(Atom):
    pattern: GraphPattern


class GraphFamily:
    """All that a family needs: it is used by no code but its row in the table."""

    name = "graphs"
    predicates = (GraphPattern,)
    atoms = (Graph,)

    def formula_of(self, predicate: GraphPattern) -> Formula:
        return Graph(predicate)

    def share_of(self, atom: Graph, seen: SeenShares) -> float:
        return 0.01

    def compiled(self, numbers: Mapping[Graph, int], sources: Sequence[str] | None) -> GraphAtoms:
        return GraphAtoms(tuple(graph.pattern for graph in numbers), np.array(list(numbers.values())))

    def loaded(self, arrays: Mapping[str, Array], details: Any) -> GraphAtoms:
        return GraphAtoms(tuple(map(predicate_from_json, details)), arrays["atoms"])  # type: ignore[arg-type]


@dataclass(frozen=True)
class GraphAtoms:
    patterns: tuple[GraphPattern, ...]
    atoms: Array

    def facts(self, items: Batch) -> Iterator[tuple[Array, Array]]:
        triples = [triples_of(item_at(items, row)) for row in range(items.num_rows)]
        for pattern, atom in zip(self.patterns, self.atoms.tolist(), strict=True):
            rows = [row for row, facts in enumerate(triples) if has_subgraph(pattern, facts, Effort())]
            yield np.array(rows, np.int64), np.full(len(rows), atom, np.int32)

    def describe(self, atom: int) -> str | None:
        return "a graph" if atom in self.atoms else None

    def stored(self) -> tuple[dict[str, Array], Any]:
        return {"atoms": frozen(self.atoms)}, list(map(predicate_to_json, self.patterns))


@pytest.fixture
def with_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    family = GraphFamily()
    monkeypatch.setitem(families.FAMILY_NAMED, family.name, family)
    monkeypatch.setitem(families._FAMILY_OF_ATOM, Graph, family)
    monkeypatch.setitem(families.ATOM_FORMULAS, GraphPattern, family.formula_of)


def combined(parts: st.SearchStrategy[Predicate]) -> st.SearchStrategy[Predicate]:
    several = st.lists(parts, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        several.map(And),
        several.map(Or),
        parts.map(Not),
        several.map(lambda some: AtLeast(2, some)),
    )


@pytest.mark.usefixtures("with_graphs")
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    asked=st.lists(st.recursive(graph_patterns(), combined, max_leaves=4), min_size=1, max_size=5),
    batch=st.lists(items(), min_size=1, max_size=4),
)
def test_a_family_that_is_added_to_the_table_is_matched_by_its_atoms(
    asked: list[Predicate], batch: list[Item]
) -> None:
    wanted = [Query(key, (), predicate) for key, predicate in enumerate(asked)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled_set, "holds", refuse)
        found = compiled_in_memory(table_of(wanted)).match(batch_of(batch))
    assert (found.failures, found.work.asked) == ((), 0)
    assert pairs_of(found) == naive_pairs(wanted, batch)


def refuse(*_: object) -> bool:
    raise AssertionError("asked for one pair")


@pytest.mark.usefixtures("with_graphs")
def test_its_atoms_are_stored_and_explained(tmp_path: Path) -> None:
    titled = GraphPattern((Triple(Variable("x"), Constant("title"), Constant("storm")),))
    compile_set([Query(1, (), titled)], tmp_path / "set")
    opened = open_compiled(tmp_path / "set")
    item = Item(source="s", identity="1", title="storm", arrived=NOW)
    assert opened.match(batch_of([item])).keys.tolist() == [1]
    assert opened.explain(item, 1).candidate_by == "a graph"
    assert opened.notes == ()
