"""Digests of documents that are equal for two ways to write the same content.

Of XML, names count with their namespaces and not with their prefixes, and neither comments nor the order of attributes
do. Of RDF, neither the order of triples nor the names of blank nodes do; of JSON, neither the order of keys nor spaces.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pyoxigraph
from lxml import etree

_MAX_LOOKED_UP = 100
_ROUNDS = 16
"""How many steps around a blank node count to distinguish it from others; each costs one pass over the triples."""


def xml_digest(root: etree._Element) -> str:
    return _digest(_written(root))


def rdf_digest(triples: Iterable[pyoxigraph.Triple]) -> str:
    """Blank nodes are identified by the triples around them."""
    distinct = list(set(triples))
    names: dict[Any, str] = {
        node: "" for triple in distinct for node in (triple.subject, triple.object) if _is_blank(node)
    }
    for _ in range(min(_ROUNDS, len(names))):
        around: dict[Any, list[str]] = {node: [name] for node, name in names.items()}
        for triple in distinct:
            line = _line(triple, names)
            for role, node in (("s", triple.subject), ("o", triple.object)):
                if node in around:
                    around[node].append(role + line)
        names = {node: _digest(sorted(lines)) for node, lines in around.items()}
    lines = Counter(_line(triple, names) for triple in distinct)
    return _digest(f"{count} {line}\n" for line, count in sorted(lines.items()))


def attributes_of(element: etree._Element) -> list[tuple[str, str]]:
    """Names and values, in their order; lxml's own list of them looks up each value by its name."""
    if len(element.attrib) <= _MAX_LOOKED_UP:
        return [(str(name), str(value)) for name, value in element.items()]
    values: Any = element.xpath("@*")
    return [(value.attrname, str(value)) for value in values]


def json_digest(value: Any) -> str:
    return _digest([json.dumps(_plain(value), sort_keys=True, separators=(",", ":"))])


def _digest(pieces: Iterable[str]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for piece in pieces:
        digest.update(piece.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _written(root: etree._Element) -> Iterator[str]:
    for event, element in etree.iterwalk(root, events=("start", "end", "comment", "pi")):
        if event == "start":
            yield f"<{element.tag}"
            yield from (f' {name}="{_escaped(value)}"' for name, value in sorted(attributes_of(element)))
            yield f">{_escaped(element.text)}"
            continue
        if event == "end":
            yield "</>"
        if element is not root:
            yield _escaped(element.tail)


def _escaped(text: str | None) -> str:
    return (text or "").replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")


def _is_blank(node: object) -> bool:
    return isinstance(node, pyoxigraph.BlankNode)


def _line(triple: pyoxigraph.Triple, names: dict[Any, str]) -> str:
    return " ".join(
        f"_:{names[node]}" if node in names else str(node)
        for node in (triple.subject, triple.predicate, triple.object)
    )


def _plain(value: Any) -> Any:
    """The value with whole numbers as integers: 1.0 is 1."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
