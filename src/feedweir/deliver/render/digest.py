"""A message for people: subject, text and HTML of the new entries."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from textwrap import fill
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from feedweir.deliver.address import Address
from feedweir.deliver.pages.page_feed import shown_title
from feedweir.deliver.render.markup import Html, sanitised, tag, web_link
from feedweir.deliver.render.plain import excerpt, language_tag
from feedweir.deliver.render.view import EntryView, FeedView, join_label
from feedweir.deliver.transforms.transformer import Transformed
from feedweir.items.model import Item
from feedweir.text.xml_characters import legal

_WIDTH = 76
_EXCERPT_LENGTH = 500
_SUBJECT_LENGTH = 120
_FULL_UP_TO = 3
"""A message with at most this many entries shows them in full."""
_KEPT = 512
"""Rendered entries that are cached: one that is sent to many readers is rendered once."""
_HERE = Html("<!-- entries -->")
_STYLE = Html(
    "body{font:16px/1.5 system-ui,-apple-system,'Segoe UI',sans-serif;color:#222;max-width:42em;margin:0 auto;"
    "padding:0 1em}a{color:#0b57d0}h1{font-size:1.25em}h2{font-size:1.1em;line-height:1.3;margin:0}"
    "h2 a{text-decoration:none}article{border-top:1px solid #ddd;padding:1em 0}.about{color:#666;font-size:.875em;"
    "margin:.1em 0 .6em}img,video{max-width:100%;height:auto}pre{white-space:pre-wrap;overflow-wrap:anywhere}"
    "blockquote{border-left:3px solid #ccc;margin-left:0;padding-left:1em}"
    "@media(prefers-color-scheme:dark){body{background:#17191c;color:#ddd}a{color:#8ab4f8}"
    "article{border-color:#444}.about{color:#aaa}}"
)
"""Mail programs that ignore styles show plain headings and links, which are just as readable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Foot:
    """What is below a message for this reader only."""

    unsubscribe: str = ""
    """Links; empty ones are left out."""
    log: str = ""
    zone: str = "UTC"
    """The time zone that times are shown in."""


_NO_FOOT = Foot()


@dataclass(frozen=True, slots=True)
class Digest:
    """Parts are kept in pieces: those of an entry are the same for every reader."""

    subject: str
    text_pieces: tuple[str, ...]
    html_pieces: tuple[str, ...]
    """Empty when there is only text."""

    @property
    def text(self) -> str:
        return "".join(self.text_pieces)

    @property
    def html(self) -> str:
        return "".join(self.html_pieces)


def digest(
    view: FeedView, address: Address, *, foot: Foot = _NO_FOOT, transformed: Transformed | None = None
) -> Digest:
    """The message for a feed's new entries, oldest first; the output of a stylesheet replaces the body."""
    if transformed is not None:
        return _of_transformed(view, transformed)
    entries = view.entries[::-1]
    return Digest(subject_of(view), _text(view, entries, address, foot), _html(view, entries, address, foot))


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


def _text(view: FeedView, entries: tuple[EntryView, ...], address: Address, foot: Foot) -> tuple[str, ...]:
    footer = [f"-- \n{legal(view.shown_title)}"]
    footer += [address.page(view.name)] if address.base else []
    footer += [f"What was sent: {foot.log}"] if foot.log else []
    footer += [f"Unsubscribe: {foot.unsubscribe}"] if foot.unsubscribe else []
    return (*(_text_entry(entry, foot.zone) for entry in entries), "\n".join(footer) + "\n")


@lru_cache(maxsize=_KEPT)
def _text_entry(entry: EntryView, zone: str) -> str:
    item = entry.item
    lines = [fill(legal(shown_title(item)), _WIDTH), " · ".join(_provenance(entry, zone))]
    body = excerpt(item.summary or item.content, _EXCERPT_LENGTH)
    lines += [fill(body, _WIDTH)] if body and body != shown_title(item) else []
    lines += [legal(item.link)] if item.link else []
    lines += [f"  {_text_partner(name, each)}" for name, each in _partners(entry)]
    return "\n".join(lines) + "\n\n"


def _text_partner(label: str, item: Item) -> str:
    return f"{label}: {legal(shown_title(item))} ({legal(item.source)}) {legal(item.link)}".rstrip()


def _html(view: FeedView, entries: tuple[EntryView, ...], address: Address, foot: Foot) -> tuple[str, ...]:
    is_full = len(entries) <= _FULL_UP_TO
    page = tag(
        "html",
        tag(
            "head",
            tag("meta", charset="utf-8"),
            tag("meta", name="viewport", content="width=device-width"),
            tag("meta", name="color-scheme", content="light dark"),
            tag("title", subject_of(view)),
            tag("style", _STYLE),
        ),
        tag("body", _HERE),
        lang=language_tag(view.language) or None,
    )
    before, _, after = page.rpartition(_HERE)
    return (
        f"<!doctype html>{before}{tag('h1', view.shown_title)}\n",
        *(_html_entry(entry, foot.zone, is_full=is_full) for entry in entries),
        f"{_html_footer(view, address, foot)}{after}",
    )


@lru_cache(maxsize=_KEPT)
def _html_entry(entry: EntryView, zone: str, *, is_full: bool) -> str:
    item = entry.item
    text = item.content or item.summary
    shown = sanitised(text) if is_full else tag("p", excerpt(text, _EXCERPT_LENGTH))
    partners = [
        tag("li", f"{name}: ", _html_link(each), f" ({legal(each.source)})")
        for name, each in _partners(entry)
    ]
    article = tag(
        "article",
        tag("h2", _html_link(item)),
        tag("p", " · ".join(_provenance(entry, zone)), class_="about"),
        shown if text else None,
        tag("ul", partners) if partners else None,
        lang=language_tag(item.language) or None,
    )
    return f"{article}\n"


def _html_link(item: Item) -> Html:
    link = web_link(item.link)
    return tag("a", shown_title(item), href=link) if link else tag("span", shown_title(item))


def _html_footer(view: FeedView, address: Address, foot: Foot) -> Html:
    links = [tag("a", view.shown_title, href=address.page(view.name))] if address.base else []
    links += [tag("a", "What was sent", href=foot.log)] if foot.log else []
    links += [tag("a", "Unsubscribe", href=foot.unsubscribe)] if foot.unsubscribe else []
    return tag("footer", tag("hr"), tag("p", Html(" · ".join(links)), class_="about"))


def _provenance(entry: EntryView, zone: str) -> list[str]:
    item = entry.item
    authors = [legal(", ".join(item.authors))] if item.authors else []
    return [legal(entry.source_name), *authors, _moment(item.published or item.arrived, zone)]


def _partners(entry: EntryView) -> list[tuple[str, Item]]:
    return [(join_label(name), item) for name, items in entry.annotation for item in items]


def _moment(time: datetime, zone: str) -> str:
    return f"{time.astimezone(_clock(zone)):%Y-%m-%d %H:%M %Z}"


@lru_cache(maxsize=_KEPT)
def _clock(zone: str) -> ZoneInfo:
    """UTC if the zone is unknown: the message matters more than its times."""
    try:
        return ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ZoneInfo("UTC")
