"""The formats a feed is served in, and the one door to their renderers."""

from __future__ import annotations

from enum import Enum
from functools import lru_cache

from feedweir.deliver.address import Address
from feedweir.deliver.atom import render_atom
from feedweir.deliver.json_feed import render_json
from feedweir.deliver.page_feed import render_page
from feedweir.deliver.rss import render_rss
from feedweir.deliver.view import FeedView


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
    return _RENDERERS[format](view, address)
