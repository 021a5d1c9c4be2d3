"""Items with every kind of text that publishers send and that should not break a feed."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import strategies as st

from feedweir.deliver.render.entry_id import entry_id
from feedweir.deliver.render.view import EntryView, FeedView
from feedweir.items.model import Enclosure, Item

NASTY = (
    "]]>",
    "<![CDATA[",
    "&amp;",
    "&",
    "a < b > c",
    "<b>bold</b>",
    "<script>alert(1)</script>",
    "&lt;i&gt;",
    "&nbsp;",
    "&#0;",
    "&notanentity;",
    "\x00\x0b\x1f",
    "\ufffe\uffff",
    "\ud800",
    "\udfff\ud800",
    "é",
    "e\u0301",
    "\u202e evil \u202c",
    "\u200f عربى",
    "👩‍👩‍👧‍👦",
    "𝔘𝔫𝔦",
    "日本語のタイトル",
    "ﷺ",
    "\r\n",
    "\u2028",
    "a\u00a0b",
    "\"quoted\" and 'quoted'",
    "--><!--",
    "<?php ?>",
    "100 %",
)
nasty_text = st.lists(st.sampled_from(NASTY) | st.text(max_size=8), max_size=3).map(" ".join)
# What tolerant parsers do with text that looks like markup, and with controls, is their business and differs.
_readable = st.text(
    st.characters(exclude_categories=("Cc", "Cs", "Cn", "Co"), exclude_characters="<&"), max_size=8
)
_calm = [text for text in NASTY if "<" not in text and "&" not in text] + ["a < b > c", "a & b"]
calm_text = st.lists(st.sampled_from(_calm) | _readable, max_size=3).map(" ".join)
times = st.datetimes(
    min_value=datetime(1971, 1, 1), max_value=datetime(2090, 1, 1), timezones=st.just(UTC)
).map(lambda time: time.replace(microsecond=0))
urls = st.builds(
    "http://{}.example/{}".format,
    st.from_regex(r"[a-z]{1,8}", fullmatch=True),
    st.from_regex(r"[A-Za-z0-9_./~-]{0,12}(\?[a-z]=[a-z&=%2F]{0,6})?", fullmatch=True),
)
enclosures = st.builds(
    lambda url, kind, length: Enclosure(url=url, type=kind, length=length),
    urls,
    st.sampled_from(("audio/mpeg", "image/png", "")),
    st.integers(0, 10**9),
)
extensions = st.lists(
    st.tuples(
        st.sampled_from(("itunes:duration", "georss:point", "odd:name", "dc:<bad>", "noprefix")), nasty_text
    ),
    max_size=3,
).map(tuple)


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def html_of(text: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    paragraphs = text.map(lambda plain: f"<p>{_escape(plain)}</p>") | st.just("<p>a <b>b</b> &amp; c</p>")
    return st.lists(paragraphs, max_size=2).map("".join)


@st.composite
def items(draw: st.DrawFn, text: st.SearchStrategy[str] = nasty_text) -> Item:
    link = draw(st.just("") | urls)
    return Item(
        source=draw(st.sampled_from(("A", "B", "Ü <x>"))),
        identity=draw(
            urls
            | text
            | st.sampled_from(("tag:x.example,2026:1", "17", "urn:isbn:1", "a b:c"))
            | st.just(link)
        ),
        seq=draw(st.integers(0, 2**62)),
        revision=draw(st.integers(0, 3)),
        title=draw(text),
        summary=draw(html_of(text)),
        content=draw(html_of(text)),
        link=link,
        authors=tuple(draw(st.lists(text, max_size=2))),
        categories=tuple(draw(st.lists(text, max_size=3))),
        published=draw(st.none() | times),
        updated=draw(st.none() | times),
        arrived=draw(times),
        language=draw(st.sampled_from(("", "en", "pt_BR", "ar", "not a language"))),
        enclosures=tuple(draw(st.lists(enclosures, max_size=3))),
        extensions=draw(extensions),
    )


@st.composite
def views(draw: st.DrawFn, item: st.SearchStrategy[Item] | None = None) -> FeedView:
    item = items() if item is None else item
    entries = st.builds(
        lambda it, partners, title, url: EntryView(
            item=it, annotation=(("photos", tuple(partners)),), source_title=title, source_url=url
        ),
        item,
        st.lists(item, max_size=1),
        nasty_text,
        st.just("") | urls,
    )
    return FeedView(
        name=draw(st.sampled_from(("News", "Größe", "a b"))),
        title=draw(nasty_text),
        description=draw(nasty_text),
        home_link=draw(st.just("") | urls),
        updated=draw(times),
        hub=draw(st.just("") | urls),
        language=draw(st.sampled_from(("", "de"))),
        entries=tuple(draw(st.lists(entries, max_size=2, unique_by=lambda entry: entry_id(entry.item)))),
    )
