"""The page of one feed: what it is, how to subscribe, its latest entries."""

from __future__ import annotations

from feedweir.deliver.address import Address
from feedweir.deliver.pages.page import dotted, foreign, frame, moment
from feedweir.deliver.pages.page_links import older_address
from feedweir.deliver.render.markup import Html, join, tag, web_link
from feedweir.deliver.render.plain import excerpt
from feedweir.deliver.render.view import EntryView, FeedView, join_label
from feedweir.items.model import Item

FORMATS = (
    ("rss", "RSS", "application/rss+xml"),
    ("atom", "Atom", "application/atom+xml"),
    ("json", "JSON Feed", "application/feed+json"),
)
"""(suffix, what people call it, media type), in the order of preference."""

_EXCERPT_LENGTH = 320


def render_page(view: FeedView, address: Address) -> bytes:
    """The feed as a page for people."""
    feed = view.name if view.kind == "virtual" else ""
    entries = [entry_summary(entry, address, feed) for entry in view.entries]
    nothing = tag("p", "Nothing yet. New items appear here as they arrive.", class_="lead quiet")
    return frame(
        address,
        f"{view.shown_title} · Feedweir",
        _introduction(view, address),
        tag("ol", entries, class_="entries") if entries else nothing,
        _other_pages(view, address),
        head=autodiscovery(view, address),
    )


def _other_pages(view: FeedView, address: Address) -> Html | None:
    older = older_address(view, address, "html")
    links = [
        tag("a", "Newest", href=address.page(view.name), class_="pill") if view.before else None,
        tag("a", "Older", href=older, rel="next", class_="pill") if older else None,
    ]
    return tag("p", [link for link in links if link], class_="subscribe") if any(links) else None


def autodiscovery(view: FeedView, address: Address) -> Html:
    """The links by which browsers and readers find the feed from its page."""
    return join(
        *(
            tag(
                "link",
                rel="alternate",
                type=media_type,
                title=f"{view.shown_title} ({label})",
                href=address.feed(view.name, suffix),
            )
            for suffix, label, media_type in FORMATS
        )
    )


def _introduction(view: FeedView, address: Address) -> Html:
    home = web_link(view.home_link)
    return tag(
        "header",
        tag("p", "Source" if view.kind == "source" else "Virtual feed", class_="kind"),
        foreign("h1", view.shown_title, language=view.language),
        foreign("p", view.description, language=view.language, class_="lead") if view.description else None,
        tag("p", tag("a", _host(home), href=home, rel="noopener noreferrer")) if home else None,
        tag("p", view.failure, class_="failure") if view.failure else None,
        tag("pre", tag("code", view.definition), class_="statement") if view.definition else None,
        tag("p", subscribe_links(view.name, address), class_="subscribe"),
        class_="introduction",
    )


def subscribe_links(name: str, address: Address) -> list[Html]:
    """One link for each format."""
    return [tag("a", label, href=address.feed(name, suffix), class_="pill") for suffix, label, _ in FORMATS]


def entry_summary(entry: EntryView, address: Address, feed: str = "") -> Html:
    """An entry in a list: title, origin and beginning; in a virtual feed also a link to why it is there."""
    item = entry.item
    why = [tag("a", "why", href=address.why(feed, item.seq), rel="nofollow")] if feed else []
    text = excerpt(item.summary or item.content, _EXCERPT_LENGTH)
    title = shown_title(item)
    return tag(
        "li",
        foreign("h2", tag("a", title, href=address.item(item.seq)), language=item.language),
        tag("p", dotted([*provenance(entry, address), *why]), class_="meta"),
        foreign("p", text, language=item.language) if text and text != title else None,
        tag("pre", tag("code", item.raw), class_="statement") if item.made_of else None,
        partner_list(entry, address),
        category_list(item),
        class_="entry",
    )


def shown_title(item: Item) -> str:
    """The title, or the beginning of the text of an item without one."""
    return item.title or excerpt(item.summary or item.content, 80) or item.link or "Untitled"


def provenance(entry: EntryView, address: Address) -> list[Html]:
    """Source, authors, time and revision of an entry."""
    item = entry.item
    parts = [tag("a", foreign("bdi", entry.source_name), href=address.page(item.source))]
    if item.authors:
        parts.append(foreign("bdi", ", ".join(item.authors)))
    parts.append(moment(item.published or item.arrived))
    if item.revision:
        parts.append(tag("span", "edited", class_="edited", title=f"revision {item.revision}"))
    return parts


def category_list(item: Item) -> Html | None:
    if not item.categories:
        return None
    return tag("ul", [foreign("li", category) for category in item.categories], class_="categories")


def partner_list(entry: EntryView, address: Address) -> Html | None:
    """The items that this one was joined with, under the name of the join."""
    groups = [
        join(tag("dt", join_label(identifier)), tag("dd", [_partner(item, address) for item in items]))
        for identifier, items in entry.annotation
        if items
    ]
    return tag("dl", groups, class_="partners") if groups else None


def _partner(item: Item, address: Address) -> Html:
    source = tag("a", foreign("bdi", item.source), href=address.page(item.source))
    return tag("p", tag("a", foreign("bdi", shown_title(item)), href=address.item(item.seq)), " · ", source)


def _host(link: str) -> str:
    return link.partition("://")[2].partition("/")[0] or link
