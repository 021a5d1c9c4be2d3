from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedweir.catalog import (
    AtomCount,
    BatchCommit,
    Catalog,
    Fading,
    Failure,
    FeedCounts,
    FetchState,
    NewEntry,
    NewFeed,
    NewSubscription,
    open_catalog,
)
from feedweir.catalog.failures import KEPT
from feedweir.catalog.hit_statistics import HALF_LIFE_S
from feedweir.errors import CatalogError

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)
WEEK = timedelta(seconds=HALF_LIFE_S)


def prepared(catalog: Catalog) -> tuple[int, int]:
    """A source and a subscription to it."""
    feed = NewFeed(name="news", kind="source", url="http://a.example/", statement="register", created_at=NOW)
    (source,) = catalog.feeds.add([feed])
    wanted = NewSubscription(feed="news", statement="subscribe", channel="mail", target="x", created_at=NOW)
    return source, catalog.subscriptions.add(wanted)


def batch(name: str, source: int, subscription: int, at: datetime = NOW) -> BatchCommit:
    """A batch that leaves something of every kind."""
    return BatchCommit(
        batch=name,
        version=2,
        at=at,
        detail={"items": 10},
        counts=(FeedCounts(source, items=10, hits=2, candidates=4_000, last_hit_at=at),),
        atoms=(AtomCount(source, "title:rock", 3, 0.5), AtomCount(source, "ÿ" * 3_000, 1)),
        failures=(Failure(kind="source", resource="news", at=at, reason="not a feed\x00", batch=name),),
        fetch_states=(
            FetchState(feed_id=source, url="http://b.example/", etag='"2"', next_check_at=at + WEEK),
        ),
        entries=(NewEntry(subscription, f"{name}:1", {"seq": 1}, at), NewEntry(subscription, "both", {}, at)),
    )


def everything(catalog: Catalog) -> list[str]:
    """All but the counters, which may have gaps."""
    return [json.dumps(line) for line in catalog.dump() if line.get("table") != "counter"]


def test_a_batch_leaves_everything_at_once(catalog: Catalog) -> None:
    source, subscription = prepared(catalog)
    assert catalog.batches.commit(batch("1", source, subscription))
    assert catalog.statistics.feeds([source])[0].hits == 2
    assert [(atom.atom[:7], atom.times) for atom in catalog.statistics.atoms(source)] == [
        ("sha256:", 1),
        ("title:r", 3),
    ]
    assert [failure.reason for failure in catalog.failures.latest()] == ["not a feed\ufffd"]
    assert catalog.sources.named("news").state.etag == '"2"'
    assert catalog.outbox.counts() == {"pending": 2}
    record = catalog.batches.last()
    assert record is not None
    assert record == catalog.batches.with_id("1")
    assert (record.batch, record.version, record.committed_at, record.detail) == ("1", 2, NOW, {"items": 10})


def test_a_batch_that_is_repeated_changes_nothing(catalog: Catalog) -> None:
    source, subscription = prepared(catalog)
    catalog.batches.commit(batch("1", source, subscription))
    before = everything(catalog)
    assert not catalog.batches.commit(batch("1", source, subscription, NOW + WEEK))
    assert everything(catalog) == before


def test_batches_add_up_and_recent_counters_fade(catalog: Catalog) -> None:
    source, subscription = prepared(catalog)
    catalog.batches.commit(batch("1", source, subscription))
    catalog.batches.commit(batch("2", source, subscription, NOW + WEEK))
    (statistics,) = catalog.statistics.feeds()
    assert (statistics.items, statistics.hits, statistics.candidates) == (20, 4, 8_000)
    assert (statistics.last_hit_at, statistics.recent_at) == (NOW + WEEK, NOW + WEEK)
    assert statistics.recent_hits == pytest.approx(3)
    assert statistics.recent_items == pytest.approx(15)
    assert [(atom.times, atom.weight) for atom in catalog.statistics.atoms()] == [(2, 0), (6, 1)]
    assert len(catalog.outbox.entries()) == 3


