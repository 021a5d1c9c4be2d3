"""The item as RDF triples: those of its own in an RSS 1.0 item or an RDF document; for any other item, its attributes
in the same vocabularies.

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
from urllib.parse import quote

import pyoxigraph

from feedweir.items.model import Item
from feedweir.items.namespaces import NAMESPACES
from feedweir.items.rdf_terms import Node, Statement, is_iri, nodes_of
from feedweir.items.structured_data import has_structured_data, structured_data
from feedweir.text.html import text_of

__all__ = ["Node", "Statement", "subject_of", "triples_of"]

_DECLARED = re.compile(r"""\bxmlns:([A-Za-z_][\w.-]*)\s*=\s*["']([^"'<>\s]+)["']""")
_ITEM = re.compile(r"<(?:[\w.-]+:)?item\b[^>]*+")
_ABOUT = re.compile(r"[\s:]about\s*=")
_N_TRIPLES = re.compile(r"(?:<[^<>\s]++>|_:\w++) <[^<>\s]++> \S")
_RDF_DOCUMENT = re.compile(r"<(?:[\w.-]+:)?RDF\b")


def triples_of(item: Item) -> tuple[Statement, ...]:
    """The item's own triples, each once, in the order of the document; then those that follow from its attributes, and
    those that its HTML says as data."""
    raw = item.raw.lstrip()
    own: list[Statement] = []
    if _N_TRIPLES.match(raw):
        own = _own_triples(item, item.raw, pyoxigraph.RdfFormat.N_TRIPLES)
    elif _RDF_DOCUMENT.match(raw):
        own = _own_triples(item, item.raw, pyoxigraph.RdfFormat.RDF_XML)
    elif _is_rdf_item(raw):
        wrapped = f'<rdf:RDF xmlns:rdf="{NAMESPACES["rdf"]}">{item.raw}</rdf:RDF>'
        own = _own_triples(item, wrapped, pyoxigraph.RdfFormat.RDF_XML)
    subject = own[0].subject if own else subject_of(item)
    in_html = structured_data(item.raw, item.link) if has_structured_data(raw) else ()
    return tuple(dict.fromkeys([*own, *_mapped(item, subject, has_own=bool(own)), *in_html]))


def _is_rdf_item(raw: str) -> bool:
    tag = _ITEM.match(raw)
    return tag is not None and _ABOUT.search(tag[0]) is not None


def subject_of(item: Item) -> Node:
    """The subject of the triples of an item that is not RDF."""
    for address in (item.link, item.identity):
        if is_iri(address):
            return Node("iri", address)
    return Node("iri", f"urn:item:{quote(item.source, safe='')}:{quote(item.identity, safe='')}")


def _own_triples(item: Item, document: str, form: pyoxigraph.RdfFormat) -> list[Statement]:
    """The triples of an item of RSS 1.0, the one about the item first, or of a whole document, without those that have
    a bad IRI or are about triples; none when it is not RDF after all."""
    base = item.link if is_iri(item.link) else "urn:item:"
    try:
        found = list(
            pyoxigraph.parse(document.encode("utf-8", "replace"), format=form, base_iri=base, lenient=True)
        )
    except (SyntaxError, ValueError):
        return []
    return list(nodes_of(found, {}))


def _mapped(item: Item, subject: Node, *, has_own: bool) -> Iterator[Statement]:
    declared = declared_prefixes(item.raw) if item.extensions else {}
    for name, values in _attribute_values(item, has_own=has_own):
        iri = predicate_of(name, declared)
        if iri is not None:
            yield from (Statement(subject, Node("iri", iri), value) for value in values)


def _attribute_values(item: Item, *, has_own: bool) -> Iterator[tuple[str, Iterable[Node]]]:
    """(prefixed name, values). What an RSS 1.0 item states itself is not repeated."""
    yield "dc:date", _moments(item.published)
    yield "dcterms:modified", _moments(item.updated)
    yield "dcterms:references", [Node("iri", link) for link in item.links if is_iri(link)]
    yield "enc:enclosure", [Node("iri", file.url) for file in item.enclosures if is_iri(file.url)]
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


def declared_prefixes(raw: str) -> Mapping[str, str]:
    """The namespaces that an item's XML declares, by prefix."""
    return dict(_DECLARED.findall(raw))


def predicate_of(name: str, declared: Mapping[str, str]) -> str | None:
    """The IRI of a prefixed name: of a namespace that is known here or that the item declares."""
    prefix, _, local = name.partition(":")
    namespace = NAMESPACES.get(prefix) or declared.get(prefix, "")
    iri = f"{namespace}{'' if namespace.endswith(('/', '#', ':')) else '#'}{local}"
    return iri if namespace and is_iri(iri) else None
