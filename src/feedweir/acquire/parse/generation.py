"""How many times an item was made from another by this installation, which limits unforeseen loops.

A document that is made from a virtual feed says its generation in its media type, and its items carry it as an
extension attribute. Feeds that are served show it, so that it survives the way through the web and back.
"""

from __future__ import annotations

import re

from feedweir.acquire.parse.entries import ParsedFeed
from feedweir.items.model import Item

MAX_GENERATION = 8
"""Feeds made from feeds are seldom more than two deep."""
ATTRIBUTE = "feedweir:generation"
_PARAMETER = re.compile(r";\s*generation=(\d{1,9})\Z")


def with_generation(media_type: str, generation: int) -> str:
    return f"{media_type}; generation={generation}"


def marked(feed: ParsedFeed, media_type: str) -> ParsedFeed:
    """The feed with the generation in its document's media type as an extension of each entry."""
    found = _PARAMETER.search(media_type)
    if not found:
        return feed
    mark = (ATTRIBUTE, found[1])
    feed.entries.extensions = [
        (*(pair for pair in each if pair[0] != ATTRIBUTE), mark) for each in feed.entries.extensions
    ]
    return feed


def generation_of(item: Item) -> int:
    """The generation of an item; 0 when it has none that can be read."""
    values = [value for name, value in item.extensions if name == ATTRIBUTE]
    return max((int(value) for value in values if value.isdecimal() and len(value) < 10), default=0)
