"""The fast way of making HTML safe gives what nh3 gives, or declines."""

from __future__ import annotations

import nh3
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.items.html import all_sanitised, links_in, sanitised
from feedweir.items.html_tables import CODES, MAX_NAME, name_code

NH3 = nh3.Cleaner(link_rel=None)
NAMES = (
    "a b i em span p p p div ul ol li li dl dt dd h1 h2 pre blockquote table tbody thead tr td th hr br img wbr "
    "script style iframe svg font section form button textarea title math template noscript select option"
).split()
VALUES = (
    "https://example.org/x?a=1&b=2",
    "http://a.b/",
    "http://a-b.example.org:80/",
    "http://1.2.3.4/x",
    "http://xn--a/",
    "//example.org",
    "/a?b&amp;c=&quot;d",
    "../x.png",
    ".",
    "/x",
    "#x",
    "javascript:alert(1)",
    " javascript:x",
    "JaVaScRiPt:x",
    "&#106;avascript:x",
    "mailto:a@b.c",
    "data:text/html,x",
    "",
    "a b",
    "&amp;&lt;&copy=1&copy;&copy&notit;&x=1",
    "<b>",
    "\u00e9\u00a0",
    "q'q",
)
ATTRIBUTES = "href src cite title alt class style onclick lang width HREF data-x xmlns:x start".split()
TEXTS = (
    *(
        "a",
        "b c",
        " ",
        "\n",
        "\t",
        "&",
        "&amp;",
        "&lt;",
        "&gt;",
        "&nbsp;",
        "&eacute;",
        "&copy",
        "&notit;",
        "&#10;",
    ),
    *(
        "&#8217;",
        "&#x27;",
        "&#0;",
        "&#x80;",
        "&#55296;",
        "&#1114112;",
        "<",
        ">",
        '"',
        "'",
        "< a",
        "<3",
        "</",
        "<!",
    ),
    *(
        "<!-- x -->",
        "<!-->",
        "<!-- <!-- -->",
        "<!-- --!>",
        "<?x?>",
        "<![CDATA[x]]>",
        "\u00a0",
        "\u00e9",
        "\u4e2d",
    ),
    *(
        "\U0001f600",
        "\r",
        "\x01",
        "\x7f",
        "\x85",
        "\ufeff",
        "]]>",
        "<p/>",
        "</br>",
        "</img>",
        "<P>",
        "<b",
        "a=",
    ),
)

quotes = st.sampled_from(('"', '"', '"', "'", ""))
attributes = st.builds(
    lambda space, name, equals, quote, value: f"{space}{name}{equals}{quote}{value}{quote}",
    st.sampled_from((" ", " ", " ", "\n", "", "/")),
    st.sampled_from(ATTRIBUTES),
    st.sampled_from(("=", "=", "=", " = ", "")),
    quotes,
    st.sampled_from(VALUES),
)
starts = st.builds(
    lambda name, inside, end: f"<{name}{''.join(inside)}{end}",
    st.sampled_from(NAMES),
    st.lists(attributes, max_size=3),
    st.sampled_from((">", ">", ">", "/>", " />", " >")),
)
pieces = st.one_of(st.sampled_from(TEXTS), starts, st.sampled_from(NAMES).map("</{}>".format))
tag_soup = st.lists(pieces, max_size=12).map("".join)
simple_attributes = st.builds(
    ' {}="{}"'.format,
    st.sampled_from(ATTRIBUTES),
    st.sampled_from(("https://example.org/x?a&amp;b", "x", "#x", "/x")),
)


@st.composite
def elements(draw: st.DrawFn, inside: st.SearchStrategy[str]) -> str:
    name = draw(st.sampled_from(NAMES[:28]))
    said = "".join(draw(st.lists(simple_attributes, max_size=2)))
    if name in ("hr", "br", "img", "wbr"):
        return f"<{name}{said}>"
    return (
        f"<{name}{said}>{draw(inside)}{draw(st.sampled_from(('', f'</{name}>', f'</{name}>', f'</{name}>')))}"
    )


nested = st.recursive(
    st.sampled_from(("x", " ", "\n", "y &amp; z", "<br/>")),
    lambda inside: st.lists(elements(inside), max_size=4).map("".join),
    max_leaves=14,
)


def check(html: str) -> None:
    for base in ("", "https://example.org/blog/"):
        (safe,), (links,) = all_sanitised([html], bases=[base])
        assert safe == sanitised(html, base=base)
        assert list(links) == links_in(safe)


@settings(max_examples=600, deadline=None)
@given(tag_soup)
def test_tag_soup_is_made_safe_as_nh3_makes_it_safe(html: str) -> None:
    check(html)


@settings(max_examples=600, deadline=None)
@given(nested)
def test_nested_elements_are_written_as_nh3_writes_them(html: str) -> None:
    check(html)


@settings(max_examples=200, deadline=None)
@given(st.lists(tag_soup, max_size=5))
def test_texts_together_are_as_each_alone(htmls: list[str]) -> None:
    together, _ = all_sanitised(htmls, bases=["https://example.org/"] * len(htmls))
    assert together == [sanitised(html, base="https://example.org/") for html in htmls]


def test_a_text_with_the_byte_that_parts_texts_is_still_one_text() -> None:
    assert all_sanitised(["a\0<b>b", "c"], bases=["", ""])[0] == ["a<b>b</b>", "c"]


@pytest.mark.parametrize(
    "html",
    [
        '<p class="x">One <b>two</b><br/>three &mdash; <a href="https://example.org/?a=1&amp;b=2" target="x">4</a></p>',
        "<ul><li>a<li><p>b</ul><p>c<p>d<hr>",
        "<table border='1'>\n<tbody><tr><td>a<p>b</td></tr></tbody></table><!-- no -->",
        '<img src="https://example.org/x.png" alt="&quot;x&quot;"></img><script>if (a < b) x()</script>',
        '<pre>\n  x</pre><iframe src="https://example.org/" allowfullscreen></iframe>',
    ],
)
def test_usual_html_is_never_declined(html: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = NH3.clean(html)
    monkeypatch.setattr("feedweir.items.html._CLEANER", None)
    assert all_sanitised([html], bases=[""])[0] == [expected]


def test_names_are_different_numbers() -> None:
    names = {"a", "b", "h1", "h2", "blockquote", "figcaption", "Aacute", "aacute"}
    assert len({name_code(name) for name in names}) == len(names)
    assert int(CODES.max()) < 64
    assert MAX_NAME * 6 < 63
