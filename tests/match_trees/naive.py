"""The obvious meaning of tree patterns: try every node for every step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lxml import etree

from feedweir.match.trees.tree_codes import number_of
from feedweir.plan.predicates import PatternNode, TreePattern


class Node:
    def __init__(self, name: str, value: str, parent: Node | None) -> None:
        self.name, self.value, self.parent = name, value, parent
        self.children: list[Node] = []
        self.number = -1


def document(root: Any) -> list[Node]:
    """All nodes, numbered: elements in pre-order, then attributes."""
    elements: list[Node] = []
    attributes: list[Node] = []

    def walk(element: Any, parent: Node | None) -> None:
        name = etree.QName(element).localname
        node = Node(
            f"{element.prefix}:{name}" if element.prefix else name, "".join(element.itertext()), parent
        )
        elements.append(node)
        if parent is not None:
            parent.children.append(node)
        for key, value in element.attrib.items():
            attribute = Node("@" + key, value, node)
            node.children.append(attribute)
            attributes.append(attribute)
        for child in element:
            walk(child, node)

    walk(root, None)
    nodes = elements + attributes
    for number, node in enumerate(nodes):
        node.number = number
    return nodes


def embeddings(pattern: TreePattern, nodes: list[Node]) -> Iterator[dict[int, int]]:
    """Every embedding, as pattern node (in pre-order) → node number."""
    starts = [node for node in nodes if pattern.root.axis == "//" or node.parent is None]
    for start in starts:
        yield from _embed(pattern.root, start, 0)


def _size(pattern: PatternNode) -> int:
    return 1 + sum(map(_size, pattern.children))


def _embed(pattern: PatternNode, node: Node, place: int) -> Iterator[dict[int, int]]:
    if not _fits(pattern, node):
        return
    partial: list[dict[int, int]] = [{place: node.number}]
    below = place + 1
    for child in pattern.children:
        candidates = node.children if child.axis == "/" else list(_descendants(node))
        found = [one for candidate in candidates for one in _embed(child, candidate, below)]
        partial = [left | right for left in partial for right in found]
        below += _size(child)
    yield from partial


def _descendants(node: Node) -> Iterator[Node]:
    for child in node.children:
        yield child
        yield from _descendants(child)


def _fits(pattern: PatternNode, node: Node) -> bool:
    is_attribute = node.name.startswith("@")
    if pattern.name == "*":
        named = not is_attribute
    elif pattern.name == "@*":
        named = is_attribute
    else:
        named = pattern.name == node.name
    return named and _compares(pattern, node.value)


def _compares(pattern: PatternNode, text: str) -> bool:
    if pattern.op is None:
        return True
    if isinstance(pattern.value, str) and pattern.op in ("=", "!="):
        return (text == pattern.value) == (pattern.op == "=")
    value = number_of(pattern.value) if isinstance(pattern.value, str) else float(pattern.value or 0)
    number = number_of(text)
    return {
        "=": number == value,
        "!=": number != value,
        "<": number < value,
        "<=": number <= value,
        ">": number > value,
        ">=": number >= value,
    }[pattern.op]
