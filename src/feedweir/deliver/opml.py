"""All sources as OPML 2.0, for any other reader to import."""

from __future__ import annotations

from collections.abc import Iterable

from feedweir.deliver.address import Address
from feedweir.deliver.view import FeedSummary
from feedweir.deliver.xml_writer import child, root, to_bytes


def render_opml(feeds: Iterable[FeedSummary], address: Address) -> bytes:
    """Sources under their own addresses, virtual feeds under ours, each kind in an outline of its own."""
    opml = root("opml", {}, version="2.0")
    child(child(opml, "head"), "title", "Feedweir")
    body = child(opml, "body")
    outlines = {
        "virtual": child(body, "outline", text="Virtual feeds"),
        "source": child(body, "outline", text="Sources"),
    }
    for feed in feeds:
        child(
            outlines[feed.kind],
            "outline",
            type="rss",
            text=feed.shown_title,
            title=feed.shown_title,
            description=feed.description,
            xmlUrl=feed.url if feed.kind == "source" else address.feed(feed.name, "rss"),
            htmlUrl=feed.home_link or address.page(feed.name),
        )
    return to_bytes(opml)
