"""What each element of an entry becomes, one at a time, alone and where several say the same."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.items.model import Enclosure
from tests.acquire.test_parse import NAMESPACES, only, parsed, rss

DAY = datetime(2024, 5, 1, tzinfo=UTC)
LATER = datetime(2024, 6, 1, tzinfo=UTC)
WHOLE = "<item><guid>g</guid>{}</item>"


def item(inside: str):  # type: ignore[no-untyped-def]
    return only(rss(WHOLE.format(inside)))


def entry(inside: str):  # type: ignore[no-untyped-def]
    return only(
        f'<feed xmlns="http://www.w3.org/2005/Atom" {NAMESPACES}><entry><id>g</id>{inside}</entry></feed>'
    )


@pytest.mark.parametrize(
    ("inside", "attribute", "value"),
    [
        ("<title>Rain &amp;amp; snow</title>", "title", "Rain & snow"),
        ("<dc:title>Rain</dc:title>", "title", "Rain"),
        ("<media:title>Rain</media:title>", "title", "Rain"),
        ("<itunes:title>Rain</itunes:title>", "title", "Rain"),
        ("<link>https://a.org/1</link>", "link", "https://a.org/1"),
        ("<link> /1 </link>", "link", "https://example.org/1"),
        ("<atom:link href='https://a.org/1'/>", "link", "https://a.org/1"),
        ("<description>&lt;p&gt;Wet&lt;/p&gt;</description>", "summary", "<p>Wet</p>"),
        ("<description><![CDATA[<p>Wet</p>]]></description>", "summary", "<p>Wet</p>"),
        ("<description><p>Wet</p></description>", "summary", "<p>Wet</p>"),
        ("<dc:description>Wet</dc:description>", "summary", "Wet"),
        ("<media:description>Wet</media:description>", "summary", "Wet"),
        ("<itunes:summary>Wet</itunes:summary>", "summary", "Wet"),
        ("<itunes:subtitle>Wet</itunes:subtitle>", "summary", "Wet"),
        ("<content:encoded>All</content:encoded>", "content", "All"),
        ("<fullitem>All</fullitem>", "content", "All"),
        ("<author>ann@a.org (Ann)</author>", "authors", ("Ann",)),
        ("<author>Ann &lt;ann@a.org&gt;</author>", "authors", ("Ann",)),
        ("<author>ann@a.org</author>", "authors", ("ann@a.org",)),
        ("<dc:creator>Ann</dc:creator><dc:creator>Bob</dc:creator>", "authors", ("Ann", "Bob")),
        ("<dc:creator>Ann</dc:creator><author>Ann</author>", "authors", ("Ann",)),
        ("<itunes:author>Ann</itunes:author>", "authors", ("Ann",)),
        ("<category>rain</category><category>snow</category>", "categories", ("rain", "snow")),
        ("<category>rain</category><dc:subject>rain</dc:subject>", "categories", ("rain",)),
        ("<atom:category term='r' label='rain'/>", "categories", ("rain",)),
        ("<atom:category term='rain'/>", "categories", ("rain",)),
        ("<pubDate>1 May 2024</pubDate>", "published", DAY),
        ("<dc:date>2024-05-01</dc:date>", "published", DAY),
        ("<published>2024-05-01</published>", "published", DAY),
        ("<date>2024-05-01</date>", "published", DAY),
        ("<atom:updated>2024-05-01</atom:updated>", "updated", DAY),
        ("<atom:updated>2024-05-01</atom:updated>", "published", DAY),
        ("<language>en</language>", "language", "en"),
        ("<dc:language>en</dc:language>", "language", "en"),
        ("<enclosure url='https://a.org/x' type='audio/mpeg' length='5'/>", "enclosures",
         (Enclosure(url="https://a.org/x", type="audio/mpeg", length=5),)),
        ("<enclosure url='https://a.org/x' length='many'/>", "enclosures", (Enclosure(url="https://a.org/x"),)),
        ("<media:content url='https://a.org/x' medium='image' fileSize='7'/>", "enclosures",
         (Enclosure(url="https://a.org/x", type="image", length=7),)),
        ("<slash:comments>3</slash:comments>", "extensions", (("slash:comments", "3"),)),
        ("<comments>https://a.org/c</comments>", "extensions", (("rss:comments", "https://a.org/c"),)),
        ("<own:mood a='b'>good</own:mood>", "extensions", (("own:mood", "good"),)),
        ("<media:thumbnail url='https://a.org/t'/>", "extensions", (("media:thumbnail", "https://a.org/t"),)),
        ("<own:a><own:b>c</own:b></own:a>", "extensions", (("own:b", "c"),)),
        ("<own:link>javascript:x()</own:link>", "extensions", ()),
        ("<own:note>Data: as always</own:note>", "extensions", (("own:note", "Data: as always"),)),
    ],
)  # fmt: skip
def test_an_element_of_rss_becomes_this(inside: str, attribute: str, value: object) -> None:
    assert getattr(item(inside), attribute) == value


@pytest.mark.parametrize(
    ("inside", "attribute", "value"),
    [
        ("<title>Rain &amp; snow</title>", "title", "Rain & snow"),
        ("<title type='text'>1 &lt; 2 &lt;b&gt;</title>", "title", "1 < 2 <b>"),
        ("<title type='html'>&lt;b&gt;Rain&lt;/b&gt;</title>", "title", "Rain"),
        ("<title type='xhtml'><div xmlns='http://www.w3.org/1999/xhtml'>R<b>ain</b></div></title>", "title", "Rain"),
        ("<summary>Wet</summary>", "summary", "Wet"),
        ("<summary type='text'>1 &lt; 2</summary>", "summary", "1 &lt; 2"),
        ("<summary type='html'>&lt;p&gt;Wet&lt;/p&gt;</summary>", "summary", "<p>Wet</p>"),
        ("<content type='html'>&lt;p&gt;All&lt;/p&gt;</content>", "content", "<p>All</p>"),
        ("<content type='xhtml'><div xmlns='http://www.w3.org/1999/xhtml'><p>All</p></div></content>",
         "content", '<div><p>All</p></div>'),
        ("<content src='https://a.org/x'/>", "links", ("https://a.org/x",)),
        ("<author><name>Ann</name><email>ann@a.org</email></author>", "authors", ("Ann",)),
        ("<author><email>ann@a.org</email></author>", "authors", ("ann@a.org",)),
        ("<author><uri>https://ann.org/</uri></author>", "authors", ("https://ann.org/",)),
        ("<category term='rain'/><category term='s' label='Snow'/>", "categories", ("rain", "Snow")),
        ("<published>2024-05-01T00:00:00Z</published>", "published", DAY),
        ("<issued>2024-05-01T00:00:00Z</issued>", "published", DAY),
        ("<created>2024-05-01T00:00:00Z</created>", "published", DAY),
        ("<updated>2024-05-01T00:00:00Z</updated>", "updated", DAY),
        ("<modified>2024-05-01T00:00:00Z</modified>", "updated", DAY),
        ("<link href='https://a.org/1'/>", "link", "https://a.org/1"),
        ("<link rel='alternate' href='https://a.org/1'/><link href='https://a.org/2'/>", "links",
         ("https://a.org/1", "https://a.org/2")),
        ("<link rel='related' href='https://a.org/2'/>", "links", ("https://a.org/2",)),
        ("<link rel='self' href='https://a.org/2'/>", "links", ()),
        ("<link rel='edit' href='https://a.org/2'/>", "links", ()),
        ("<link rel='enclosure' href='https://a.org/x' type='t' length='2'/>", "enclosures",
         (Enclosure(url="https://a.org/x", type="t", length=2),)),
    ],
)  # fmt: skip
def test_an_element_of_atom_becomes_this(inside: str, attribute: str, value: object) -> None:
    assert getattr(entry(inside), attribute) == value


@pytest.mark.parametrize(
    ("first", "second", "attribute", "value"),
    [
        ("<dc:date>2024-06-01</dc:date>", "<pubDate>1 May 2024</pubDate>", "published", DAY),
        ("<dc:title>borrowed</dc:title>", "<title>own</title>", "title", None),
        ("<dc:description>borrowed</dc:description>", "<description>own</description>", "summary", "own"),
        ("<media:title>borrowed</media:title>", "<title>own</title>", "title", "own"),
        ("<itunes:summary>borrowed</itunes:summary>", "<description>own</description>", "summary", "own"),
        (
            "<atom:link href='https://a.org/b'/>",
            "<link>https://a.org/own</link>",
            "link",
            "https://a.org/own",
        ),
    ],
)
def test_the_formats_own_element_goes_before_a_borrowed_one(
    first: str, second: str, attribute: str, value: object
) -> None:
    forth, back = item(first + second), item(second + first)
    if value is None:  # two titles are equals: the first has it
        assert (getattr(forth, attribute), getattr(back, attribute)) == ("borrowed", "own")
    else:
        assert getattr(forth, attribute) == getattr(back, attribute) == value


def test_an_item_without_a_date_has_that_of_its_edit() -> None:
    some = entry("<updated>2024-06-01T00:00:00Z</updated><published>2024-05-01T00:00:00Z</published>")
    assert (some.published, some.updated) == (DAY, LATER)


@pytest.mark.parametrize(
    ("guid", "link"),
    [
        ("<guid>https://a.org/1</guid>", "https://a.org/1"),
        ("<guid isPermaLink='true'>https://a.org/1</guid>", "https://a.org/1"),
        ("<guid isPermaLink='false'>https://a.org/1</guid><title>x</title>", "https://a.org/1"),
        ("<guid>no link</guid>", ""),
        ("<link>https://a.org/own</link><guid>https://a.org/1</guid>", "https://a.org/own"),
    ],
)
def test_a_guid_that_leads_to_the_web_stands_in_for_a_link(guid: str, link: str) -> None:
    assert only(rss(f"<item>{guid}</item>")).link == link


def test_links_are_those_of_the_item_its_html_and_its_files_each_once() -> None:
    some = item(
        "<link>https://a.org/1</link>"
        "<description>&lt;a href='https://a.org/2'&gt;x&lt;/a&gt;&lt;a href='https://a.org/1'&gt;y&lt;/a&gt;</description>"
        "<content:encoded>&lt;img src='https://a.org/3'&gt;</content:encoded><enclosure url='https://a.org/4'/>"
    )
    assert some.links == tuple(f"https://a.org/{n}" for n in (1, 2, 3, 4))


def test_a_base_holds_for_what_is_inside_it() -> None:
    some = only(
        '<feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://a.org/x/"><entry xml:base="y/"><id>g</id>'
        '<link href="1"/><summary type="html">&lt;a href="2"&gt;2&lt;/a&gt;</summary>'
        '<content type="html" xml:base="/z/">&lt;a href="3"&gt;3&lt;/a&gt;</content></entry></feed>'
    )
    assert some.link == "https://a.org/x/y/1"
    assert "https://a.org/z/3" in some.content


ELEMENTS = {
    "title": ("<title>t{}</title>", "title"),
    "link": ("<link>https://a.org/{}</link>", "link"),
    "description": ("<description>d{}</description>", "summary"),
    "content": ("<content:encoded>c{}</content:encoded>", "content"),
    "creator": ("<dc:creator>a{}</dc:creator>", "authors"),
    "category": ("<category>k{}</category>", "categories"),
    "date": ("<pubDate>2024-05-0{}</pubDate>", "published"),
    "extension": ("<slash:comments>{}</slash:comments>", "extensions"),
    "enclosure": ("<enclosure url='https://a.org/e{}'/>", "enclosures"),
}
orders = st.permutations(list(ELEMENTS)).flatmap(
    lambda names: st.integers(0, len(names)).map(lambda size: names[:size])
)


@settings(max_examples=100, deadline=None)
@given(st.lists(orders, min_size=1, max_size=5))
def test_items_of_different_shapes_are_read_as_each_would_be_alone(shapes: list[list[str]]) -> None:
    items = [
        f"<item><guid>g{n}</guid>{''.join(ELEMENTS[name][0].format(n + 1) for name in names)}</item>"
        for n, names in enumerate(shapes)
    ]
    together = {one.identity: one for one in parsed(rss("".join(items))).items}
    for n, names in enumerate(shapes):
        alone = only(rss(items[n]))
        for attribute in ("title", "link", "links", "summary", "content", "authors", "categories", "published",
                          "extensions", "enclosures", "raw"):  # fmt: skip
            assert getattr(together[f"g{n}"], attribute) == getattr(alone, attribute), names
        said = {ELEMENTS[name][1] for name in names}
        unsaid = {attribute for _, attribute in ELEMENTS.values()} - said
        assert not any(getattr(alone, attribute) for attribute in unsaid)
