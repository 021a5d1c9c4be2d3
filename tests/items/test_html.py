"""HTML inside items."""

from __future__ import annotations

import nh3
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.items.html import (
    absolute,
    all_one_line,
    all_texts_of,
    all_title_texts,
    are_web_links,
    is_web_link,
    links_in,
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
    clean = sanitised(html, base=BASE)
    assert 'href="https://example.org/x?a=1&amp;b=2"' in clean
    assert links_in(clean) == [
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
    assert _readable(sanitised(text)) == _readable(nh3.clean(text) if "&" in text or ">" in text else text)


def _readable(text: str) -> str:
    """Without the control characters that no XML document can hold, which both treat as noise in their own
    way."""
    return "".join(c for c in text.replace("&gt;", ">") if c >= " " and c not in "\x7f\xa0\ufffd").replace(
        "&nbsp;", ""
    )


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
