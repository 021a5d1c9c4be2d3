"""The formats a feed is served in, and the one door to their renderers."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from functools import lru_cache

from feedweir.deliver.address import Address
from feedweir.deliver.atom import render_atom
from feedweir.deliver.identity import entry_id
from feedweir.deliver.json_feed import render_json
from feedweir.deliver.page_feed import render_page
from feedweir.deliver.rss import render_rss
from feedweir.deliver.view import EntryView, FeedView


class Format(Enum):
    """Each value is the suffix of the address; a page has none."""

    PAGE = ""
    RSS = "rss"
    ATOM = "atom"
    JSON = "json"

    @property
    def media_type(self) -> str:
        return _MEDIA_TYPES[self]


_MEDIA_TYPES = {
    Format.PAGE: "text/html",
    Format.RSS: "application/rss+xml",
    Format.ATOM: "application/atom+xml",
    Format.JSON: "application/feed+json",
}

_RENDERERS = {
    Format.PAGE: render_page,
    Format.RSS: render_rss,
    Format.ATOM: render_atom,
    Format.JSON: render_json,
}


@lru_cache(maxsize=256)
def rendered(view: FeedView, format: Format, address: Address) -> bytes:
    """The same, remembered: for messages, of which many readers get the same one."""
    return render(view, format, address)


def render(view: FeedView, format: Format, address: Address) -> bytes:
    """The feed in this format: the same bytes for the same view and address."""
    return _RENDERERS[format](_each_once(view), address)


def _each_once(view: FeedView) -> FeedView:
    """Entries of one identifier, as two sources give that carry the same article, are one: the newest is shown.

    Readers go by identifiers. A name of its own for the second would change when the first is no longer shown.
    """
    entries: dict[str, EntryView] = {}
    for entry in view.entries:
        entries.setdefault(entry_id(entry.item), entry)
    return view if len(entries) == len(view.entries) else replace(view, entries=tuple(entries.values()))
