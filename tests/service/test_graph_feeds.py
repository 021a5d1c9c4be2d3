"""Feeds that ask for graphs, through an installation: hostile patterns and documents are exact, or refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from feedweir.errors import LanguageError
from feedweir.service.installation import Weir

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
XSD = "http://www.w3.org/2001/XMLSchema#"
CHAIN = " ".join(f"(?a{number}, <urn:p>, ?a{number + 1})" for number in range(1000))
FEEDS = {
    "anything": "graph { (?a, ?b, ?c) }",
    "circle": "graph { (?a, <urn:p>, ?b) (?b, <urn:p>, ?c) (?c, <urn:p>, ?a) }",
    "never": "graph { (?a, <urn:n>, ?v) such that (?v > 5 and ?v < 3) }",
    "much": "graph { (?a, <urn:n>, ?v) such that (?v > 1000) }",
    "five": "graph { ?a <urn:n> ?v FILTER(?v = 5) }",
    "written": "graph { ?a <urn:n> 'abc'^^xsd:int }",
    "newer": "graph { ?a <urn:t> ?v FILTER(?v > '2024-01-01T00:00:00Z'^^xsd:dateTime) }",
    "needle": "graph { ?a <urn:text> ?v FILTER(CONTAINS(?v, 'needle')) }",
    "escaped": "graph { ?a <urn:p> <http://Example.org/A%41> }",
    "blank": "graph { ?a <urn:x> ?b . ?b <urn:y> ?c }",
    "second": "graph { ?a <urn:l> ?l . ?l rdf:rest ?r . ?r rdf:first 'two' }",
    "deep": "graph { ?a <urn:name> 'deep' }",
    "chain": f"graph {{ {CHAIN} }}",
}
CONTEXT = {"name": "urn:name", "in": "urn:in"}


@pytest.fixture(scope="module")
def weir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weir]:
    with Weir.open(tmp_path_factory.mktemp("weir"), clock=lambda: NOON) as opened:
        opened.execute("register feed push://docs as Docs")
        for name, condition in FEEDS.items():
            (outcome,) = opened.execute(f"create feed {name} from Docs where {condition}")
            assert outcome.message == f"created {name}"
        yield opened


def found(weir: Weir, document: str, media_type: str = "text/turtle") -> set[str]:
    """The feeds that a pushed document adds to."""
    before = {name: numbers(weir, name) for name in FEEDS}
    weir.push("Docs", document.encode(), media_type=media_type)
    weir.run()
    return {name for name in FEEDS if numbers(weir, name) > before[name]} - {"anything"}


def numbers(weir: Weir, name: str) -> int:
    view = weir.feed_views.feed(name, 1000)
    assert view is not None
    return len(view.entries)


@pytest.mark.parametrize(
    ("document", "feeds"),
    [
        (f'<urn:1> <urn:n> "abc"^^<{XSD}int>, "NaN"^^<{XSD}double> .', {"written"}),
        (f'<urn:2> <urn:n> "1e400"^^<{XSD}double> .', set()),
        (f'<urn:3> <urn:n> "5.0"^^<{XSD}decimal> .', {"five"}),
        (f'<urn:4> <urn:t> "2024-01-01T01:00:00+02:00"^^<{XSD}dateTime> .', set()),
        (f'<urn:5> <urn:t> "2024-01-01T01:00:00-02:00"^^<{XSD}dateTime> .', {"newer"}),
        ('<a> <urn:n> 5 . <urn:6> <urn:name> "deep" .', {"deep"}),
        ("<urn:7> <urn:p> <http://example.org/AA>, <http://example.org/A%41> .", set()),
        ("<urn:8> <urn:p> <http://Example.org/A%41> .", {"escaped"}),
        ("_:a <urn:x> _:b . <urn:9> <urn:z> _:a .", set()),
        ('_:b <urn:y> "c" . <urn:10> <urn:z> _:b .', set()),
        ('_:a <urn:x> _:b . _:b <urn:y> "c" .', {"blank"}),
        ('<urn:11> <urn:l> ( "one" "two" ) .', {"second"}),
        ('<urn:12> <urn:said> << <urn:a> <urn:name> "deep" >> .', set()),
        ("<urn:13> <urn:name> \"deep\" ; <urn:p> <http://bad iri> .", {"deep"}),
        ('<urn:14> <urn:text> "' + "x" * 2_000_000 + 'needle" .', {"needle"}),
        ("".join(f"<urn:u{n}> <urn:p> <urn:u{n + 1}> ." for n in range(999)), set()),
        ("".join(f"<urn:v{n}> <urn:p> <urn:v{n + 1}> ." for n in range(1000)), {"chain"}),
        ("".join(f"<urn:hub> <urn:p> <urn:w{n}> . <urn:w{n}> <urn:p> <urn:x{n}> ." for n in range(5000)), set()),
        ("".join(f"<urn:c{n}> <urn:p> <urn:c{(n + 1) % 3}> ." for n in range(3)), {"circle", "chain"}),
    ],
)  # fmt: skip
def test_documents_are_found_by_what_they_say(weir: Weir, document: str, feeds: set[str]) -> None:
    assert found(weir, document) == feeds


def nested(depth: int) -> str:
    body = '{"name": "deep"}'
    for _ in range(depth):
        body = f'{{"in": {body}}}'
    return f'{{"@context": {json.dumps(CONTEXT)}, "@id": "urn:n{depth}", "in": {body}}}'


@pytest.mark.parametrize(
    ("document", "media_type", "feeds", "reason"),
    [
        (nested(300), "application/ld+json", {"deep"}, ""),
        (nested(30_000), "application/ld+json", set(), "nested too deep"),
        ('{"@context": "http://a.example/c", "urn:name": "deep"}', "application/ld+json", set(), "are not loaded"),
        (
            '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:u="urn:" xml:base="http://b.example/">'
            '<rdf:Description rdf:about="x"><u:text rdf:parseType="Literal"><b>needle</b></u:text></rdf:Description>'
            "</rdf:RDF>",
            "application/rdf+xml",
            {"needle"},
            "",
        ),
        ("".join(f"<urn:m> <urn:q> <urn:{n}> ." for n in range(100_001)), "text/turtle", set(), "too large"),
    ],
)  # fmt: skip
def test_what_is_refused_says_why(
    weir: Weir, document: str, media_type: str, feeds: set[str], reason: str
) -> None:
    known = len(weir.catalog.failures.of("source", "Docs"))
    assert found(weir, document, media_type) == feeds
    failures = weir.catalog.failures.of("source", "Docs")
    assert len(failures) - known == bool(reason)
    assert reason in (failures[0].reason if reason else "")


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        (f"{CHAIN} (?x, <urn:p>, ?y)", "more than 1000 triples"),
        ("(?a, <urn:p>, ?b) such that (?z > 3)", "does not occur in any triple"),
        ("?a <rel> ?b", "an IRI must be whole"),
    ],
)  # fmt: skip
def test_patterns_that_cannot_be_asked_are_refused(weir: Weir, pattern: str, reason: str) -> None:
    with pytest.raises(LanguageError, match=reason):
        weir.execute(f"create feed Refused from Docs where graph {{ {pattern} }}")
    assert weir.catalog.feeds.find("Refused") is None
