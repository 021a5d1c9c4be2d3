from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from feedweir.catalog import Catalog, Definition, FetchState, NewFeed, NewSubscription, names, open_catalog
from feedweir.catalog.feeds import Feeds
from feedweir.errors import CatalogError

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)


def source(name: str, url: str = "http://origin.example/feed") -> NewFeed:
    return NewFeed(
        name=name, kind="source", url=url, statement=f"register feed {url} as {name}", created_at=NOW
    )


def virtual(name: str, *reads: str, where: str = "") -> NewFeed:
    statement = f"create feed {name} from {' | '.join(reads)}{where}"
    return NewFeed(name=name, kind="virtual", reads=reads, statement=statement, created_at=NOW)


def test_feeds_that_are_added_together_are_one_version_and_may_read_each_other(catalog: Catalog) -> None:
    ids = catalog.feeds.add([virtual("b", "a"), source("a")])
    version, definitions = catalog.feeds.definitions()
    assert version == catalog.feeds.version() == 1
    assert [definition.id for definition in definitions] == sorted(ids)
    assert catalog.feeds.named("b").reads == ("a",)
    assert catalog.feeds.readers("a") == ("b",)


def test_a_feed_comes_back_as_it_was_given(catalog: Catalog) -> None:
    feed = NewFeed(
        name="Zürich 東京", kind="virtual", statement="create 'ü'\n;--", owner="ann", created_at=NOW
    )
    catalog.feeds.add([feed])
    record = catalog.feeds.named("Zürich 東京")
    assert (record.name, record.kind, record.statement) == (feed.name, feed.kind, feed.statement)
    assert (record.owner, record.created_at, record.version) == ("ann", NOW, 1)


def test_a_refused_addition_changes_nothing(catalog: Catalog) -> None:
    with pytest.raises(CatalogError, match="no feed 'nowhere'"):
        catalog.feeds.add([source("a"), virtual("b", "nowhere")])
    assert catalog.feeds.definitions() == (0, ())
    assert catalog.sources.all() == ()


def test_names_that_differ_only_in_case_are_refused(catalog: Catalog) -> None:
    catalog.feeds.add([source("News")])
    with pytest.raises(CatalogError, match="'News', which differs from 'NEWS' only in case"):
        catalog.feeds.add([source("NEWS")])
    with pytest.raises(CatalogError, match="already"):
        catalog.feeds.add([source("News")])
    with pytest.raises(CatalogError, match="'straße', which differs from 'STRASSE' only in case"):
        catalog.feeds.add([source("straße"), source("STRASSE")])


def test_the_same_name_twice_in_one_addition_is_refused(catalog: Catalog) -> None:
    with pytest.raises(CatalogError, match="'a'"):
        catalog.feeds.add([source("a"), source("a")])
    assert catalog.feeds.version() == 0


def test_a_name_is_found_only_in_its_own_case(catalog: Catalog) -> None:
    catalog.feeds.add([source("News")])
    assert catalog.feeds.find("news") is None
    with pytest.raises(CatalogError, match="did you mean `News`"):
        catalog.feeds.named("news")


@pytest.mark.parametrize("name", ["", " a", "a\n", "a\x00b", "a\ud800", "x" * 201])
def test_a_name_that_cannot_be_used_is_refused(catalog: Catalog, name: str) -> None:
    with pytest.raises(CatalogError):
        catalog.feeds.add([source(name)])
    assert catalog.feeds.find(name) is None


@pytest.mark.parametrize("name", ["nws", "a\x00b", "\ud800", "x" * 5000])
def test_an_unknown_name_is_an_error_with_near_names(catalog: Catalog, name: str) -> None:
    catalog.feeds.add([source("news"), source("sports")])
    with pytest.raises(CatalogError, match="there is no feed") as error:
        catalog.feeds.named(name)
    assert ("news" in error.value.hint) == (name == "nws")


