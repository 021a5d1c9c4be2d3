"""What the sample tells is a function of the time alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import feedparser
import pytest

from feedweir.sample.answers import BROKEN, SampleRequest, answer
from feedweir.sample.invented_documents import document
from feedweir.sample.script import (
    EDITED_AFTER_PERIODS,
    STORIES_SHOWN,
    SampleChannel,
    channels,
    edit_time,
    modified,
    published_at,
    stories,
    story,
)

NOW = datetime(2026, 5, 1, 9, 30, tzinfo=UTC)
BASE = "http://origin.example"

every_channel = pytest.mark.parametrize("channel", channels(), ids=lambda channel: channel.name)


def test_every_format_is_played() -> None:
    assert {channel.format for channel in channels()} == {
        "rss091",
        "rss10",
        "rss20",
        "atom03",
        "atom10",
        "json",
    }


def test_several_encodings_are_played_and_one_is_declared_wrongly() -> None:
    assert len({channel.encoding for channel in channels()}) >= 5
    assert [channel.name for channel in channels() if channel.declared_encoding] == ["TownCrier"]


@every_channel
def test_a_new_story_appears_with_every_period(channel: SampleChannel) -> None:
    before = stories(channel, NOW)
    after = stories(channel, NOW + timedelta(seconds=channel.period_s))
    assert len(before) == len(after) == STORIES_SHOWN
    assert [each.number for each in after[1:]] == [each.number for each in before[:-1]]
    assert before[0].published <= NOW < after[0].published


@every_channel
def test_the_same_time_gives_the_same_bytes(channel: SampleChannel) -> None:
    assert document(channel, NOW, BASE) == document(channel, NOW, BASE)


def test_another_process_with_another_hash_seed_tells_the_same() -> None:
    script = (
        "from datetime import *; from feedweir.sample.invented_documents import document; "
        "from feedweir.sample.script import channels; import hashlib; "
        "now = datetime(2026, 5, 1, 9, 30, tzinfo=UTC); "
        "print(hashlib.sha256(b''.join(document(c, now, 'http://o') for c in channels())).hexdigest())"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(told) == 1


@every_channel
def test_the_stories_of_a_day_keep_their_names_and_vary(channel: SampleChannel) -> None:
    day = range(86_400 // channel.period_s)
    told = [story(channel, number, NOW) for number in day]
    assert len({each.number for each in told}) == len(day)
    assert len({each.title for each in told}) >= 3 * len(channel.templates)
    rounds = [
        told[start : start + len(channel.templates)] for start in range(0, len(told), len(channel.templates))
    ]
    assert all(len({each.title for each in told_round}) == len(told_round) for told_round in rounds)


@every_channel
def test_some_stories_are_corrected_while_they_are_shown(channel: SampleChannel) -> None:
    number = next(each.number for each in stories(channel, NOW) if edit_time(channel, each.number))
    when = edit_time(channel, number)
    assert when is not None
    before, after = story(channel, number, when - timedelta(seconds=1)), story(channel, number, when)
    assert (before.published, before.number) == (after.published, after.number)
    assert (before.edited, after.edited) == (None, when)
    assert before.title != after.title
    assert EDITED_AFTER_PERIODS + 1 < STORIES_SHOWN


@every_channel
def test_modified_is_the_last_moment_at_which_the_document_changed(channel: SampleChannel) -> None:
    for step in range(0, 8 * channel.period_s, 7):
        now = NOW + timedelta(seconds=step)
        changed = modified(channel, now)
        assert changed <= now
        assert document(channel, changed, BASE) == document(channel, now, BASE)
        assert document(channel, changed - timedelta(seconds=1), BASE) != document(channel, now, BASE)


@pytest.mark.parametrize(
    "channel", [c for c in channels() if c.format != "json"], ids=lambda channel: channel.name
)
def test_a_tolerant_parser_reads_every_document(channel: SampleChannel) -> None:
    parsed = feedparser.parse(document(channel, NOW, BASE))
    assert len(parsed.entries) == STORIES_SHOWN
    assert parsed.feed.title == channel.title


def test_json_items_carry_ids_dates_and_sounds() -> None:
    channel = next(c for c in channels() if c.format == "json")
    items = json.loads(document(channel, NOW, BASE))["items"]
    assert len({item["id"] for item in items}) == STORIES_SHOWN
    assert items[0]["date_published"] == published_at(channel, stories(channel, NOW)[0].number).strftime(
        "%Y-%m-%dT%H:%M:%SZ"
    )
    assert items[0]["attachments"][0]["mime_type"] == "audio/wav"


def test_every_link_of_the_sample_leads_to_something() -> None:
    for channel in channels():
        number = stories(channel, NOW)[0].number
        page = answer(SampleRequest(f"/stories/{channel.slug}/{number}"), NOW, BASE)
        assert page.status == 200
        assert answer(SampleRequest(f"/stories/{channel.slug}/{number + 1}"), NOW, BASE).status == 404
        assert answer(SampleRequest(f"/stories/{channel.slug}/x"), NOW, BASE).status == 404
        if channel.media:
            suffix = {"chart": "svg", "melody": "wav"}[channel.media]
            media = answer(SampleRequest(f"/media/{channel.slug}/{number}.{suffix}"), NOW, BASE)
            assert media.body.startswith((b"<svg", b"RIFF"))


def test_broken_documents_are_there_for_those_who_look() -> None:
    assert {answer(SampleRequest(path), NOW, BASE).status for path in BROKEN} == {200, 410, 503}
    assert answer(SampleRequest("/nowhere"), NOW, BASE).status == 404
