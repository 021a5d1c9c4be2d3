"""What must be named by a tree pattern for it to imply another: told before one is laid onto the other.

Each step of the implied pattern lies on a step of the other with its name, or has a `*`; what it is equal to, the
other's step is equal to as well; and where it is the child of a named step, the other's is the child of such a step.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from typing import TypeAlias

from feedweir.match.trees.tree_codes import EQ, TEXT_EQ, comparison_of, number_of
from feedweir.plan.predicates import PatternNode, TreePattern

Name: TypeAlias = tuple[Hashable, ...]

ANYTHING: Name = ("*",)


def most_telling_name(pattern: TreePattern) -> Name:
    """The name under which a pattern is filed, that of few others if possible: a value, else a step below another, else
    a step."""
    return max(names_asked(pattern), key=lambda name: (len(name), str(name)), default=ANYTHING)


def names_asked(pattern: TreePattern) -> list[Name]:
    """The names that whatever implies a pattern reaches, too."""
    return [name for above, node in _steps(pattern) for name in _asked(above, node)]


def names_reached(pattern: TreePattern) -> list[Name]:
    """All names under which a pattern that this one implies may be filed, in an order that is the same in each run."""
    reached = dict.fromkeys(name for above, node in _steps(pattern) for name in _reached(above, node))
    return [ANYTHING, *reached]


def _steps(pattern: TreePattern) -> Iterator[tuple[PatternNode | None, PatternNode]]:
    """(the step above, the step), for all steps."""
    waiting: list[tuple[PatternNode | None, PatternNode]] = [(None, pattern.root)]
    while waiting:
        above, node = waiting.pop()
        yield above, node
        waiting += [(node, child) for child in reversed(node.children)]


def _asked(above: PatternNode | None, node: PatternNode) -> Iterator[Name]:
    op, text, number = comparison_of(node)
    if op in (TEXT_EQ, EQ):
        yield (node.name, "=", text if op == TEXT_EQ else number)
    elif not _is_wild(node.name):
        yield from _as_child(above, node)
        yield (node.name,)


def _reached(above: PatternNode | None, node: PatternNode) -> Iterator[Name]:
    op, text, number = comparison_of(node)
    wild = "@*" if node.name.startswith("@") else "*"
    for value in _values(op, text, number):
        yield (node.name, "=", value)
        yield (wild, "=", value)
    yield from _as_child(above, node)
    yield (node.name,)


def _as_child(above: PatternNode | None, node: PatternNode) -> Iterator[Name]:
    if above is not None and node.axis == "/" and not _is_wild(above.name):
        yield (above.name, node.name)


def _values(op: int, text: str, number: float) -> Iterator[str | float]:
    """What a step may be asked to be equal to, if it is equal to this."""
    if op == EQ:
        yield number
    elif op == TEXT_EQ:
        yield text
        if not math.isnan(found := number_of(text)):
            yield found


def _is_wild(name: str) -> bool:
    return name in ("*", "@*")
