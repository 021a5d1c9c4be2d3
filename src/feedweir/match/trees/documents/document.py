"""A document to be read into arrays: its bounds, and the bytes that the kernels read.

Nodes are numbered as they are met: elements in pre-order from 0, then the attributes in document order. A label is the
qualified name as the document writes it (`title`, `dc:creator`), attributes with an `@` before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from lxml import etree

from feedweir.errors import DocumentError


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeBounds:
    """What one document may cost; a document beyond a bound is refused, and only that document."""

    max_nodes: int = 2_000_000
    max_depth: int = 500
    max_witnesses: int = 1_000_000
    """Bindings (rows of R_binW) that one document may give."""
    max_value_chars: int = 1_000_000
    """A longer string value of a bound node is refused."""


@dataclass(frozen=True, slots=True)
class DocumentTree:
    """A parsed document, and the bytes that lxml writes of it."""

    root: Any
    xml: bytes


def parse_tree(xml: bytes | str) -> Any:
    """The root element of a document; one that declares entities is refused, and nothing is fetched."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False, remove_comments=True)
    try:
        root = etree.fromstring(xml.encode() if isinstance(xml, str) else xml, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise DocumentError(
            f"not well-formed XML: {error}", hint="tree patterns read XML documents only"
        ) from error
    declared: Any = root.getroottree().docinfo.internalDTD
    if declared is not None and any(True for _ in declared.iterentities()):
        raise DocumentError("the document declares entities", hint="write the characters themselves")
    return root


def tree_of(document: bytes | str | Any) -> DocumentTree:
    """A document given as XML text or as the lxml element that is its root."""
    root = parse_tree(document) if isinstance(document, bytes | str) else document
    return DocumentTree(root, etree.tostring(root, encoding="utf-8", with_tail=False))


def written_plainly(root: Any) -> bytes:
    """A document without CDATA sections and references; a reference that the parser did not resolve has no text."""
    return "".join(_written(root)).encode()


def _written(root: Any) -> Iterator[str]:
    for event, node in etree.iterwalk(root, events=("start", "end", "comment", "pi")):
        if event == "start" and isinstance(node.tag, str):
            attributes = (f" {name}={_quoted(value)}" for name, value in _attributes(node))
            yield f"<{_qualified(node)}{''.join(attributes)}>{escape(node.text or '')}"
        elif event == "end" and isinstance(node.tag, str):
            yield f"</{_qualified(node)}>"
        if event != "start" and node is not root:
            yield escape(node.tail or "")


def _quoted(value: str) -> str:
    return quoteattr(value, {'"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def _attributes(node: Any) -> Iterator[tuple[str, str]]:
    for name, value in node.items():
        yield (name if name[0] != "{" else _prefixed(node, name)), value


def _qualified(node: Any) -> str:
    local = str(node.tag).rpartition("}")[2]
    return f"{node.prefix}:{local}" if node.prefix else local


def _prefixed(node: Any, name: str) -> str:
    """An attribute's name as the document writes it; lxml keeps only its namespace."""
    uri, _, local = name[1:].partition("}")
    if uri == "http://www.w3.org/XML/1998/namespace":
        return f"xml:{local}"
    prefixes = sorted(prefix for prefix, known in node.nsmap.items() if prefix and known == uri)
    return f"{prefixes[0]}:{local}" if prefixes else local
