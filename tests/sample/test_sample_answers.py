"""What the origin answers to any request, and that what it plays is well-formed, small and its own."""

from __future__ import annotations

import io
import json
import wave
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime, parsedate_to_datetime
from html import unescape
from itertools import pairwise

import lxml.etree
import lxml.html
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.sample.answers import BROKEN, SampleRequest, answer, chart, melody
from feedweir.sample.invented_documents import MEDIA_TYPES, document, media_url, page
from feedweir.sample.script import EPOCH, SampleChannel, channels, modified, published_at, stories, story

NOW = datetime(2026, 5, 1, 9, 30, tzinfo=UTC)
BASE = "http://origin.example"
CHANNELS = {channel.name: channel for channel in channels()}
every_channel = pytest.mark.parametrize("channel", channels(), ids=lambda channel: channel.name)
MOMENTS = st.integers(0, 3 * 366 * 86_400).map(lambda seconds: EPOCH + timedelta(days=1, seconds=seconds))


def headers_of(path: str, **asked: str) -> dict[str, str]:
    return dict(answer(SampleRequest(path, **asked), NOW, BASE).headers)


@every_channel
def test_a_channel_is_served_with_its_type_and_validators(channel: SampleChannel) -> None:
    headers = headers_of(f"/{channel.path}")
    assert headers["Content-Type"] == MEDIA_TYPES[channel.format]
    assert parsedate_to_datetime(headers["Last-Modified"]) == modified(channel, NOW).replace(microsecond=0)
    assert headers["ETag"].startswith('"')


def test_a_query_in_the_address_makes_no_difference() -> None:
    plain, asked = (
        answer(SampleRequest(path), NOW, BASE) for path in ("/river-post.xml", "/river-post.xml?x=1")
    )
    assert plain == asked


@pytest.mark.parametrize("form", ["{}", 'W/"x", {}', "*", " * "])
def test_a_tag_that_is_known_spares_the_body_but_not_the_headers(form: str) -> None:
    tag = headers_of("/river-post.xml")["ETag"]
    given = answer(SampleRequest("/river-post.xml", if_none_match=form.format(tag)), NOW, BASE)
    assert (given.status, given.body) == (304, b"")
    assert dict(given.headers)["ETag"] == tag


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(sorted(CHANNELS)), MOMENTS, st.integers(-5_000, 5_000))
def test_a_date_spares_the_body_only_when_nothing_has_changed_since(
    name: str, now: datetime, seconds: int
) -> None:
    channel = CHANNELS[name]
    changed = modified(channel, now).replace(microsecond=0)
    since = changed + timedelta(seconds=seconds)
    asked = SampleRequest(f"/{channel.path}", if_modified_since=format_datetime(since, usegmt=True))
    assert answer(asked, now, BASE).status == (304 if since >= changed else 200)


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="/.-abcdeimnorstv0123456789?%", max_size=30))
def test_whatever_path_is_asked_for_there_is_an_answer(path: str) -> None:
    given = answer(SampleRequest(f"/{path}"), NOW, BASE)
    assert given.status in (200, 404, 410, 503)


@pytest.mark.parametrize("suffix", ["", "-1", "½", "1e3", "99999999999", "x.svg", "/"])
def test_a_story_that_was_not_told_is_not_there(suffix: str) -> None:
    assert answer(SampleRequest(f"/stories/river-post/{suffix}"), NOW, BASE).status == 404
    assert answer(SampleRequest(f"/media/river-post/{suffix}"), NOW, BASE).status == 404


def test_the_index_leads_to_every_channel() -> None:
    links = lxml.html.fromstring(answer(SampleRequest("/"), NOW, BASE).body).xpath("//a/@href")
    assert links == [f"{BASE}/{channel.path}" for channel in channels()]
    for link in links:
        assert answer(SampleRequest(link.removeprefix(BASE)), NOW, BASE).status == 200


