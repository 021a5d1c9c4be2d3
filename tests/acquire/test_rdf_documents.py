"""RDF from wherever it comes: which items a document is, and what becomes of what is bad in it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from feedweir.acquire.parse.parser import ParsedDocument, parse
from feedweir.acquire.push import pushed_document
from feedweir.errors import DocumentError
from feedweir.items.json_ld_contexts import context_named
from feedweir.items.model import Document, Item
from feedweir.items.triples import triples_of
from feedweir.service.installation import Weir

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
TURTLE = "text/turtle"
AS = "https://www.w3.org/ns/activitystreams"


def fetched(
    body: str | bytes, media_type: str, url: str = "https://x.org/data", cut: str = ""
) -> ParsedDocument:
    raw = body if isinstance(body, bytes) else body.encode()
    document = Document(
        number=1, source="s", url=url, media_type=media_type, arrived=NOON, body=raw, id_path=cut
    )
    return parse(document)


def said(item: Item) -> set[tuple[str, str]]:
    """Properties and values, without what is concluded from the item's attributes."""
    mapped = {one.predicate.value for one in triples_of(item) if one.subject.value == item.link}
    own = [one for one in triples_of(item) if "purl.org/dc" not in one.predicate.value]
    return {(one.predicate.value.rpartition("/")[2], one.object.value) for one in own if mapped is not None}


@pytest.mark.parametrize(
    ("body", "media_type", "url"),
    [
        ("<https://x.org/a> <http://v/p> 'one' .", TURTLE, "https://x.org/"),
        ("<a> <http://v/p> 'one' .", "text/turtle; charset=utf-8", "https://x.org/"),
        ("<https://x.org/a> <http://v/p> 'one' .".replace("'", '"'), "text/plain", "https://x.org/dump.nt"),
        ('<https://x.org/a> <http://v/p> "one" .', "application/n-triples", ""),
        ('{"@id": "https://x.org/a", "http://v/p": "one"}', "application/ld+json", ""),
        (
            '<?xml version="1.0"?><!-- a --><r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:v="http://v/">'
            '<r:Description r:about="https://x.org/a"><v:p>one</v:p></r:Description></r:RDF>',
            "application/rdf+xml",
            "",
        ),
    ],
)
def test_a_fetched_document_of_any_form_is_an_item(body: str, media_type: str, url: str) -> None:
    (item,) = fetched(body, media_type, url).items
    assert item.link == item.identity == "https://x.org/a"
    assert ("p", "one") in said(item)


def test_named_graphs_are_items_each() -> None:
    body = """<urn:a> <http://v/p> "0" . GRAPH <https://x.org/g> { <urn:a> <http://v/p> "1" . <urn:b> <http://v/p> "2" }
        GRAPH _:anonymous { <urn:c> <http://v/p> "3" }"""
    items = {item.identity: item for item in fetched(body, "application/trig").items}
    assert set(items) == {"urn:a", "https://x.org/g", "urn:c"}
    assert {("p", "1"), ("p", "2")} <= said(items["https://x.org/g"])
    assert ("p", "0") not in said(items["https://x.org/g"])


DUMP = """@prefix d: <http://usefulinc.com/ns/doap#> . @prefix : <https://x.org/> .
:one a d:Project ; d:name "One" ; d:shortdesc "The <first>" ; d:release [ d:revision "1.0" ] , :r2 ; d:helper :ann .
:r2 d:revision "2.0" ; d:created "2026-05-01" .
:two a d:Project ; d:name "Two" ; d:created "2026-04-01" ; d:related :one .
:ann d:name "Ann" .
"""


def test_a_dump_is_cut_by_subject() -> None:
    items = {item.identity: item for item in fetched(DUMP, TURTLE, cut="per subject").items}
    assert set(items) == {f"https://x.org/{name}" for name in ("one", "r2", "two", "ann")}
    one = items["https://x.org/one"]
    assert (one.title, one.summary, one.link) == ("One", "The &lt;first&gt;", "https://x.org/one")
    assert ("doap#revision", "1.0") in said(one), "a blank node belongs to who refers to it"
    assert ("doap#revision", "2.0") not in said(one)
    assert items["https://x.org/two"].published == datetime(2026, 4, 1, tzinfo=UTC)


