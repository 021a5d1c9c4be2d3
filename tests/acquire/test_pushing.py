"""What may be pushed to a source, and what is landed for it."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from feedweir.acquire.parse.parser import parse
from feedweir.acquire.push import MAX_ITEMS, Pushed, pushed_document
from feedweir.errors import DocumentError
from feedweir.items.model import Document

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


def pushed(body: str | bytes, media_type: str = "", id_path: str = "") -> Pushed:
    data = body.encode() if isinstance(body, str) else body
    return pushed_document("Orders", data, media_type, NOON, id_path)


def titles(found: Pushed) -> list[str]:
    return [item.title for item in found.parsed.items]


@pytest.mark.parametrize(
    "body",
    [
        '{"title": "one"}',
        '[{"title": "one"}]',
        '{"items": [{"title": "one"}]}',
        '{"version": "https://jsonfeed.org/version/1.1", "items": [{"title": "one", "id": "1"}]}',
        "<rss version='2.0'><channel><item><title>one</title></item></channel></rss>",
        "<item><title>one</title></item>",
        '<entry xmlns="http://www.w3.org/2005/Atom"><id>1</id><title>one</title></entry>',
        "<order><title>one</title></order>",
        "<order>one</order>",
        '{"order": "one"}',
    ],
)
def test_a_feed_an_item_a_list_or_a_document_may_be_pushed(body: str) -> None:
    assert titles(pushed(body)) == ["one"]


@pytest.mark.parametrize(
    ("name", "attribute", "value"),
    [
        ("guid", "identity", "v"),
        ("link", "link", "v"),
        ("content", "content", "v"),
        ("text", "content", "v"),
        ("description", "summary", "v"),
        ("categories", "categories", ("v",)),
        ("published", "published", NOON),
        ("updated", "updated", NOON),
        ("mood", "extensions", (("json:mood", "v"),)),
    ],
)
def test_an_item_may_use_our_names(name: str, attribute: str, value: object) -> None:
    said = "2024-05-01T12:00:00Z" if value == NOON else "v"
    (item,) = pushed(json.dumps({"title": "t", name: said})).parsed.items
    assert getattr(item, attribute) == value


def test_tags_may_be_one_text() -> None:
    (item,) = pushed('{"title": "t", "tags": "rain, snow,,"}').parsed.items
    assert item.categories == ("rain", "snow")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("", "the document is empty"),
        ("   ", "the document is empty"),
        ("just text", "neither a JSON object or list nor XML"),
        ("{", "this is not JSON"),
        ('{"title": }', "this is not JSON"),
        ("[1]", "item 1 is not an object"),
        ('[{"title": "x"}, {}]', "item 2 has no content"),
        ('{"title": "  "}', "item 1 has no content"),
        ('[{"title": "x"}, {"title": "x", "published": "soon"}]', "item 2: published is not a date: 'soon'"),
        ('{"title": "x", "updated": 5}', "updated is not a date: '5'"),
        ("[]", "the document contains no item"),
        ("<rss version='2.0'><channel/></rss>", "the document contains no item"),
        ("<a></a>", "no text and no attributes"),
        ("<html><body>hello</body></html>", "HTML page"),
        ("<order>", "not well-formed XML"),
        ("[" * 50_000, "nested too deep"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_reason(body: str, message: str) -> None:
    with pytest.raises(DocumentError, match=message):
        pushed(body)


def test_bytes_that_are_no_text_are_no_json() -> None:
    with pytest.raises(DocumentError, match="not UTF-8"):
        pushed(b'{"title": "\xff"}')


def test_too_many_items_are_refused_by_their_number() -> None:
    body = json.dumps([{"title": "x"}] * (MAX_ITEMS + 1))
    with pytest.raises(DocumentError, match=f"{MAX_ITEMS + 1} items, and {MAX_ITEMS} may be pushed"):
        pushed(body)


@pytest.mark.parametrize(
    ("body", "media_type"),
    [
        ("<https://a.org/1> <http://purl.org/dc/elements/1.1/title> 'one' .", "text/turtle"),
        (
            '<https://a.org/1> <http://purl.org/dc/elements/1.1/title> "one" .',
            "application/n-triples; charset=utf-8",
        ),
        (
            '{"@context": {"t": "http://purl.org/dc/elements/1.1/title"}, "@id": "https://a.org/1", "t": "one"}',
            "",
        ),
        (
            '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:dc="http://purl.org/dc/elements/1.1/">'
            '<rdf:Description rdf:about="https://a.org/1"><dc:title>one</dc:title></rdf:Description></rdf:RDF>',
            "",
        ),
    ],
)
def test_rdf_in_any_form_is_one_item(body: str, media_type: str) -> None:
    (item,) = pushed(body, media_type).parsed.items
    assert (item.title, item.link) == ("one", "https://a.org/1")


@pytest.mark.parametrize(
    ("body", "media_type", "message"),
    [
        ("this is no turtle", "text/turtle", "this is not text/turtle"),
        ("", "text/turtle", "empty"),
        ("# nothing", "text/turtle", "no triple"),
        ('{"@context": "https://a.org/context", "@id": "x"}', "", "context"),
        ("{}", "application/ld+json", "no triple"),
    ],
)
def test_rdf_that_cannot_be_read_is_refused(body: str, media_type: str, message: str) -> None:
    with pytest.raises(DocumentError, match=message):
        pushed(body, media_type)


@pytest.mark.parametrize(
    "body", ['{"title": "one"}', '{"order": {"id": 7, "lines": [1, 2]}}', "<order><id>7</id></order>"]
)
def test_what_is_landed_reads_as_what_was_pushed(body: str) -> None:
    found = pushed(body, id_path="//id")
    landed = found.document
    again = parse(
        Document(
            number=1, source=landed.source, media_type=landed.media_type, arrived=landed.arrived,
            body=landed.body, id_path=landed.id_path,
        )
    )  # fmt: skip
    assert again == found.parsed


def test_a_path_that_leads_nowhere_is_warned_of() -> None:
    found = pushed('[{"id": 7, "title": "x"}, {"title": "y"}]', id_path="//id")
    assert [item.identity for item in found.parsed.items][-1] == "7"
    assert found.warnings == ("1 entry has no id at //id",)


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ('{"order": 7, "by": "Ann"}', '{ "by": "Ann", "order": 7 }', True),
        ('{"order": 7}', '{"order": 8}', False),
        ("<o><a b='1' c='2'/>x</o>", "<o><a c='2' b='1'/>x</o>", True),
        ("<o><a/>x</o>", "<o>x<a/></o>", False),
        ('<o xmlns:p="urn:x"><p:a>1</p:a></o>', '<o xmlns:q="urn:x"><q:a>1</q:a></o>', True),
    ],
)
def test_two_writings_of_one_document_are_one_item(one: str, other: str, is_same: bool) -> None:
    (first,), (second,) = (pushed(body).parsed.items for body in (one, other))
    assert (first.identity == second.identity) == is_same
