"""JSON-LD, microdata and RDFa in an item's HTML, read before it is made safe."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from html import escape

import pytest

from feedweir.acquire.parse.parser import parse
from feedweir.items.model import Document, Item
from feedweir.items.namespaces import NAMESPACES
from feedweir.items.structured_data import structured_data
from feedweir.items.triples import triples_of
from feedweir.match.meaning.item_meaning import holds
from tests.language.reading import parse_predicate

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
SCHEMA = "http://schema.org/"
BASE = "https://x.org/post"


def rss(inside: str) -> str:
    return f"<item><title>t</title><link>{BASE}</link><description>{escape(inside)}</description></item>"


def said(inside: str) -> list[tuple[str, str, str]]:
    found = structured_data(rss(inside), BASE)
    return [(one.subject.value, one.predicate.value.replace(SCHEMA, ""), one.object.value) for one in found]


TYPE = NAMESPACES["rdf"] + "type"
LINKED = json.dumps(
    {"@context": "https://schema.org", "@type": "Event", "@id": "https://x.org/e", "name": "Gala"}
)


@pytest.mark.parametrize(
    "inside",
    [
        f'<p>See</p><script type="application/ld+json">{LINKED}</script>',
        '<div itemscope itemtype="https://schema.org/Event" itemid="/e"><b itemprop="name">Gala</b></div>',
        '<div vocab="https://schema.org/" typeof="Event" resource="/e"><b property="name">Gala</b></div>',
        '<div typeof="schema:Event" about="/e"><b property="schema:name">Gala</b></div>',
    ],
    ids=["JSON-LD", "microdata", "RDFa", "RDFa with prefixes"],
)
def test_the_same_is_said_in_three_ways(inside: str) -> None:
    assert sorted(said(inside)) == [
        ("https://x.org/e", TYPE, f"{SCHEMA}Event"),
        ("https://x.org/e", "name", "Gala"),
    ]


def test_microdata_nests_and_refers() -> None:
    inside = """<div itemscope itemtype="http://schema.org/Event" itemref="more"><time itemprop="startDate"
        datetime="2026-07-01">1 July</time><a itemprop="url" href="/gala">x</a><div itemprop="location" itemscope
        itemtype="http://schema.org/Place"><span itemprop="name" lang="FR">Opéra</span></div></div>
        <p id="more"><meta itemprop="eventStatus" content="Planned"><i itemprop="urn:own">y</i></p>"""
    found = structured_data(rss(inside), BASE)
    by_name = {one.predicate.value.replace(SCHEMA, ""): one for one in found}
    assert by_name["startDate"].object == ("literal", "2026-07-01", NAMESPACES["xsd"] + "date", "")
    assert by_name["url"].object == ("iri", "https://x.org/gala", "", "")
    assert by_name["name"].object.language == "fr"
    assert by_name["location"].object == by_name["name"].subject
    assert by_name["eventStatus"].subject == by_name["urn:own"].subject == by_name["url"].subject


def test_rdfa_chains_and_knows_what_is_about_the_page() -> None:
    inside = """<p property="og:title" content="Title"></p><div vocab="http://schema.org/" typeof="Event">
        <span property="organizer" typeof="Person"><span property="name">Ann</span></span>
        <a property="url" href="/gala">x</a><b property="unknown:y">n</b></div><b property="plain">n</b>"""
    found = said(inside)
    assert (BASE, "http://ogp.me/ns#title", "Title") in found
    ((_, _, person),) = [one for one in found if one[1] == "organizer"]
    assert {(person, TYPE, f"{SCHEMA}Person"), (person, "name", "Ann")} <= set(found)
    assert not any("plain" in one[1] for one in found), "a term without a vocabulary"


def test_items_refer_to_each_other_without_end_and_are_read_once() -> None:
    loop = '<div id="a" itemscope itemref="b"><i itemprop="urn:p">1</i></div><div id="b" itemscope itemref="a"></div>'
    assert [one[1:] for one in said(loop)] == [("urn:p", "1")]


@pytest.mark.parametrize(
    "inside",
    [
        '<script type="application/ld+json">{"broken</script>',
        '<script type="application/ld+json">{"@context": "https://evil.example/", "name": "x"}</script>',
        '<script type="application/ld+json">[1, 2]</script>',
        '<div itemscope itemtype="not an iri"><b itemprop="name">x</b></div>',
        "<div itemscope" * 1000,
        "<div typeof='schema:Event'>",
    ],
)
def test_what_is_broken_says_nothing_and_breaks_nothing(inside: str) -> None:
    assert all(one[1] == TYPE for one in said(inside))
    good = f'{inside}<script type="application/ld+json">{LINKED}</script>'
    assert said(inside) == [] or said(good)


def test_other_scripts_are_read_when_one_is_broken() -> None:
    bad = '<script type="application/ld+json">{</script>'
    assert ("https://x.org/e", "name", "Gala") in said(
        f'{bad}<script type="application/ld+json">{LINKED}</script>'
    )


def test_how_much_is_read_is_bounded() -> None:
    many = "".join(f'<b itemprop="urn:p">{n}</b>' for n in range(20_000))
    assert len(said(f"<div itemscope>{many}</div>")) == 10_000


def item(body: str, media_type: str = "application/rss+xml") -> Item:
    document = Document(number=1, source="s", media_type=media_type, arrived=NOON, body=body.encode())
    (found,) = parse(document).items
    return found


def test_an_item_of_a_feed_says_what_its_html_says() -> None:
    inside = f'Come! <script type="application/ld+json">{LINKED}</script>'
    fed = item(f'<rss version="2.0"><channel><title>f</title>{rss(inside)}</channel></rss>')
    assert "ld+json" not in fed.summary
    wanted = parse_predicate("graph { ?e a schema:Event ; schema:name 'Gala' }")
    assert holds(wanted, fed)
    feed = {"version": "https://jsonfeed.org/version/1.1", "items": [{"id": "1", "content_html": inside}]}
    assert holds(wanted, item(json.dumps(feed), "application/json"))


def test_blank_nodes_of_html_are_others_than_the_items_own() -> None:
    rdf = NAMESPACES["rdf"]
    inside = escape('<div itemscope><b itemprop="urn:p">1</b></div>')
    raw = f"""<item xmlns="{NAMESPACES["rss"]}" xmlns:rdf="{rdf}" xmlns:q="urn:q#" rdf:about="urn:a">
        <description>{inside}</description><q:r rdf:parseType="Resource"><q:s>2</q:s></q:r></item>"""
    facts = triples_of(Item(source="s", identity="1", raw=raw, arrived=NOON))
    blanks = {one.subject for one in facts if one.subject.kind == "blank"}
    assert len(blanks) == 2
