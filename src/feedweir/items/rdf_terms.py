"""RDF terms and triples as plain values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple, TypeAlias

import pyoxigraph

_IS_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|\\^`]+")
_XSD_STRING = "http://www.w3.org/2001/XMLSchema#string"


class Node(NamedTuple):
    """An IRI, a blank node or a literal; `datatype` (an IRI) and `language` are for literals."""

    kind: Literal["iri", "blank", "literal"]
    value: str
    datatype: str = ""
    language: str = ""


def format_node(node: Node) -> str:
    """A term as it is written in patterns."""
    if node.kind == "iri":
        return f"<{node.value}>"
    if node.kind == "blank":
        return f"_:{node.value}"
    text = node.value.replace("'", "''")
    kind = f"@{node.language}" if node.language else f"^^<{node.datatype}>" if node.datatype else ""
    return f"'{text}'{kind}"


class Statement(NamedTuple):
    """One triple; subjects are IRIs or blank nodes, predicates are IRIs."""

    subject: Node
    predicate: Node
    object: Node


def is_iri(text: str) -> bool:
    """Whether a text is an absolute IRI, of legal characters."""
    return _IS_IRI.fullmatch(text) is not None


def nodes_of(parsed: Iterable[Any], blanks: dict[str, str], prefix: str = "") -> Iterator[Statement]:
    """What a parser found, without triples that have a bad IRI or are about triples. Blank nodes are numbered in
    order, after a prefix: the parser's own labels differ each time."""
    for quad in parsed:
        terms = quad.subject, quad.predicate, quad.object
        if all(map(_is_readable, terms)):
            yield Statement(*(_node(term, blanks, prefix) for term in terms))


def _is_readable(term: object) -> bool:
    if isinstance(term, pyoxigraph.NamedNode):
        return is_iri(term.value)
    return not isinstance(term, pyoxigraph.Triple)


def _node(term: object, blanks: dict[str, str], prefix: str) -> Node:
    if isinstance(term, pyoxigraph.Literal):
        datatype = "" if term.language or term.datatype.value == _XSD_STRING else term.datatype.value
        return Node("literal", term.value, datatype, (term.language or "").lower())
    if isinstance(term, pyoxigraph.BlankNode):
        return Node("blank", blanks.setdefault(term.value, f"{prefix}{len(blanks)}"))
    assert isinstance(term, pyoxigraph.NamedNode)
    return Node("iri", term.value)


Bound: TypeAlias = tuple[tuple[str, Node], ...]
"""Variables with their terms, in the order of SELECT; what an OPTIONAL did not bind is left out."""
