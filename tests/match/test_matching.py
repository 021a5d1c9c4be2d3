"""The compiled set gives the pairs that the plain meaning gives, whatever the queries and items."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from feedweir.items.model import Item
from feedweir.items.schema import batch_of
from feedweir.match import CompiledSet, Matches, compile_set
from feedweir.match.meaning.item_meaning import holds as holds_in_meaning
from feedweir.match.sets.compiled_set import open_compiled
from feedweir.match.sets.query_store import whole_predicate
from feedweir.plan.predicate_wire import predicate_from_json, predicate_to_json
from feedweir.plan.predicates import And, AtLeast, Contains, Not, Predicate, Term
from feedweir.plan.query import Query
from tests.match.generated import START, items, predicates, queries
from tests.naive import holds

quick = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))


def pairs_of(matches: Matches) -> list[tuple[int, int]]:
    return list(zip(matches.rows.tolist(), matches.keys.tolist(), strict=True))


def naive_pairs(asked: Iterable[Query], batch: Sequence[Item]) -> list[tuple[int, int]]:
    given_queries = list(asked)
    return sorted(
        {
            (row, query.key)
            for row, item in enumerate(batch)
            for query in given_queries
            if holds(whole_predicate(query), item)
        }
    )


def compiled(asked: Iterable[Query]) -> CompiledSet:
    with TemporaryDirectory() as directory:
        compile_set(asked, Path(directory) / "set")
        return open_compiled(Path(directory) / "set")


@quick
@given(st.lists(queries, max_size=12), st.lists(items(), max_size=4))
def test_a_compiled_set_gives_the_pairs_of_the_plain_meaning(asked: list[Query], batch: list[Item]) -> None:
    found = compiled(asked).match(batch_of(batch))
    assert pairs_of(found) == naive_pairs(asked, batch)
    assert (found.rows.dtype, found.keys.dtype) == (np.int32, np.int64)


@quick
@given(predicates, items())
def test_one_predicate_alone_matches_as_it_should(predicate: Predicate, item: Item) -> None:
    found = compiled([Query(7, (), predicate)]).match(batch_of([item]))
    assert bool(len(found)) == holds(predicate, item)


@settings(quick, max_examples=150)
@given(predicates, items())
def test_residual_checks_mean_what_the_oracle_means(predicate: Predicate, item: Item) -> None:
    assert holds_in_meaning(predicate, item) == holds(predicate, item)


@settings(quick, max_examples=150)
@given(predicates)
def test_a_stored_predicate_comes_back_as_it_was(predicate: Predicate) -> None:
    assert repr(predicate_from_json(predicate_to_json(predicate))) == repr(predicate)


@quick
@given(
    st.lists(queries, max_size=10),
    st.lists(items(), max_size=3),
    st.sampled_from(("ann", "bob", "nobody", "")),
)
def test_an_owner_gets_their_own_matches_and_those_of_everyone(
    asked: list[Query], batch: list[Item], owner: str
) -> None:
    theirs = [query for query in asked if query.owner in ("", owner)]
    found = compiled(asked).match(batch_of(batch), owner=owner)
    assert pairs_of(found) == naive_pairs(theirs, batch)


@settings(quick, max_examples=40)
@given(st.lists(queries, max_size=8), st.lists(items(), min_size=1, max_size=6), st.integers(1, 3))
def test_batches_may_be_cut_anywhere(asked: list[Query], batch: list[Item], size: int) -> None:
    compiled_set, whole = compiled(asked), batch_of(batch)
    cut = [
        (row + start, key)
        for start in range(0, len(batch), size)
        for row, key in pairs_of(compiled_set.match(whole.slice(start, size)))
    ]
    assert cut == pairs_of(compiled_set.match(whole))


def test_some_of_several_is_exact_for_every_combination() -> None:
    words = ("a", "b", "c", "d", "e")
    terms = tuple(map(Term, words))
    counts = [Contains(None, terms, least) for least in range(7)]
    parts = tuple(Contains("title", (term,), 1) for term in terms)
    nested = [AtLeast(least, (*parts[:3], And(parts[2:4]), Not(parts[4]))) for least in range(7)]
    asked = [Query(key, (), predicate) for key, predicate in enumerate(counts + nested)]
    asked += [Query(len(asked) + key, (), Not(predicate)) for key, predicate in enumerate(counts + nested)]
    batch = [
        Item(source="s", identity="", title=" ".join(some), arrived=START)
        for size in range(6)
        for some in combinations(words, size)
    ]
    assert pairs_of(compiled(asked).match(batch_of(batch))) == naive_pairs(asked, batch)


@pytest.mark.nightly
@settings(quick, max_examples=5000)
@given(st.lists(queries, max_size=25), st.lists(items(), max_size=6))
def test_many_more_sets_give_the_pairs_of_the_plain_meaning(asked: list[Query], batch: list[Item]) -> None:
    assert pairs_of(compiled(asked).match(batch_of(batch))) == naive_pairs(asked, batch)