def test_what_is_counted_in_parts_adds_up_within_a_batch(catalog: Catalog) -> None:
    source, _ = prepared(catalog)
    counts = (
        FeedCounts(source, 1, 2, 3, NOW),
        FeedCounts(source, 10, 20, 30),
        FeedCounts(source, 100),
    )
    atoms = (AtomCount(source, "a", 1, 0.5), AtomCount(source, "b", 7), AtomCount(source, "a", 2, 0.25))
    catalog.batches.commit(BatchCommit(batch="1", version=1, at=NOW, counts=counts, atoms=atoms))
    assert catalog.statistics.feeds()[0][1:5] == (111, 22, 33, NOW)
    assert catalog.statistics.atoms() == (AtomCount(source, "a", 3, 0.75), AtomCount(source, "b", 7, 0))


def test_atoms_of_a_source_fade_once_before_others_are_added(catalog: Catalog) -> None:
    source, _ = prepared(catalog)
    other = NewFeed(
        name="other", kind="source", url="http://o.example/", statement="register", created_at=NOW
    )
    (elsewhere,) = catalog.feeds.add([other])
    atoms = tuple(AtomCount(*of, 8, 8.0) for of in ((source, "a"), (source, "items"), (elsewhere, "a")))
    catalog.batches.commit(BatchCommit(batch="1", version=1, at=NOW, atoms=atoms))
    fading = (Fading(source, 0.25, ("items",)),)
    later = BatchCommit(batch="2", version=1, at=NOW, fading=fading, atoms=(AtomCount(source, "a", 1, 1.0),))
    assert [catalog.batches.commit(later), catalog.batches.commit(later)] == [True, False]
    assert catalog.statistics.atoms() == (
        AtomCount(source, "a", 9, 3.0),
        AtomCount(source, "items", 8, 8.0),
        AtomCount(elsewhere, "a", 8, 8.0),
    )


def test_a_batch_from_the_past_adds_without_fading(catalog: Catalog) -> None:
    source, subscription = prepared(catalog)
    catalog.batches.commit(batch("2", source, subscription, NOW + WEEK))
    catalog.batches.commit(batch("1", source, subscription))
    (statistics,) = catalog.statistics.feeds()
    assert (statistics.recent_hits, statistics.recent_at, statistics.last_hit_at) == (
        4,
        NOW + WEEK,
        NOW + WEEK,
    )


def faded(value: float, since: datetime, now: datetime) -> float:
    """What is left at `now` of a recent counter that was `value` at `since`."""
    return value * float(2.0 ** -(max(0.0, (now - since).total_seconds()) / HALF_LIFE_S))


@given(
    st.lists(st.tuples(st.integers(0, 10**7), st.integers(0, 100)), min_size=1, max_size=30),
    st.floats(0, 1e7),
)
def test_fading_step_by_step_is_fading_at_once(hits: list[tuple[int, int]], after_s: float) -> None:
    hits = sorted(hits)
    value, since = 0.0, NOW
    for second, count in hits:
        at = NOW + timedelta(seconds=second)
        value, since = faded(value, since, at) + count, at
    end = since + timedelta(seconds=after_s)
    at_once = sum(faded(count, NOW + timedelta(seconds=second), end) for second, count in hits)
    assert faded(value, since, end) == pytest.approx(at_once, rel=1e-9)


def test_the_database_fades_as_the_function_does(catalog: Catalog) -> None:
    source, _ = prepared(catalog)
    value, since = 0.0, NOW
    for number, (hours, hits) in enumerate([(0, 5), (1, 0), (30, 7), (30, 1), (2_000, 3)]):
        at = NOW + timedelta(hours=hours)
        counts = (FeedCounts(source, hits=hits),)
        catalog.batches.commit(BatchCommit(batch=str(number), version=1, at=at, counts=counts))
        value, since = faded(value, since, at) + hits, at
        assert catalog.statistics.feeds()[0].recent_hits == pytest.approx(value, rel=1e-12)


def test_what_was_dropped_meanwhile_does_not_stop_a_batch(catalog: Catalog) -> None:
    source, subscription = prepared(catalog)
    catalog.subscriptions.set_status(subscription, "dropped", NOW)
    catalog.feeds.drop("news")
    assert catalog.batches.commit(batch("1", source, subscription))
    assert catalog.statistics.feeds() == ()
    assert catalog.statistics.atoms() == ()
    assert catalog.outbox.counts() == {}


