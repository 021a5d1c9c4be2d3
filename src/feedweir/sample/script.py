"""The script of the sample: which stories each channel has told at a given time. Pure functions of the time.

Story number n of a channel is told at `EPOCH + n · period`, for ever, so a restarted origin goes on where the clock is
and tells the same stories under the same names.
"""

from __future__ import annotations

import hashlib
import html
import tomllib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.resources import files
from typing import Any, Literal, TypeAlias

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
STORIES_SHOWN = 12
EDITED_EVERY = 7
"""Every seventh story is corrected after some periods."""
EDITED_AFTER_PERIODS = 3

Format: TypeAlias = Literal["rss091", "rss10", "rss20", "atom03", "atom10", "json"]


@dataclass(frozen=True, slots=True)
class StoryTemplate:
    """A story with holes."""

    title: str
    text: str
    categories: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleChannel:
    """A feed of the sample and what ails it."""

    name: str
    """Its name in the statements."""
    path: str
    format: Format
    encoding: str
    declared_encoding: str = ""
    """What the document claims when that is not the truth."""
    language: str
    title: str
    description: str
    period_s: int
    authors: tuple[str, ...] = ()
    tells_like: str = ""
    """The channel whose words it takes, as agencies do: with its templates it tells the same stories."""
    media: Literal["", "chart", "melody"] = ""
    has_html_titles: bool = False
    has_relative_links: bool = False
    slots: tuple[tuple[str, tuple[str, ...]], ...]
    templates: tuple[StoryTemplate, ...]

    @property
    def slug(self) -> str:
        return self.path.partition(".")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """One told story; `title` is HTML where the channel has HTML titles, `text` always is."""

    number: int
    title: str
    text: str
    categories: tuple[str, ...]
    author: str
    published: datetime
    edited: datetime | None
    """When it was corrected, if it was by now."""


@cache
def channels() -> tuple[SampleChannel, ...]:
    """All channels, in the order of their names."""
    folder = files("feedweir.sample").joinpath("channels")
    texts = [entry.read_text("utf-8") for entry in folder.iterdir() if entry.name.endswith(".toml")]
    return tuple(sorted((_channel(tomllib.loads(text)) for text in texts), key=lambda channel: channel.name))


def _channel(table: dict[str, Any]) -> SampleChannel:
    templates = tuple(
        StoryTemplate(story["title"], story["text"], tuple(story["categories"]))
        for story in table.pop("stories")
    )
    slots = tuple((name, tuple(words)) for name, words in table.pop("slots").items())
    table["authors"] = tuple(table["authors"])
    return SampleChannel(**table, slots=slots, templates=templates)


def stories(channel: SampleChannel, now: datetime) -> tuple[Story, ...]:
    """What the channel shows now, newest first."""
    last = (now - EPOCH) // timedelta(seconds=channel.period_s)
    return tuple(story(channel, number, now) for number in range(last, last - STORIES_SHOWN, -1))


def story(channel: SampleChannel, number: int, now: datetime) -> Story:
    """A story as it reads now: before or after its correction."""
    template = channel.templates[number % len(channel.templates)]
    edited = edit_time(channel, number)
    is_edited = edited is not None and edited <= now
    words = {name: options[_draw(channel, number, name, len(options))] for name, options in channel.slots}
    words.setdefault("number", str(number))
    escaped = {name: html.escape(word, quote=False) for name, word in words.items()}
    title = template.title.format_map(escaped if channel.has_html_titles else words)
    text = template.text.format_map(escaped)
    return Story(
        number=number,
        title=title + " *" if is_edited else title,
        text=f"{text}<p>* {_CORRECTED}</p>" if is_edited else text,
        categories=template.categories,
        author=channel.authors[_draw(channel, number, "author", len(channel.authors))]
        if channel.authors
        else "",
        published=published_at(channel, number),
        edited=edited if is_edited else None,
    )


_CORRECTED = "This story was corrected after it was first published."


def published_at(channel: SampleChannel, number: int) -> datetime:
    return EPOCH + timedelta(seconds=number * channel.period_s)


def edit_time(channel: SampleChannel, number: int) -> datetime | None:
    """When the story is corrected; None for those that stay as they are."""
    if number % EDITED_EVERY:
        return None
    return published_at(channel, number + EDITED_AFTER_PERIODS) + timedelta(seconds=channel.period_s // 2)


def modified(channel: SampleChannel, now: datetime) -> datetime:
    """When what the channel shows now last changed."""
    shown = stories(channel, now)
    return max([shown[0].published, *(each.edited for each in shown if each.edited is not None)])


def _draw(channel: SampleChannel, number: int, slot: str, size: int) -> int:
    return _hash(f"{channel.tells_like or channel.name}/{number}/{slot}") % size


def _hash(key: str) -> int:
    """Not `random`, whose sequence is not promised from one Python to the next; not `hash`, which is salted."""
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "big")
