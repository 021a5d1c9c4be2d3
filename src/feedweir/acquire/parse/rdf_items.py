"""RDF documents as feeds: an item for the whole default graph and for each named graph; or, cut by `per subject` or
`per TYPE`, an item for each thing that is described. A vocabulary is one item, with what it says is below what.

What is said of a blank node belongs to whoever refers to it. Per type, an item has everything that can be reached from
its subject, up to other subjects of the type.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

import pyoxigraph
from lxml import etree

from feedweir.acquire.parse.canonical import rdf_digest
from feedweir.acquire.parse.entries import NOTHING, Entries, FeedText, ParsedFeed, entries_of
from feedweir.acquire.parse.other_documents import feed_of_document, plain_xml
from feedweir.acquire.parse.rdf_graphs import RDF_XML, distinct, graphs_of, rdf_type_of
from feedweir.acquire.parse.rdf_vocabulary import VOCABULARY, said_below
from feedweir.errors import DocumentError
from feedweir.items.model import FeedDescription
from feedweir.items.namespaces import NAMESPACES
from feedweir.items.rdf_terms import is_iri
from feedweir.text.dates import epoch_us
from feedweir.text.html import escaped, one_line

Triples: TypeAlias = Sequence[pyoxigraph.Triple]
_Subject: TypeAlias = pyoxigraph.NamedNode | pyoxigraph.BlankNode

PER_SUBJECT = "subject"
_VOCABULARY = "urn:feedweir:vocabulary"
"""What a vocabulary goes by that is only pushed."""
_MOST_IN_ITEM = 10_000
"""Triples, so that what many refer to is not written into each of them without end."""
_MOST_UNCUT = 100_000
_MOST_IN_ALL = 2_000_000
_TYPE = NAMESPACES["rdf"] + "type"
_PROLOGUE = rb"<\?[^>]*+>|<!--(?:[^-]++|-(?!->))*+-->|<!DOCTYPE[^\[>]*+(?:\[[^\]]*+\]\s*+)?>"
_RDF_ROOT = re.compile(rb"\s*+(?:(?:" + _PROLOGUE + rb")\s*+)*+<(?:[\w.-]+:)?RDF\b")
_HAS_ITEM = re.compile(rb"<(?:[\w.-]+:)?(?:item|channel)\b")
_LOCAL_NAME = re.compile(r"[A-Za-z_][\w.-]*\Z")
_SCHEMA, _AS, _DOAP = (
    "http://schema.org/",
    "https://www.w3.org/ns/activitystreams#",
    "http://usefulinc.com/ns/doap#",
)
_DC, _TERMS, _RDFS = NAMESPACES["dc"], NAMESPACES["dcterms"], NAMESPACES["rdfs"]
_SAID: Mapping[str, tuple[str, ...]] = {
    "title": (
        f"{NAMESPACES['rss']}title",
        f"{_DC}title", f"{_TERMS}title", f"{_SCHEMA}headline", f"{_SCHEMA}name", f"{_AS}name", f"{_DOAP}name",
        f"{NAMESPACES['foaf']}name", f"{_RDFS}label", "http://www.w3.org/2004/02/skos/core#prefLabel",
    ),
    "summary": (
        f"{_DC}description", f"{_TERMS}description", f"{_SCHEMA}description", f"{_AS}summary", f"{_DOAP}shortdesc",
        f"{_DOAP}description", f"{_RDFS}comment",
    ),
    "content": (f"{NAMESPACES['content']}encoded", f"{_SCHEMA}articleBody", f"{_AS}content"),
    "published": (
        f"{_DC}date", f"{_TERMS}issued", f"{_TERMS}created", f"{_SCHEMA}datePublished", f"{_SCHEMA}dateCreated",
        f"{_AS}published", f"{_DOAP}created",
    ),
    "updated": (f"{_TERMS}modified", f"{_SCHEMA}dateModified", f"{_AS}updated"),
    "link": (f"{_SCHEMA}url", f"{_AS}url", f"{_DOAP}homepage", f"{NAMESPACES['foaf']}homepage"),
    "authors": (f"{_DC}creator", f"{_TERMS}creator", f"{_SCHEMA}author", f"{_AS}attributedTo", f"{_AS}actor"),
    "categories": (f"{_DC}subject", f"{_TERMS}subject", f"{_SCHEMA}keywords", f"{_SCHEMA}genre"),
}  # fmt: skip
"""By attribute of an item, the properties that say it, the best first."""
_HTML = (f"{NAMESPACES['content']}encoded", f"{_AS}content", f"{_AS}summary")


@dataclass(frozen=True, slots=True)
class _Cut:
    """An item to be: its triples, what they are about, and the name it goes by."""

    triples: Triples
    subject: _Subject | None
    name: str


def is_rdf(document: FeedText) -> bool:
    """Whether a document is RDF, and not a feed of RSS 1.0."""
    if rdf_type_of(document.media_type, document.url):
        return True
    return is_rdf_xml(document.text) or _is_json_ld(document.text)


def is_rdf_xml(text: bytes) -> bool:
    return _RDF_ROOT.match(text) is not None and _HAS_ITEM.search(text) is None


def _is_json_ld(text: bytes) -> bool:
    head = text[:2_000]
    return text[:1] == b"{" and b'"@context"' in head and b"jsonfeed.org" not in head


def read_rdf(document: FeedText) -> ParsedFeed:
    """The items of a document of RDF."""
    kind = rdf_type_of(document.media_type, document.url)
    kind = kind or (RDF_XML if is_rdf_xml(document.text) else "application/ld+json")
    text = plain_xml(document.text) if kind == RDF_XML else document.text
    found = graphs_of(text, kind, document.url)
    if document.cut == VOCABULARY:
        cuts = [_Cut(said_below(found.graphs.values()), None, document.url or _VOCABULARY)]
    else:
        cuts = list(_cuts(found.graphs, document.cut))
    if not cuts:
        what = f"nothing of <{document.cut}>" if document.cut not in ("", PER_SUBJECT) else "no triple"
        raise DocumentError(f"the document contains {what}")
    kept = cuts[: document.max_items]
    warnings = found.warnings
    if any(document.cut and len(cut.triples) == _MOST_IN_ITEM for cut in kept):
        warnings += (f"of an entry {_MOST_IN_ITEM:,} triples are kept, and the rest is left out",)
    if len(kept) < len(cuts):
        warnings += (f"the document has {len(cuts)} entries: only the first {len(kept)} are read",)
    return ParsedFeed(FeedDescription(link=document.url), _entries(kept, document), (), warnings)


def _cuts(graphs: Mapping[str, Triples], cut: str) -> Iterator[_Cut]:
    total = 0
    for name, triples in graphs.items():
        whole = distinct(triples)
        if not cut and len(whole) > _MOST_UNCUT:
            raise DocumentError(
                f"a graph of {len(whole):,} triples is too large for an item, which may have {_MOST_UNCUT:,}",
                hint="cut it into items: alter feed NAME per subject",
            )
        if not cut:
            label = name if is_iri(name) else ""
            yield _Cut(whole, whole[0].subject if whole else None, label)  # type: ignore[arg-type]
            continue
        for one in _described(whole, cut):
            total += len(one.triples)
            if total > _MOST_IN_ALL:
                raise DocumentError(f"cut so, the document has more than {_MOST_IN_ALL:,} triples")
            yield one


def _described(triples: Triples, cut: str) -> Iterator[_Cut]:
    """The things that are described, in the order in which they are."""
    said: dict[Any, list[pyoxigraph.Triple]] = defaultdict(list)
    for triple in triples:
        said[triple.subject].append(triple)
    if cut == PER_SUBJECT:
        inner = {one.object for one in triples if isinstance(one.object, pyoxigraph.BlankNode)}
        subjects = [one for one in said if one not in inner]
        stops: set[Any] = {one for one in said if isinstance(one, pyoxigraph.NamedNode)}
    else:
        kind = pyoxigraph.NamedNode(cut)
        subjects = list(
            dict.fromkeys(
                one.subject for one in triples if one.predicate.value == _TYPE and one.object == kind
            )
        )
        stops = set(subjects)
    for subject in subjects:
        name = subject.value if isinstance(subject, pyoxigraph.NamedNode) else ""
        yield _Cut(_reached(subject, said, stops), subject, name)


def _reached(subject: Any, said: Mapping[Any, Triples], stops: set[Any]) -> Triples:
    """What is said of a subject, and of what that refers to."""
    found: list[pyoxigraph.Triple] = []
    seen, waiting = {subject}, [subject]
    while waiting and len(found) < _MOST_IN_ITEM:
        for triple in said.get(waiting.pop(0), ()):
            found.append(triple)
            if triple.object not in seen and triple.object in said and triple.object not in stops:
                seen.add(triple.object)
                waiting.append(triple.object)
    return found[:_MOST_IN_ITEM]


# What an item says


def _entries(cuts: Sequence[_Cut], document: FeedText) -> Entries:
    return entries_of(_entry(cut, document) for cut in cuts)


def _entry(cut: _Cut, document: FeedText) -> dict[str, Any]:
    raw = raw_of(cut.triples)
    entry = _as_document(raw, document) if raw.startswith(b"<rdf:RDF") else {}
    for name, value in _attributes(cut).items():
        if not entry.get(name):
            entry[name] = value
    name = cut.name or (cut.subject.value if isinstance(cut.subject, pyoxigraph.NamedNode) else "")
    entry["guid"] = cut.name or entry.get("guid") or name
    if name.startswith(("http://", "https://")):
        entry["link"] = entry.get("link") or name
    if not entry.get("title"):
        literals = (one.object for one in cut.triples if isinstance(one.object, pyoxigraph.Literal))
        entry["title"] = one_line(" ".join(one.value[:300] for one in islice(literals, 300)))[:300] or name
    return entry | {"raw": raw, "whole": rdf_digest(cut.triples)}


def raw_of(triples: Triples) -> bytes:
    """Triples as RDF/XML, or as N-Triples where XML has no name for a property."""
    if all(_LOCAL_NAME.search(triple.predicate.value) for triple in triples):
        written = pyoxigraph.serialize(triples, format=pyoxigraph.RdfFormat.RDF_XML)
        assert written is not None
        return written[written.index(b"<rdf:RDF") :]
    written = pyoxigraph.serialize(triples, format=pyoxigraph.RdfFormat.N_TRIPLES)
    assert written is not None
    return written


def _as_document(raw: bytes, document: FeedText) -> dict[str, Any]:
    """The attributes that its elements would give an item of a feed."""
    try:
        entries = feed_of_document(etree.fromstring(raw), document.url).entries
    except (etree.XMLSyntaxError, DocumentError):
        return {}
    return {name: getattr(entries, name)[0] for name in NOTHING}


def _attributes(cut: _Cut) -> dict[str, Any]:
    by_property: dict[str, list[Any]] = defaultdict(list)
    names: dict[Any, str] = {}
    for triple in cut.triples:
        if triple.subject == cut.subject:
            by_property[triple.predicate.value].append(triple.object)
        if triple.predicate.value in _SAID["title"] and isinstance(triple.object, pyoxigraph.Literal):
            names.setdefault(triple.subject, triple.object.value)
    found: dict[str, Any] = {}
    for attribute, properties in _SAID.items():
        said = [
            (name, value) for name in properties for value in by_property.get(name, ()) if _text(value, names)
        ]
        texts = [_text(value, names) for _, value in said]
        if not texts:
            continue
        if attribute in ("authors", "categories"):
            found[attribute] = tuple(dict.fromkeys(map(one_line, texts)))
        elif attribute in ("published", "updated"):
            found[attribute] = next((time for time in map(epoch_us, texts) if time is not None), None)
        elif attribute == "link":
            found[attribute] = next((text for text in texts if text.startswith(("http://", "https://"))), "")
        elif attribute == "title":
            found[attribute] = one_line(texts[0])
        else:
            found[attribute] = texts[0] if said[0][0] in _HTML else escaped(texts[0])
    return found


def _text(value: Any, names: Mapping[Any, str]) -> str:
    """A literal's text; the name of a thing, or its address."""
    if isinstance(value, pyoxigraph.Literal):
        return str(value.value)
    return names.get(value, str(value.value) if isinstance(value, pyoxigraph.NamedNode) else "")
