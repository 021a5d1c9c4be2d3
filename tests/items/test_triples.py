"""What an item says as triples, attribute by attribute."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from feedweir.items.model import Enclosure, Item
from feedweir.items.namespaces import NAMESPACES
from feedweir.items.triples import Node, Statement, subject_of, triples_of

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
SUBJECT = Node("iri", "https://example.org/1")
TIME = NAMESPACES["xsd"] + "dateTime"


def item(**attributes: object) -> Item:
    known = {"source": "s", "identity": "", "arrived": NOON, "link": SUBJECT.value}
    return Item(**known | attributes)  # type: ignore[arg-type]


def iri(prefix: str, local: str) -> Node:
    return Node("iri", NAMESPACES[prefix] + local)


def objects(some: Item, prefix: str, local: str) -> list[Node]:
    return [said.object for said in triples_of(some) if said.predicate == iri(prefix, local)]


@pytest.mark.parametrize(
    ("attributes", "prefix", "local", "expected"),
    [
        ({"title": "Rain"}, "rss", "title", [Node("literal", "Rain")]),
        ({"title": ""}, "rss", "title", []),
        ({}, "rss", "link", [Node("literal", SUBJECT.value)]),
        ({"summary": "<p>Wet &amp; cold</p>"}, "rss", "description", [Node("literal", "Wet & cold")]),
        ({"content": "<p>All</p>"}, "content", "encoded", [Node("literal", "<p>All</p>")]),
        ({"authors": ("Ann", "Bob")}, "dc", "creator", [Node("literal", "Ann"), Node("literal", "Bob")]),
        ({"categories": ("rain",)}, "dc", "subject", [Node("literal", "rain")]),
        ({"language": "en"}, "dc", "language", [Node("literal", "en")]),
        ({"identity": "guid"}, "dc", "identifier", [Node("literal", "guid")]),
        ({"published": NOON}, "dc", "date", [Node("literal", "2024-05-01T12:00:00+00:00", TIME)]),
        ({"updated": NOON}, "dcterms", "modified", [Node("literal", "2024-05-01T12:00:00+00:00", TIME)]),
        ({"links": ("https://a.org/", "no IRI")}, "dcterms", "references", [Node("iri", "https://a.org/")]),
        ({"enclosures": (Enclosure(url="https://a.org/b.mp3"),)}, "enc", "enclosure",
         [Node("iri", "https://a.org/b.mp3")]),
        ({}, "rdf", "type", [Node("iri", NAMESPACES["rss"] + "item")]),
        ({"extensions": (("slash:comments", "3"),)}, "slash", "comments", [Node("literal", "3")]),
    ],
)  # fmt: skip
def test_an_attribute_is_said_under_this_name(
    attributes: dict[str, object], prefix: str, local: str, expected: list[Node]
) -> None:
    assert objects(item(**attributes), prefix, local) == expected


def test_a_time_keeps_its_own_zone() -> None:
    vienna = NOON.astimezone(timezone(timedelta(hours=2)))
    assert objects(item(published=vienna), "dc", "date") == [
        Node("literal", "2024-05-01T14:00:00+02:00", TIME)
    ]


@pytest.mark.parametrize(
    ("link", "identity", "subject"),
    [
        ("https://a.org/1", "guid", "https://a.org/1"),
        ("/relative", "tag:a.org,2024:1", "tag:a.org,2024:1"),
        ("", "guid 1", "urn:item:s:guid%201"),
        ("has space", "a/b", "urn:item:s:a%2Fb"),
    ],
)
def test_triples_are_about_the_address_or_else_the_identity(link: str, identity: str, subject: str) -> None:
    some = item(link=link, identity=identity, title="x")
    assert subject_of(some) == Node("iri", subject)
    assert {said.subject for said in triples_of(some)} == {Node("iri", subject)}


def test_an_extension_of_a_namespace_that_the_item_declares_is_said_under_it() -> None:
    raw = '<item xmlns:own="https://own.org/ns"><own:mood>good</own:mood></item>'
    said = triples_of(item(raw=raw, extensions=(("own:mood", "good"),)))
    assert Statement(SUBJECT, Node("iri", "https://own.org/ns#mood"), Node("literal", "good")) in said


@pytest.mark.parametrize("name", ["unknown:mood", "mood", "own:no iri", ":x", ""])
def test_an_extension_without_a_namespace_is_not_said(name: str) -> None:
    bare, extended = item(title="x"), item(title="x", extensions=((name, "value"),))
    assert triples_of(extended) == triples_of(bare)


def test_every_triple_is_said_once() -> None:
    some = item(links=("https://a.org/", "https://a.org/"), authors=("Ann", "Ann"))
    said = triples_of(some)
    assert len(set(said)) == len(said)


RDF = f'xmlns="{NAMESPACES["rss"]}" xmlns:rdf="{NAMESPACES["rdf"]}" xmlns:dc="{NAMESPACES["dc"]}"'


def test_what_an_item_of_rss_1_says_itself_is_not_said_again() -> None:
    raw = f'<item {RDF} rdf:about="https://own.org/"><title>Own</title><dc:creator>Ann</dc:creator></item>'
    some = item(raw=raw, title="Read", authors=("Read",), published=NOON, links=("https://a.org/",))
    assert objects(some, "rss", "title") == [Node("literal", "Own")]
    assert objects(some, "dc", "creator") == [Node("literal", "Ann")]
    assert objects(some, "dc", "date") != [], "what was read of it is concluded"
    assert {said.subject for said in triples_of(some)} == {Node("iri", "https://own.org/")}


def test_an_rdf_document_says_all_of_its_triples() -> None:
    raw = f"""<rdf:RDF {RDF}><rdf:Description rdf:about="https://own.org/a"><dc:title>A</dc:title>
        <dc:relation><rdf:Description><dc:title>B</dc:title></rdf:Description></dc:relation></rdf:Description></rdf:RDF>"""
    said = triples_of(item(raw=raw, link="https://own.org/a"))
    assert [one.object.value for one in said if one.predicate == iri("dc", "title")] == ["A", "B"]
    (relation,) = [one.object for one in said if one.predicate == iri("dc", "relation")]
    assert relation.kind == "blank"


@pytest.mark.parametrize(
    "raw",
    [
        f"<item {RDF}><title>x</title></item>",
        f'<item {RDF} rdf:about="https://own.org/"><title>x</item>',
        '<item about="https://own.org/"><title>x</title></item>',
        "<rdf:RDF>",
        '{"title": "x"}',
        "",
    ],
)
def test_what_is_no_rdf_after_all_is_said_as_it_was_read(raw: str) -> None:
    said = triples_of(item(raw=raw, title="Read"))
    assert said[-1].subject.kind == "iri"
    assert Node("literal", "Read") in [one.object for one in said if one.predicate == iri("rss", "title")]


def test_blank_nodes_have_the_same_numbers_every_time() -> None:
    raw = f'<item {RDF} rdf:about="https://o.org/"><dc:source><rdf:Description/></dc:source><dc:relation><rdf:Description/></dc:relation></item>'
    assert triples_of(item(raw=raw)) == triples_of(item(raw=raw))


def test_literals_have_their_language_or_their_type() -> None:
    raw = f"""<item {RDF} rdf:about="https://o.org/"><dc:title xml:lang="de">Regen</dc:title>
        <dc:date rdf:datatype="{TIME}">2024-05-01T12:00:00Z</dc:date></item>"""
    found = {one.predicate.value.rpartition("/")[2]: one.object for one in triples_of(item(raw=raw))}
    assert found["title"] == Node("literal", "Regen", "", "de")
    assert Node("literal", "2024-05-01T12:00:00Z", TIME) in objects(item(raw=raw), "dc", "date")
