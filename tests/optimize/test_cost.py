"""The cost model of streams, the statistics behind it, and estimates against counted truth."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import timedelta
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.errors import FeedweirError
from feedweir.optimize import selectivity
from feedweir.optimize.boolean_forms import to_cnf
from feedweir.optimize.cost import (
    PRIOR_TRIED,
    RELATES_SHARE,
    Flow,
    JoinCounts,
    chance_of_any,
    flows_of,
    join_share,
    mixture,
)
from feedweir.optimize.selectivity import cnf_share, predicate_share
from feedweir.optimize.statistics import (
    PRIOR_SHARE,
    SourceStatistics,
    pair_of,
    pairs_that_matter,
)
from feedweir.plan.nodes import AnnotationJoin, Feed, Filter, LastItems, Node, Source, TimeSpan, Union, Window
from feedweir.plan.predicates import (
    And,
    AtLeast,
    Compare,
    Contains,
    JoinAnd,
    JoinNot,
    JoinOr,
    Not,
    Or,
    Predicate,
    Relates,
    Term,
)

A, B, C, D = (Contains(None, (Term(word),), 1) for word in "abcd")
MANY = 1e9
"""So many items that what is assumed does not weigh."""
KNOWN = SourceStatistics(
    items=MANY, seconds=MANY / 2, atoms={A: MANY / 2, B: MANY / 4, C: MANY / 8, D: MANY / 10}
)
SOURCES = {"s1": KNOWN, "s2": SourceStatistics(items=MANY, seconds=MANY, atoms={A: MANY / 10})}


def flow_of(node: Node, sources: Mapping[str, SourceStatistics], counts: JoinCounts | None = None) -> Flow:
    return flows_of(node, sources, lambda join: counts)[id(node)]


RELATED = Relates("title", "similar", "title", 0.5)


def test_a_filter_reads_every_item_and_gives_out_its_share() -> None:
    flow = flow_of(Filter(Source("s1"), A), SOURCES)
    assert (flow.rate, flow.work, flow.memory) == pytest.approx((1.0, 2.0, 1.0))


def test_a_union_adds_rates_and_costs_nothing() -> None:
    flow = flow_of(Union((Source("s1"), Source("s2"))), SOURCES)
    assert (flow.rate, flow.work, flow.memory) == pytest.approx((3.0, 0.0, 0.0))
    assert flow.statistics.share_of(A) == pytest.approx((2 * 0.5 + 1 * 0.1) / 3)


def test_a_window_holds_its_items() -> None:
    assert flow_of(Window(Source("s1"), LastItems(7)), SOURCES).size == 7.0
    flow = flow_of(Window(Source("s1"), TimeSpan(timedelta(seconds=60))), SOURCES)
    assert (flow.size, flow.rate, flow.memory, flow.work) == pytest.approx((120.0, 0.0, 120.0, 1.0))


def test_a_join_compares_each_item_with_the_window() -> None:
    join = AnnotationJoin("j", Source("s1"), Window(Source("s2"), LastItems(50)), RELATED)
    flow = flow_of(join, SOURCES)
    assert flow.work == pytest.approx(1.0 + 2.0 * 50)
    assert flow.rate == pytest.approx(2.0 * chance_of_any(RELATES_SHARE, 50.0))


def test_pushing_a_filter_below_a_join_lowers_the_work() -> None:
    window = Window(Source("s2"), LastItems(50))
    above = Filter(AnnotationJoin("j", Source("s1"), window, RELATED), C)
    below = AnnotationJoin("j", Filter(Source("s1"), C), window, RELATED)
    assert flow_of(below, SOURCES).work < flow_of(above, SOURCES).work
    assert flow_of(below, SOURCES).rate == pytest.approx(flow_of(above, SOURCES).rate)


def test_an_unknown_source_publishes_nothing_and_a_virtual_feed_has_no_cost() -> None:
    assert flow_of(Filter(Source("nobody"), A), SOURCES).work == 0.0
    with pytest.raises(FeedweirError, match="`f`"):
        flow_of(Feed("f"), SOURCES)
    assert mixture([]) == SourceStatistics()


def test_join_predicates_combine_like_booleans() -> None:
    both, either, none = JoinAnd((RELATED, RELATED)), JoinOr((RELATED, RELATED)), JoinNot(RELATED)
    assert join_share(both) == pytest.approx(RELATES_SHARE**2)
    assert join_share(either) == pytest.approx(1 - (1 - RELATES_SHARE) ** 2)
    assert join_share(none) == pytest.approx(1 - RELATES_SHARE)


atoms = st.sampled_from([A, B, C, D])
predicates = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.builds(And, st.lists(inner, max_size=3).map(tuple)),
        st.builds(Or, st.lists(inner, max_size=3).map(tuple)),
        st.builds(Not, inner),
        st.builds(AtLeast, st.integers(0, 3), st.lists(inner, max_size=3).map(tuple)),
    ),
    max_leaves=5,
)


@settings(max_examples=150, deadline=None)
@given(predicates)
def test_an_estimate_is_a_share(predicate: Predicate) -> None:
    assert -1e-9 <= predicate_share(predicate, KNOWN) <= 1 + 1e-9


@pytest.mark.parametrize(
    "predicate",
    [And((A, B)), Or((A, B, C)), Not(And((A, B))), And((Or((A, B)), Or((C, D)))), AtLeast(2, (A, B, C, D))],
)
def test_independent_atoms_with_each_once_are_estimated_exactly(predicate: Predicate) -> None:
    shares = {atom: KNOWN.share_of(atom) for atom in (A, B, C, D)}

    def truth(values: dict[Contains, bool], part: Predicate) -> bool:
        match part:
            case And(parts):
                return all(truth(values, one) for one in parts)
            case Or(parts):
                return any(truth(values, one) for one in parts)
            case Not(one):
                return not truth(values, one)
            case AtLeast(count, parts):
                return sum(truth(values, one) for one in parts) >= count
        return values[part]

    total = 0.0
    for row in product((False, True), repeat=4):
        values = dict(zip((A, B, C, D), row, strict=True))
        chance = 1.0
        for atom, is_true in values.items():
            chance *= shares[atom] if is_true else 1 - shares[atom]
        total += chance * truth(values, predicate)
    # Unexpanded, so that each atom is read once: a normal form repeats atoms and is then an estimate.
    found = predicate_share(predicate, KNOWN) if not isinstance(predicate, AtLeast) else None
    if found is None:
        found = cnf_share(to_cnf(predicate, max_clauses=1), KNOWN)
    assert found == pytest.approx(total, rel=1e-6)


def test_known_pairs_replace_independence() -> None:
    joint = SourceStatistics(
        items=MANY, seconds=1.0, atoms=KNOWN.atoms, pairs={pair_of(A, B): MANY / 4, pair_of(C, D): 0.0}
    )
    assert predicate_share(And((A, B)), joint) == pytest.approx(0.25, rel=1e-6)
    assert predicate_share(And((A, B, C)), joint) == pytest.approx(0.25 / 8, rel=1e-6)
    assert predicate_share(And((C, D)), joint) == pytest.approx(0.0, abs=1e-6)
    assert predicate_share(Or((A, B)), joint) == pytest.approx(0.5, rel=1e-6)
    assert predicate_share(And((A, Not(B))), joint) == pytest.approx(0.25, rel=1e-6)


def test_what_was_not_watched_is_assumed_rare_and_unequal_is_not_equal() -> None:
    assert SourceStatistics(items=50.0).share_of(A) == PRIOR_SHARE
    same = Compare("language", "=", "en")
    known = SourceStatistics(items=MANY, atoms={same: MANY * 0.8})
    assert predicate_share(Compare("language", "!=", "en"), known) == pytest.approx(0.2, rel=1e-6)


def test_a_join_lets_through_what_was_counted_and_with_little_counted_what_is_assumed() -> None:
    join = AnnotationJoin("j", Source("s1"), Window(Source("s2"), LastItems(50)), RELATED)
    assumed = chance_of_any(RELATES_SHARE, 50)
    rate = SOURCES["s1"].rate
    assert flow_of(join, SOURCES).rate == pytest.approx(rate * assumed)
    assert flow_of(join, SOURCES, JoinCounts(MANY, MANY / 4, MANY)).rate == pytest.approx(rate / 4)
    few = JoinCounts(PRIOR_TRIED, 0.0, 0.0)
    assert flow_of(join, SOURCES, few).rate == pytest.approx(rate * assumed / 2)
    assert flow_of(join, SOURCES, few).work == pytest.approx(rate * 50, rel=0.01)


def test_pairs_that_are_used_often_and_frequent_matter_most() -> None:
    uses = {pair_of(A, B): 5, pair_of(C, D): 5, pair_of(A, D): 1}
    assert pairs_that_matter(uses, KNOWN, most=2) == (pair_of(A, B), pair_of(C, D))


@given(st.integers(200, 400), st.floats(0.05, 0.6), st.integers(-3, 3))
def test_of_very_many_parts_the_share_is_close_to_the_exact_one(
    parts: int, share: float, deviations: int
) -> None:
    shares = [share * (0.5 + (place % 7) / 7) for place in range(parts)]
    mean, spread = sum(shares), math.sqrt(sum(one * (1 - one) for one in shares))
    count = max(round(mean + deviations * spread), 1)
    exact = selectivity._at_least(shares, count)
    assert exact == pytest.approx(sum(_exactly(shares)[count:]))
    assert selectivity._at_least_of_many(shares, count) == pytest.approx(exact, abs=0.03)


def _exactly(shares: list[float]) -> list[float]:
    """The chance of each number of successes, as one would write it down."""
    chances = [1.0]
    for share in shares:
        chances = [
            (chances[n] * (1 - share) if n < len(chances) else 0) + (chances[n - 1] * share if n else 0)
            for n in range(len(chances) + 1)
        ]
    return chances


def test_the_share_of_ten_thousand_parts_takes_no_more_steps_than_parts() -> None:
    assert selectivity._at_least([0.5] * 10_000, 5_000) == pytest.approx(0.5, abs=0.01)
    assert selectivity._at_least([0.5] * 10_000, 1) == pytest.approx(1.0)
    assert selectivity._at_least([0.5] * 10_000, 10_001) == pytest.approx(0.0)
    assert selectivity._at_least([0.0] * 10_000, 0) == 1.0
