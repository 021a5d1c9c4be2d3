"""A feed as RSS 2.0, with the modules that readers know: atom, content, dc, media."""

from __future__ import annotations

import html
import re

from lxml import etree

from feedweir import __version__
from feedweir.deliver.address import Address
from feedweir.deliver.pages.page_links import mark_archive, own_address, page_links
from feedweir.deliver.render.entry_id import entry_id
from feedweir.deliver.render.plain import language_tag, rfc822, rfc3339
from feedweir.deliver.render.view import EntryView, FeedView, partner_title
from feedweir.deliver.render.xml_writer import (
    ATOM,
    CONTENT,
    DC,
    HISTORY,
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
    history: dict[str | None, str] = {"fh": HISTORY} if view.is_archive else {}
    rss = root("rss", {**namespaces_of(extensions), **_NAMESPACES, **history}, version="2.0")
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
        href=own_address(view, address, "rss"),
    )
    for relation, href in page_links(view, address, "rss"):
        child(channel, f"{{{ATOM}}}link", rel=relation, type="application/rss+xml", href=href)
    mark_archive(channel, view)
    if view.hub:
        child(channel, f"{{{ATOM}}}link", rel="hub", href=view.hub)
    children(channel, "language", [language_tag(view.language)])
    child(channel, "lastBuildDate", rfc822(view.updated))
    child(channel, "generator", f"Feedweir {__version__}")


def _add_item(channel: etree._Element, entry: EntryView, address: Address) -> None:
    item = entry.item
    element = child(channel, "item")
    # RSS requires a title or a description; an item with neither gets an empty title.
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
    """Plain text, escaped twice if it looks like HTML: some readers would take it for that."""
    return html.escape(title, quote=False) if _LOOKS_LIKE_MARKUP.search(title) else title
