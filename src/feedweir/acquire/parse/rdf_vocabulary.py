"""The triples of a vocabulary that say what is below what, in RDF of any form."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyoxigraph

from feedweir.errors import DocumentError
from feedweir.items.namespaces import NAMESPACES
from feedweir.items.rdf_terms import Statement

VOCABULARY = "vocabulary"
MOST_SAID = 20_000
"""Pairs of a class or property and a broader one that a vocabulary may say."""
BELOW = {
    NAMESPACES["rdfs"] + "subClassOf": "class",
    NAMESPACES["rdfs"] + "subPropertyOf": "property",
}
"""By property what it says something of."""


def said_below(graphs: Iterable[Sequence[pyoxigraph.Triple]]) -> list[pyoxigraph.Triple]:
    """What all graphs of a document say of classes and properties with IRIs, each thing once."""
    found = dict.fromkeys(one for graph in graphs for one in graph if _is_said(one))
    if not found:
        raise DocumentError(
            "the document says of no class that it is below another, and of no property",
            hint="a vocabulary is RDF with rdfs:subClassOf or rdfs:subPropertyOf",
        )
    if len(found) > MOST_SAID:
        raise DocumentError(
            f"the document says {len(found):,} times that a class or property is below another; a vocabulary "
            f"may say so {MOST_SAID:,} times"
        )
    return list(found)


def _is_said(triple: pyoxigraph.Triple) -> bool:
    ends = triple.subject, triple.object
    return (
        triple.predicate.value in BELOW
        and all(isinstance(one, pyoxigraph.NamedNode) for one in ends)
        and triple.subject != triple.object
    )


def taxonomy_lines(facts: Iterable[Statement]) -> list[str]:
    """The lines of a taxonomy that says the same (`plan.taxonomies`), in order."""
    broader: dict[tuple[str, str], set[str]] = {}
    for subject, predicate, other in facts:
        if predicate.value in BELOW:
            broader.setdefault((BELOW[predicate.value], subject.value), set()).add(other.value)
    return [" ".join((kind, narrow, *sorted(broad))) for (kind, narrow), broad in sorted(broader.items())]
