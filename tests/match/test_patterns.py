"""Tree and graph patterns are judged once an item, however many queries have them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from feedweir.items.model import Item
from feedweir.match import patterns
from feedweir.match.meaning import Reading, holds
from feedweir.plan.predicates import (
    And,
    Constant,
    GraphPattern,
    Not,
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
