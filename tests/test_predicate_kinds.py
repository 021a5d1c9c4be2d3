"""Every kind of atom is known to every room that must know it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import get_args

import pytest

from feedweir.items.model import Item
from feedweir.language.atom_syntax import ATOM_SYNTAX
from feedweir.language.conditions import format_predicate
from feedweir.match.meaning import item_meaning
from feedweir.optimize.atom_relations import ATOM_RELATIONS, atom_implies, atoms_exclude, keys_of, reach_of
from feedweir.optimize.specimens import SPECIMEN_PARTS, specimens_of
from feedweir.plan.predicate_wire import predicate_from_json, predicate_to_json
from feedweir.plan.predicates import (
    Atom,
    Compare,
    Constant,
    Contains,
    Extends,
    FromFeeds,
    GraphPattern,
    Matches,
    PatternNode,
    References,
    SharesLink,
    Similar,
    Term,
    TreePattern,
    Triple,
    Variable,
)
from feedweir.plan.query import Query
from tests.language.reading import parse_predicate
from tests.naive import holds

KINDS = get_args(Atom)
EXAMPLES = {
    Contains: Contains("title", (Term("rock"),), 1),
    Compare: Compare("title", "=", "rock"),
    Similar: Similar("title", "rock", 0.5),
    References: References("link", "http://x.org/a"),
    Extends: Extends("link", "x.org"),
    SharesLink: SharesLink("links", ("http://x.org/a",)),
    Matches: Matches("title", "r.ck"),
    FromFeeds: FromFeeds(("S",)),
    TreePattern: TreePattern(PatternNode("//", "title")),
    GraphPattern: GraphPattern((Triple(Variable("s"), Variable("p"), Constant("rock")),)),
}
"""Of every kind one that the item below satisfies."""
ITEM = Item(
    source="S",
    identity="1",
    title="rock",
    link="http://x.org/a",
    links=("http://x.org/a",),
    arrived=datetime(2020, 11, 1, tzinfo=UTC),
    raw="<item><title>rock</title></item>",
)
TABLES = {
    "syntax": ATOM_SYNTAX,
    "relations": ATOM_RELATIONS,
    "specimens": SPECIMEN_PARTS,
    "examples": EXAMPLES,
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_a_table_has_every_kind_and_no_other(table: dict[type, object]) -> None:
    assert set(table) == set(KINDS)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_kind_is_printed_read_kept_and_understood(kind: type) -> None:
    atom = EXAMPLES[kind]
    assert parse_predicate(format_predicate(atom)) == atom
    assert predicate_from_json(predicate_to_json(atom)) == atom
    assert holds(atom, ITEM)
    assert item_meaning.holds(atom, ITEM)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_kind_is_related_to_itself_and_to_no_kind_by_mistake(kind: type) -> None:
    atom = EXAMPLES[kind]
    assert atom_implies(atom, atom)
    assert not atoms_exclude(atom, atom)
    assert set(keys_of(atom)) <= set(reach_of(atom))
    for other in EXAMPLES.values():
        assert not atom_implies(atom, other) or holds(other, ITEM)
        assert not atoms_exclude(atom, other)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_an_item_that_is_invented_for_a_kind_satisfies_it(kind: type) -> None:
    made = specimens_of([Query(1, (), EXAMPLES[kind])])
    assert len(made) == (0 if kind is Matches else 1)
    assert all(holds(EXAMPLES[kind], item) for item in made)
