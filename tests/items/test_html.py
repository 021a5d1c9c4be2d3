"""HTML inside items."""

from __future__ import annotations

import nh3
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.items.html import absolute, links_in, sanitised, text_of, title_text

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
