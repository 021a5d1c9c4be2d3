"""How likely atoms are: observed, or guessed from how often queries name them."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest

from feedweir.items.model import Item
from feedweir.items.schema import batch_of
from feedweir.match import Frequencies
from feedweir.match.atom_shares import Rarity, probabilities_of, probability_of_unseen
from feedweir.match.atoms import Atom, Axis, Every, Prefix, Word
from feedweir.match.ranges.segment_trees import Segment
from feedweir.match.regexes.regex_family import Regex
from feedweir.match.sets.compiled_set import compiled_in_memory
from feedweir.match.sets.query_store import table_of
from feedweir.match.trees.tree_family import Tree
from feedweir.match.values.link_family import Link
from feedweir.match.values.value_family import Equal, EqualNumber, Origin
from feedweir.match.words.frequencies import columns_observed, frequencies_of
from feedweir.plan.predicates import And, Contains, FromFeeds, PatternNode, Predicate, Term, TreePattern
from feedweir.plan.query import Query

NOW = datetime(2026, 1, 1, tzinfo=UTC)
GUESSED = Rarity({"the": 0.9, "storm": 0.01}, 0.0001)
OBSERVED = Rarity({"the": 0.9}, 0.0001, {"a": 0.6, "b": 0.3, "c": 0.2})


@pytest.mark.parametrize(
    ("atom", "probability"),
    [
        (Word(None, "the"), 0.9),
        (Word("title", "the"), 0.45),
        (Word(None, "unheard"), 0.0001),
        (Prefix(None, "t"), 0.5),
        (Prefix(None, "the"), 0.9),
        (Prefix("title", "the"), 0.45),
        (Prefix(None, "unheard"), 0.5**7),
        (Origin(("a",)), 0.002),
        (Origin(tuple(map(str, range(1_000)))), 0.5),
        (Equal("title", "x"), 0.001),
        (EqualNumber("m:x", 1.0), 0.001),
        (Link("links", "url", "x.org/a"), 0.001),
        (Link("links", "opening", "x.org/a"), 0.005),
        (Link("links", "host", "x.org"), 0.01),
        (Link("links", "domain", "org"), 0.02),
        (Segment(Axis("published"), 3), 0.2),
        (Tree(TreePattern(PatternNode("//", "a"))), 0.0005),
        (Regex("title", "a+", ""), 0.0005),
        (Every(), 1.0),
    ],
)
def test_each_kind_of_atom_has_a_usual_share_of_the_items(atom: Atom, probability: float) -> None:
    assert GUESSED(atom) == pytest.approx(probability)


@pytest.mark.parametrize(
    ("names", "share"), [(("a",), 0.6), (("b", "c"), 0.5), (("a", "b", "c"), 1.0), (("d",), 0.0001)]
)
def test_sources_that_were_counted_have_their_own_shares(names: tuple[str, ...], share: float) -> None:
    assert OBSERVED(Origin(names)) == pytest.approx(share)


def test_a_word_that_queries_name_often_is_thought_to_be_frequent() -> None:
    found = probabilities_of(pa.array(["a", "b"]), np.array([3000, 1]), 30_000, None)
    assert found.tolist() == pytest.approx([0.75, 1 / 1001])
    assert probability_of_unseen(30_000, None) == 0.0005
    assert probability_of_unseen(300_000, None) == 0.00005


def test_what_was_observed_decides_and_the_guess_only_between_equals() -> None:
    seen = Frequencies(99, {"a": 10, "b": 50, "z": 1})
    texts, counts = pa.array(["a", "b", "c", "d"]), np.array([1, 1, 5, 1])
    found = probabilities_of(texts, counts, 10, seen).tolist()
    assert found[:2] == pytest.approx([0.1, 0.5], abs=0.001)
    assert found[3] < found[2] < 0.001
    assert probability_of_unseen(10, seen) == 0.005


def test_words_are_counted_once_an_item_and_sources_by_item() -> None:
    batch = [
        Item(source="a", identity="1", title="storm storm", summary="<p>Storm</p>", arrived=NOW),
        Item(source="a", identity="2", extensions=(("m:x", "storm tide"),), arrived=NOW),
        Item(source="b", identity="3", title="calm", link="http://storm.org/", arrived=NOW),
    ]
    seen = frequencies_of(batch_of(batch))
    assert (seen.documents, seen.words) == (3, {"storm": 2, "tide": 1, "calm": 1})
    assert seen.sources == {"a": 2, "b": 1}


def test_items_can_be_counted_by_the_columns_that_are_looked_at() -> None:
    assert columns_observed() == [
        "authors",
        "categories",
        "content",
        "extensions",
        "seq",
        "source",
        "summary",
        "title",
    ]
    batch = batch_of([Item(source="a", identity="1", title="storm", arrived=NOW)])
    assert frequencies_of(batch.select(columns_observed())) == frequencies_of(batch)


def words(*texts: str) -> Contains:
    return Contains(None, tuple(map(Term, texts)), len(texts))


def found_by(predicate: Predicate, seen: Frequencies | None) -> list[str]:
    opened = compiled_in_memory(table_of([Query(1, (), predicate)]), seen)
    item = Item(source="s", identity="1", arrived=NOW)
    ((_, finders),) = opened.finders_of(item, 1)
    return [finder.name for finder in finders]


@pytest.mark.parametrize(
    ("words_seen", "finder"), [({"storm": 90, "tide": 1}, "tide"), ({"storm": 1, "tide": 90}, "storm")]
)
def test_a_query_is_found_by_the_word_that_was_seen_least(words_seen: dict[str, float], finder: str) -> None:
    assert found_by(words("storm", "tide"), Frequencies(100, words_seen)) == [finder]


def test_a_query_is_found_by_its_source_or_its_word_whichever_is_rarer() -> None:
    asked = And((FromFeeds(("a",)), Contains("title", (Term("sto", True),), 1)))
    rare = Frequencies(1000, {"sto": 900}, {"a": 1})
    usual = Frequencies(1000, {"sto": 1}, {"a": 999})
    assert found_by(asked, rare) == ["source = a"]
    assert found_by(asked, usual) == ["title: sto*"]
