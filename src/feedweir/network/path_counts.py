"""What documents are like, as far as costs need it: counted label paths, with the sizes and values of their nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from feedweir.match.trees.tree_codes import EXISTS
from feedweir.network.path_kernels import tuples_of
from feedweir.network.view_arrays import CONDITION, CONT, NODE, VAL, BranchArrays, Names
from feedweir.optimize.tree_containment import satisfies

ID_BYTES = 6
"""A structural id, told from the one before it."""
MAX_VALUES = 2_000
"""Different values that are counted of a path; the others count as values that nothing asks for."""
UNSEEN = 0.5
"""As how many nodes those count that were never seen."""


@dataclass(slots=True)
class PathCount:
    """What was counted of the nodes with one path."""

    above: int
    label: str
    nodes: int = 0
    value_bytes: int = 0
    tree_bytes: int = 0
    values: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class LabelPaths:
    """The paths of some documents; each stands after the one above it."""

    documents: int
    paths: tuple[PathCount, ...]

    @cached_property
    def document_nodes(self) -> float:
        return sum(path.nodes for path in self.paths) / max(self.documents, 1)

    @cached_property
    def by_label(self) -> dict[str, list[PathCount]]:
        found: dict[str, list[PathCount]] = {}
        for path in self.paths:
            for name in (path.label, "@*" if path.label.startswith("@") else "*"):
                found.setdefault(name, []).append(path)
        return found


class Estimates(NamedTuple):
    """What is expected of branches, for each document."""

    tuples: NDArray[np.float64]
    ask_bytes: NDArray[np.float64]
    """Of each part of a branch that must be covered, its bytes in a tuple."""
    ask_share: NDArray[np.float64]
    """Of each condition, the share of nodes that satisfy it; of all else 1."""


def count_paths(documents: Iterable[Any]) -> LabelPaths:
    """Count the label paths of documents, given by their root elements."""
    places: dict[tuple[int, str], int] = {}
    paths: list[PathCount] = []
    count = 0

    def path_of(above: int, label: str) -> int:
        place = places.setdefault((above, label), len(paths))
        if place == len(paths):
            paths.append(PathCount(above, label))
        return place

    def add(place: int, value: str, tree_bytes: int) -> None:
        path = paths[place]
        path.nodes += 1
        path.value_bytes += len(value)
        path.tree_bytes += tree_bytes
        if value in path.values or len(path.values) < MAX_VALUES:
            path.values[value[:64]] += 1

    def walk(element: Any, above: int) -> tuple[int, str]:
        label = (
            element.tag if element.prefix is None else f"{element.prefix}:{etree.QName(element).localname}"
        )
        place = path_of(above, etree.QName(element).localname if element.prefix is None else label)
        size, texts = 5 + 2 * len(label), [element.text or ""]
        for name, value in element.attrib.items():
            add(path_of(place, f"@{etree.QName(name).localname}"), value, len(value))
            size += len(name) + len(value) + 4
        for child in element:
            if isinstance(child.tag, str):
                more, text = walk(child, place)
                size += more
                texts.append(text)
            texts.append(child.tail or "")
        value = "".join(texts)
        size += sum(map(len, (element.text or "", *((child.tail or "") for child in element))))
        add(place, value, size)
        return size, value

    for document in documents:
        count += 1
        walk(document, -1)
    return LabelPaths(count, tuple(paths))


def estimates(branches: BranchArrays, names: Names, known: LabelPaths) -> Estimates:
    """How many tuples each branch has in a document, and how large their parts are."""
    label_of = {code: name for name, code in names.labels.items()}
    text_of = {code: text for text, code in names.texts.items()}
    ask_node = branches.ask_node + np.repeat(branches.first[:-1], np.diff(branches.asked))
    kept: dict[tuple[int, int, int, float], float] = {}
    keeps = np.ones(len(branches.label))
    for node in np.flatnonzero(branches.op != EXISTS).tolist():
        op, text = int(branches.op[node]), int(branches.text[node])
        key = (int(branches.label[node]), op, text, float(branches.number[node]))
        if key not in kept:
            condition = (op, text_of[text], key[3])
            kept[key] = _share(known.by_label.get(label_of[key[0]], []), condition)
        keeps[node] = kept[key]
    sizes = {code: _sizes(known.by_label.get(name, [])) for code, name in label_of.items()}
    values = np.array([sizes[code][0] for code in branches.label[ask_node].tolist()])
    trees = np.array([sizes[code][1] for code in branches.label[ask_node].tolist()])
    kind = branches.ask_kind
    ask_bytes = np.select([kind == NODE, kind == VAL, kind == CONT], [ID_BYTES, values, trees], 0.0)
    ask_share = np.where(kind == CONDITION, keeps[ask_node], 1.0)
    codes = {name: code for code, name in label_of.items()}
    paths = known.paths
    tuples = tuples_of(
        branches,
        keeps,
        np.array([path.above for path in paths], np.int32),
        np.array([codes.get(path.label, _other(path.label)) for path in paths], np.int32),
        np.array([path.nodes for path in paths], np.float64),
        max(known.documents, 1),
    )
    return Estimates(np.maximum(tuples, UNSEEN / max(known.documents, 1) / 100), ask_bytes, ask_share)


def _other(label: str) -> int:
    """A code that only `*` stands for."""
    return 2**30 + 1 if label.startswith("@") else 2**30


def _share(paths: list[PathCount], condition: tuple[int, str, float]) -> float:
    nodes = sum(path.nodes for path in paths)
    kept = sum(n for path in paths for value, n in path.values.items() if satisfies(value, condition))
    return max(kept, UNSEEN) / max(nodes, 1.0)


def _sizes(paths: list[PathCount]) -> tuple[float, float]:
    nodes = max(sum(path.nodes for path in paths), 1)
    return sum(p.value_bytes for p in paths) / nodes, sum(p.tree_bytes for p in paths) / nodes
