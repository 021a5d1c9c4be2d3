"""The frame around every page: head, header, footer. Pages use no scripts."""

from __future__ import annotations

from datetime import UTC, datetime

from feedweir.deliver.address import Address
from feedweir.deliver.pages.assets import asset_address
from feedweir.deliver.render.markup import Child, Html, join, tag
from feedweir.deliver.render.plain import language_tag, rfc3339


def frame(address: Address, title: str, *body: Child, head: Html | None = None, kind: str = "") -> bytes:
    """A whole page; `head` is what this page adds to the head."""
    style = asset_address("feedweir.css", address)
    icon = asset_address("weir.svg", address)
    top = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("link", rel="icon", type="image/svg+xml", href=icon),
        tag("link", rel="stylesheet", href=style),
        head,
    )
    page = tag("body", _header(address, icon), tag("main", *body), _footer(address), class_=kind or None)
    return ("<!doctype html>\n" + tag("html", top, page, lang="en") + "\n").encode()


def _header(address: Address, icon: str) -> Html:
    mark = tag("img", src=icon, alt="", width="28", height="28")
    home = tag("a", mark, tag("span", "Feedweir"), href=address.home(), class_="brand")
    return tag("header", tag("nav", home, tag("a", "All feeds", href=address.home())), class_="top")


def _footer(address: Address) -> Html:
    return tag(
        "footer",
        tag("p", "Feedweir lets through what it should, and measures what flows. All times are UTC."),
        tag(
            "p",
            tag("a", "All sources as OPML", href=address.opml()),
            " · ",
            tag("a", "All virtual feeds as OPML", href=address.opml(is_ours=True)),
        ),
    )


def moment(time: datetime | None, *, absent: str = "") -> Html:
    """A readable time, with the exact one as an attribute."""
    if time is None:
        return tag("span", absent, class_="quiet")
    utc = time.astimezone(UTC)
    shown = f"{utc.day} {utc:%b} {utc.year}, {utc:%H:%M}"
    return tag("time", shown, datetime=rfc3339(time), title=f"{utc:%Y-%m-%d %H:%M:%S} UTC")


def foreign(name: str, *children: Child, language: str = "", class_: str | None = None) -> Html:
    """An element with text from a feed, in any language and writing direction."""
    return tag(name, *children, dir="auto", lang=language_tag(language) or None, class_=class_)


def dotted(parts: list[Html]) -> Html:
    """The parts on one line, separated by dots."""
    dot = tag("span", " · ", aria_hidden="true", class_="dot")
    return join(*(join(dot if place else None, part) for place, part in enumerate(parts)))


def render_problem(address: Address, title: str, detail: str, near: tuple[str, ...] = ()) -> bytes:
    """What went wrong, and what the reader may have meant."""
    links = [tag("li", tag("a", name, href=address.page(name))) for name in near]
    return frame(
        address,
        f"{title} · Feedweir",
        tag("h1", title),
        tag("p", detail, class_="lead"),
        join(tag("p", "Did you mean:"), tag("ul", links, class_="near")) if links else None,
        tag("p", tag("a", "See all feeds", href=address.home())),
        kind="problem",
    )
