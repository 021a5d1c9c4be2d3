"""What doors show costs what the page shows, however many sources there are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import event

from feedweir.catalog import Failure, NewFeed
from feedweir.deliver.address import Address
from feedweir.deliver.delivery_admin import DeliveryAdmin
from feedweir.deliver.render.formats import Format, render
from feedweir.service.installation import Weir
from feedweir.service.opml_import import export_opml

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
DOCUMENT = b"""<rss version="2.0"><channel><title>%b</title>
<item><guid>1</guid><title>One</title><pubDate>Mon, 01 Jun 2026 10:00:00 GMT</pubDate></item>
<item><guid>2</guid><title>Two</title><pubDate>Mon, 01 Jun 2026 11:00:00 GMT</pubDate></item></channel></rss>"""


@contextmanager
def database_steps(weir: Weir) -> Iterator[list[int]]:
    """Counts the steps of SQLite's machine, in tens."""
    steps = [0]
    engine = weir.catalog.database._reading

    def count() -> int:
        steps[0] += 1
        return 0

    def begin(connection: object) -> None:
        connection.connection.driver_connection.set_progress_handler(count, 10)  # type: ignore[attr-defined]

    event.listen(engine, "begin", begin)
    try:
        yield steps
    finally:
        event.remove(engine, "begin", begin)


def weir_of(path: Path, sources: int) -> Weir:
    weir = Weir.open(path, clock=lambda: NOON)
    weir.catalog.feeds.add(
        [
            NewFeed(
                name=f"s{number:06d}",
                kind="source",
                url=f"http://h{number}.example/rss",
                statement=f"register feed 'http://h{number}.example/rss' as s{number:06d}",
                created_at=NOON,
            )
            for number in range(sources)
        ]
    )
    return weir


def test_a_page_costs_the_same_among_many_sources(tmp_path: Path) -> None:
    costs = []
    for count in (300, 3_000):
        with weir_of(tmp_path / str(count), count) as weir, database_steps(weir) as steps:
            assert len(weir.feed_views.feeds(kind="source", after="s000100", limit=50)) == 50
            assert weir.feed_views.feed("s000200", 10) is not None
            costs.append(steps[0])
    assert costs[0] > 20, "the counter counts"
    assert costs[1] < 1.5 * costs[0]


def test_a_list_tells_counts_last_items_and_failures(tmp_path: Path) -> None:
    with weir_of(tmp_path, 4) as weir:
        weir.execute("create feed Ones from s000001 | s000002 where title = 'One'")
        for name in ("s000001", "s000002"):
            weir.push(name, DOCUMENT % name.encode())
        weir.push("s000003", b"no feed at all")
        weir.run()
        shown = {feed.name: feed for feed in weir.feed_views.feeds()}
        assert [(name, feed.item_count) for name, feed in shown.items()] == [
            ("Ones", 2),
            ("s000000", 0),
            ("s000001", 2),
            ("s000002", 2),
            ("s000003", 0),
        ]
        assert shown["s000001"].last_item == datetime(2026, 6, 1, 10, tzinfo=UTC)
        assert shown["s000000"].last_item is None
        assert (weir.feed_views.count("source"), weir.feed_views.count("virtual")) == (4, 1)
        assert "Ones" in weir.feed_views.near_names("One")
        assert weir.feed_views.feeds(kind="source", after="s000001", limit=1)[0].name == "s000002"


def test_the_password_of_a_source_is_shown_nowhere(tmp_path: Path) -> None:
    with Weir.open(tmp_path, clock=lambda: NOON) as weir:
        weir.execute("register feed 'http://me:s3cret@example.org/rss' as Mine; create feed All from Mine")
        weir.push("Mine", DOCUMENT % b"Mine")
        weir.run()
        assert weir.catalog.sources.named("Mine").state.url == "http://me:s3cret@example.org/rss"
        shown = [weir.feed_views.feeds(), weir.feed_views.feed("Mine", 9), weir.feed_views.feed("All", 9)]
        assert "example.org/rss" in str(shown[2])
        assert "s3cret" not in str(shown)


def test_keys_in_addresses_are_shown_by_no_door(tmp_path: Path) -> None:
    with Weir.open(tmp_path, clock=lambda: NOON) as weir:
        weir.execute(
            "register feed 'https://me:hush@post.example/rss?apikey=hush' as Post;"
            "subscribe to Post as Hook output webhook 'https://hook.example/?token=hush'"
        )
        failed = Failure(
            kind="source", resource="Post", at=NOON, reason="moved to https://b.example/?key=hush"
        )
        weir.catalog.failures.record([failed])
        weir.push("Post", DOCUMENT % b"Post")
        weir.run()
        desk = DeliveryAdmin(weir.catalog, weir.store, clock=weir.clock, publish_signal=weir.publish_signal)
        shown = [f"show {what}" for what in ("sources", "feeds", "subscriptions", "failures")]
        described = ["describe feed Post", "describe subscription Hook", "explain feed Post"]
        view = weir.feed_views.feed("Post", 10)
        assert view is not None
        told = [
            *map(repr, weir.execute("; ".join([*shown, *described]))),
            repr(weir.feed_views.feeds()),
            repr(desk.subscriptions()),
            repr(weir.ask.why(view.entries[0].item.seq, "Post")),
            export_opml(weir, is_public=True).decode(),
            *(render(view, format, Address("http://weir.example")).decode() for format in Format),
        ]
        assert any("apikey=***" in one for one in told)
        assert any("token=***" in one for one in told)
        assert not [one for one in told if "hush" in one]
        source = weir.catalog.sources.several(["Post"])[0]
        assert source.state.url == "https://me:hush@post.example/rss?apikey=hush"
