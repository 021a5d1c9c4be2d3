"""What a source's first document brings is shown, and sent only to who wants it; what comes later is news."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.logs.landing import Landed
from feedweir.service.installation import Weir

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
STATEMENTS = """
register feed http://a.example/feed as Old;
register feed push://orders as Orders;
create feed All from Old | Orders;
subscribe to All as Alerts output webhook http://receiver.example/;
subscribe to All as Everything output webhook http://receiver.example/ with backlog;
subscribe to All as Mirror output file 'all.rss';
"""
HOUR = timedelta(hours=1)
Entry = tuple[str, datetime | None]


def document(entries: Sequence[Entry]) -> bytes:
    items = "".join(
        f"<item><guid>{guid}</guid><title>{guid}</title>"
        f"{f'<pubDate>{format_datetime(time)}</pubDate>' if time else ''}</item>"
        for guid, time in entries
    )
    return f"<rss version='2.0'><channel><title>t</title>{items}</channel></rss>".encode()


def land(weir: Weir, *documents: Sequence[Entry], source: str = "Old") -> None:
    weir.log.append([Landed(source=source, arrived=NOW, body=document(entries)) for entries in documents])


def sent(weir: Weir, name: str) -> list[str]:
    """The guids that go to a subscription, in their order."""
    record = weir.catalog.subscriptions.named(name)
    assert record is not None
    entries = weir.catalog.outbox.entries(subscription_id=record.id)
    return sorted(entry.element_key.split("\n")[1] for entry in entries)


@pytest.fixture
def weir(tmp_path: Path):
    with Weir.open(tmp_path, clock=lambda: NOW) as opened:
        opened.execute(STATEMENTS)
        yield opened


OLD = [("2008", datetime(2008, 3, 1, tzinfo=UTC)), ("undated", None)]


def test_the_past_of_a_new_source_is_shown_and_not_sent(weir: Weir) -> None:
    land(weir, [*OLD, ("fresh", NOW + HOUR)])
    weir.run()
    assert len(weir.items("All")) == 3
    assert sent(weir, "Alerts") == ["fresh"]
    assert sent(weir, "Everything") == ["2008", "fresh", "undated"]
    assert sent(weir, "Mirror") == ["2008", "fresh", "undated"]


def test_what_a_later_document_brings_is_news_however_old_it_says_it_is(weir: Weir) -> None:
    land(weir, OLD)
    weir.run()
    land(weir, [*OLD, ("after an outage", NOW - 100 * HOUR), ("no date", None)])
    weir.run()
    assert sent(weir, "Alerts") == ["after an outage", "no date"]


def test_an_empty_document_is_not_the_first(weir: Weir) -> None:
    land(weir, [])
    weir.run()
    land(weir, OLD)
    weir.run()
    assert sent(weir, "Alerts") == []


def test_what_is_pushed_is_news(weir: Weir) -> None:
    land(weir, OLD, source="Orders")
    weir.run()
    assert sent(weir, "Alerts") == ["2008", "undated"]


def test_a_source_that_is_registered_again_is_new(weir: Weir) -> None:
    land(weir, OLD)
    weir.run()
    weir.execute("create or replace feed All from Orders; drop feed Old")
    weir.execute("register feed http://a.example/feed as Old2; create or replace feed All from Old2")
    land(weir, [*OLD, ("2009", datetime(2009, 1, 1, tzinfo=UTC))], source="Old2")
    weir.run()
    assert sent(weir, "Alerts") == []


def test_a_subscription_can_change_its_mind(weir: Weir) -> None:
    weir.execute("alter subscription Alerts with backlog; alter subscription Everything no backlog")
    land(weir, OLD)
    weir.run()
    assert sent(weir, "Alerts") == ["2008", "undated"]
    assert sent(weir, "Everything") == []


times = st.sampled_from([None, NOW - 1000 * HOUR, NOW - HOUR, NOW, NOW + HOUR])
histories = st.lists(
    st.lists(st.tuples(st.sampled_from("abcdefgh"), times), max_size=4, unique_by=lambda entry: entry[0]),
    min_size=1,
    max_size=5,
)


def obviously_sent(history: Sequence[Sequence[Entry]]) -> list[str]:
    is_first, seen, found = True, set[str](), list[str]()
    for entries in history:
        for guid, time in entries:
            if guid not in seen and not (is_first and (time is None or time < NOW)):
                found.append(guid)
        seen |= {guid for guid, _ in entries}
        is_first = is_first and not entries
    return sorted(found)


@settings(max_examples=15, deadline=None)
@given(histories, st.sampled_from([1, 2, 7]))
def test_what_is_sent_does_not_depend_on_how_the_stream_was_cut(
    history: list[list[Entry]], size: int
) -> None:
    with TemporaryDirectory() as directory, Weir.open(directory, clock=lambda: NOW) as weir:
        weir.execute(STATEMENTS)
        for first in range(0, len(history), size):
            land(weir, *history[first : first + size])
            weir.run()
        assert sent(weir, "Alerts") == obviously_sent(history)
