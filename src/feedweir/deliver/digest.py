"""A message for people: subject, text and HTML, from the entries that are new."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from textwrap import fill

from feedweir.deliver.address import Address
from feedweir.deliver.markup import Html, sanitised, tag, web_link
from feedweir.deliver.page_feed import shown_title
from feedweir.deliver.plain import excerpt, language_tag, legal
from feedweir.deliver.transform import Transformed
from feedweir.deliver.view import EntryView, FeedView
from feedweir.items.model import Item

_WIDTH = 76
_EXCERPT_LENGTH = 500
_SUBJECT_LENGTH = 120
_FULL_UP_TO = 3
"""A message of so few entries shows them in full."""
_KEPT = 512
"""Entries that are remembered as they were shown: one that is sent to many is written once."""
_HERE = Html("<!-- entries -->")


@dataclass(frozen=True, slots=True)
class Digest:
    """Parts are in pieces: those of an entry are the same for every reader."""

    subject: str
    text_pieces: tuple[str, ...]
    html_pieces: tuple[str, ...]
    """None when there is only text."""

    @property
    def text(self) -> str:
        return "".join(self.text_pieces)

    @property
    def html(self) -> str:
        return "".join(self.html_pieces)


def digest(
    view: FeedView, address: Address, *, unsubscribe: str = "", transformed: Transformed | None = None
) -> Digest:
    """The message for a feed's new entries, oldest first; a transform's result takes the place of the body."""
    if transformed is not None:
        return _of_transformed(view, transformed)
    entries = view.entries[::-1]
    return Digest(
        subject_of(view),
        _text(view, entries, address, unsubscribe),
        _html(view, entries, address, unsubscribe),
    )


def subject_of(view: FeedView) -> str:
    """`News: the title`, or `News: 5 new` for several."""
    if len(view.entries) == 1:
        return _one_line(f"{view.shown_title}: {shown_title(view.entries[0].item)}")
    return _one_line(f"{view.shown_title}: {len(view.entries)} new")


def _of_transformed(view: FeedView, made: Transformed) -> Digest:
    if made.media_type in ("text/html", "application/xhtml+xml"):
        return Digest(subject_of(view), (excerpt(made.text, 100_000) + "\n",), (made.text,))
    return Digest(subject_of(view), (made.text,), ())


def _one_line(text: str) -> str:
    return excerpt_plain(" ".join(legal(text).split()))


def excerpt_plain(text: str) -> str:
    return text if len(text) <= _SUBJECT_LENGTH else text[: _SUBJECT_LENGTH - 1].rstrip() + "…"


def _text(
    view: FeedView, entries: tuple[EntryView, ...], address: Address, unsubscribe: str
) -> tuple[str, ...]:
    footer = [f"-- \n{legal(view.shown_title)}"]
    footer += [address.page(view.name)] if address.base else []
    footer += [f"Unsubscribe: {unsubscribe}"] if unsubscribe else []
    return (*map(_text_entry, entries), "\n".join(footer) + "\n")


@lru_cache(maxsize=_KEPT)
def _text_entry(entry: EntryView) -> str:
    item = entry.item
    lines = [fill(legal(shown_title(item)), _WIDTH), " · ".join(_provenance(entry))]
    body = excerpt(item.summary or item.content, _EXCERPT_LENGTH)
    lines += [fill(body, _WIDTH)] if body and body != shown_title(item) else []
    lines += [legal(item.link)] if item.link else []
    lines += [
        f"  {name}: {legal(shown_title(each))} {legal(each.link)}".rstrip() for name, each in _partners(entry)
    ]
    return "\n".join(lines) + "\n\n"


def _html(
    view: FeedView, entries: tuple[EntryView, ...], address: Address, unsubscribe: str
) -> tuple[str, ...]:
    is_full = len(entries) <= _FULL_UP_TO
    page = tag(
        "html",
        tag("head", tag("meta", charset="utf-8"), tag("title", subject_of(view))),
        tag("body", _HERE, style="font-family:sans-serif;max-width:40em;margin:auto;line-height:1.5"),
        lang=language_tag(view.language) or None,
    )
    before, _, after = page.rpartition(_HERE)
    return (
        f"<!doctype html>{before}{tag('h1', view.shown_title, style='font-size:1.2em')}\n",
        *(_html_entry(entry, is_full=is_full) for entry in entries),
        f"{tag('hr')}{_html_footer(view, address, unsubscribe)}{after}",
    )


@lru_cache(maxsize=_KEPT)
def _html_entry(entry: EntryView, *, is_full: bool) -> str:
    item = entry.item
    text = item.content or item.summary
    shown = sanitised(text) if is_full else tag("p", excerpt(text, _EXCERPT_LENGTH))
    partners = [tag("li", _html_link(each)) for _, each in _partners(entry)]
    article = tag(
        "article",
        tag("h2", _html_link(item), style="font-size:1.05em;margin-bottom:0"),
        tag("p", " · ".join(_provenance(entry)), style="color:#666;margin-top:0"),
        shown if text else None,
        tag("ul", partners) if partners else None,
        lang=language_tag(item.language) or None,
    )
    return f"{article}\n"


def _html_link(item: Item) -> Html:
    link = web_link(item.link)
    return tag("a", shown_title(item), href=link) if link else tag("span", shown_title(item))


def _html_footer(view: FeedView, address: Address, unsubscribe: str) -> Html:
    links = [tag("a", view.shown_title, href=address.page(view.name))] if address.base else []
    links += [tag("a", "Unsubscribe", href=unsubscribe)] if unsubscribe else []
    return tag("p", Html(" · ".join(links)), style="color:#666")


def _provenance(entry: EntryView) -> list[str]:
    item = entry.item
    authors = [legal(", ".join(item.authors))] if item.authors else []
    return [legal(entry.source_name), *authors, _day(item.published or item.arrived)]


def _partners(entry: EntryView) -> list[tuple[str, Item]]:
    return [(name, item) for name, items in entry.annotation for item in items]


def _day(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M}"
