"""Where things are: the one place that knows the paths of the HTTP door."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

_MEANINGFUL_ENDS = (".rss", ".atom", ".json", ".html", "/events")
"""Of paths below `/feeds/`."""


@dataclass(frozen=True, slots=True)
class Address:
    """`base` is the public URL of the server without a final slash; empty gives paths only."""

    base: str = ""

    def home(self) -> str:
        return f"{self.base}/"

    def page(self, name: str) -> str:
        """With a suffix where the name alone would be taken for something else."""
        is_clear = name not in (".", "..") and not name.endswith(_MEANINGFUL_ENDS)
        return f"{self.base}/feeds/{quote(name, safe='')}" if is_clear else self.feed(name, "html")

    def feed(self, name: str, suffix: str) -> str:
        return f"{self.base}/feeds/{quote(name, safe='')}.{suffix}"

    def item(self, seq: int) -> str:
        return f"{self.base}/items/{seq}"

    def source_feed(self, url: str, name: str, suffix: str) -> str:
        """Where a source's feed is: at its own address, or here when it has none; empty when we have none either."""
        return url or (self.feed(name, suffix) if self.base else "")

    def item_link(self, link: str, seq: int) -> str:
        """Where an item is read: at its own address, or here, likewise."""
        return link or (self.item(seq) if self.base else "")

    def why(self, feed: str, seq: int) -> str:
        """Where it is told why an item is in a feed."""
        return f"{self.base}/v1/why?format=text&item={seq}&feed={quote(feed, safe='')}"

    def events(self, name: str) -> str:
        """Where a feed is streamed."""
        return f"{self.base}/feeds/{quote(name, safe='')}/events"

    def subscriptions(self) -> str:
        return f"{self.base}/subscriptions"

    def subscription(self, token: str) -> str:
        """The page of a subscription, for whom the token was signed for."""
        return f"{self.subscriptions()}/{quote(token, safe='')}"

    def unsubscribe(self, token: str) -> str:
        return f"{self.base}/unsubscribe/{quote(token, safe='')}"

    def hub(self) -> str:
        """Where other servers ask to be told of new entries."""
        return f"{self.base}/hub"

    def opml(self, *, is_ours: bool = False) -> str:
        """The sources as OPML, or our own feeds."""
        return f"{self.base}/feeds.opml{'?kind=virtual' if is_ours else ''}"

    def asset(self, file_name: str, version: str) -> str:
        """The version makes the address change with the file, so that browsers may keep it for ever."""
        return f"{self.base}/assets/{file_name}?v={version}"
