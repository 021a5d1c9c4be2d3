"""All patterns hash-consed: a *step* is a node of a pattern with its comparison and all that hangs below it, and equal
steps are one.

Variables are left out, branches are sorted and each is there once, so equal patterns have the same step at their root.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from feedweir.errors import LanguageError
from feedweir.match.trees.tree_codes import ANY_ATTRIBUTE, ANY_ELEMENT, comparison
from feedweir.plan.predicates import PatternNode, TreePattern

Ints = NDArray[np.int32]
MAX_PATTERN_NODES = 63
_Key = tuple[str, str, str | None, str | float | None, tuple[int, ...]]


class Steps(NamedTuple):
    """As the kernels read them; branches have smaller numbers than what they hang on."""

    rows: Ints
    """WANTED, AXIS, OP, CONSTANT (the number of a text), FIRST, LAST."""
    number: NDArray[np.float64]
    branch: Ints
    compared: Ints
    """The number of the comparison; 0 is none."""


class Comparisons(NamedTuple):
    """Sorted by operation, then by what they compare with."""

    op: NDArray[np.int8]
    text: Ints
    number: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PatternNames:
    """The names and texts of patterns, by number."""

    elements: dict[str, int]
    attributes: dict[str, int]
    texts: dict[str, int]

    def label(self, name: str) -> int:
        if name == "*":
            return ANY_ELEMENT
        if name == "@*":
            return ANY_ATTRIBUTE
        return 2 * self.attributes[name[1:]] + 1 if name.startswith("@") else 2 * self.elements[name]

    @property
    def labels(self) -> int:
        """Codes of labels are below this."""
        return 2 * max(len(self.elements), len(self.attributes))


@dataclass(frozen=True, slots=True)
class Grown:
    steps: Steps
    comparisons: Comparisons
    vocabulary: PatternNames
    roots: Ints
    """Of each pattern its step."""


def grow(patterns: Sequence[TreePattern]) -> Grown:
    """The steps of all patterns; `LanguageError` for a pattern that is too large."""
    numbers: dict[_Key, int] = {}
    roots = np.fromiter((_root(pattern.root, numbers) for pattern in patterns), np.int32, len(patterns))
    keys = list(numbers)
    vocabulary = _vocabulary(keys)
    comparisons, compared = _comparisons(keys, vocabulary)
    below = [key[4] for key in keys]
    ends = np.cumsum(np.fromiter(map(len, below), np.int64, len(keys)))
    rows = np.empty((len(keys), 6), np.int32)
    codes = {name: vocabulary.label(name) for name in {key[1] for key in keys}}
    rows[:, 0] = np.fromiter((codes[key[1]] for key in keys), np.int32, len(keys))
    rows[:, 1] = np.fromiter((key[0] == "//" for key in keys), np.int32, len(keys))
    rows[:, 2] = comparisons.op[compared]
    rows[:, 3] = comparisons.text[compared]
    rows[1:, 4] = ends[:-1]
    rows[:1, 4] = 0
    rows[:, 5] = ends
    branch = np.fromiter(chain.from_iterable(below), np.int32)
    steps = Steps(rows, comparisons.number[compared], branch, compared)
    return Grown(steps, comparisons, vocabulary, roots)


def fits(pattern: TreePattern) -> bool:
    """Whether a pattern is small enough to be matched."""
    return _size(pattern.root) <= MAX_PATTERN_NODES


def _root(node: PatternNode, numbers: dict[_Key, int]) -> int:
    return _step(node, numbers, [MAX_PATTERN_NODES], node)


def _step(node: PatternNode, numbers: dict[_Key, int], room: list[int], root: PatternNode) -> int:
    room[0] -= 1
    if room[0] < 0:
        raise _too_large(root)
    children = node.children
    below: tuple[int, ...] = ()
    if len(children) == 1:
        below = (_step(children[0], numbers, room, root),)
    elif children:
        below = tuple(sorted({_step(child, numbers, room, root) for child in children}))
    key = (node.axis, node.name, node.op, node.value, below)
    known = numbers.get(key)
    if known is None:
        known = numbers[key] = len(numbers)
    return known


def _too_large(root: PatternNode) -> LanguageError:
    return LanguageError(
        f"a tree pattern of {_size(root)} steps is too large", hint=f"at most {MAX_PATTERN_NODES} steps"
    )


def _size(root: PatternNode) -> int:
    count, above = 0, [root]
    while above:
        node = above.pop()
        count += 1
        above.extend(node.children)
    return count


def _vocabulary(keys: Iterable[_Key]) -> PatternNames:
    names = sorted({key[1] for key in keys} - {"*", "@*"})
    texts = sorted({key[3] for key in keys if isinstance(key[3], str)})
    return PatternNames(
        _numbered(name for name in names if not name.startswith("@")),
        _numbered(name[1:] for name in names if name.startswith("@")),
        _numbered(texts),
    )


def _numbered(names: Iterable[str]) -> dict[str, int]:
    return {name: number for number, name in enumerate(names)}


def _comparisons(keys: Sequence[_Key], vocabulary: PatternNames) -> tuple[Comparisons, Ints]:
    """The distinct comparisons, and the one of each step."""
    distinct = {(key[2], key[3]) for key in keys} | {(None, None)}
    meant = {asked: comparison(*asked) for asked in distinct}
    ordered = sorted(set(meant.values()), key=_order)
    place = {one: number for number, one in enumerate(ordered)}
    number = {asked: place[one] for asked, one in meant.items()}
    columns = Comparisons(
        np.array([op for op, _, _ in ordered], np.int8),
        np.array([vocabulary.texts.get(text, -1) for _, text, _ in ordered], np.int32),
        np.array([value for _, _, value in ordered], np.float64),
    )
    return columns, np.fromiter((number[key[2], key[3]] for key in keys), np.int32, len(keys))


def _order(one: tuple[int, str, float]) -> tuple[int, bool, float, str]:
    """NaN, which no number is equal to, comes after all numbers, infinity too."""
    op, text, number = one
    return op, math.isnan(number), 0.0 if math.isnan(number) else number, text