def test_a_busy_answer_says_when_to_come_back() -> None:
    assert dict(BROKEN["/broken/busy.xml"].headers)["Retry-After"] == "120"
    assert BROKEN["/broken/gone.xml"].status == 410


@every_channel
def test_a_page_says_its_title_its_language_and_its_direction(channel: SampleChannel) -> None:
    told = stories(channel, NOW)[0]
    root = lxml.html.fromstring(page(channel, told))
    assert root.get("lang") == channel.language
    assert root.get("dir") == ("rtl" if channel.language == "ar" else "ltr")
    assert root.xpath("string(//title)") == root.xpath("string(//h1)")
    assert root.xpath("string(//h1)") in (told.title, lxml.html.fromstring(told.title).text_content())


@every_channel
def test_every_document_of_xml_is_well_formed_but_for_what_old_feeds_leave_undeclared(
    channel: SampleChannel,
) -> None:
    text = document(channel, NOW, BASE)
    if channel.format == "json":
        assert json.loads(text)["feed_url"] == f"{BASE}/{channel.path}"
        return
    decoded = text.decode(channel.encoding)
    body = decoded.partition("?>")[2].replace("&nbsp;", "&#160;")
    assert lxml.etree.fromstring(body.encode()) is not None


@every_channel
def test_a_document_speaks_in_the_encoding_it_is_written_in(channel: SampleChannel) -> None:
    text = unescape(document(channel, NOW, BASE).decode(channel.encoding))
    assert channel.title in text


@every_channel
def test_media_of_a_story_are_where_the_document_says(channel: SampleChannel) -> None:
    if not channel.media:
        return
    told = stories(channel, NOW)[0]
    url = media_url(channel, told, BASE)
    assert url.encode() in document(channel, NOW, BASE)
    assert answer(SampleRequest(url.removeprefix(BASE)), NOW, BASE).status == 200


@given(st.integers(0, 10**6))
@settings(max_examples=5, deadline=None)
def test_a_melody_is_a_short_sound_and_the_same_every_time(number: int) -> None:
    with wave.open(io.BytesIO(melody(number))) as sound:
        assert (sound.getnchannels(), sound.getsampwidth()) == (1, 2)
        assert 1.5 < sound.getnframes() / sound.getframerate() < 3
    assert melody(number) == melody(number)


def test_melodies_and_charts_differ_from_story_to_story() -> None:
    assert len({chart(number) for number in range(20)}) == 20
    assert len({melody(number) for number in range(6)}) > 1


@given(st.integers(0, 10**6))
def test_a_chart_stays_within_its_picture(number: int) -> None:
    root = lxml.etree.fromstring(chart(number))
    (line,) = root.xpath("//*[local-name()='polyline']/@points")
    points = [tuple(map(float, point.split(","))) for point in line.split()]
    assert len(points) == 51
    assert all(0 <= x <= 600 and 0 <= y <= 120 for x, y in points)
    assert all(before[0] < after[0] for before, after in pairwise(points))


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(sorted(CHANNELS)), MOMENTS)
def test_stories_are_told_one_after_the_other_and_never_before_their_time(name: str, now: datetime) -> None:
    channel = CHANNELS[name]
    shown = stories(channel, now)
    assert all(each.published <= now for each in shown)
    assert all(each.edited is None or each.published < each.edited <= now for each in shown)
    assert [each.published for each in shown] == [published_at(channel, each.number) for each in shown]
    assert all(after.number - before.number == 1 for after, before in pairwise(shown))
    assert all(
        (before.published - after.published).total_seconds() == channel.period_s
        for before, after in pairwise(shown)
    )


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(sorted(CHANNELS)), st.integers(0, 10**6), MOMENTS)
def test_a_story_fills_all_its_holes(name: str, number: int, now: datetime) -> None:
    told = story(CHANNELS[name], number, now)
    assert told.title.strip()
    assert told.author in CHANNELS[name].authors or not CHANNELS[name].authors
    assert "{" not in told.title + told.text
    assert told.categories in {template.categories for template in CHANNELS[name].templates}
