"""HTML inside items."""

from __future__ import annotations

from html.parser import HTMLParser
from urllib.parse import urljoin

import nh3
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.text.html import (
    absolute,
    all_one_line,
    all_sanitised,
    all_texts_of,
    all_title_texts,
    are_web_links,
    is_web_link,
    one_line,
    sanitised,
    text_of,
    title_text,
)

BASE = "https://example.org/blog/"


def test_what_acts_is_removed() -> None:
    html = '<p onclick="x()">a<script>alert(1)</script><a href="javascript:x()">b</a><iframe src="x"></iframe></p>'
    assert sanitised(html) == "<p>a<a>b</a></p>"


def test_relative_links_become_absolute() -> None:
    html = '<a href="/x?a=1&amp;b=2">x</a><img src="y.png"><a href="#top">t</a><a href="https://z.org/">z</a>'
    (clean, untouched), (links, none) = all_sanitised([html, "no HTML"], bases=[BASE, BASE])
    assert 'href="https://example.org/x?a=1&amp;b=2"' in clean
    assert clean == sanitised(html, base=BASE)
    assert (untouched, none) == ("no HTML", ())
    assert links == [
        "https://example.org/x?a=1&b=2",
        "https://example.org/blog/y.png",
        "https://z.org/",
    ]


text_without_tags = st.text(
    st.one_of(
        st.sampled_from("&;#xa3nbspltgmou \xa0>\"'\r\n\t"),
        st.characters(codec="utf-8", exclude_characters="<"),
    )
)


@settings(max_examples=500)
@given(text_without_tags)
def test_text_without_tags_is_written_as_nh3_would_write_it(text: str) -> None:
    assert _readable(sanitised(text)) == _readable(nh3.clean(text))


def _readable(text: str) -> str:
    """Without the control characters that no XML document can hold, which both treat as noise in their own
    way."""
    return "".join(c for c in text.replace("&gt;", ">") if c >= " " and c not in "\x7f\xa0\ufffd").replace(
        "&nbsp;", ""
    )


ADDRESSES = [
    "https://example.org/x?a=1&amp;b=2", "http://a.b/", "//example.org", "/a?b&c=&quot;d", "../x.png", ".", "#x", "",
    "javascript:alert(1)", " JaVaScRiPt:x", "&#106;avascript:x", "mailto:a@b.c", "data:text/html,x", "a b", "<b>", "q'",
]  # fmt: skip
TEXTS = [
    "a",
    " ",
    "&",
    "&lt;",
    "&nbsp;",
    "&copy",
    "<",
    ">",
    '"',
    ' href="/text" ',
    "<!-- x -->",
    "<?x?>",
    "</br>",
    "é",
]
attribute = st.builds(
    " {}={}{}{}".format,
    st.sampled_from(["href", "src", "cite", "title", "onclick", "HREF", "alt"]),
    st.shared(st.sampled_from("\"'"), key="quote"),
    st.sampled_from(ADDRESSES),
    st.shared(st.sampled_from("\"'"), key="quote"),
)
tag = st.builds(
    "<{}{}{}>".format,
    st.sampled_from(
        ["a", "p", "b", "img", "li", "td", "q", "div", "script", "style", "iframe", "font", "select"]
    ),
    st.lists(attribute, max_size=3).map("".join),
    st.sampled_from(["", "", "/"]),
)
end_tag = st.sampled_from(["</a>", "</p>", "</b>", "</q>", "</div>", "</script>", "</style>", "</iframe>"])
tag_soup = st.lists(st.sampled_from(TEXTS) | tag | end_tag, max_size=12).map("".join)


@settings(max_examples=500, deadline=None)
@given(tag_soup)
def test_tag_soup_is_made_safe_as_nh3_makes_it_safe(html: str) -> None:
    expected = nh3.clean(html, link_rel=None) if "<" in html or "&" in html else html
    assert sanitised(html) == expected
    (safe,), (links,) = all_sanitised([html], bases=[BASE])
    before, after = _addresses(expected), _addresses(safe)
    assert [_joined(url) for _, url in before] == [url for _, url in after]
    assert list(links) == [url for name, url in after if name != "cite" and is_web_link(url)]


def _joined(url: str) -> str:
    return urljoin(BASE, url.strip()).replace('"', "%22") if url and not url.startswith("#") else url


def _addresses(html: str) -> list[tuple[str, str]]:
    """The attributes that hold addresses, as another parser reads them."""
    found: list[tuple[str, str]] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
            found.extend((name, url or "") for name, url in attributes if name in ("href", "src", "cite"))

    Reader().feed(html)
    return found


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("Plain  title\n", "Plain title"),
        ("AT&amp;T", "AT&T"),
        ("<b>Bold</b> move", "Bold move"),
        ("&lt;b&gt;Bold&lt;/b&gt; &amp;amp; more", "Bold & more"),
        ("3 < 4 & 5 > 2", "3 < 4 & 5 > 2"),
        ("caf&eacute; &#8217;s", "café ’s"),
        ("one<br>two", "one two"),
    ],
)
def test_a_title_becomes_plain_text(title: str, text: str) -> None:
    assert title_text(title) == text


def test_the_text_of_html_leaves_scripts_out() -> None:
    assert text_of("<p>a</p><p>b<script>x<y</script></p> &amp;c") == "a b &c"


def test_a_link_that_cannot_be_joined_stays() -> None:
    assert absolute("http://[bad", BASE) == "http://[bad"
    assert absolute("//[bad", BASE) == "//[bad"
    assert absolute("mailto:a@b.c", BASE) == "mailto:a@b.c"
    assert absolute("../x", BASE) == "https://example.org/x"


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(st.sampled_from("ab <&;>\n\xa0|é"), max_size=6).map(str.strip), max_size=5))
def test_many_texts_are_read_as_each_would_be(texts: list[str]) -> None:
    assert all_one_line(texts) == [one_line(text) for text in texts]
    assert all_texts_of(texts) == [text_of(text) for text in texts]
    assert all_title_texts(texts) == [title_text(text) for text in texts]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["http://a", "https://a/b?c", "a", "", "http:///x", "http://a\nhttp://b", "http://a b"]
        )
    )
)
def test_many_links_lead_to_the_web_when_each_does(urls: list[str]) -> None:
    assert are_web_links(urls) == (len(urls) > 0 and all(is_web_link(url) for url in urls))
