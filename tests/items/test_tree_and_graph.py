"""The item as an XML tree and as RDF triples."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.items.model import Enclosure, Item
from feedweir.items.namespaces import NAMESPACES
from feedweir.items.tree import tree_of
from feedweir.items.triples import Node, triples_of

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)
RSS, DC = NAMESPACES["rss"], NAMESPACES["dc"]
ITEM = Item(
    source="s",
    identity="g",
    title="Rain",
    summary="<p>Wet</p>",
    content="<p>All</p>",
    link="https://example.org/1",
    links=("https://example.org/1", "https://example.org/2"),
    authors=("Ann",),
    categories=("rain",),
    published=NOW,
    arrived=NOW,
    language="en",
    enclosures=(Enclosure(url="https://example.org/a.mp3", type="audio/mpeg", length=3),),
    extensions=(("slash:comments", "3"), ("own:mood", "good"), ("bad name:x y", "z")),
)


def test_the_tree_of_an_xml_item_is_its_own() -> None:
    raw = '<entry xmlns="http://www.w3.org/2005/Atom" xmlns:o="urn:o"><title>a</title><o:x y="1">b</o:x></entry>'
    root = tree_of(Item(source="s", identity="i", arrived=NOW, raw=raw))
    assert root.tag == "{http://www.w3.org/2005/Atom}entry"
    assert root[1].tag == "{urn:o}x"
    assert root[1].get("y") == "1"


def test_the_tree_of_another_item_is_the_rss_item_it_would_be() -> None:
    root = tree_of(ITEM)
    assert root.findtext("title") == "Rain"
    assert root.findtext("category") == "rain"
    assert root.findtext(f"{{{NAMESPACES['content']}}}encoded") == "<p>All</p>"
    assert root.findtext(f"{{{NAMESPACES['slash']}}}comments") == "3"
    assert root.findtext("{urn:prefix:own}mood") == "good"
    assert root.find("enclosure").get("url") == "https://example.org/a.mp3"
    assert root.findtext("pubDate") == "Wed, 01 May 2024 12:00:00 +0000"


def test_a_raw_item_with_an_undeclared_prefix_still_has_a_tree() -> None:
    root = tree_of(
        Item(source="s", identity="i", arrived=NOW, raw="<item><dc:creator>Ann</dc:creator></item>")
    )
    assert "".join(root.itertext()) == "Ann"


def test_an_item_is_said_in_the_usual_vocabularies() -> None:
    said = {(s.predicate.value, s.object) for s in triples_of(ITEM)}
    assert {s.subject for s in triples_of(ITEM)} == {Node("iri", "https://example.org/1")}
    assert (RSS + "title", Node("literal", "Rain")) in said
    assert (RSS + "description", Node("literal", "Wet")) in said
    assert (DC + "creator", Node("literal", "Ann")) in said
    date = Node("literal", "2024-05-01T12:00:00+00:00", NAMESPACES["xsd"] + "dateTime")
    assert (DC + "date", date) in said
    assert (NAMESPACES["dcterms"] + "references", Node("iri", "https://example.org/2")) in said
    assert (NAMESPACES["slash"] + "comments", Node("literal", "3")) in said


def test_an_item_of_rss_1_says_its_own_triples() -> None:
    raw = f"""<item xmlns="{RSS}" xmlns:rdf="{NAMESPACES["rdf"]}" xmlns:foaf="{NAMESPACES["foaf"]}"
        rdf:about="https://example.org/1"><title>One</title>
        <foaf:maker rdf:parseType="Resource"><foaf:name xml:lang="en">Ann</foaf:name></foaf:maker></item>"""
    item = Item(source="s", identity="x", title="One", link="https://example.org/l", arrived=NOW, raw=raw)
    triples = triples_of(item)
    assert triples[0].subject == Node("iri", "https://example.org/1")
    assert [t.object for t in triples if t.predicate.value == RSS + "title"] == [Node("literal", "One")]
    (maker,) = [t.object for t in triples if t.predicate.value.endswith("maker")]
    assert maker.kind == "blank"
    (name,) = [t for t in triples if t.predicate.value.endswith("name")]
    assert (name.subject, name.object) == (maker, Node("literal", "Ann", "", "en"))


def test_an_item_without_an_address_has_a_subject_all_the_same() -> None:
    (first, *_) = triples_of(Item(source="a b", identity="ü", title="x", arrived=NOW))
    assert first.subject == Node("iri", "urn:item:a%20b:%C3%BC")


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=20), st.text(max_size=20), st.text(max_size=30))
def test_no_text_breaks_tree_or_graph(title: str, name: str, raw: str) -> None:
    item = Item(
        source="s", identity=title, title=title, extensions=((f"a:{name}", title), (name, raw)), arrived=NOW,
        raw=raw, enclosures=(Enclosure(url=title, type=name),), link=name,
    )  # fmt: skip
    tree_of(item)
    triples_of(item)
    tree_of(Item(source="s", identity="i", arrived=NOW, raw=f"<{raw}"))