def test_replacing_keeps_the_id_and_the_readers(catalog: Catalog) -> None:
    ids = catalog.feeds.add([source("a"), source("b"), virtual("c", "a"), virtual("d", "c")])
    assert catalog.feeds.replace(virtual("c", "b")) == ids[2]
    assert catalog.feeds.named("c").reads == ("b",)
    assert catalog.feeds.named("d").reads == ("c",)
    catalog.feeds.drop("a")


def test_a_feed_may_read_the_same_feed_twice(catalog: Catalog) -> None:
    catalog.feeds.add([source("a"), virtual("b", "a", "a")])
    assert catalog.feeds.named("b").reads == ("a",)


def test_a_circle_is_refused(catalog: Catalog) -> None:
    with pytest.raises(CatalogError, match="circle"):
        catalog.feeds.add([virtual("a", "b"), virtual("b", "c"), virtual("c", "a")])
    with pytest.raises(CatalogError, match="circle"):
        catalog.feeds.add([virtual("a", "a")])
    catalog.feeds.add([source("s"), virtual("a", "s"), virtual("b", "a"), virtual("c", "b")])
    with pytest.raises(CatalogError, match="read itself"):
        catalog.feeds.replace(virtual("a", "c"))
    with pytest.raises(CatalogError, match="read itself"):
        catalog.feeds.replace(virtual("a", "a"))
    assert catalog.feeds.named("a").reads == ("s",)


def test_a_feed_of_one_kind_is_not_replaced_by_another(catalog: Catalog) -> None:
    catalog.feeds.add([source("a"), source("b")])
    with pytest.raises(CatalogError, match="is a source feed"):
        catalog.feeds.replace(virtual("a", "b"))


def test_a_feed_in_use_is_not_dropped_and_its_users_are_named(catalog: Catalog) -> None:
    catalog.feeds.add([source("a"), virtual("b", "a"), virtual("c", "a")])
    subscription = catalog.subscriptions.add(
        NewSubscription(feed="a", statement="subscribe to a", channel="file", target="x.rss", created_at=NOW)
    )
    with pytest.raises(CatalogError, match=f"still used by b, c, subscription {subscription}"):
        catalog.feeds.drop("a")
    catalog.subscriptions.set_status(subscription, "dropped", NOW)
    catalog.feeds.drop("a", "b", "c")
    assert catalog.feeds.all() == ()


def test_a_feed_with_very_many_readers_names_the_first_few(catalog: Catalog) -> None:
    catalog.feeds.add([source("a"), *(virtual(f"r{number:02}", "a") for number in range(30))])
    with pytest.raises(CatalogError, match=r"r00, r01, .*r09 and 20 more"):
        catalog.feeds.drop("a")


def test_the_id_of_a_dropped_feed_is_never_given_again(catalog: Catalog) -> None:
    (first,) = catalog.feeds.add([source("a")])
    catalog.feeds.drop("a")
    (second,) = catalog.feeds.add([source("a")])
    assert second > first
    assert catalog.feeds.definitions(1)[1][0].id == first


def test_changes_since_tell_what_happened_in_order(catalog: Catalog) -> None:
    (first,) = catalog.feeds.add([source("a")])
    catalog.feeds.add([virtual("b", "a")])
    catalog.feeds.replace(source("a", "http://elsewhere.example/"))
    catalog.feeds.drop("b")
    changes = catalog.feeds.changes_since(1)
    assert [(change.version, change.action, change.name) for change in changes] == [
        (2, "create", "b"),
        (3, "replace", "a"),
        (4, "drop", "b"),
    ]
    assert changes[1].id == first
    assert changes[1].detail == {"url": "http://elsewhere.example/"}
    assert catalog.feeds.changes_since(4) == ()


def test_a_version_that_is_not_there_yet_is_an_error(catalog: Catalog) -> None:
    with pytest.raises(CatalogError, match="no version 1"):
        catalog.feeds.definitions(1)


