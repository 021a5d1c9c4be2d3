"""Constants decide which graph patterns cannot contain each other, and never deny a containment."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings

from feedweir.match.graphs.graph_containment import contains
from feedweir.optimize.atom_relations import keys_of, reach_of
from feedweir.optimize.filter_plans.clause_registry import ClauseRegistry
from feedweir.optimize.graph_names import is_part_of, may_contain
from feedweir.plan.predicates import Constant, GraphPattern, Triple, Variable
from tests.match import generated_graphs


@settings(max_examples=400, deadline=None)
@given(generated_graphs.graph_patterns(), generated_graphs.graph_patterns())
def test_what_contains_another_is_never_denied_by_its_constants(
    one: GraphPattern, more: GraphPattern
) -> None:
    both = replace(one, triples=one.triples + more.triples, constraints=one.constraints + more.constraints)
    for wide, narrow in ((one, both), (more, both), (one, more), (one, one)):
        if contains(wide, narrow):
            assert may_contain(wide, narrow)
            assert set(keys_of(wide)) <= set(reach_of(narrow))


@settings(max_examples=400, deadline=None)
@given(generated_graphs.graph_patterns(), generated_graphs.graph_patterns())
def test_what_is_asked_in_the_same_words_is_contained(one: GraphPattern, more: GraphPattern) -> None:
    both = replace(one, triples=one.triples + more.triples, constraints=one.constraints + more.constraints)
    assert not is_part_of(one, both) or not one.triples or contains(one, both) or _is_not_said_by_parts(one)


def _is_not_said_by_parts(pattern: GraphPattern) -> bool:
    """What containment cannot prove."""
    return not contains(pattern, replace(pattern, selected=("other",)))


def test_patterns_of_plain_texts_are_compared_with_few_others() -> None:
    """They name no IRI, by which they could be told apart."""
    item, registry = Variable("i"), ClauseRegistry()
    for number in range(400):
        creator = Triple(item, Constant("creator"), Constant(f"Name {number % 200}"))
        language = Triple(item, Constant("language"), Constant("de"))
        triples = (creator,) if number < 200 else (creator, language)
        registry.run_of(GraphPattern(triples))
    assert registry.compared == 400  # of 79,800 pairs: each with the one that contains it, from both sides
    assert sum(len(implied) for implied in registry.implied[::2]) == 400 + 200
