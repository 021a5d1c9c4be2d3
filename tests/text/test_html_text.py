"""What a reader sees of HTML, against a slow reader that takes it apart character by character."""

from __future__ import annotations

from html import unescape as python_unescape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.text.html import (
    absolute,
    all_sanitised,
    escaped,
    is_script,
    is_web_link,
    one_line,
    sanitised,
    text_of,
    title_text,
    unescape,
)


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("", ""),
        ("plain", "plain"),
        ("<p>one</p><p>two</p>", "one two"),
        ("one<br>two<br/>three", "one two three"),
        ("<b>bo</b>ld", "bold"),
        ("a <i>b</i> c", "a b c"),
        ("<ul><li>one<li>two</ul>", "one two"),
        ("<h1>Head</h1>text", "Head text"),
        ("<style>p {}</style>seen", "seen"),
        ("<SCRIPT>if (a < b) x()</SCRIPT>seen", "seen"),
        ("<script>never closed", ""),
        ("before<!-- <b>hidden</b> -->after", "beforeafter"),
        ("<!-- open <b>seen</b>", "<!-- open seen"),
        ("3 < 4 and 5 > 4", "3 < 4 and 5 > 4"),
        ("&lt;b&gt;", "<b>"),
        ("caf&eacute;&nbsp;&amp;&#32;bar", "café & bar"),
        ("a\n\t b", "a b"),
        ("<pr>unknown</pr> tag", "unknown tag"),
        ("<p class='a>b'>odd", "b'>odd"),
    ],
)
def test_html_reads_as_this_text(html: str, text: str) -> None:
    assert text_of(html) == text


BLOCKS = ["p", "div", "li", "td", "h2", "blockquote"]
INLINE = ["b", "i", "span", "a", "em"]
pieces = st.sampled_from(["one", "two", " ", "&amp;", "&lt;", "3 > 2", "é", "\n"])
inline_tags = st.builds("<{}{}>".format, st.sampled_from(["", "/"]), st.sampled_from(INLINE))
block_tags = st.builds("<{}{}>".format, st.sampled_from(["", "/"]), st.sampled_from(BLOCKS))
comments = st.just("<!-- no -->")


def naive_text(parts: list[str]) -> str:
    """A piece stays, a tag inside a line goes, one that ends a line becomes space."""
    seen = ""
    for part in parts:
        if part.startswith("<!--"):
            continue
        if part.startswith("<"):
            seen += " " if part.strip("</>") in BLOCKS else ""
        else:
            seen += python_unescape(part)
    return " ".join(seen.split())


@settings(max_examples=400, deadline=None)
@given(st.lists(pieces | inline_tags | block_tags | comments, max_size=12))
def test_text_is_what_stands_between_the_tags(parts: list[str]) -> None:
    assert text_of("".join(parts)) == naive_text(parts)


@settings(max_examples=300, deadline=None)
@given(st.text())
def test_escaped_text_reads_as_itself(text: str) -> None:
    assert unescape(escaped(text)) == text
    assert sanitised(escaped(one_line(text))).count("<") == 0


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("&#xa;0123456789f lt")))
def test_references_are_put_in_as_python_puts_them_in(text: str) -> None:
    assert unescape(text) == python_unescape(text)


@pytest.mark.parametrize(
    ("reference", "character"),
    [
        ("&#00000000000065;", "A"),
        ("&#x0000000000041;", "A"),
        ("&#x0000000000041", "A"),
        ("&#99999999999999999999;", "\ufffd"),
        ("&#xffffffffffffffffffff;", "\ufffd"),
    ],
)
def test_a_long_reference_costs_no_more_than_a_short_one(reference: str, character: str) -> None:
    assert unescape(reference) == character
    assert unescape("&#" + "9" * 100_000 + ";") == "\ufffd"