def test_feeds_are_listed_by_name_kind_and_owner_in_pages(catalog: Catalog) -> None:
    catalog.feeds.add([source("b"), source("a"), virtual("Z", "a"), virtual("é", "a")])
    assert [feed.name for feed in catalog.feeds.all()] == ["Z", "a", "b", "é"]
    assert [feed.name for feed in catalog.feeds.all(kind="source")] == ["a", "b"]
    assert [feed.name for feed in catalog.feeds.all(after="a", limit=1)] == ["b"]
    assert catalog.feeds.all(owner="ann") == catalog.feeds.all()  # nobody's are everyone's


def test_a_new_source_is_due_at_once_and_its_state_survives(catalog: Catalog) -> None:
    (id_,) = catalog.feeds.add([source("a")])
    assert [record.name for record in catalog.sources.due(NOW, 10)] == ["a"]
    state = FetchState(
        feed_id=id_,
        url="http://moved.example/",
        etag='W/"\udcff\x00é"',
        last_modified="Wed, 01 May 2024 12:00:00 GMT ",
        next_check_at=NOW + timedelta(microseconds=1),
        not_before=NOW,
        failures=3,
        failure="it failed",
        is_unreadable=True,
        moved_to="http://x.example/",
        hosts=("x.example", "y.example"),
        skip_hours=(1, 2),
        history={"rates": [0.1, 2e-300], "text": "\x00\ud800"},
    )
    catalog.sources.save([state])
    assert catalog.sources.named("a").state == state
    assert catalog.sources.due(NOW, 10) == ()
    assert catalog.sources.next_check_at() == state.next_check_at


def test_a_source_keeps_its_state_when_replaced_with_the_same_url_only(catalog: Catalog) -> None:
    (id_,) = catalog.feeds.add([source("a")])
    moved = FetchState(feed_id=id_, url="http://moved.example/", etag='"1"', next_check_at=NOW)
    catalog.sources.save([moved])
    catalog.feeds.replace(source("a"))
    assert catalog.sources.named("a").state == moved
    catalog.feeds.replace(source("a", "http://new.example/"))
    assert catalog.sources.named("a").state == FetchState(
        feed_id=id_, url="http://new.example/", next_check_at=NOW
    )


def test_paused_and_dropped_sources_are_not_due_and_saving_a_dropped_one_is_nothing(catalog: Catalog) -> None:
    first, second = catalog.feeds.add([source("a"), source("b")])
    catalog.feeds.drop("b")
    catalog.sources.save(
        [
            FetchState(feed_id=first, url="http://a.example/", status="paused", next_check_at=NOW),
            FetchState(feed_id=second, url="http://b.example/", next_check_at=NOW),
        ]
    )
    assert catalog.sources.due(NOW, 10) == ()
    assert [record.name for record in catalog.sources.all()] == ["a"]


def test_a_time_without_a_zone_is_refused(catalog: Catalog) -> None:
    naive_time = NOW.replace(tzinfo=None)
    with pytest.raises(CatalogError, match="no zone"):
        catalog.sources.due(naive_time, 1)


class Model:
    """The catalog of definitions as plain dicts, one for every version."""

    def __init__(self) -> None:
        self.feeds: dict[str, tuple[Definition, tuple[str, ...]]] = {}
        self.ids = 0
        self.versions: list[tuple[Definition, ...]] = [()]

    def add(self, feed: NewFeed) -> None:
        if feed.name.casefold() in {name.casefold() for name in self.feeds} or not self._knows(feed.reads):
            raise CatalogError("refused")
        self.ids += 1
        self._put(self.ids, feed)

    def replace(self, feed: NewFeed) -> None:
        if feed.name not in self.feeds or not self._knows(feed.reads):
            raise CatalogError("refused")
        if any(feed.name in self._below(name) for name in feed.reads):
            raise CatalogError("refused")
        self._put(self.feeds[feed.name][0].id, feed)

    def drop(self, name: str) -> None:
        if name not in self.feeds or any(name in reads for _, reads in self.feeds.values()):
            raise CatalogError("refused")
        del self.feeds[name]
        self._commit()

    def _knows(self, names: tuple[str, ...]) -> bool:
        return all(name in self.feeds for name in names)

    def _below(self, name: str) -> set[str]:
        return {name}.union(*(self._below(used) for used in self.feeds[name][1]))

    def _put(self, id_: int, feed: NewFeed) -> None:
        self.feeds[feed.name] = (Definition(id_, feed.name, feed.kind, feed.statement), feed.reads)
        self._commit()

    def _commit(self) -> None:
        self.versions.append(tuple(sorted(definition for definition, _ in self.feeds.values())))


