"""Sources, failures, secrets, outlines: what is remembered of each between two processes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import text

from feedweir.catalog import BatchCommit, Catalog, Failure, FetchState, NewFeed, open_catalog
from feedweir.errors import CatalogError

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)


def source(name: str, url: str = "http://origin.example/") -> NewFeed:
    return NewFeed(name=name, kind="source", url=url, statement="r", created_at=NOW)


def saved(catalog: Catalog, name: str, **changes: Any) -> FetchState:
    state = replace(catalog.sources.named(name).state, **changes)
    catalog.sources.save([state])
    return state


def test_sources_are_due_in_the_order_in_which_they_wait(catalog: Catalog) -> None:
    catalog.feeds.add([source(name) for name in "abcd"])
    for name, minutes in (("a", -1), ("b", -3), ("c", 1), ("d", -2)):
        saved(catalog, name, next_check_at=NOW + timedelta(minutes=minutes))
    assert [one.name for one in catalog.sources.due(NOW, 10)] == ["b", "d", "a"]
    assert [one.name for one in catalog.sources.due(NOW, 2)] == ["b", "d"]
    assert catalog.sources.overdue(NOW) == ("a", "b", "d")
    assert catalog.sources.next_check_at() == NOW - timedelta(minutes=3)


def test_a_source_that_changed_after_a_version_is_not_due_as_of_it(catalog: Catalog) -> None:
    catalog.feeds.add([source("a")])
    version = catalog.feeds.version()
    catalog.feeds.add([source("b")])
    assert [one.name for one in catalog.sources.due(NOW, 10, version=version)] == ["a"]


@pytest.mark.parametrize("status", ["paused", "gone"])
def test_a_source_that_is_not_active_is_never_due(catalog: Catalog, status: Any) -> None:
    catalog.feeds.add([source("a")])
    saved(catalog, "a", status=status)
    assert catalog.sources.due(NOW, 10) == ()
    assert catalog.sources.overdue(NOW) == ()
    assert catalog.sources.next_check_at() is None


def test_a_source_that_is_not_fetched_has_no_state(catalog: Catalog) -> None:
    catalog.feeds.add([source("pushed", url="")])
    with pytest.raises(CatalogError, match="'pushed' is not a source that is fetched"):
        catalog.sources.named("pushed")
    with pytest.raises(CatalogError, match="there is no feed 'nothing'"):
        catalog.sources.named("nothing")
    assert catalog.sources.several(["pushed", "nothing"]) == ()


def test_a_source_that_loses_its_address_loses_its_state(catalog: Catalog) -> None:
    catalog.feeds.add([source("a")])
    catalog.feeds.replace(source("a", url=""))
    assert catalog.sources.all() == ()
    catalog.feeds.replace(source("a"))
    assert catalog.sources.named("a").state.url == "http://origin.example/"


def test_the_first_document_that_brought_items_is_remembered_for_ever(catalog: Catalog) -> None:
    catalog.feeds.add([source("a"), source("b"), source("pushed", url="")])
    assert catalog.sources.first_documents(["a", "pushed", "nothing"]) == {"a": (None, NOW)}
    catalog.sources.begin({"a": 7, "nothing": 8})
    catalog.sources.begin({"a": 9, "b": 10})
    assert catalog.sources.first_documents(["a", "b"]) == {"a": (7, NOW), "b": (10, NOW)}


def test_an_edit_of_one_of_several_states_leaves_the_others(catalog: Catalog) -> None:
    catalog.feeds.add([source("a"), source("b")])
    before = catalog.sources.named("b")
    saved(catalog, "a", failures=4, description={"title": "A"})
    assert catalog.sources.named("b") == before
    assert catalog.sources.named("a").state.description == {"title": "A"}


def test_secrets_in_addresses_are_not_written_into_failures(catalog: Catalog) -> None:
    reason = "cannot reach http://ann:s3cret@origin.example/feed?token=abcdef0123456789"
    catalog.failures.record([Failure(kind="source", resource="a", at=NOW, reason=reason)])
    (failure,) = catalog.failures.of("source", "a")
    assert "s3cret" not in failure.reason
    assert "abcdef0123456789" not in failure.reason
    assert "origin.example" in failure.reason


def test_the_last_failure_of_each_of_many_is_found(catalog: Catalog) -> None:
    long = "x" * 2_000
    for number, name in enumerate(("a", "b", "a", long)):
        catalog.failures.record([Failure(kind="source", resource=name, at=NOW, reason=str(number))])
    catalog.failures.record([Failure(kind="feed", resource="a", at=NOW, reason="a feed")])
    found = catalog.failures.last_of("source", ["a", "b", long, "none"])
    assert {name: failure.reason for name, failure in found.items()} == {"a": "2", "b": "1", long: "3"}
    assert catalog.failures.last_of("source", []) == {}


def test_latest_failures_are_limited(catalog: Catalog) -> None:
    failures = [
        Failure(kind="feed", resource=name, at=NOW, reason=f"{name}{turn}") for turn in "12" for name in "abc"
    ]
    catalog.failures.record(failures)
    assert [one.reason for one in catalog.failures.latest(limit=2)] == ["c2", "b2"]
    assert catalog.failures.latest(kind="source") == ()
    catalog.failures.record([])


def test_a_secret_is_made_once_and_read_by_every_process(new_database: Callable[[], str]) -> None:
    url, made = new_database(), iter(["first", "second", "third"])
    with open_catalog(url) as one, open_catalog(url) as other:
        assert one.secrets.of("links", lambda: next(made)) == "first"
        assert other.secrets.of("links", lambda: next(made)) == "first"
        assert other.secrets.of("hooks", lambda: next(made)) == "second"


def test_an_outline_is_kept_as_it_was_and_replaced_as_a_whole(catalog: Catalog) -> None:
    assert catalog.outlines.read() == ""
    for document in ("<opml>\n  <!-- ü -->\n</opml>", "<opml/>"):
        catalog.outlines.write(document)
        assert catalog.outlines.read() == document


def test_folders_of_an_outline_know_their_feeds_by_path(catalog: Catalog) -> None:
    assert catalog.outlines.folders() == {}
    folders = {("News", "東京"): (3, "NewsTokyo"), ("News",): (2, "News"), ("a/b",): (4, "a b")}
    catalog.outlines.write_folders(folders)
    assert catalog.outlines.folders() == folders
    catalog.outlines.write_folders({})
    assert catalog.outlines.folders() == {}


def test_the_last_batch_of_a_kind_is_found_by_how_its_name_begins(catalog: Catalog) -> None:
    assert catalog.batches.last() is None
    for name in ("a_1", "b_1", "a_2", "aX3"):
        catalog.batches.commit(BatchCommit(batch=name, version=0, at=NOW))
    found = {prefix: catalog.batches.last(prefix=prefix) for prefix in ("a_", "b", "", "a%", "c")}
    assert {prefix: record.batch for prefix, record in found.items() if record} == {
        "a_": "a_2",
        "b": "b_1",
        "": "aX3",
    }


def test_a_batch_whose_name_cannot_be_stored_is_refused(catalog: Catalog) -> None:
    with pytest.raises(CatalogError, match="the batch's name has a character"):
        catalog.batches.commit(BatchCommit(batch="\x00", version=0, at=NOW))
    assert catalog.batches.last() is None


def test_a_transaction_happens_as_a_whole_or_not_at_all(catalog: Catalog) -> None:
    with catalog.transaction():
        catalog.feeds.add([source("a")])
        catalog.failures.record([Failure(kind="source", resource="a", at=NOW, reason="why")])

    def undone() -> None:
        with catalog.transaction():
            catalog.feeds.drop("a")
            catalog.failures.forget("source", "a")
            assert catalog.feeds.find("a") is None
            raise RuntimeError

    with pytest.raises(RuntimeError):
        undone()
    assert catalog.feeds.find("a") is not None
    assert len(catalog.failures.of("source", "a")) == 1


def test_what_a_transaction_wrote_is_seen_by_others_when_it_ends(new_database: Callable[[], str]) -> None:
    url = new_database()
    with open_catalog(url) as one, open_catalog(url) as other:
        with one.transaction():
            one.feeds.add([source("a")])
            count = text("SELECT count(*) FROM feed")
            assert one.database.read(lambda open_: open_.execute(count).scalar_one()) == 1
            assert one.database.read_committed(lambda fresh: fresh.execute(count).scalar_one()) == 0
            assert other.feeds.find("a") is None
        assert other.feeds.find("a") is not None


def test_an_error_of_the_database_is_ours_and_in_one_line(catalog: Catalog) -> None:
    with pytest.raises(CatalogError, match="the catalog's database refused: ") as error:
        catalog.database.read(lambda open_: open_.execute(text("SELECT * FROM nowhere\n\n")).all())
    assert "nowhere" in error.value.message
    assert "\n" not in error.value.message
