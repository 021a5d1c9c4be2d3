"""The links between the pages of a feed, as RFC 5005 names them."""

from __future__ import annotations

from collections.abc import Iterator

from lxml import etree

from feedweir.deliver.address import Address
from feedweir.deliver.render.view import FeedView
from feedweir.deliver.render.xml_writer import HISTORY, child


def own_address(view: FeedView, address: Address, suffix: str) -> str:
    """The address of this page. The newest page has the feed's own address, whatever its limit."""
    return address.feed(view.name, suffix, before=view.before, limit=view.limit if view.before else 0)


def older_address(view: FeedView, address: Address, suffix: str) -> str:
    """The address of the next older page; empty on the oldest."""
    return address.feed(view.name, suffix, before=view.older, limit=view.limit) if view.older else ""


def page_links(view: FeedView, address: Address, suffix: str) -> Iterator[tuple[str, str]]:
    """(relation, address) of other pages."""
    if view.before:
        yield "current", address.feed(view.name, suffix)
    if older := older_address(view, address, suffix):
        yield "next", older
    if view.archive:
        yield "prev-archive", address.feed(view.name, suffix, before=view.archive)


def mark_archive(parent: etree._Element, view: FeedView) -> None:
    """Mark a page that will never change."""
    if view.is_archive:
        child(parent, f"{{{HISTORY}}}archive")
