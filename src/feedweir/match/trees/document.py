"""An XML document as flat arrays, in document order, with every node's label path numbered.

Nodes are numbered as they are met: elements in pre-order from 0, then the attributes in document order. A label is the
qualified name as the document writes it (`title`, `dc:creator`), attributes with an `@` before it. Label paths repeat
within a document and from document to document, so what is known about one is remembered in a `PathTable`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from feedweir.errors import DocumentError
from feedweir.match.trees.embed_kernels import subtree_ends

_STRING_VALUE = etree.XPath("string()")


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeBounds:
    """What one document may cost; a document beyond a bound is refused, and only that document."""

    max_nodes: int = 2_000_000
    max_depth: int = 500
    max_witnesses: int = 1_000_000
    """Bindings (rows of R_binW) that one document may give."""
    max_value_chars: int = 1_000_000
    """A longer string value of a bound or compared node is refused."""


@dataclass(slots=True)
class PathTable:
    """Label paths by number: 0 is the empty path above the root. Grows with the vocabulary, never with the stream."""

    numbers: dict[tuple[int, str], int] = field(default_factory=dict)
    labels: list[str] = field(default_factory=lambda: [""])
    parents: list[int] = field(default_factory=lambda: [-1])

    def number(self, parent: int, label: str) -> int:
        key = (parent, label)
        known = self.numbers.get(key)
        if known is None:
            known = len(self.labels)
            self.numbers[key] = known
            self.labels.append(label)
            self.parents.append(parent)
        return known

    def depth(self, path: int) -> int:
        return len(self.names(path))

    def names(self, path: int) -> tuple[str, ...]:
        """The labels from the root down: for explanations."""
        above: list[str] = []
        while path > 0:
            above.append(self.labels[path])
            path = self.parents[path]
        return tuple(reversed(above))


@dataclass(frozen=True, slots=True)
class DocumentTree:
    """`paths[n]` is the number of node n's label path; `end[n]` the first element after n's subtree.

    `values_of` gives the string values of nodes as XPath defines them.
    """

    paths: NDArray[np.int32]
    parent: NDArray[np.int32]
    end: NDArray[np.int32]
    elements: int
    values_of: Callable[[Sequence[int]], list[str]]

    def __len__(self) -> int:
        return len(self.paths)

    def value(self, node: int) -> str:
        return self.values_of([node])[0]


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


def tree_of(root: Any, table: PathTable, bounds: TreeBounds) -> DocumentTree:
    """The arrays of a parsed document (an lxml element, taken as the root)."""
    nodes, parents, paths = _elements(root, table, bounds)
    count = len(nodes)
    values: list[str] = []
    for index, node in enumerate(nodes):
        for name, text in node.items():
            parents.append(index)
            paths.append(table.number(paths[index], "@" + _written(node, name)))
            values.append(text)
    if len(paths) > bounds.max_nodes:
        raise _too_large(bounds)

    def values_of(indexes: Sequence[int]) -> list[str]:
        texts = [values[at - count] if at >= count else _string_value(nodes[at]) for at in indexes]
        longest = max(map(len, texts), default=0)
        if longest > bounds.max_value_chars:
            raise DocumentError(
                f"a node's string value has {longest:,} characters, the bound is {bounds.max_value_chars:,}",
                hint="bind or compare a node further down",
            )
        return texts

    parent = np.array(parents, np.int32)
    return DocumentTree(np.array(paths, np.int32), parent, subtree_ends(parent, count), count, values_of)


def _elements(root: Any, table: PathTable, bounds: TreeBounds) -> tuple[list[Any], list[int], list[int]]:
    nodes: list[Any] = []
    parents: list[int] = []
    paths: list[int] = []
    known = table.numbers
    above: list[tuple[Any, int, int, int]] = [(root, -1, 0, 1)]
    while above:
        node, parent, path, depth = above.pop()
        tag = node.tag
        if not isinstance(tag, str):
            continue
        index = len(nodes)
        if depth > bounds.max_depth or index >= bounds.max_nodes:
            raise _too_large(bounds)
        label = tag if tag[0] != "{" else _qualified(node)
        own = known.get((path, label)) or table.number(path, label)
        nodes.append(node)
        parents.append(parent)
        paths.append(own)
        if len(node):
            above.extend([(child, index, own, depth + 1) for child in reversed(node)])
    return nodes, parents, paths


def _too_large(bounds: TreeBounds) -> DocumentError:
    return DocumentError(
        f"the document has more than {bounds.max_nodes:,} nodes or is deeper than {bounds.max_depth}",
        hint="split it into its items, or raise the bound",
    )


def _qualified(node: Any) -> str:
    local = str(node.tag).rpartition("}")[2]
    return f"{node.prefix}:{local}" if node.prefix else local


def _written(node: Any, name: str) -> str:
    """An attribute's name as the document writes it; lxml only keeps its namespace."""
    if name[0] != "{":
        return name
    uri, _, local = name[1:].partition("}")
    if uri == "http://www.w3.org/XML/1998/namespace":
        return f"xml:{local}"
    prefixes = sorted(prefix for prefix, known in node.nsmap.items() if prefix and known == uri)
    return f"{prefixes[0]}:{local}" if prefixes else local


def _string_value(node: Any) -> str:
    return (node.text or "") if not len(node) else str(_STRING_VALUE(node))