@pytest.mark.parametrize(
    ("text", "line"),
    [("", ""), ("  a ", "a"), ("a  b", "a b"), ("a\u00a0b", "a b"), ("a\u2028b", "a b"), ("a\x1fb", "a b")],
)
def test_a_line_has_single_blanks(text: str, line: str) -> None:
    assert one_line(text) == line


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("Tom &amp;amp; Jerry", "Tom & Jerry"),
        ("Tom &amp;amp;amp; Jerry", "Tom &amp; Jerry"),
        ("if a &lt; b", "if a < b"),
        ("&lt;em&gt;now&lt;/em&gt; or never", "now or never"),
        ("&lt;!-- x --&gt;", ""),
        ("AT&T", "AT&T"),
        ("Q&A;", "Q&A;"),
        ("a &unknownreference; b", "a &unknownreference; b"),
    ],
)
def test_a_title_that_was_escaped_twice_is_read_twice(title: str, text: str) -> None:
    assert title_text(title) == text


@pytest.mark.parametrize(
    "url",
    [
        "javascript:x()",
        "JaVaScRiPt:x",
        "java\nscript:x",
        " \x01javascript:x",
        "vbscript:x",
        "data:text/html,<b>",
        "java\tscript\r:x",
    ],
)
def test_a_link_that_runs_is_no_link(url: str) -> None:
    assert is_script(url)
    assert absolute(url, "https://example.org/") == ""


@pytest.mark.parametrize(
    "url", ["https://example.org/javascript:x", "script:x", "javascript", "mailto:a", ""]
)
def test_another_link_runs_nothing(url: str) -> None:
    assert not is_script(url)


@pytest.mark.parametrize(
    ("url", "base", "link"),
    [
        ("a", "https://example.org/b/c", "https://example.org/b/a"),
        ("/a", "https://example.org/b/c", "https://example.org/a"),
        ("//other.org/a", "https://example.org/", "https://other.org/a"),
        ("?q", "https://example.org/b", "https://example.org/b?q"),
        (" https://other.org/ ", "https://example.org/", "https://other.org/"),
        ("a", "", "a"),
        ("", "https://example.org/", ""),
        ("a", "https://example.org/" + "x" * 3_000, "a"),
    ],
)
def test_a_link_is_joined_to_its_base(url: str, base: str, link: str) -> None:
    assert absolute(url, base) == link


@pytest.mark.parametrize("url", ["http://a", "https://a.b/c?d#e", "http://[::1]/"])
def test_this_leads_to_the_web(url: str) -> None:
    assert is_web_link(url)


@pytest.mark.parametrize(
    "url", ["", "a", "http://", "http:///a", "ftp://a", "mailto:a", "HTTP://a", "http://a b", "http://a\n"]
)
def test_this_does_not_lead_to_the_web(url: str) -> None:
    assert not is_web_link(url)


def test_text_of_vector_graphics_stays_without_its_drawing() -> None:
    assert sanitised('a<svg viewBox="0"><text>label</text><path d="M0"/></svg>b') == "a  label  b"
    assert sanitised("<math><mi>x</mi></math>") == " x "
    assert "script" not in sanitised("<svg><script>x()</script></svg>")


def test_links_in_html_come_in_order_with_repetitions() -> None:
    html = '<a href="https://b.org/">b</a><img src="/a.png"><a href="https://b.org/">b</a><q cite="https://c.org/">c</q>'
    _, (links,) = all_sanitised([html], bases=["https://example.org/x/"])
    assert links == ["https://b.org/", "https://example.org/a.png", "https://b.org/"]


def test_relative_links_stay_without_a_base() -> None:
    (clean,), (links,) = all_sanitised(['<a href="/x">x</a>'], bases=[""])
    assert clean == '<a href="/x">x</a>'
    assert links == []


@settings(max_examples=200, deadline=None)
@given(st.lists(pieces | inline_tags | block_tags | comments, max_size=10).map("".join))
def test_safe_html_is_safe_as_it_is(html: str) -> None:
    safe = sanitised(html)
    assert sanitised(safe) == safe