NAMES = st.sampled_from(["a", "b", "c", "d", "A"])
STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.sampled_from(["add", "replace"]),
            st.builds(
                lambda name, reads, n: virtual(name, *reads, where=f" {n}"),
                NAMES,
                st.sets(NAMES),
                st.integers(),
            ),
        ),
        st.tuples(st.just("drop"), NAMES),
    ),
    max_size=25,
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_any_changes_leave_what_plain_dicts_would_hold_in_every_version(
    new_database: Callable[[], str], steps: list[tuple[str, NewFeed | str]]
) -> None:
    model = Model()
    with open_catalog(new_database()) as catalog:
        for verb, argument in steps:
            arguments = [argument] if verb != "add" else [[argument]]
            assert _is_refused(getattr(model, verb), argument) == _is_refused(
                getattr(catalog.feeds, verb), *arguments
            )
        for version, definitions in enumerate(model.versions):
            assert catalog.feeds.definitions(version) == (version, definitions)
            named = tuple(one for one in definitions if one.name in ("a", "b", "A"))
            assert catalog.feeds.several_as_of(version, ("b", "A", "a", "nobody")) == named
        assert catalog.feeds.definitions() == (len(model.versions) - 1, model.versions[-1])
        assert {feed.name: set(feed.reads) for feed in catalog.feeds.all()} == {
            name: set(reads) for name, (_, reads) in model.feeds.items()
        }


def test_sources_are_told_by_their_statements_in_every_version(catalog: Catalog) -> None:
    made = NewFeed(
        name="made", kind="source", statement="register feed a as made", reads=("a",), created_at=NOW
    )
    web, pushed = (
        NewFeed(name=name, kind="source", statement=f"register feed {url} as {name}", url=url, created_at=NOW)
        for name, url in (("web", "http://x.example/"), ("pushed", "push://100%"))
    )
    catalog.feeds.add([virtual("a"), web])
    catalog.feeds.add([made])
    catalog.feeds.add([pushed])
    catalog.feeds.drop("made")

    def unlike(version: int, *beginnings: str) -> list[str]:
        return [one.name for one in catalog.feeds.sources_unlike(version, beginnings)]

    fetched = ("register feed http", "register feed push:")
    assert [unlike(version, *fetched) for version in range(5)] == [[], [], ["made"], ["made"], []]
    assert unlike(3) == ["web", "made", "pushed"]
    assert unlike(4, "register feed http", "register feed push://1_0") == ["pushed"]


def _is_refused(change: Callable[..., object], *arguments: object) -> bool:
    try:
        change(*arguments)
    except CatalogError:
        return True
    return False


def test_readers_of_a_source_are_counted_once_on_whatever_way_they_read_it(catalog: Catalog) -> None:
    catalog.feeds.add(
        [source("a"), source("b"), source("c"), virtual("ab", "a", "b"), virtual("aab", "a", "ab")]
    )
    catalog.feeds.add(
        [NewFeed(name="all", kind="virtual", statement="create feed all from *", created_at=NOW)]
    )

    def subscribed(feed: str) -> int:
        new = NewSubscription(feed=feed, statement="", channel="mail", target="a@b.example", created_at=NOW)
        return catalog.subscriptions.add(new)

    assert catalog.sources.readers() == {}
    subscribed("aab")
    subscribed("ab")
    subscribed("a")
    assert catalog.sources.readers() == {"a": 3, "b": 2}
    paused = subscribed("all")
    assert catalog.sources.readers() == {"a": 4, "b": 3, "c": 1}
    catalog.subscriptions.set_status(paused, "paused", NOW)
    assert catalog.sources.readers() == {"a": 3, "b": 2}


