"""RDF in any of its forms as triples by graph. One bad IRI leaves out its triple, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

import pyoxigraph

from feedweir.errors import DocumentError
from feedweir.items.json_ld_contexts import json_ld_of
from feedweir.items.rdf_terms import is_iri

RDF_XML = "application/rdf+xml"
JSON_LD = "application/ld+json"
FORMATS = {
    "text/turtle": pyoxigraph.RdfFormat.TURTLE,
    "application/x-turtle": pyoxigraph.RdfFormat.TURTLE,
    "application/n-triples": pyoxigraph.RdfFormat.N_TRIPLES,
    "application/n-quads": pyoxigraph.RdfFormat.N_QUADS,
    "application/trig": pyoxigraph.RdfFormat.TRIG,
    "text/n3": pyoxigraph.RdfFormat.N3,
    JSON_LD: pyoxigraph.RdfFormat.JSON_LD,
    "application/activity+json": pyoxigraph.RdfFormat.JSON_LD,
}
_SUFFIXES = {
    "ttl": "text/turtle",
    "nt": "application/n-triples",
    "nq": "application/n-quads",
    "trig": "application/trig",
    "n3": "text/n3",
    "jsonld": JSON_LD,
}
_UNTOLD = ("", "text/plain", "application/octet-stream", "binary/octet-stream")
MAX_TRIPLES = 1_000_000


@dataclass(frozen=True, slots=True)
class RdfGraphs:
    """The triples of a document by the name of their graph, which is empty for the default graph."""

    graphs: dict[str, list[pyoxigraph.Triple]]
    warnings: tuple[str, ...] = ()


def rdf_type_of(media_type: str, url: str = "") -> str:
    """The media type of RDF in a form other than XML; empty for all else. Where the server's media type is too general,
    the suffix of the address decides."""
    kind = media_type.partition(";")[0].strip().lower()
    if kind in FORMATS:
        return kind
    return _SUFFIXES.get(urlsplit(url).path.rpartition(".")[2].lower(), "") if kind in _UNTOLD else ""


def graphs_of(body: bytes, media_type: str, base: str = "") -> RdfGraphs:
    """All triples of a document; raises `DocumentError` for what cannot be read. Nothing is loaded from elsewhere."""
    kind = media_type.partition(";")[0].strip().lower()
    form = pyoxigraph.RdfFormat.RDF_XML if kind == RDF_XML else FORMATS[kind]
    warnings: tuple[str, ...] = ()
    if form == pyoxigraph.RdfFormat.JSON_LD:
        body, warnings = json_ld_of(body)
    graphs: dict[str, list[pyoxigraph.Triple]] = {}
    left_out = nested = 0
    try:
        quads = pyoxigraph.parse(body, format=form, base_iri=base if is_iri(base) else None, lenient=True)
        for count, quad in enumerate(quads):
            if count >= MAX_TRIPLES:
                raise DocumentError(f"the document has more than {MAX_TRIPLES:,} triples")
            triple = quad.triple
            if isinstance(triple.object, pyoxigraph.Triple) or isinstance(triple.subject, pyoxigraph.Triple):
                nested += 1
            elif not has_good_iris(triple):
                left_out += 1
            else:
                graphs.setdefault(_name(quad.graph_name), []).append(triple)
    except (SyntaxError, ValueError, OSError) as error:
        reason = str(error.msg if isinstance(error, SyntaxError) else error)[:200]
        raise DocumentError(f"this is not {kind}: {reason}") from None
    if left_out:
        warnings += (f"{_counted(left_out)} with an IRI that is none, which are left out",)
    if nested:
        warnings += (f"{_counted(nested)} about triples, which are left out",)
    return RdfGraphs(graphs, warnings)


def has_good_iris(triple: pyoxigraph.Triple) -> bool:
    """Whether all IRIs of a triple are absolute and have legal characters only."""
    named = [term for term in (triple.subject, triple.predicate, triple.object) if _is_named(term)]
    return all(is_iri(term.value) for term in named)  # type: ignore[union-attr]


def distinct(triples: Iterable[pyoxigraph.Triple]) -> list[pyoxigraph.Triple]:
    """Each triple once, in order."""
    return list(dict.fromkeys(triples))


def _is_named(term: object) -> bool:
    return isinstance(term, pyoxigraph.NamedNode)


def _name(graph: object) -> str:
    return str(graph.value) if isinstance(graph, pyoxigraph.NamedNode | pyoxigraph.BlankNode) else ""


def _counted(count: int) -> str:
    return "1 triple" if count == 1 else f"{count} triples"
