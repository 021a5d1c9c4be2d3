"""Tree and graph patterns are judged once an item, however many queries have them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from feedweir.items.model import Item
from feedweir.match import patterns
from feedweir.match.meaning import Reading, holds
from feedweir.match.patterns import Patterns, TogetherAsked
from feedweir.plan.predicates import (
    And,
    Constant,
    GraphPattern,
    Not,
    PatternNode,
    TreePattern,
    Triple,
    Variable,
)

ITEM = Item(source="a", identity="1", title="a storm", seq=1, arrived=datetime(2026, 1, 1, tzinfo=UTC))


def pattern() -> GraphPattern:
    return GraphPattern((Triple(Variable("x"), Variable("p"), Constant("a storm")),), ())


def test_equal_patterns_of_an_item_are_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Item] = []
    real = patterns.triples_of

    def counting(item: Item) -> object:
        made.append(item)
        return real(item)

    monkeypatch.setattr(patterns, "triples_of", counting)
    reading = Reading(ITEM)
    answers = [holds(And((pattern(), Not(Not(pattern())))), reading) for _ in range(50)]
    assert len(set(answers)) == 1
    assert len(made) == 1


def item(xml: str) -> Item:
    return Item(source="a", identity="1", title="", seq=1, arrived=datetime(2026, 1, 1, tzinfo=UTC), raw=xml)


def has_word(word: str) -> TreePattern:
    return TreePattern(PatternNode("//", "category", (), "", "=", word))


@pytest.mark.parametrize("max_patterns", [5, 30, 1000])
def test_tree_patterns_asked_together_are_answered_as_each_alone(max_patterns: int) -> None:
    asked = TogetherAsked(max_patterns)
    for count in (3, 20, 50, 20):
        for held in range(0, count, 7):
            patterns_of = Patterns(item(f"<item><category>w{held}</category></item>"), asked)
            found = [word for word in range(count) if patterns_of.has(has_word(f"w{word}"))]
            assert found == [held]


def test_many_tree_patterns_are_looked_for_in_an_item_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = TogetherAsked()
    made: list[int] = []
    real = patterns.compile_trees

    def counting(chosen: list[TreePattern]) -> object:
        made.append(len(chosen))
        return real(chosen)

    monkeypatch.setattr(patterns, "compile_trees", counting)
    for _ in range(10):
        patterns_of = Patterns(item("<item><category>w7</category></item>"), asked)
        assert sum(patterns_of.has(has_word(f"w{word}")) for word in range(200)) == 1
    assert len([size for size in made if size > 1]) < 20
    assert len(patterns_of._had) == 1
