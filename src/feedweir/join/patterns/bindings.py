"""The embeddings of a tree pattern in one item: the string values that its variables take."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from operator import eq, ge, gt, le, lt, ne
from typing import Any, TypeAlias

from lxml import etree

from feedweir.items.model import Item
from feedweir.items.tree import tree_of
from feedweir.match.meaning.effort import Effort
from feedweir.match.trees.tree_codes import number_of
from feedweir.plan.predicates import PatternNode, TreePattern

Embedding: TypeAlias = tuple[tuple[str, str], ...]
"""(variable, string value), by variable."""

MAX_EMBEDDINGS = 10_000
"""The most embeddings that are given: a pattern such as //*->x[.//*->y] has one for each pair of nodes."""

_NODE_STEPS, _VALUE_STEPS, _CHARACTERS_A_STEP = 10, 20, 100
"""The steps that visiting a node counts for, and reading its text."""

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": eq,
    "!=": ne,
    "<": lt,
    "<=": le,
    ">": gt,
    ">=": ge,
}
_XML = "http://www.w3.org/XML/1998/namespace"


def bindings(pattern: TreePattern, item: Item, wanted: frozenset[str]) -> tuple[Embedding, ...]:
    """The embeddings that differ in a wanted variable. Branches are tried in all combinations, so steps are counted."""
    document = etree.Element("document")
    document.append(tree_of(item))
    found = (_named(one, wanted) for one in _below(pattern.root, document, Effort()))
    return tuple(dict.fromkeys(islice(found, MAX_EMBEDDINGS)))


def _named(embedding: dict[str, str], wanted: frozenset[str]) -> Embedding:
    return tuple(sorted((variable, value) for variable, value in embedding.items() if variable in wanted))


def _below(step: PatternNode, above: Any, effort: Effort) -> Iterator[dict[str, str]]:
    for node in _reached(step, above, effort):
        yield from _at(step, node, effort)


def _at(step: PatternNode, node: Any, effort: Effort) -> Iterator[dict[str, str]]:
    """The embeddings of a step and its branches at a node; branches are independent of each other."""
    value = node if isinstance(node, str) else str(node.xpath("string()"))
    effort.take(_VALUE_STEPS + len(value) // _CHARACTERS_A_STEP)
    if step.op is not None and step.value is not None and not _compares(value, step.op, step.value):
        return
    bound = {step.variable: value} if step.variable else {}
    yield from _branches(step.children, node, bound, effort)


def _branches(
    branches: tuple[PatternNode, ...], node: Any, bound: dict[str, str], effort: Effort
) -> Iterator[dict[str, str]]:
    if not branches:
        yield bound
        return
    for one in _below(branches[0], node, effort):
        yield from _branches(branches[1:], node, {**bound, **one}, effort)


def _reached(step: PatternNode, above: Any, effort: Effort) -> Iterator[Any]:
    if isinstance(above, str):
        return
    if step.name.startswith("@"):
        for owner in [above] if step.axis == "/" else above.iter(etree.Element):
            effort.take(_NODE_STEPS)
            yield from _attributes(owner, step.name)
        return
    for node in (
        above.iterchildren(etree.Element) if step.axis == "/" else above.iterdescendants(etree.Element)
    ):
        effort.take(_NODE_STEPS)
        if step.name in ("*", _element_name(node)):
            yield node


def _attributes(owner: Any, wanted: str) -> list[str]:
    return [
        str(value)
        for name, value in owner.attrib.items()
        if wanted in ("@*", f"@{_attribute_name(owner, name)}")
    ]


def _element_name(node: Any) -> str:
    local = etree.QName(node).localname
    return f"{node.prefix}:{local}" if node.prefix else local


def _attribute_name(owner: Any, name: str) -> str:
    """As the document writes it: lxml only keeps the namespace."""
    if not name.startswith("{"):
        return name
    uri, _, local = name[1:].partition("}")
    if uri == _XML:
        return f"xml:{local}"
    prefixes = sorted(prefix for prefix, known in owner.nsmap.items() if prefix and known == uri)
    return f"{prefixes[0]}:{local}" if prefixes else local


def _compares(found: str, op: str, wanted: str | float) -> bool:
    """As XPath does: texts for = and !=, numbers for the rest."""
    if isinstance(wanted, str) and op in ("=", "!="):
        return _COMPARISONS[op](found, wanted)
    number = number_of(wanted) if isinstance(wanted, str) else wanted
    return _COMPARISONS[op](number_of(found), number)
