"""The item as RDF triples: an item of RSS 1.0, or an RDF document, says its own, any other is said in the same
vocabularies.

The subject is the item's address (`rdf:about`, else its link, else its identity as an IRI). What is mapped:
`rdf:type`, `rss:title`, `rss:link`, `rss:description`, `content:encoded`, `dc:creator`, `dc:subject`,
`dc:date`, `dc:language`, `dc:identifier`, `dcterms:modified`, `dcterms:references` (every link),
`enc:enclosure`, and extensions under their own namespace. Both kinds of item answer to these; an item of RSS
1.0 has in addition whatever else it says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Literal, NamedTuple
from urllib.parse import quote

import pyoxigraph

from feedweir.items.html import text_of
from feedweir.items.model import Item
from feedweir.items.namespaces import NAMESPACES

_IS_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|\\^`]+")
_DECLARED = re.compile(r"""\bxmlns:([A-Za-z_][\w.-]*)\s*=\s*["']([^"'<>\s]+)["']""")
_ITEM = re.compile(r"<(?:[\w.-]+:)?item\b[^>]*+")
_ABOUT = re.compile(r"[\s:]about\s*=")
_RDF_DOCUMENT = re.compile(r"<(?:[\w.-]+:)?RDF\b")
_XSD_STRING = "http://www.w3.org/2001/XMLSchema#string"


class Node(NamedTuple):
    """An IRI, a blank node or a literal; `datatype` (an IRI) and `language` are for literals."""

    kind: Literal["iri", "blank", "literal"]
    value: str
    datatype: str = ""
    language: str = ""


class Statement(NamedTuple):
    """One triple; subjects are IRIs or blank nodes, predicates are IRIs."""

    subject: Node
    predicate: Node
    object: Node


def triples_of(item: Item) -> tuple[Statement, ...]:
    """What the item says, each triple once, in the order of the document, then what is concluded from its
    attributes."""
    raw = item.raw.lstrip()
    is_document = _RDF_DOCUMENT.match(raw) is not None
    own = _own_triples(item, is_document=is_document) if is_document or _is_rdf_item(raw) else []
    subject = own[0].subject if own else subject_of(item)
    return tuple(dict.fromkeys([*own, *_mapped(item, subject, has_own=bool(own))]))


def _is_rdf_item(raw: str) -> bool:
    tag = _ITEM.match(raw)
    return tag is not None and _ABOUT.search(tag[0]) is not None


def subject_of(item: Item) -> Node:
    """What the triples of an item that is not RDF are about."""
    for address in (item.link, item.identity):
        if _IS_IRI.fullmatch(address):
            return Node("iri", address)
    return Node("iri", f"urn:item:{quote(item.source, safe='')}:{quote(item.identity, safe='')}")


def _own_triples(item: Item, *, is_document: bool) -> list[Statement]:
    """The triples of an item of RSS 1.0, the one about the item first, or of a whole document; none when it is not RDF
    after all."""
    document = item.raw if is_document else f'<rdf:RDF xmlns:rdf="{NAMESPACES["rdf"]}">{item.raw}</rdf:RDF>'
    base = item.link if _IS_IRI.fullmatch(item.link) else "urn:item:"
    try:
        found = list(
            pyoxigraph.parse(
                document.encode("utf-8", "replace"), format=pyoxigraph.RdfFormat.RDF_XML, base_iri=base
            )
        )
    except (SyntaxError, ValueError):
        return []
    blanks: dict[str, str] = {}
    return [
        Statement(
            _node(quad.subject, blanks),
            _node(quad.predicate, blanks),
            _node(quad.object, blanks),
        )
        for quad in found
    ]


def _node(term: object, blanks: dict[str, str]) -> Node:
    """Blank nodes are numbered as they come: the parser's labels are new each time."""
    if isinstance(term, pyoxigraph.Literal):
        datatype = "" if term.language or term.datatype.value == _XSD_STRING else term.datatype.value
        return Node("literal", term.value, datatype, term.language or "")
    if isinstance(term, pyoxigraph.BlankNode):
        return Node("blank", blanks.setdefault(term.value, str(len(blanks))))
    assert isinstance(term, pyoxigraph.NamedNode)
    return Node("iri", term.value)


def _mapped(item: Item, subject: Node, *, has_own: bool) -> Iterator[Statement]:
    declared = dict(_DECLARED.findall(item.raw)) if item.extensions else {}
    for name, values in _said(item, has_own=has_own):
        predicate = _predicate(name, declared)
        if predicate is not None:
            yield from (Statement(subject, predicate, value) for value in values)


def _said(item: Item, *, has_own: bool) -> Iterator[tuple[str, Iterable[Node]]]:
    """(prefixed name, values); what an item of RSS 1.0 has said itself is not said again."""
    yield "dc:date", _moments(item.published)
    yield "dcterms:modified", _moments(item.updated)
    yield "dcterms:references", [Node("iri", link) for link in item.links if _IS_IRI.fullmatch(link)]
    yield "enc:enclosure", [Node("iri", file.url) for file in item.enclosures if _IS_IRI.fullmatch(file.url)]
    if has_own:
        return
    yield "rdf:type", [Node("iri", NAMESPACES["rss"] + "item")]
    yield "rss:title", _texts(item.title)
    yield "rss:link", _texts(item.link)
    yield "rss:description", _texts(text_of(item.summary))
    yield "content:encoded", _texts(item.content)
    yield "dc:creator", _texts(*item.authors)
    yield "dc:subject", _texts(*item.categories)
    yield "dc:language", _texts(item.language)
    yield "dc:identifier", _texts(item.identity)
    for name, value in item.extensions:
        yield name, _texts(value)


def _texts(*values: str) -> list[Node]:
    return [Node("literal", value) for value in values if value]


def _moments(moment: datetime | None) -> list[Node]:
    return [] if moment is None else [Node("literal", moment.isoformat(), NAMESPACES["xsd"] + "dateTime")]


def _predicate(name: str, declared: Mapping[str, str]) -> Node | None:
    """The IRI of a prefixed name: of a namespace known here, or declared by the item itself."""
    prefix, _, local = name.partition(":")
    namespace = NAMESPACES.get(prefix) or declared.get(prefix, "")
    iri = f"{namespace}{'' if namespace.endswith(('/', '#', ':')) else '#'}{local}"
    return Node("iri", iri) if namespace and _IS_IRI.fullmatch(iri) else None
