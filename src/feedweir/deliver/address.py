"""Addresses: the only module that knows the paths of the HTTP server."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, urlencode

_MEANINGFUL_ENDS = (".rss", ".atom", ".json", ".html", "/events")
"""Of paths below `/feeds/`."""


@dataclass(frozen=True, slots=True)
class Address:
    """`base` is the public URL of the server without a final slash; empty gives paths only."""

    base: str = ""

    def home(self) -> str:
        return f"{self.base}/"

    def page(self, name: str) -> str:
        """With the suffix `html` if the name alone would be taken for another format."""
        is_clear = name not in (".", "..") and not name.endswith(_MEANINGFUL_ENDS)
        return f"{self.base}/feeds/{quote(name, safe='')}" if is_clear else self.feed(name, "html")

    def feed(self, name: str, suffix: str, *, before: int = 0, limit: int = 0) -> str:
        """A feed, or its older page whose entries come before a number."""
        asked = {name: value for name, value in (("before", before), ("limit", limit)) if value}
        return f"{self.base}/feeds/{quote(name, safe='')}.{suffix}{f'?{urlencode(asked)}' if asked else ''}"

    def item(self, seq: int) -> str:
        return f"{self.base}/items/{seq}"

    def source_feed(self, url: str, name: str, suffix: str) -> str:
        """A source's own address, or ours when it has none; empty when we have no public address either."""
        return url or (self.feed(name, suffix) if self.base else "")

    def item_link(self, link: str, seq: int) -> str:
        """An item's own address, or its page here; empty when we have no public address."""
        return link or (self.item(seq) if self.base else "")

    def why(self, feed: str, seq: int) -> str:
        """The explanation why an item is in a feed."""
        return f"{self.base}/v1/why?format=text&item={seq}&feed={quote(feed, safe='')}"

    def events(self, name: str) -> str:
        """A feed as an event stream."""
        return f"{self.base}/feeds/{quote(name, safe='')}/events"

    def subscriptions(self) -> str:
        return f"{self.base}/subscriptions"

    def subscription(self, token: str) -> str:
        """The page of a subscription, for the holder of its token."""
        return f"{self.subscriptions()}/{quote(token, safe='')}"

    def unsubscribe(self, token: str) -> str:
        return f"{self.base}/unsubscribe/{quote(token, safe='')}"

    def hub(self) -> str:
        """The WebSub hub."""
        return f"{self.base}/hub"

    def opml(self, *, is_ours: bool = False) -> str:
        """The sources as OPML, or the virtual feeds."""
        return f"{self.base}/feeds.opml{'?kind=virtual' if is_ours else ''}"

    def asset(self, file_name: str, version: str) -> str:
        """The address changes with the file, so that browsers may cache it for ever."""
        return f"{self.base}/assets/{file_name}?v={version}"
