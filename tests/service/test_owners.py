"""Tenants: whose feeds and subscriptions are, and asking only theirs."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedweir.errors import CatalogError, LanguageError
from feedweir.items.owners import circle_of, concerns, is_owner
from feedweir.pipeline.local_runner import LocalRunner
from feedweir.service.installation import Weir
from tests.engines import NOON, land, open_weir
from tests.join.stories import Shown

STATEMENTS = """
register feed push://Post as Post;
create feed Storms for 'acme/ann' from Post where title contains 'storm';
create feed Floods for 'acme/bob' from Post where title contains 'flood';
create feed Weather for acme from Storms | Floods;
create feed Markets for carl from Post where title contains 'market';
"""

paths = st.lists(st.sampled_from("abc"), max_size=3).map("/".join)


@given(paths, paths)
def test_what_concerns_an_owner_is_theirs_their_groups_their_members_and_everyones(
    owner: str, asker: str
) -> None:
    names, asking = owner.split("/") if owner else [], asker.split("/") if asker else []
    shorter = min(len(names), len(asking))
    is_related = names[:shorter] == asking[:shorter]
    assert concerns(owner, asker) == (is_related and (len(names) <= len(asking) or bool(asking)))
    assert set(circle_of(asker)) == {"/".join(asking[:n]) for n in range(len(asking) + 1)}


@pytest.mark.parametrize("text", ["", "/", "a/", "/a", "a//b", " a", "a/ b"])
def test_some_texts_are_no_owner(text: str) -> None:
    assert not is_owner(text)
    assert is_owner("acme/the editors/ann")


@pytest.fixture
def weir(tmp_path: Path):  # type: ignore[no-untyped-def]
    with open_weir(tmp_path, STATEMENTS) as opened:
        yield opened


def shown(weir: Weir, owner: str) -> list[str]:
    (outcome,) = weir.execute(f"show feeds for '{owner}'")
    return [str(row["name"]) for row in outcome.rows]


def test_lists_are_limited_to_an_owner(weir: Weir) -> None:
    assert shown(weir, "acme/ann") == ["Storms", "Weather"]
    assert shown(weir, "acme") == ["Floods", "Storms", "Weather"]
    assert shown(weir, "Acme") == shown(weir, "nobody") == shown(weir, "acme%") == []
    assert [feed.name for feed in weir.feed_views.feeds(owner="carl")] == ["Markets", "Post"]
    (all_feeds,) = weir.execute("show feeds")
    assert len(all_feeds.rows) == 4


def test_an_owner_is_part_of_the_definition_and_stays_until_it_is_altered(weir: Weir) -> None:
    weir.execute("alter feed Storms from Post where title contains 'gale'")
    weir.execute("create or replace feed Floods from Post where title contains 'water'")
    weir.execute("alter feed Storms rename to Gales")
    owners = {record.name: record.owner for record in weir.catalog.feeds.all()}
    assert owners == {
        "Post": "",
        "Gales": "acme/ann",
        "Floods": "acme/bob",
        "Weather": "acme",
        "Markets": "carl",
    }
    weir.execute("alter feed Gales for everyone; alter feed Post for 'acme', every 1 hour")
    assert weir.catalog.feeds.named("Gales").statement.startswith("create feed Gales\nfrom")
    assert weir.catalog.feeds.named("Post").owner == "acme"


def test_what_is_made_for_an_owner_is_theirs_unless_it_says_otherwise(weir: Weir) -> None:
    script = "create feed A from Post; create feed B for carl from Post; subscribe to A as S output stream"
    weir.execute(script, owner="dora")
    assert [weir.catalog.feeds.named(name).owner for name in "AB"] == ["dora", "carl"]
    assert [record.owner for record in weir.catalog.subscriptions.all(owner="dora")] == ["dora"]
    assert weir.catalog.subscriptions.all(owner="carl") == ()
    weir.execute("alter subscription S for carl")
    (record,) = weir.catalog.subscriptions.all(owner="carl")
    assert (record.owner, record.statement) == ("carl", "subscribe to A as S for carl output stream")


def wanted(weir: Weir, owner: str | None) -> tuple[dict[str, tuple[str, ...]], int]:
    body = Shown("Post", ((1, "storm and flood"), (2, "market"))).body()
    found = weir.ask.matching_feeds_of_document(body, source="Post", owner=owner)
    return {one.item.title: one.feeds for one in found.items}, found.candidates


@pytest.mark.parametrize("is_in_force", [True, False])
def test_a_document_is_asked_about_for_an_owner_before_it_is_matched(weir: Weir, is_in_force: bool) -> None:
    if is_in_force:
        weir.refresh_set()
    everyone, all_candidates = wanted(weir, None)
    assert everyone == {
        "storm and flood": ("Floods", "Post", "Storms", "Weather"),
        "market": ("Markets", "Post"),
    }
    assert wanted(weir, "carl")[0] == {"storm and flood": ("Post",), "market": ("Markets", "Post")}
    anns, candidates = wanted(weir, "acme/ann")
    assert anns == {"storm and flood": ("Post", "Storms", "Weather"), "market": ("Post",)}
    assert candidates < all_candidates


def test_what_asking_an_owner_costs_does_not_grow_with_what_others_have(tmp_path: Path) -> None:
    with open_weir(tmp_path, STATEMENTS) as weir:
        weir.refresh_set()
        before = wanted(weir, "acme/ann")[1]
        more = [f"create feed F{n} for carl from Post where title contains 'storm flood'" for n in range(50)]
        weir.execute(";".join(more))
        weir.refresh_set()
        assert wanted(weir, "acme/ann")[1] == before
        assert wanted(weir, "carl")[1] >= before + 40


def test_a_search_is_limited_to_the_feeds_of_an_owner(weir: Weir) -> None:
    weir.execute("alter feed Post for root")
    weir.refresh_set()
    land(weir, [Shown("Post", ((1, "storm at sea"), (2, "sea of flood"), (3, "market by the sea")))])
    LocalRunner(weir.directory, weir.commit).run_available()
    found = weir.ask.search("sea", owner="acme/ann")
    assert {item.title for item in found.items} == {"storm at sea", "sea of flood"}
    assert (found.found, found.searched) == (2, 2)
    assert (weir.ask.search("sea").found, weir.ask.search("sea", owner="nobody").searched) == (3, 0)


def test_a_stored_item_is_asked_about_by_its_number_or_guid(weir: Weir) -> None:
    weir.refresh_set()
    land(weir, [Shown("Post", ((1, "storm"),))])
    LocalRunner(weir.directory, weir.commit).run_available()
    (item,) = weir.items("Storms")
    for name in (item.seq, item.identity):
        (told,) = weir.ask.matching_feeds(name, owner="acme/ann").items
        assert told.feeds == ("Post", "Storms", "Weather")
    with pytest.raises(CatalogError, match="no item"):
        weir.ask.matching_feeds(99, owner="acme/ann")


def test_a_bad_owner_is_refused_with_its_place(weir: Weir) -> None:
    with pytest.raises(LanguageError, match="is not an owner") as caught:
        weir.execute("create feed X for 'a//b' from Post")
    assert caught.value.column == 19


def test_counters_of_feeds_add_up_to_the_totals_that_are_shown(weir: Weir) -> None:
    weir.refresh_set()
    land(weir, [Shown("Post", tuple((n, "storm flood market"[: 6 * (n % 4)]) for n in range(40)))])
    LocalRunner(weir.directory, weir.commit).run_available()
    weir.tidy()
    feeds, statistics = (outcome.rows for outcome in weir.execute("show feeds; show statistics"))
    (manifest,) = weir.store.manifests()
    assert sum(row["hits"] for row in statistics) == manifest.element_count
    assert {row["name"]: row["hits"] for row in statistics if row["name"] != "Post"} == {
        row["name"]: row["hits"] for row in feeds
    }
    summaries = {one.name: one for one in weir.feed_views.feeds()}
    for row in statistics:
        summary = summaries[row["name"]]
        assert (summary.hits, summary.candidates) == (row["hits"], row["candidates"])
        assert row["candidates"] >= row["hits"] == summary.item_count
        assert row["last_hit"] == (NOON if row["hits"] else None)