def test_a_dump_is_cut_by_type() -> None:
    items = {
        item.identity: item
        for item in fetched(DUMP, TURTLE, cut="per http://usefulinc.com/ns/doap#Project").items
    }
    assert set(items) == {"https://x.org/one", "https://x.org/two"}
    one, two = (items[f"https://x.org/{name}"] for name in ("one", "two"))
    assert {("doap#revision", "1.0"), ("doap#revision", "2.0"), ("doap#name", "Ann")} <= said(one)
    assert ("doap#revision", "1.0") not in said(two), "another project's own things"


def test_a_type_that_nothing_has_is_told() -> None:
    with pytest.raises(DocumentError, match="nothing of <urn:none>"):
        fetched(DUMP, TURTLE, cut="per urn:none")


def test_each_revision_of_a_dump_changes_only_what_changed() -> None:
    before = {item.identity: item.fingerprint for item in fetched(DUMP, TURTLE, cut="per subject").items}
    after = fetched(DUMP.replace('"Two"', '"Zwei"'), TURTLE, cut="per subject").items
    changed = [item.identity for item in after if before[item.identity] != item.fingerprint]
    assert changed == ["https://x.org/two"]


@pytest.mark.parametrize(
    ("body", "media_type"),
    [
        ("<urn:a> <http://v/p> <urn:bad iri> . <urn:a> <http://v/q> 'good' .", TURTLE),
        ("<urn:bad iri> <http://v/p> 'x' . <urn:a> <http://v/q> 'good' .", TURTLE),
        ('<urn:a> <http://v/p> <relative> .\n<urn:a> <http://v/q> "good" .', "application/n-triples"),
        (
            '<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:v="http://v/">'
            '<r:Description r:about="urn:a"><v:p r:resource="http://x y"/><v:q>good</v:q></r:Description></r:RDF>',
            "application/rdf+xml",
        ),
    ],
)
def test_a_bad_iri_leaves_out_its_triple_and_nothing_else(body: str, media_type: str) -> None:
    found = fetched(body, media_type, url="")
    (item,) = found.items
    assert ("q", "good") in said(item)
    assert "p" not in dict(said(item))
    assert "1 triple with an IRI that is none" in found.warnings[0]


def test_a_graph_that_is_too_large_for_an_item_is_refused_with_a_hint() -> None:
    body = "@prefix u: <urn:> . u:a u:p " + ",".join(map(str, range(100_001))) + " ."
    with pytest.raises(DocumentError, match="too large for an item") as refused:
        fetched(body, TURTLE)
    assert "per subject" in refused.value.hint
    found = fetched(body, TURTLE, cut="per subject")
    assert len(said(found.items[0])) < 20_000
    assert "10,000 triples are kept" in found.warnings[0]


def test_relative_iris_without_a_base_are_left_out() -> None:
    with pytest.raises(DocumentError, match="no triple"):
        pushed_document("s", b"<a> <b> <c> .", TURTLE, NOON)


def test_triples_about_triples_are_left_out() -> None:
    found = fetched("<urn:a> <http://v/p> <<( <urn:a> <urn:b> <urn:c> )>> ; <http://v/q> 'good' .", TURTLE)
    assert ("q", "good") in said(found.items[0])
    assert "about triples" in found.warnings[0]


def test_a_property_that_xml_has_no_name_for_is_kept() -> None:
    (item,) = fetched("<https://x.org/a> <http://v/123> 'one' .", TURTLE).items
    assert ("123", "one") in said(item)
    assert item.title == "one"


def test_lists_containers_and_literals_of_xml_are_triples() -> None:
    body = """<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:v="http://v/" xml:base="https://x.org/">
        <r:Description r:about="a"><v:list r:parseType="Collection"><r:Description r:about="b"/></v:list>
        <v:bag><r:Bag><r:li>one</r:li></r:Bag></v:bag><v:xml r:parseType="Literal"><b>bold</b></v:xml>
        </r:Description></r:RDF>"""
    (item,) = fetched(body, "application/rdf+xml").items
    assert item.link == "https://x.org/a"
    assert {("22-rdf-syntax-ns#first", "https://x.org/b"), ("22-rdf-syntax-ns#_1", "one")} <= said(item)
    assert ">bold</b>" in dict(said(item))["xml"]


