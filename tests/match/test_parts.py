"""An answer in parts has the pairs of the whole one, however small the parts, and holds no more than it may."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from feedweir.items.model import Item
from feedweir.items.schema import batch_of
from feedweir.match import CompiledSet, Counters, KeywordQueries, Matches, apply_changes, write_version
from feedweir.match.index.filter_forest import SourceTree
from feedweir.match.matching.answer_parts import joined
from feedweir.match.sets.compiled_set import compiled_in_memory
from feedweir.match.sets.query_store import table_of
from feedweir.plan.predicates import And, Contains, Similar, Term
from feedweir.plan.query import Query
from tests.compile.test_planning import WAYS, trees_of
from tests.match.generated import items, queries
from tests.match.test_matching import naive_pairs, pairs_of

quick = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
NOW = datetime(2026, 1, 1, tzinfo=UTC)
limits = st.sampled_from((1, 2, 3, 7, 50))


def in_parts(compiled: CompiledSet, batch: pa.RecordBatch, limit: int) -> list[Matches]:
    return list(compiled.match_in_parts(batch, limit=limit))


def tally_of(compiled: CompiledSet, batch: pa.RecordBatch, limit: int) -> list[list[int]]:
    counters = Counters()
    joined(compiled.match_in_parts(batch, counters=counters, limit=limit))
    tally = counters.tally()
    return [column.tolist() for column in (tally.keys, tally.hits, tally.costs, tally.last_hits)]


@quick
@given(st.lists(queries, max_size=12), st.lists(items(), max_size=5), limits, st.sampled_from((*WAYS, None)))
def test_parts_have_the_pairs_of_the_plain_meaning_each_once_and_in_order(
    asked: list[Query], batch: list[Item], limit: int, way: str | None
) -> None:
    trees: list[SourceTree] = trees_of(asked, (way,)) if way else []
    compiled = compiled_in_memory(table_of(asked), trees=trees)
    parts = in_parts(compiled, batch_of(batch), limit)
    assert [pair for part in parts for pair in pairs_of(part)] == naive_pairs(asked, batch)
    # of two ways, with what only the plain meaning decides of earlier rows and of the last, and what they merge to
    assert joined(parts).work.held <= 2 * 3 * 2 * limit
    whole = joined(compiled.match_in_parts(batch_of(batch), limit=1_000_000))
    assert joined(parts).failures == whole.failures
    assert joined(parts).work.tests == whole.work.tests
    assert tally_of(compiled, batch_of(batch), limit) == tally_of(compiled, batch_of(batch), 1_000_000)


@quick
@given(
    st.lists(queries, max_size=8),
    st.lists(queries, max_size=4),
    st.lists(st.integers(0, 9)),
    st.lists(items(), max_size=4),
    limits,
)
def test_parts_of_a_set_of_segments_are_those_of_its_queries(
    first: list[Query], added: list[Query], removed: list[int], batch: list[Item], limit: int
) -> None:
    with TemporaryDirectory() as directory:
        root = Path(directory) / "set"
        write_version(root, 1, first)
        changed = apply_changes(root, added, removed)
        kept = [query for query in first if query.key not in removed]
        parts = in_parts(changed, batch_of(batch), limit)
        assert [pair for part in parts for pair in pairs_of(part)] == naive_pairs([*kept, *added], batch)


def news(*titles: str) -> pa.RecordBatch:
    return batch_of(
        [Item(source="s", identity=str(n), title=title, arrived=NOW) for n, title in enumerate(titles)]
    )


def many(count: int) -> pa.Table:
    """Queries that "storm coast" matches, each by other terms and several by the same."""
    texts = [["storm"], ["storm", "coast"], ["coast"]]
    return KeywordQueries(np.arange(count), pa.array([texts[n % 3] for n in range(count)])).table()


def test_an_item_that_two_hundred_thousand_subscriptions_want_is_given_to_all_of_them() -> None:
    compiled = compiled_in_memory(many(200_000))
    batch = news("calm", "storm at the coast", "storm", "storm coast")
    limit = 10_000
    parts = in_parts(compiled, batch, limit)
    assert [pairs_of(joined(parts))] == [pairs_of(compiled.match(batch))]
    assert np.bincount(joined(parts).rows).tolist() == [0, 200_000, 66_667, 200_000]
    assert max(len(part) for part in parts) <= limit
    assert joined(parts).work.held <= limit < compiled.match(batch).work.held


def test_what_only_the_plain_meaning_can_decide_is_asked_however_many_queries_ask_it() -> None:
    near = Similar("title", "storm", 0.1)  # how alike texts are is not a matter of atoms
    both = And((Contains(None, (Term("storm"),), 1), near))
    compiled = compiled_in_memory(table_of([Query(key, (), both) for key in range(300)]))
    batch = news("storm", "calm", "storm")
    whole = compiled.match(batch)
    parts = in_parts(compiled, batch, 64)
    assert pairs_of(joined(parts)) == pairs_of(whole)
    assert len(whole) == 600
    assert joined(parts).work.asked == whole.work.asked == 600


@pytest.mark.parametrize("limit", [1, 5, 1_000])
def test_nothing_asked_or_nothing_there_is_one_empty_part(limit: int) -> None:
    empty = compiled_in_memory(table_of([]))
    some = compiled_in_memory(many(10))
    assert [len(part) for part in in_parts(empty, news("storm"), limit)] == [0]
    assert [len(part) for part in in_parts(some, news(), limit)] == [0]


@pytest.mark.parametrize("limit", [1, 7, 64, 1_000])
def test_what_was_removed_from_a_large_segment_is_in_no_part(tmp_path: Path, limit: int) -> None:
    def wanting(key: int, owner: str = "") -> Query:
        return Query(key, (), Contains(None, (Term("storm"),), 1), owner)

    write_version(tmp_path / "set", 1, [wanting(key, "ann" if key % 2 else "bob") for key in range(100)])
    changed = apply_changes(tmp_path / "set", [wanting(200)], [3, 4])
    assert any(len(segment.removed) for segment in changed.segments)
    batch, kept = news("calm", "storm"), [key for key in range(100) if key not in (3, 4)]
    assert joined(in_parts(changed, batch, limit)).keys.tolist() == [*kept, 200]
    anns = joined(changed.match_in_parts(batch, owner="ann", limit=limit))
    assert anns.keys.tolist() == [*(key for key in kept if key % 2), 200]
    assert 3 not in tally_of(changed, batch, limit)[0]
