"""The sample is understood: every document by our parser, every statement by the naive evaluator."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

import pytest

from feedweir.acquire.parse.parser import parse as parse_document
from feedweir.errors import DocumentError
from feedweir.items.model import Document, Item
from feedweir.language.plan_builder import build
from feedweir.language.queries import Query
from feedweir.language.statements import CreateFeed, check, parse
from feedweir.plan.nodes import Node
from feedweir.sample.answers import BROKEN
from feedweir.sample.invented_documents import MEDIA_TYPES, document
from feedweir.sample.sample_statements import sample_statements
from feedweir.sample.script import SampleChannel, channels, stories
from feedweir.service.installation import Weir
from tests.naive import elements_of

NOW = datetime(2026, 5, 1, 9, 30, tzinfo=UTC)
BASE = "http://127.0.0.1:8071"
URLS = {channel.name: f"{BASE}/{channel.path}" for channel in channels()}


def landed(channel: SampleChannel, number: int, now: datetime) -> Document:
    return Document(
        number=number,
        source=channel.name,
        url=URLS[channel.name],
        media_type=MEDIA_TYPES[channel.format],
        arrived=now,
        body=document(channel, now, BASE),
    )


@pytest.mark.parametrize("channel", channels(), ids=lambda channel: channel.name)
def test_our_parser_reads_every_channel_as_it_was_meant(channel: SampleChannel) -> None:
    parsed = parse_document(landed(channel, 1, NOW))
    told = list(reversed(stories(channel, NOW)))
    assert parsed.description.title == channel.title
    assert [item.link for item in parsed.items] == [
        f"{BASE}/stories/{channel.slug}/{each.number}" for each in told
    ]
    assert not any(
        character in item.title for item in parsed.items for character in "\u0091\u0092\u0093\u0096\ufffd"
    )
    assert len({item.identity for item in parsed.items}) == len(told)
    if not channel.has_html_titles and channel.format != "rss091":
        assert [item.title for item in parsed.items] == [each.title for each in told]
        assert [item.categories for item in parsed.items] == [each.categories for each in told]
    if channel.format != "rss091":
        assert all(item.published is not None for item in parsed.items)


def test_html_titles_become_text() -> None:
    crier = next(channel for channel in channels() if channel.has_html_titles)
    titles = [item.title for item in parse_document(landed(crier, 1, NOW)).items]
    assert any("Flood gates tested near" in title for title in titles)
    assert not any("<" in title for title in titles)


def test_an_edited_story_keeps_its_identity() -> None:
    for channel in channels():
        found = [
            parse_document(landed(channel, 1, NOW + timedelta(seconds=step))).items
            for step in range(0, 600, 20)
        ]
        titles: dict[str, set[str]] = {}
        for item in (item for items in found for item in items):
            titles.setdefault(item.identity, set()).add(item.title)
        assert max(map(len, titles.values())) == 2, channel.name


@pytest.mark.parametrize("hours", [0, 5, 24 * 40])
def test_every_virtual_feed_fills_from_what_is_there_at_the_start(hours: int) -> None:
    now = NOW + timedelta(hours=hours)
    items = _all_items(now)
    plans = _plans()
    for name, plan in plans.items():
        found = elements_of(plan, items, plans)
        # Nothing has been edited before it was first seen.
        assert bool(found) == (name != "Corrections"), name
        assert len(found) < len(items)


def test_music_is_music_in_every_language() -> None:
    items = _all_items(NOW)
    plans = _plans()
    found = {element.item.source for element in elements_of(plans["Music"], items, plans)}
    assert found == {"KawaNotes", "Kafeneio", "TownCrier", "PetitPont", "Almanaque", "Nahr"}


@pytest.mark.parametrize("hours", [0, 5, 24 * 40])
def test_every_feed_of_a_running_installation_fills_from_what_is_there_at_the_start(
    hours: int, tmp_path: Path
) -> None:
    now = NOW + timedelta(hours=hours)
    with Weir.open(tmp_path, clock=lambda: now) as weir:
        weir.execute(sample_statements(URLS))
        for channel in channels():
            weir.push(channel.name, document(channel, now, BASE), media_type=MEDIA_TYPES[channel.format])
        while weir.run():  # what a stylesheet makes is a document of the next batch
            pass
        counts = {feed.name: feed.item_count for feed in weir.feed_views.feeds()}
        assert [name for name, count in counts.items() if not count] == ["Corrections"]
        assert counts["OneOfEach"] < counts["RiverPost"] + counts["ValleyWire"]
        assert not [feed.name for feed in weir.feed_views.feeds() if feed.failure]
        (releases,) = weir.catalog.subscriptions.all(feed="StableReleases")
        assert weir.catalog.outbox.counts()["pending"] == counts["StableReleases"]
        assert releases.channel == "file"


def test_the_sample_shows_what_there_is() -> None:
    statements = parse(sample_statements(URLS))
    text = sample_statements(URLS)
    for word in ("\njoin last", "from distinct", " JOIN{", "graph {", "apply '", "subscribe to"):
        assert word in text, word
    assert {type(each).__name__ for each in statements} >= {"RegisterFeed", "CreateFeed", "Subscribe"}


@dataclass(frozen=True)
class SampleNames:
    """The names that the sample's own statements make."""

    feeds: dict[str, Query]

    def kind_of(self, name: str) -> Literal["source", "virtual"] | None:
        return "virtual" if name in self.feeds else "source" if name in URLS else None

    def all_names(self) -> list[str]:
        return sorted([*self.feeds, *URLS])

    def made_from(self, name: str) -> str:
        return ""

    def made_sources(self) -> list[str]:
        return []

    def query_of(self, name: str) -> Query | None:
        return self.feeds.get(name)


def _plans() -> dict[str, Node]:
    statements = [each for each in parse(sample_statements(URLS)) if isinstance(each, CreateFeed)]
    names = SampleNames({each.name: each.query for each in statements})
    for each in statements:
        check(each, names)
    return {each.name: build(each.query, names, feed=each.name) for each in statements}


def _all_items(now: datetime) -> list[Item]:
    documents = [landed(channel, number, now) for number, channel in enumerate(channels())]
    return [item for each in documents for item in parse_document(each).items]


@pytest.mark.parametrize("path", [path for path, answer in BROKEN.items() if answer.status == 200])
def test_a_broken_document_is_one_failure_or_its_readable_part(path: str) -> None:
    body = BROKEN[path].body
    broken = Document(
        number=1, source="Broken", url=BASE + path, media_type="text/xml", arrived=NOW, body=body
    )
    with suppress(DocumentError):
        assert sum(len(item.title) for item in parse_document(broken).items) < 10_000
