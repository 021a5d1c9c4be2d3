"""A compiled set as callers see it: its queries, its notes, owners, and the edges of every kind of condition."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from feedweir.errors import CompiledSetError
from feedweir.items.columns import ItemColumns
from feedweir.items.model import Item
from feedweir.items.schema import batch_of
from feedweir.match import Note, compile_set
from feedweir.match.matching.batch_facts import texts_of
from feedweir.match.sets.compiled_set import NOTES, compiled_in_memory, open_compiled
from feedweir.match.sets.query_store import table_of
from feedweir.match.sets.sealed import seal
from feedweir.plan.predicates import Contains, Not, Predicate, Term
from feedweir.plan.query import Query
from tests.match import test_meaning
from tests.match.test_matching import naive_pairs, pairs_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)
EDGES: list[Predicate] = [
    parameters[0]
    for test in (
        test_meaning.test_words_stand_next_to_each_other_within_one_value,
        test_meaning.test_values_compare_with_values_of_their_kind,
        test_meaning.test_links_sources_expressions_and_paths,
        test_meaning.test_connectives_without_parts_are_constants,
    )
    for mark in test.pytestmark  # type: ignore[attr-defined]
    for parameters in mark.args[1]
]
OTHERS = [
    Item(source="wire", identity="2", title="Storm", arrived=NOW),
    Item(source="other", identity="3", arrived=NOW),
    test_meaning.ITEM,
]


def word(text: str) -> Contains:
    return Contains(None, (Term(text),), 1)


def test_the_edges_of_all_conditions_are_matched_together_as_each_means_alone() -> None:
    asked = [Query(key, (), predicate) for key, predicate in enumerate((*EDGES, *map(Not, EDGES)))]
    assert len(asked) > 150
    found = compiled_in_memory(table_of(asked))
    for batch in (batch_of(OTHERS), ItemColumns(OTHERS)):
        assert pairs_of(found.match(batch)) == naive_pairs(asked, OTHERS)


def test_a_set_tells_its_queries_and_notes_after_the_way_to_disk(tmp_path: Path) -> None:
    asked = [Query(5, ("s",), word("storm"), "ann"), Query(7, (), Not(word("calm")))]
    compile_set(asked, tmp_path / "set")
    opened = open_compiled(tmp_path / "set")
    assert (len(opened), opened.query(5), opened.query(6)) == (2, asked[0], None)
    assert [note.kind for note in opened.notes] == ["costly"]
    assert opened.notes == compiled_in_memory(table_of(asked)).notes
    assert all(isinstance(note, Note) for note in opened.notes)


@pytest.mark.parametrize("notes", ["", "{}", "[[1]]", "[[1, 2, 3, 4]]", "7"])
def test_notes_that_cannot_be_read_are_damage(tmp_path: Path, notes: str) -> None:
    compile_set([Query(1, (), word("storm"))], tmp_path / "set")
    details = json.loads((tmp_path / "set" / "manifest.json").read_text())["details"]
    (tmp_path / "set" / "manifest.json").unlink()
    (tmp_path / "set" / NOTES).write_text(notes)
    seal(tmp_path / "set", details)
    if notes == "{}":  # nothing to be read is nothing wrong
        assert open_compiled(tmp_path / "set").notes == ()
    else:
        with pytest.raises(CompiledSetError, match="set cannot be read"):
            open_compiled(tmp_path / "set")


def test_what_concerns_an_owner_is_compiled_once() -> None:
    asked = [
        Query(1, (), word("storm"), "ann"),
        Query(2, (), word("storm"), "bob"),
        Query(3, (), word("storm")),
    ]
    found = compiled_in_memory(table_of(asked))
    batch = batch_of([Item(source="s", identity="1", title="storm", arrived=NOW)])
    assert found.match(batch).keys.tolist() == [1, 2, 3]
    assert found.match(batch, owner="ann").keys.tolist() == [1, 3]
    assert found.limited_to("ann") is found.limited_to("ann")


def test_texts_that_were_analysed_before_need_not_be_again() -> None:
    found = compiled_in_memory(
        table_of([Query(1, (), word("storm")), Query(2, (), Contains("link", (Term("x"),), 1))])
    )
    batch = batch_of([Item(source="s", identity="1", title="storm", link="http://x.org/", arrived=NOW)])
    texts = texts_of(batch, (*found.fields, "language"))
    assert pairs_of(found.match_texts(batch, texts)) == pairs_of(found.match(batch)) == [(0, 1), (0, 2)]


def test_no_queries_and_no_items_are_no_pairs() -> None:
    nothing, some = compiled_in_memory(table_of([])), compiled_in_memory(table_of([Query(1, (), word("a"))]))
    item = Item(source="s", identity="1", title="a", arrived=NOW)
    assert [len(one.match(batch_of(batch))) for one in (nothing, some) for batch in ([], [item])] == [
        0,
        0,
        0,
        1,
    ]


def test_work_is_counted_by_what_was_touched() -> None:
    def both(*texts: str) -> Contains:
        return Contains(None, tuple(map(Term, texts)), len(texts))

    found = compiled_in_memory(table_of([Query(n, (), both(f"w{n}", "every")) for n in range(1000)]))
    batch = [Item(source="s", identity="1", title="w7 every", arrived=NOW)]
    work = found.match(batch_of(batch)).work
    assert (work.tests, work.candidates, work.checks, work.asked) == (1, 1, 0, 0)


@pytest.mark.parametrize("key", [-(2**63) + 1, -1, 0, 2**63 - 1])
def test_any_key_but_the_least_of_all_can_be_reported(key: int) -> None:
    found = compiled_in_memory(table_of([Query(key, (), word("storm"))]))
    matches = found.match(batch_of([Item(source="s", identity="1", title="storm", arrived=NOW)]))
    assert matches.keys.tolist() == [key]
    assert matches.keys.dtype == np.int64
