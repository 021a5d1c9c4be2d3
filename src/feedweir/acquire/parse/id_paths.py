"""Ids that a registration names by a path: `//order/@number`.

A path has steps, `/` to what is directly inside and `//` to what is inside at any depth, each to a name, `*` or
`@name`. It is asked of an item's own text: its XML, from its root on, or its JSON, from what is inside its object on.
A registration that cuts documents of RDF into items says so in the same place: `per subject`, or `per` and the IRI of a
type.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from lxml import etree

from feedweir.acquire.parse.canonical import attributes_of
from feedweir.acquire.parse.entries import ParsedFeed
from feedweir.items.tree import root_of

_STEP = re.compile(r"(//?)([^/]+)")


class _Step(NamedTuple):
    is_deep: bool
    name: str


class _Above(NamedTuple):
    """The parent of a root."""

    root: etree._Element


_CUT = "per "


def cut_of(path: str) -> str:
    """How documents of RDF are cut; empty if the path names ids."""
    return path.removeprefix(_CUT) if path.startswith(_CUT) else ""


def identified(feed: ParsedFeed, path: str) -> ParsedFeed:
    """The feed with the ids that a path names; entries without one keep theirs, with a warning."""
    if cut_of(path):
        return feed
    missing = 0
    for place, raw in enumerate(feed.entries.raw if path else ()):
        found = id_in(raw.decode("utf-8", "replace"), path)
        feed.entries.guid[place] = found or feed.entries.guid[place]
        missing += not found
    entries = "1 entry has" if missing == 1 else f"{missing} entries have"
    return feed.warned(f"{entries} no id at {path}" if missing else "")


def id_in(raw: str, path: str) -> str:
    """The first text that a path leads to; empty when there is none."""
    root = root_of(raw)
    try:
        above = json.loads(raw) if root is None else _Above(root)
    except (ValueError, RecursionError):
        return ""
    return _found(above, _steps(path), frozenset((0,)))


@lru_cache(1024)
def _steps(path: str) -> tuple[_Step, ...]:
    return tuple(_Step(axis == "//", name) for axis, name in _STEP.findall(path))


def _found(node: Any, steps: tuple[_Step, ...], waiting: frozenset[int]) -> str:
    """`waiting` are the steps that may come next: each element is visited once, whatever the path."""
    for names, inner in _inside(node):
        taken = {step + 1 for step in waiting if _is_named(steps[step].name, names)}
        text = _text(inner) if len(steps) in taken else ""
        onward = {step for step in waiting if steps[step].is_deep} | taken - {len(steps)}
        text = text or (_found(inner, steps, frozenset(onward)) if onward else "")
        if text:
            return text
    return ""


def _is_named(name: str, names: tuple[str, ...]) -> bool:
    return name in names or (name == "*" and names[0][0] != "@")


def _inside(node: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The content of a node, attributes included, each with the names that it may be called by."""
    if isinstance(node, _Above):
        yield _names(node.root), node.root
    elif isinstance(node, etree._Element):
        for name, value in attributes_of(node):
            yield (f"@{etree.QName(name).localname}",), value
        for child in node.iterchildren(etree.Element):
            yield _names(child), child
    elif isinstance(node, dict):
        for key, value in node.items():
            for each in value if isinstance(value, list) else [value]:
                # Names that JSON Feed does not define were landed with an underscore, as its extensions are.
                yield (key, key.removeprefix("_")), each


def _names(element: etree._Element) -> tuple[str, ...]:
    local = etree.QName(element).localname
    return (local, f"{element.prefix}:{local}") if element.prefix else (local,)


def _text(node: Any) -> str:
    if isinstance(node, etree._Element):
        node = "".join(map(str, node.itertext()))
    is_text = isinstance(node, str | int | float) and not isinstance(node, bool)
    return " ".join(str(node).split()) if is_text else ""
