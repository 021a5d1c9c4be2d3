"""The list of all feeds: virtual feeds first, then sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from feedweir.deliver.address import Address
from feedweir.deliver.pages.page import dotted, foreign, frame, moment
from feedweir.deliver.pages.page_feed import subscribe_links
from feedweir.deliver.render.markup import Html, tag
from feedweir.deliver.render.view import FeedKind, FeedSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedSection:
    """A part of the list: some feeds of one kind, by name."""

    kind: FeedKind
    feeds: tuple[FeedSummary, ...]
    total: int
    """How many feeds of this kind there are."""
    next_after: str = ""
    """The name after which the next page starts; empty if there is none."""


_HEADINGS: dict[FeedKind, str] = {"virtual": "Virtual feeds", "source": "Sources"}
_NOTHING: dict[FeedKind, str] = {
    "virtual": "None yet. Create one with a statement such as: create feed News from A | B;",
    "source": "None yet. Register one with a statement such as: register feed https://example.org/rss as A;",
}


def render_feeds_page(
    sections: Sequence[FeedSection], address: Address, standing_still: Sequence[str] = ()
) -> bytes:
    """All feeds with their last items and failures; above them what has stalled in the whole installation."""
    head = tag(
        "link",
        rel="alternate",
        type="text/x-opml",
        title="All virtual feeds",
        href=address.opml(is_ours=True),
    )
    return frame(
        address,
        "Feeds · Feedweir",
        tag("h1", "Feeds", class_="visually-hidden"),
        [tag("p", sentence, class_="failure", role="status") for sentence in standing_still],
        [_section(section, address) for section in sections],
        head=head,
        kind="list",
    )


def _section(section: FeedSection, address: Address) -> Html:
    heading = tag("h2", _HEADINGS[section.kind], " ", tag("span", f"{section.total:,}", class_="count"))
    rows = [_row(feed, address) for feed in section.feeds]
    more = f"{address.home()}?kind={section.kind}&after={quote(section.next_after, safe='')}"
    return tag(
        "section",
        heading,
        tag("ul", rows, class_="feeds") if rows else tag("p", _NOTHING[section.kind], class_="quiet"),
        tag("p", tag("a", "More", href=more, rel="next"), class_="more") if section.next_after else None,
    )


def _row(feed: FeedSummary, address: Address) -> Html:
    about = feed.description or ("" if feed.kind == "source" else feed.definition)
    return tag(
        "li",
        tag(
            "div",
            foreign("h3", tag("a", feed.shown_title, href=address.page(feed.name))),
            foreign("p", about, class_="about" if feed.description else "about code") if about else None,
            _failure(feed),
            class_="what",
        ),
        tag(
            "div",
            _figures(feed),
            tag("p", subscribe_links(feed.name, address), class_="subscribe"),
            class_="how",
        ),
        class_="feed failing" if feed.failure else "feed",
    )


def _figures(feed: FeedSummary) -> Html:
    items = "1 item" if feed.item_count == 1 else f"{feed.item_count:,} items"
    parts = [tag("span", items, class_="number")]
    return tag("p", dotted([*parts, moment(feed.last_item)] if feed.last_item else parts), class_="meta")


def _failure(feed: FeedSummary) -> Html | None:
    if not feed.failure:
        return None
    times = f" ({feed.failure_count} times in a row)" if feed.failure_count > 1 else ""
    return tag("p", feed.failure, times, class_="failure")
