"""A feed as Atom 1.0 (RFC 4287)."""

from __future__ import annotations

from lxml import etree

from feedweir import __version__
from feedweir.deliver.address import Address
from feedweir.deliver.pages.page_links import mark_archive, own_address, page_links
from feedweir.deliver.render.entry_id import entry_id, source_id
from feedweir.deliver.render.plain import language_tag, legal_values, rfc3339
from feedweir.deliver.render.view import EntryView, FeedView, partner_title
from feedweir.deliver.render.xml_writer import (
    ATOM,
    HISTORY,
    XML,
    add_document,
    add_extensions,
    child,
    namespaces_of,
    root,
    to_bytes,
)
from feedweir.items.model import Item

_A = f"{{{ATOM}}}"


def render_atom(view: FeedView, address: Address) -> bytes:
    """The feed as an Atom document."""
    extensions = [pair for entry in view.entries for pair in entry.item.extensions]
    history: dict[str | None, str] = {"fh": HISTORY} if view.is_archive else {}
    feed = root(f"{_A}feed", {None: ATOM, **namespaces_of(extensions), **history})
    _describe(feed, view, address)
    for entry in view.entries:
        _add_entry(feed, entry, address)
    return to_bytes(feed)


def _describe(feed: etree._Element, view: FeedView, address: Address) -> None:
    if tag := language_tag(view.language):
        feed.set(f"{{{XML}}}lang", tag)
    # The identifier does not contain the address: a feed that moves is the same feed.
    child(feed, f"{_A}id", source_id("feed", view.name))
    child(feed, f"{_A}title", view.shown_title)
    if view.description:
        child(feed, f"{_A}subtitle", view.description)
    child(feed, f"{_A}updated", rfc3339(view.updated))
    # Entries without an author need one on the feed.
    child(child(feed, f"{_A}author"), f"{_A}name", view.shown_title)
    _link(feed, "self", own_address(view, address, "atom"), "application/atom+xml")
    _link(feed, "alternate", view.home_link or address.page(view.name), "text/html")
    if view.hub:
        _link(feed, "hub", view.hub)
    for relation, href in page_links(view, address, "atom"):
        _link(feed, relation, href, "application/atom+xml")
    mark_archive(feed, view)
    child(feed, f"{_A}generator", "Feedweir", version=__version__)


def _add_entry(feed: etree._Element, entry: EntryView, address: Address) -> None:
    item = entry.item
    element = child(feed, f"{_A}entry")
    if tag := language_tag(item.language):
        element.set(f"{{{XML}}}lang", tag)
    child(element, f"{_A}id", entry_id(item))
    child(element, f"{_A}title", item.title, type="text")
    _add_dates(element, item)
    for author in legal_values(item.authors):
        child(child(element, f"{_A}author"), f"{_A}name", author)
    for category in legal_values(item.categories):
        child(element, f"{_A}category", term=category)
    _add_links(element, entry, address)
    _add_text(element, item)
    _add_source(element, entry, address)
    add_extensions(element, item.extensions)
    add_document(element, item)


def _add_dates(element: etree._Element, item: Item) -> None:
    """`updated` is required; for an item without dates it is the time of arrival."""
    child(element, f"{_A}updated", rfc3339(item.updated or item.published or item.arrived))
    if item.published is not None:
        child(element, f"{_A}published", rfc3339(item.published))


def _add_links(element: etree._Element, entry: EntryView, address: Address) -> None:
    if entry.item.link:
        _link(element, "alternate", entry.item.link)
    for enclosure in entry.item.enclosures:
        length = str(enclosure.length) if enclosure.length else ""
        child(element, f"{_A}link", rel="enclosure", href=enclosure.url, type=enclosure.type, length=length)
    for partner in entry.partners:
        if href := address.item_link(partner.link, partner.seq):
            child(element, f"{_A}link", rel="related", href=href, title=partner_title(partner))


def _add_text(element: etree._Element, item: Item) -> None:
    if item.summary:
        child(element, f"{_A}summary", item.summary, type="html")
    # An entry without a link must have content, even if it is empty.
    if item.content or not item.link:
        child(element, f"{_A}content", item.content, type="html")


def _add_source(element: etree._Element, entry: EntryView, address: Address) -> None:
    """A source that is only pushed to has its feed here."""
    url = address.source_feed(entry.source_url, entry.item.source, "atom")
    if not (entry.source_title or url):
        return
    source = child(element, f"{_A}source")
    child(source, f"{_A}id", source_id("feed", entry.item.source))
    child(source, f"{_A}title", entry.source_name)
    child(source, f"{_A}updated", rfc3339(entry.item.arrived))
    if url:
        _link(source, "self", url)
    if entry.source_link:
        _link(source, "alternate", entry.source_link)


def _link(parent: etree._Element, rel: str, href: str, media_type: str = "") -> None:
    child(parent, f"{_A}link", rel=rel, type=media_type, href=href)
