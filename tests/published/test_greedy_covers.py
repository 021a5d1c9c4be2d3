"""Algorithm 4 as printed: its covers are covers, and often one cover again and again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from feedweir.network.view_text import tree_branch
from feedweir.published.greedy_covers import greedy_covers, minimised
from tests.network.naive import asked_of, covered

ATTRIBUTES = st.tuples(st.integers(0, 2), st.sampled_from(("node", "val")))


def of_views(target: str, *feeders: str) -> tuple[set[tuple[int, str]], dict[int, set[tuple[int, str]]]]:
    q = tree_branch(target, "S")
    return set(asked_of(q)), {at: covered(tree_branch(v, "S"), q) for at, v in enumerate(feeders)}


def test_the_most_interesting_view_comes_first() -> None:
    """The example of section 4.3: the interest of u1 is 3, then that of u2 is 1."""
    wanted, views = of_views(
        "path /a->a/b->b return cont a, cont b",
        "path /a/b->b return cont b",
        "path /a->a/b return cont a",
    )
    # Here the subtree of a covers everything; the paper does not look into subtrees.
    assert greedy_covers(wanted, views, 1) == [frozenset({1})]


def test_the_first_solutions_are_one_and_the_same_cover() -> None:
    wanted, views = of_views(
        "path //a[b][c]",
        "path //a[b][c]/d",
        *("path //a[b][c]",),
        *("path //a[b]", "path //a[c]", "path //a"),
    )
    found = greedy_covers(wanted, views, 5)
    assert len(found) == len(set(found)) == 5
    assert found[0] == {1}
    # Four of the five are the first with views that add nothing; k is used up, and only two covers are known.
    assert all(found[0] <= cover for cover in found)
    assert len({minimised(cover, wanted, views) for cover in found}) <= 2


@given(
    st.lists(st.frozensets(ATTRIBUTES), max_size=6), st.frozensets(ATTRIBUTES, min_size=1), st.integers(1, 8)
)
def test_every_solution_is_a_cover_and_there_is_one_if_any_cover_exists(
    sets: list[frozenset[tuple[int, str]]], wanted: frozenset[tuple[int, str]], k: int
) -> None:
    views = dict(enumerate(sets))
    found = greedy_covers(wanted, views, k)
    assert bool(found) == (wanted <= frozenset().union(*sets))
    assert len(found) <= k
    for cover in found:
        assert wanted <= frozenset().union(*(views[view] for view in cover))
        least = minimised(cover, wanted, views)
        assert wanted <= frozenset().union(*(views[view] for view in least))
