"""Tree patterns are atoms of a compiled set: found for all queries together, and never asked pair by pair."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedweir.items.model import Item
from feedweir.items.schema import batch_of
from feedweir.match import compile_set
from feedweir.match.sets import compiled_set
from feedweir.match.sets.compiled_set import open_compiled
from feedweir.match.sets.query_store import table_of
from feedweir.match.trees import tree_family
from feedweir.plan.predicates import (
    And,
    AtLeast,
    Contains,
    Not,
    Or,
    PatternNode,
    Predicate,
    Term,
    TreePattern,
)
from feedweir.plan.query import Query
from tests.match.generated import START, items, tree_patterns
from tests.match.test_matching import naive_pairs, pairs_of
from tests.naive import holds


def category(word: str) -> TreePattern:
    return TreePattern(PatternNode("//", "category", (), "", "=", word))


def combined(parts: st.SearchStrategy[Predicate]) -> st.SearchStrategy[Predicate]:
    several = st.lists(parts, min_size=2, max_size=4).map(tuple)
    return st.one_of(
        several.map(And),
        several.map(Or),
        parts.map(Not),
        several.flatmap(lambda some: st.integers(1, len(some)).map(lambda least: AtLeast(least, some))),
    )


predicates = st.recursive(tree_patterns(), combined, max_leaves=6)


@given(st.lists(predicates, min_size=1, max_size=8), st.lists(items(), min_size=1, max_size=6))
def test_no_combination_of_tree_patterns_is_asked_pair_by_pair(
    wanted: list[Predicate], batch: list[Item]
) -> None:
    asked = [Query(key, ("a", "b") if key % 2 else (), predicate) for key, predicate in enumerate(wanted, 1)]
    opened = compiled_set.compiled_in_memory(table_of(asked))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled_set, "holds", _refuse)
        found = opened.match(batch_of(batch))
    assert not found.failures
    assert pairs_of(found) == naive_pairs(asked, batch)


def _refuse(*_: object) -> bool:
    raise AssertionError("a tree pattern was asked for one pair")


def news(source: str, *categories: str) -> Item:
    written = "".join(f"<category>{word}</category>" for word in categories)
    return Item(
        source=source, identity=f"{source} {categories}", seq=1, arrived=START, raw=f"<item>{written}</item>"
    )


def test_patterns_survive_the_way_to_disk(tmp_path: Path) -> None:
    compile_set([Query(1, (), category("tides")), Query(2, (), category("ships"))], tmp_path / "set")
    found = open_compiled(tmp_path / "set").match(batch_of([news("a", "tides"), news("a", "ships", "tides")]))
    assert pairs_of(found) == [(0, 1), (1, 1), (1, 2)]


def test_only_items_of_sources_that_are_asked_about_are_read_as_xml(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    real = tree_family.roots_in
    monkeypatch.setattr(
        tree_family, "roots_in", lambda batch, rows: read.append(len(rows)) or real(batch, rows)
    )
    words = Contains(None, (Term("tides"),), 1)
    asked = [Query(1, ("a",), category("tides")), Query(2, (), words)]
    opened = compiled_set.compiled_in_memory(table_of(asked))
    found = opened.match(batch_of([news("a", "tides"), news("b", "tides"), news("c", "ships")]))
    assert pairs_of(found) == [(0, 1)]
    assert read == [1]


def test_an_explanation_names_the_pattern() -> None:
    opened = compiled_set.compiled_in_memory(table_of([Query(1, (), category("tides"))]))
    ((_, finders),) = opened.finders_of(news("a", "ships"), 1)
    assert [(finder.name, finder.is_satisfied) for finder in finders] == [
        ("path //*[name()='category'][. = 'tides']", False)
    ]


def test_another_version_of_a_set_with_the_same_patterns_compiles_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[int] = []
    real = tree_family.compile_trees
    monkeypatch.setattr(
        tree_family, "compile_trees", lambda patterns: counted.append(len(patterns)) or real(patterns)
    )
    words = [category(f"only{word}") for word in ("tides", "ships", "locks")]
    items = batch_of([news("a", "onlytides"), news("b", "onlylocks", "onlyships")])
    for name, order in (("one", (0, 1, 2)), ("other", (2, 0, 1))):
        queries = [Query(1 + place, (), words[place]) for place in order]
        queries.append(Query(9, (), Contains(None, (Term(name),), 1)))
        compile_set(sorted(queries, key=lambda query: query.key), tmp_path / name)
        found = open_compiled(tmp_path / name).match(items)
        assert pairs_of(found) == [(0, 1), (1, 2), (1, 3)]
    assert counted == [3]
    fewer = compiled_set.compiled_in_memory(table_of([Query(1, (), words[0]), Query(2, (), words[1])]))
    assert pairs_of(fewer.match(items)) == [(0, 1), (1, 2)]
    assert counted == [3, 2]


@pytest.mark.parametrize(
    ("text", "is_more"),
    [
        ("12", True),
        (" 12.5 ", True),
        ("1e5", True),
        ("1e400", True),
        ("-1e400", False),
        ("+12", False),
        ("inf", False),
    ],
)
def test_numbers_compare_as_xpath_reads_them(text: str, is_more: bool) -> None:
    more = TreePattern(PatternNode("//", "category", (), "", ">", 11.0))
    batch = [news("a", text)]
    opened = compiled_set.compiled_in_memory(table_of([Query(1, (), more)]))
    assert bool(pairs_of(opened.match(batch_of(batch)))) is is_more
    assert holds(more, batch[0]) is is_more