def test_a_batch_that_cannot_be_written_leaves_nothing(catalog: Catalog) -> None:
    source, subscription = prepared(catalog)
    before = everything(catalog)
    bad = BatchCommit(
        batch="1",
        version=2,
        at=NOW,
        counts=(FeedCounts(source, hits=1),),
        entries=(NewEntry(subscription, "a", {"not": {"json"}}, NOW),),
    )
    with pytest.raises(CatalogError, match="not JSON"):
        catalog.batches.commit(bad)
    assert everything(catalog) == before


def test_the_last_failures_of_each_resource_are_kept(catalog: Catalog) -> None:
    for number in range(KEPT + 5):
        reason = f"failure {number}"
        catalog.failures.record(
            [
                Failure(kind="source", resource="a", at=NOW, reason=reason),
                Failure(kind="source", resource="b\x00" * 900, at=NOW, reason=reason, batch="7"),
            ]
        )
    catalog.failures.record([Failure(kind="feed", resource="a", at=NOW, reason="another a")])
    assert [failure.reason for failure in catalog.failures.of("source", "a")] == [
        f"failure {number}" for number in reversed(range(5, KEPT + 5))
    ]
    assert len(catalog.failures.of("source", "b\x00" * 900)) == KEPT
    assert [failure.reason for failure in catalog.failures.latest()] == [
        "another a",
        "failure 24",
        "failure 24",
    ]
    assert len(catalog.failures.latest(kind="source")) == 2
    catalog.failures.forget("source", "a")
    assert catalog.failures.of("source", "a") == ()


def test_many_failures_at_once_are_bounded_too(catalog: Catalog) -> None:
    catalog.failures.record(
        [Failure(kind="channel", resource="mail", at=NOW, reason=str(number)) for number in range(100)]
    )
    assert [failure.reason for failure in catalog.failures.of("channel", "mail")][:2] == ["99", "98"]
    assert len(catalog.failures.of("channel", "mail")) == KEPT


def test_old_batches_can_be_forgotten(catalog: Catalog) -> None:
    catalog.batches.commit(BatchCommit(batch="1", version=0, at=NOW))
    catalog.batches.commit(BatchCommit(batch="2", version=0, at=NOW + WEEK))
    assert catalog.batches.forget(NOW + WEEK) == 1
    assert catalog.batches.with_id("1") is None


@pytest.fixture(params=["sqlite", "postgresql"])
def other_database(request: pytest.FixtureRequest) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{request.getfixturevalue('tmp_path')}/other.db"
    return str(request.getfixturevalue("postgres").new_database())


def test_an_export_can_be_imported_into_either_database_and_is_lossless(
    catalog: Catalog, other_database: str
) -> None:
    source, subscription = prepared(catalog)
    catalog.batches.commit(batch("1", source, subscription))
    (claimed, _) = catalog.outbox.claim(2, worker="w", now=NOW, lease_s=1)
    catalog.outbox.release([claimed.id], worker="w", now=NOW)
    catalog.feeds.add([NewFeed(name="東京", kind="virtual", reads=("news",), statement="c", created_at=NOW)])
    lines = [json.dumps(line) for line in catalog.dump()]
    with open_catalog(other_database) as other:
        other.load(map(json.loads, lines))
        assert [json.dumps(line) for line in other.dump()] == lines
        assert other.feeds.definitions(1) == catalog.feeds.definitions(1)
        feed = NewFeed(name="more", kind="source", statement="r", created_at=NOW)
        assert other.feeds.add([feed]) == catalog.feeds.add([feed])


def test_an_import_that_does_not_fit_is_refused_and_leaves_nothing(new_database: Callable[[], str]) -> None:
    with open_catalog(new_database()) as catalog:
        header = next(catalog.dump())
        before = list(catalog.dump())
        for lines, message in (
            ([], "not an export"),
            ([{"format": "x"}], "not an export"),
            ([header | {"step": 99}], "schema version 99"),
            ([header, {"table": "nothing", "row": {}}], "does not have"),
            ([header, {"table": "counter", "row": {"name": "x"}}], "other columns"),
            ([header, {}], "does not have"),
        ):
            with pytest.raises(CatalogError, match=message):
                catalog.load(lines)
            assert list(catalog.dump()) == before
        prepared(catalog)
        with pytest.raises(CatalogError, match="not empty"):
            catalog.load([header])
