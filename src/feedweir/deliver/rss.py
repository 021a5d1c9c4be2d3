"""A feed as RSS 2.0, with the modules that readers know: atom, content, dc, media."""

from __future__ import annotations

import html
import re

from lxml import etree

from feedweir import __version__
from feedweir.deliver.address import Address
from feedweir.deliver.identity import entry_id
from feedweir.deliver.plain import language_tag, rfc822, rfc3339
from feedweir.deliver.view import EntryView, FeedView, partner_title
from feedweir.deliver.xml_writer import (
    ATOM,
    CONTENT,
    DC,
    MEDIA,
    add_document,
    add_extensions,
    child,
    children,
    namespaces_of,
    root,
    to_bytes,
)
from feedweir.items.model import Enclosure, Item

_NAMESPACES: dict[str | None, str] = {"atom": ATOM, "content": CONTENT, "dc": DC, "media": MEDIA}
_LOOKS_LIKE_MARKUP = re.compile(r"<[A-Za-z/!?]|&(?:#|\w+;)")


def render_rss(view: FeedView, address: Address) -> bytes:
    """The feed as an RSS 2.0 document."""
    extensions = [pair for entry in view.entries for pair in entry.item.extensions]
    rss = root("rss", {**namespaces_of(extensions), **_NAMESPACES}, version="2.0")
    channel = child(rss, "channel")
    _describe(channel, view, address)
    for entry in view.entries:
        _add_item(channel, entry, address)
    return to_bytes(rss)


def _describe(channel: etree._Element, view: FeedView, address: Address) -> None:
    child(channel, "title", guarded(view.shown_title))
    child(channel, "link", view.home_link or address.page(view.name))
    child(channel, "description", guarded(view.description or view.shown_title))
    child(
        channel,
        f"{{{ATOM}}}link",
        rel="self",
        type="application/rss+xml",
        href=address.feed(view.name, "rss"),
    )
    if view.hub:
        child(channel, f"{{{ATOM}}}link", rel="hub", href=view.hub)
    children(channel, "language", [language_tag(view.language)])
    child(channel, "lastBuildDate", rfc822(view.updated))
    child(channel, "generator", f"Feedweir {__version__}")


def _add_item(channel: etree._Element, entry: EntryView, address: Address) -> None:
    item = entry.item
    element = child(channel, "item")
    # RSS asks for a title or a description; an item that has neither is still an item.
    if item.title or not item.summary:
        child(element, "title", guarded(item.title))
    children(element, "link", [item.link])
    children(element, "description", [item.summary])
    children(element, f"{{{CONTENT}}}encoded", [item.content])
    children(element, f"{{{DC}}}creator", item.authors)
    children(element, "category", item.categories)
    _add_identity(element, item)
    _add_dates(element, item)
    _add_enclosures(element, item.enclosures)
    children(element, f"{{{DC}}}language", [language_tag(item.language)])
    # A source that is only pushed to has its feed here.
    if url := address.source_feed(entry.source_url, item.source, "rss"):
        child(element, "source", entry.source_name, url=url)
    for partner in entry.partners:
        if href := address.item_link(partner.link, partner.seq):
            child(element, f"{{{ATOM}}}link", rel="related", href=href, title=partner_title(partner))
    add_extensions(element, item.extensions)
    add_document(element, item)


def _add_identity(element: etree._Element, item: Item) -> None:
    identity = entry_id(item)
    is_permalink = identity == item.link and identity.startswith(("http://", "https://"))
    child(element, "guid", identity, isPermaLink="true" if is_permalink else "false")


def _add_dates(element: etree._Element, item: Item) -> None:
    if item.published is not None:
        child(element, "pubDate", rfc822(item.published))
    if item.updated is not None:
        child(element, f"{{{ATOM}}}updated", rfc3339(item.updated))


def _add_enclosures(element: etree._Element, enclosures: tuple[Enclosure, ...]) -> None:
    """RSS has room for one enclosure; the rest are media elements."""
    for enclosure in enclosures[:1]:
        media_type = enclosure.type or "application/octet-stream"
        child(element, "enclosure", url=enclosure.url, type=media_type, length=str(enclosure.length))
    for enclosure in enclosures[1:]:
        size = str(enclosure.length) if enclosure.length else ""
        child(element, f"{{{MEDIA}}}content", url=enclosure.url, type=enclosure.type, fileSize=size)


def guarded(title: str) -> str:
    """Plain text for readers that take RSS text for HTML when it looks like it: then it is escaped twice."""
    return html.escape(title, quote=False) if _LOOKS_LIKE_MARKUP.search(title) else title
