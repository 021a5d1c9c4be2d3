"""Embeddings and what they cover: compared with all ways of laying nodes onto nodes, and with results on documents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.errors import LanguageError
from feedweir.network.embeddings import Embeddings, embeddings
from feedweir.network.view_arrays import branch_arrays
from feedweir.network.view_text import format_tree_branch, tree_branch
from feedweir.network.views import TreeBranch
from tests.match_trees.strategies import elements
from tests.network import naive
from tests.network.strategies import branches


def found_among(views: list[TreeBranch]) -> Embeddings:
    arrays, _ = branch_arrays(views)
    return embeddings(arrays)


def masks_of(views: list[TreeBranch]) -> dict[tuple[int, int], int]:
    e = found_among(views)
    return {(int(v), int(q)): int(m[0]) for v, q, m in zip(e.feeder, e.target, e.mask, strict=True)}


@given(st.lists(branches(), min_size=2, max_size=6))
@settings(max_examples=150, deadline=None)
def test_all_pairs_are_found_with_what_they_cover(views: list[TreeBranch]) -> None:
    expected = {}
    for v, one in enumerate(views):
        for q, other in enumerate(views):
            if v != q and naive.embeddings_of(one, other):
                held = naive.covered(one, other)
                expected[v, q] = sum(1 << k for k, ask in enumerate(naive.asked_of(other)) if ask in held)
    assert masks_of(views) == expected


@given(st.lists(branches(most_nodes=3), min_size=2, max_size=4), st.lists(elements(), min_size=1, max_size=3))
@settings(max_examples=150, deadline=None)
def test_what_is_covered_can_be_computed_and_nothing_else_comes_out(
    views: list[TreeBranch], documents: list[Any]
) -> None:
    q = views[0]
    for chosen in naive.minimal_covers(q, views[1:], most=2):
        feeders = [views[1 + v] for v in chosen]
        for document in documents:
            assert naive.rewritten(q, feeders, document) == naive.result(q.root, document)


@given(st.lists(branches(most_nodes=3), min_size=2, max_size=4), elements())
@settings(max_examples=100, deadline=None)
def test_a_view_that_embeds_has_a_result_wherever_the_other_has(
    views: list[TreeBranch], document: Any
) -> None:
    for v, q in masks_of(views):
        if naive.result(views[q].root, document):
            assert naive.result(views[v].root, document)


@pytest.mark.parametrize(
    ("feeder", "target"),
    [
        # The definition as it is printed lets these embed, and nodes would be lost.
        ("path //a[. = 'x']", "path //a"),
        ("path //a[b > 5]", "path //a[b > 3]"),
        ("path //a/b", "path //a//b"),
        ("path /a", "path //a"),
        ("path //a/@id", "path //a/*"),
    ],
)
def test_what_would_lose_nodes_does_not_embed(feeder: str, target: str) -> None:
    assert masks_of([tree_branch(feeder, "S"), tree_branch(target, "S")]).get((0, 1)) is None


def test_a_condition_is_covered_by_itself_or_by_a_value_to_test_it_on() -> None:
    texts = ("path //a[. = 5]", "path //a", "path //a->v return val v", "path //a[. >= 5]->v return cont v")
    masks = masks_of([tree_branch(text, "S") for text in texts])
    assert masks[1, 0] == 0b01
    assert masks[2, 0] == 0b11
    assert masks[3, 0] == 0b11


def test_the_subtree_of_a_node_covers_everything_below_it() -> None:
    inner, outer = "path //a->a[b = 3]/c->c return val c", "path //a->a return cont a"
    masks = masks_of([tree_branch(inner, "S"), tree_branch(outer, "S")])
    assert masks[1, 0] == 0b11111
    assert (0, 1) not in masks


def test_views_of_key_and_value_are_a_special_case() -> None:
    texts = (
        "path /item[topic = 'sport'][location = 'England']",
        "path /item[topic = 'sport']",
        "path /item[location = 'England']",
        "path /item[topic = 'music']",
    )
    masks = masks_of([tree_branch(text, "S") for text in texts])
    assert {pair for pair in masks if pair[1] == 0} == {(1, 0), (2, 0)}
    assert masks[1, 0] | masks[2, 0] == 0b11111


def test_sources_are_told_apart() -> None:
    assert not masks_of([tree_branch("path //a", "S"), tree_branch("path //a", "T")])


def test_hardly_a_candidate_is_tested_in_vain() -> None:
    names = [f"n{k}" for k in range(40)]
    rng = np.random.default_rng(5)
    texts = ["path //" + "//".join(rng.choice(names, rng.integers(1, 4))) for _ in range(400)]
    found = found_among([tree_branch(text, "S") for text in texts])
    assert len(found.feeder) <= found.tested < 1.5 * len(found.feeder)


def test_patterns_without_a_name_embed_in_everything() -> None:
    views = [tree_branch("path //*", "S")] * 30 + [tree_branch("path //a/b", "S")]
    assert len(found_among(views).feeder) == 30 * 30


def test_a_pattern_of_64_nodes_is_planned_and_a_larger_one_is_refused() -> None:
    largest = tree_branch("path //a" + "[b]" * 63, "S")
    found = found_among([tree_branch("path //a[b]", "S"), largest])
    pairs = set(zip(found.feeder.tolist(), found.target.tolist(), strict=True))
    assert (0, 1) in pairs
    with pytest.raises(LanguageError, match="65 steps is too large"):
        branch_arrays([tree_branch("path //a" + "[b]" * 64, "S")])


@given(branches())
@settings(max_examples=50, deadline=None)
def test_a_tree_view_is_read_as_it_is_printed(branch: TreeBranch) -> None:
    again = tree_branch(format_tree_branch(branch), "S")
    assert (again.root, set(again.returned)) == (branch.root, set(branch.returned))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("path //a->x return val y", "no step is named `y`"),
        ("path //a->x/b->x return val x", "`x` names two steps"),
        ("path //a->x return x", "`x` is not expected here"),
        ("path //a->x return val x.", "not"),
    ],
)
def test_a_tree_view_that_makes_no_sense_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(LanguageError, match=message):
        tree_branch(text, "S")