def test_what_people_said_of_a_source_outlives_its_address(catalog: Catalog) -> None:
    catalog.feeds.add([source("a")])
    state = catalog.sources.named("a").state
    hub, origin = "https://hub.example/", "http://origin.example/feed"
    catalog.sources.save([replace(state, hub=hub, imported_from=(origin,), etag="x", failures=3, page="p")])
    catalog.feeds.replace(source("a", "http://elsewhere.example/"))
    moved = catalog.sources.named("a").state
    assert (moved.hub, moved.imported_from) == (hub, (origin,))
    assert moved == replace(state, url="http://elsewhere.example/", hub=hub, imported_from=(origin,))


NAMES = ("News", "news of the day", "Straße", "100 %", "a_b", "a/b", "東京 news", "x*y", "newsnews", "s")
LIKES = (
    "news",
    "*news",
    "news*",
    "n*s",
    "*w*w*",
    "STRASSE",
    "%",
    "_",
    "/b",
    "京",
    "*京*",
    "s",
    "*",
    "x*y",
    "none",
)


def test_names_are_found_in_memory_as_in_the_database(url: str) -> None:
    with open_catalog(url) as catalog, open_catalog(url) as fresh:
        catalog.feeds.all(like="begin")  # who asks once asks the database

        def check() -> None:
            for like in LIKES:
                asked_once = Feeds(fresh.database).all(like=like, limit=5)
                assert catalog.feeds.all(like=like, limit=5) == asked_once, like

        catalog.feeds.add([source(name) for name in NAMES])
        check()
        fresh.feeds.add([virtual("other news", "News"), virtual("z news", "News")])
        check()
        fresh.feeds.rename("other news", "no more", "create feed 'no more' from News")
        fresh.feeds.drop("z news")
        check()
        assert [one.name for one in catalog.feeds.all(like="*news", kind="source", after="a")] == [
            "newsnews",
            "東京 news",
        ]


def test_names_in_memory_are_never_those_of_a_transaction_that_was_undone(catalog: Catalog) -> None:
    catalog.feeds.add([source("one")])
    assert catalog.feeds.all(like="o") == catalog.feeds.all(like="o")

    def undone() -> None:
        with catalog.transaction():
            catalog.feeds.add([source("two")])
            assert [one.name for one in catalog.feeds.all(like="o")] == ["one", "two"]
            raise RuntimeError

    with pytest.raises(RuntimeError):
        undone()
    catalog.feeds.add([source("forth")])
    assert [one.name for one in catalog.feeds.all(like="o")] == ["forth", "one"]
    with catalog.transaction():
        assert [one.name for one in catalog.feeds.all(like="o")] == ["forth", "one"]


def test_after_a_first_question_names_are_not_read_again(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog.feeds.add([source(name) for name in NAMES])
    for _ in range(2):
        catalog.feeds.all(like="news")
    monkeypatch.setattr(names.NameText, "_read", None)
    monkeypatch.setattr("feedweir.catalog.names.is_like", None)
    catalog.feeds.add([source("more news")])
    assert len(catalog.feeds.all(like="news")) == 5


def test_what_is_read_in_a_snapshot_is_of_one_moment(url: str) -> None:
    with open_catalog(url) as catalog, open_catalog(url) as other:
        catalog.feeds.add([source("one")])
        with catalog.snapshot():
            before = catalog.feeds.version()
            other.feeds.add([virtual("two", "one")])
            assert (catalog.feeds.version(), catalog.feeds.find("two")) == (before, None)
        assert catalog.feeds.version() == before + 1


def test_few_readers_are_told_and_many_are_not(catalog: Catalog) -> None:
    catalog.feeds.add([source("one"), source("two")])
    ids = catalog.feeds.add([virtual("a", "one"), virtual("b", "one", "two"), virtual("c", "two")])
    assert catalog.feeds.few_readers(["one", "two"], 3) == tuple(sorted(ids))
    assert catalog.feeds.few_readers(["one", "two"], 2) == ()
    assert catalog.feeds.called([*ids, -1]) == {id_: (name, "") for id_, name in zip(ids, "abc", strict=True)}
