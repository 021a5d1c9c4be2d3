"""Tree branches as arrays, for kernels: their nodes in document order, and what must be covered of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from feedweir.errors import LanguageError
from feedweir.match.trees.tree_codes import (
    ANY_ATTRIBUTE,
    ANY_ELEMENT,
    TEXT_EQ,
    TEXT_NE,
    comparison_of,
    number_of,
)
from feedweir.network.views import TreeBranch, laid_out

MAX_NODES = 64
NODE, CONDITION, VAL, CONT = range(4)
"""What must be covered: that a node is there, under its name; its condition; its value; its subtree."""
GIVES = {"val": 1, "cont": 2}


class BranchArrays(NamedTuple):
    """Nodes of branch b are `first[b]` to `first[b + 1]`; what must be covered of it, `asked[b]` to `asked[b + 1]`."""

    first: NDArray[np.int64]
    label: NDArray[np.int32]
    is_below: NDArray[np.bool_]
    """Reached by `//`."""
    above: NDArray[np.int32]
    """The place of the node above within the branch; -1 for the root."""
    op: NDArray[np.int8]
    text: NDArray[np.int32]
    number: NDArray[np.float64]
    gives: NDArray[np.int8]
    source: NDArray[np.int32]
    asked: NDArray[np.int64]
    ask_node: NDArray[np.int32]
    ask_kind: NDArray[np.int8]


class Names(NamedTuple):
    """What the numbers in the arrays stand for."""

    labels: dict[str, int]
    texts: dict[str, int]
    sources: dict[str, int]


def branch_arrays(branches: Sequence[TreeBranch]) -> tuple[BranchArrays, Names]:
    """All branches; `LanguageError` for one that is too large."""
    names = Names({"*": ANY_ELEMENT, "@*": ANY_ATTRIBUTE}, {"": -1}, {})
    rows: list[tuple[int, bool, int, int, int, float, int]] = []
    asks: list[tuple[int, int]] = []
    first, asked, sources = [0], [0], []
    for branch in branches:
        here = list(_rows(branch, names))
        if len(here) > MAX_NODES:
            hint = f"at most {MAX_NODES} steps"
            raise LanguageError(f"a tree pattern of {len(here)} steps is too large", hint=hint)
        rows += here
        asks += _asks(here)
        first.append(len(rows))
        asked.append(len(asks))
        sources.append(names.sources.setdefault(branch.source, len(names.sources)))
    columns: list[Any] = list(zip(*rows, strict=True)) or [()] * 7
    kinds: tuple[Any, ...] = (np.int32, np.bool_, np.int32, np.int8, np.int32, np.float64, np.int8)
    label, below, above, op, text, number, gives = (
        np.array(column, kind) for column, kind in zip(columns, kinds, strict=True)
    )
    return (
        BranchArrays(
            np.array(first, np.int64),
            label,
            below,
            above,
            op,
            text,
            number,
            gives,
            np.array(sources, np.int32),
            np.array(asked, np.int64),
            np.array([node for node, _ in asks], np.int32),
            np.array([kind for _, kind in asks], np.int8),
        ),
        names,
    )


def _rows(branch: TreeBranch, names: Names) -> Iterator[tuple[int, bool, int, int, int, float, int]]:
    gives: dict[int, int] = {}
    for one in branch.returned:
        gives[one.node] = gives.get(one.node, 0) | GIVES[one.kind]
    for place, (node, above) in enumerate((laid.node, laid.above) for laid in laid_out(branch.root)):
        op, text, number = comparison_of(node)
        if op in (TEXT_EQ, TEXT_NE):
            number = number_of(text)
        constant = names.texts.setdefault(text, len(names.texts)) if text else -1
        yield _label(node.name, names), node.axis == "//", above, op, constant, number, gives.get(place, 0)


def _label(name: str, names: Names) -> int:
    known = names.labels.get(name)
    if known is None:
        known = names.labels[name] = 2 * len(names.labels) + name.startswith("@")
    return known


def _asks(rows: Sequence[tuple[int, bool, int, int, int, float, int]]) -> Iterator[tuple[int, int]]:
    """A subtree includes its root's value, so that whoever returns both asks for the subtree alone."""
    yield from ((place, NODE) for place in range(len(rows)))
    yield from ((place, CONDITION) for place, row in enumerate(rows) if row[3])
    yield from ((place, VAL) for place, row in enumerate(rows) if row[6] == GIVES["val"])
    yield from ((place, CONT) for place, row in enumerate(rows) if row[6] & GIVES["cont"])
