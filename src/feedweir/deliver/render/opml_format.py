"""Our feeds as OPML 2.0, for feed readers to import."""

from __future__ import annotations

from collections.abc import Iterable

from feedweir.deliver.address import Address
from feedweir.deliver.render.view import FeedSummary
from feedweir.deliver.render.xml_writer import child, root, to_bytes


def render_opml(feeds: Iterable[FeedSummary], address: Address) -> bytes:
    """Feeds with their addresses here."""
    opml = root("opml", {}, version="2.0")
    child(child(opml, "head"), "title", "Feedweir")
    body = child(opml, "body")
    for feed in feeds:
        child(
            body,
            "outline",
            type="rss",
            text=feed.shown_title,
            title=feed.shown_title,
            description=feed.description,
            xmlUrl=address.feed(feed.name, "rss"),
            htmlUrl=address.page(feed.name),
        )
    return to_bytes(opml)