def test_blank_nodes_of_different_documents_have_nothing_to_do_with_each_other() -> None:
    one, other = (fetched(f"_:b <http://v/p> '{n}' .", TURTLE).items[0] for n in "12")
    assert one.identity != other.identity
    again = fetched("_:other <http://v/p> '1' .", TURTLE).items[0]
    assert (again.identity, again.fingerprint) == (one.identity, one.fingerprint)


def test_a_source_is_cut_as_its_registration_says(tmp_path: Path) -> None:
    with Weir.open(tmp_path, clock=lambda: NOON) as weir:
        weir.execute(
            "register feed push://dump as Dump per doap:Project;"
            "create feed Released from Dump where graph { ?p a doap:Project ; doap:release/doap:revision '2.0' }"
        )
        weir.push("Dump", DUMP.encode(), media_type=TURTLE)
        weir.run()
        assert {item.identity for item in weir.items("Dump")} == {"https://x.org/one", "https://x.org/two"}
        assert [item.identity for item in weir.items("Released")] == ["https://x.org/one"]
        weir.execute("alter feed Dump per subject")
        weir.push("Dump", DUMP.encode(), media_type=TURTLE)
        weir.run()
        assert len(weir.items("Dump")) == 4
        assert "per subject" in weir.catalog.feeds.named("Dump").statement


# JSON-LD


def linked(value: dict[str, Any]) -> ParsedDocument:
    return pushed_document("s", json.dumps(value).encode(), "application/json", NOON).parsed


NOTE = {
    "@context": [AS, "https://w3id.org/security/v1", {"toot": "http://joinmastodon.org/ns#"}],
    "id": "https://social.example/1",
    "type": "Create",
    "published": "2026-05-31T10:00:00Z",
    "actor": "https://social.example/ann",
    "object": {
        "id": "https://social.example/n",
        "type": "Note",
        "contentMap": {"en": "<p>High water</p>"},
        "tag": [{"type": "Hashtag", "name": "#river"}],
    },
}


def test_an_activity_is_read_by_the_context_of_the_package() -> None:
    found = linked(NOTE)
    (item,) = found.items
    assert (item.link, item.published) == ("https://social.example/1", datetime(2026, 5, 31, 10, tzinfo=UTC))
    assert {
        ("activitystreams#actor", "https://social.example/ann"),
        ("activitystreams#content", "<p>High water</p>"),
        ("22-rdf-syntax-ns#type", f"{AS}#Note"),
    } <= said(item)
    assert "https://w3id.org/security/v1" in found.warnings[0]


@pytest.mark.parametrize(
    "context", ["https://schema.org", "http://schema.org/", "https://schema.org/docs/jsonldcontext.jsonld"]
)
def test_schema_org_is_read_by_the_context_of_the_package(context: str) -> None:
    (item,) = linked(
        {
            "@context": context,
            "@type": "NewsArticle",
            "@id": "https://x.org/1",
            "headline": "High water",
            "url": "https://x.org/1.html",
            "datePublished": "2026-05-31",
            "author": {"@type": "Person", "name": "Ann"},
        }
    ).items
    assert (item.title, item.authors) == ("High water", ("Ann",))
    assert item.published == datetime(2026, 5, 31, tzinfo=UTC)
    assert ("22-rdf-syntax-ns#type", "http://schema.org/NewsArticle") in said(item)


def test_contexts_name_what_they_say() -> None:
    known = context_named("activitystreams")
    assert known["object"] == {"@id": "as:object", "@type": "@id"}
    assert known["orderedItems"]["@container"] == "@list"
    assert known["published"] == {"@id": "as:published", "@type": "xsd:dateTime"}
    assert known["inbox"]["@id"] == "ldp:inbox"
    assert context_named("schema")["datePublished"] == {"@id": "schema:datePublished", "@type": "schema:Date"}


def test_a_context_from_elsewhere_is_never_loaded() -> None:
    with pytest.raises(DocumentError, match=r"contexts are not loaded, such as https://evil\.example/c"):
        linked({"@context": "https://evil.example/c", "name": "x"})


def test_many_contexts_and_deep_nesting_are_bounded() -> None:
    many = [{"@context": AS, "name": str(n)} for n in range(1001)]
    with pytest.raises(DocumentError, match="more than 1000"):
        linked({"@context": AS, "items": many})
    deep = '{"@context":{"@vocab":"urn:v#"},"a":' * 100_000 + "1" + "}" * 100_000
    with pytest.raises(DocumentError):
        pushed_document("s", deep.encode(), "application/ld+json", NOON)
