"""Which tree patterns are compared with which when filters are planned: no more than may imply each other."""

from __future__ import annotations

from hypothesis import given, settings

from feedweir.optimize.filter_plans.clause_registry import ClauseRegistry
from feedweir.optimize.tree_containment import _there, _wanted
from feedweir.optimize.tree_names import most_telling_name, names_asked, names_reached
from feedweir.plan.predicates import PatternNode, TreePattern
from tests.match_trees.strategies import patterns
from tests.optimize.test_tree_containment import read


@given(patterns(), patterns())
@settings(max_examples=500, deadline=None)
def test_whatever_can_be_laid_onto_a_pattern_is_found_by_what_that_one_names(
    one: TreePattern, other: TreePattern
) -> None:
    if _wanted(other).lies_on(_there(one).nodes):
        assert set(names_asked(other)) <= set(names_reached(one))
        assert most_telling_name(other) in names_reached(one)


def test_a_pattern_is_filed_under_what_it_is_equal_to_or_else_under_two_steps() -> None:
    assert most_telling_name(read("//item[category = 'rock']")) == ("category", "=", "rock")
    assert most_telling_name(read("//item/author/name")) in {("item", "author"), ("author", "name")}
    assert most_telling_name(read("//item[length > 5]")) == ("item", "length")
    assert most_telling_name(read("//title")) == ("title",)
    assert ("n", "=", 5.0) in names_reached(read("//a[n = ' 5.0']"))


def test_patterns_that_ask_for_different_values_are_not_compared() -> None:
    """Every pattern has the elements of every other: by their names alone each would meet all."""
    registry = ClauseRegistry()
    for number in range(400):
        category = PatternNode("/", "category", op="=", value=f"topic{number}")
        author = PatternNode("/", "author", op="=", value=f"name{number // 4}")
        registry.run_of(TreePattern(PatternNode("//", "item", (category, author))))
    registry.run_of(read("//item[author = 'name7']"))
    assert registry.compared < 3 * 400
    assert sum(map(len, registry.implied)) == 2 * 401 + 2 * 4  # the last one is implied by four
