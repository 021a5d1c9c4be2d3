"""The formats in which feeds are served, and their renderers."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from functools import lru_cache

from feedweir.deliver.address import Address
from feedweir.deliver.pages.page_feed import render_page
from feedweir.deliver.render.atom import render_atom
from feedweir.deliver.render.entry_id import entry_id
from feedweir.deliver.render.json_format import render_json
from feedweir.deliver.render.rss import render_rss
from feedweir.deliver.render.view import EntryView, FeedView


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
    """The same, cached: many readers are sent the same message."""
    return render(view, format, address)


def render(view: FeedView, format: Format, address: Address) -> bytes:
    """The feed in this format; the same bytes for the same view and address."""
    return _RENDERERS[format](_each_once(view), address)


def _each_once(view: FeedView) -> FeedView:
    """Of entries with the same identifier, as when two sources carry the same article, the newest is shown.

    Feed readers rely on identifiers. Another identifier for the second entry would change once the first is gone.
    """
    entries: dict[str, EntryView] = {}
    for entry in view.entries:
        entries.setdefault(entry_id(entry.item), entry)
    return view if len(entries) == len(view.entries) else replace(view, entries=tuple(entries.values()))
