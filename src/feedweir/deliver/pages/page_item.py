"""The page of one item: everything that is stored of it."""

from __future__ import annotations

from feedweir.deliver.address import Address
from feedweir.deliver.pages.page import dotted, foreign, frame
from feedweir.deliver.pages.page_feed import category_list, partner_list, provenance, shown_title
from feedweir.deliver.render.markup import Html, join, sanitised, tag, web_link
from feedweir.deliver.render.view import EntryView
from feedweir.items.model import Enclosure, Item


def render_item_page(entry: EntryView, address: Address) -> bytes:
    """The item as a page for people."""
    item = entry.item
    body = item.content or item.summary
    article = tag(
        "article",
        foreign("h1", shown_title(item), language=item.language),
        tag("p", dotted(provenance(entry, address)), class_="meta"),
        foreign("div", sanitised(body), language=item.language, class_="prose") if body else None,
        [_enclosure(enclosure) for enclosure in item.enclosures],
        _original(item),
        category_list(item),
        partner_list(entry, address),
        _details(item),
    )
    return frame(address, f"{shown_title(item)} · Feedweir", article, kind="item")


def _original(item: Item) -> Html | None:
    link = web_link(item.link)
    if link is None:
        return None
    return tag("p", tag("a", "Read the original", href=link, rel="noopener noreferrer", class_="original"))


def _enclosure(enclosure: Enclosure) -> Html:
    link = web_link(enclosure.url)
    label = enclosure.url.rstrip("/").rpartition("/")[2] or enclosure.url
    size = f" ({_size(enclosure.length)})" if enclosure.length else ""
    name = tag("figcaption", tag("a", label, href=link, rel="noopener noreferrer") if link else label, size)
    return tag("figure", _player(enclosure, link), name, class_="enclosure")


def _player(enclosure: Enclosure, link: str | None) -> Html | None:
    kind = enclosure.type.partition("/")[0]
    if link is None:
        return None
    if kind == "image":
        return tag("img", src=link, alt="", loading="lazy")
    if kind in ("audio", "video"):
        return tag(kind, src=link, controls="", preload="none")
    return None


def _details(item: Item) -> Html:
    """What statements can refer to."""
    rows = [("source", item.source), ("guid", item.identity), ("sequence number", str(item.seq))]
    rows += [("language", item.language)] if item.language else []
    rows += [("link", link) for link in item.links]
    rows += list(item.extensions)
    terms = [join(tag("dt", name), foreign("dd", value)) for name, value in rows]
    return tag("details", tag("summary", "What statements see"), tag("dl", terms), class_="details")


def _size(length: int) -> str:
    size, unit = float(length), "B"
    for unit in ("B", "kB", "MB", "GB"):  # noqa: B007 - the last unit is used after the loop
        if size < 1000:
            break
        size /= 1000
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
