"""Patterns taken apart: shared linear steps, atoms, and each distinct pattern as a row of flat arrays.

A *step* is a path from the document root (`//item/title`) without conditions; equal steps of all patterns are one. An
*atom* is a step at which a pattern ends or compares: it is true of a document when a node that the step reaches
satisfies the comparison. All atoms of a pattern being true is necessary; for patterns without branches it is enough.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from feedweir.plan.predicates import PatternNode, TreePattern

ANY_ELEMENT = -1
ANY_ATTRIBUTE = -2
ROOT_STEP = 0

EXISTS, TEXT_EQ, TEXT_NE, EQ, NE, LT, LE, GT, GE = range(9)
_NUMERIC = {"=": EQ, "!=": NE, "<": LT, "<=": LE, ">": GT, ">=": GE}
_ACCESS_RANK = {TEXT_EQ: 0, EQ: 1, LT: 2, LE: 2, GT: 2, GE: 2, TEXT_NE: 3, NE: 3, EXISTS: 4}

_STARTS_NUMBER = frozenset("0123456789.- \t\r\n")
_NUMBER = re.compile(r"[ \t\r\n]*(-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))[ \t\r\n]*")


def number_of(text: str) -> float:
    """A string as XPath 1.0 reads a number: digits with a point and a minus sign, NaN for all else."""
    found = _NUMBER.fullmatch(text) if text[:1] in _STARTS_NUMBER else None
    return float(found[1]) if found else math.nan


@dataclass(frozen=True, slots=True)
class Atom:
    step: int
    op: int
    text: str = ""
    number: float = 0.0


@dataclass(slots=True)
class Tables:
    """What compilation fills: names, steps and atoms by number, and the patterns' rows."""

    labels: dict[str, int] = field(default_factory=dict)
    steps: dict[tuple[int, str, str], int] = field(default_factory=dict)
    atoms: dict[Atom, int] = field(default_factory=dict)
    texts: dict[str, int] = field(default_factory=dict)

    def label(self, name: str) -> int:
        if name == "*":
            return ANY_ELEMENT
        return ANY_ATTRIBUTE if name == "@*" else self.labels.setdefault(name, len(self.labels))

    def step(self, parent: int, node: PatternNode) -> int:
        return self.steps.setdefault((parent, node.axis, node.name), len(self.steps) + 1)

    def atom(self, step: int, node: PatternNode) -> int:
        return self.atoms.setdefault(Atom(step, *comparison_of(node)), len(self.atoms))


def comparison_of(node: PatternNode) -> tuple[int, str, float]:
    """(operation, text, number) of a node; ordered comparisons with text compare numbers, as XPath does."""
    if node.op is None or node.value is None:
        return EXISTS, "", 0.0
    if isinstance(node.value, str) and node.op in ("=", "!="):
        return (TEXT_EQ if node.op == "=" else TEXT_NE), node.value, 0.0
    number = number_of(node.value) if isinstance(node.value, str) else float(node.value)
    # NaN as a key would never equal itself; an impossible range says the same.
    return (LT, "", -math.inf) if math.isnan(number) and node.op != "!=" else (_NUMERIC[node.op], "", number)


@dataclass(frozen=True, slots=True)
class FlatPattern:
    """A distinct pattern, its nodes in pre-order: children by sorted form, so that equal patterns are equal rows."""

    nodes: tuple[PatternNode, ...]
    parents: tuple[int, ...]
    steps: tuple[int, ...]
    atoms: tuple[int, ...]
    """Of its leaves and comparisons, the most selective kind first: a pattern is found by the first."""

    @property
    def branching(self) -> tuple[int, ...]:
        """The steps at which it branches, or compares further up than at a leaf: linear patterns have none."""
        inner = [
            place
            for place, node in enumerate(self.nodes)
            if len(node.children) > 1 or (node.children and node.op)
        ]
        return tuple(self.steps[place] for place in inner)

    @property
    def compares(self) -> bool:
        return any(node.op is not None for node in self.nodes)


def canonical(node: PatternNode) -> PatternNode:
    """The node with its branches in a fixed order and each once, without variables: the key of equal patterns."""
    if not node.children and not node.variable:
        return node
    children = sorted({canonical(child) for child in node.children}, key=repr)
    return PatternNode(node.axis, node.name, tuple(children), "", node.op, node.value)


def flatten(pattern: TreePattern, tables: Tables) -> FlatPattern:
    """The rows of a pattern, registering its steps and atoms."""
    nodes: list[PatternNode] = []
    parents: list[int] = []
    steps: list[int] = []
    atoms: set[int] = set()
    above: list[tuple[PatternNode, int, int]] = [(pattern.root, -1, ROOT_STEP)]
    while above:
        node, parent, parent_step = above.pop()
        step = tables.step(parent_step, node)
        index = len(nodes)
        nodes.append(node)
        parents.append(parent)
        steps.append(step)
        tables.label(node.name)
        if not node.children or node.op is not None:
            atoms.add(tables.atom(step, node))
        above.extend((child, index, step) for child in reversed(node.children))
    return FlatPattern(tuple(nodes), tuple(parents), tuple(steps), tuple(sorted(atoms)))


def in_order(patterns: Sequence[FlatPattern], tables: Tables) -> list[FlatPattern]:
    """The patterns with their atoms numbered anew: those of one step and kind follow each other by what they compare
    with, so that the atoms that a value makes true lie together."""
    kinds = sorted(tables.atoms, key=lambda atom: (atom.step, atom.op, atom.number, atom.text))
    anew = {tables.atoms[atom]: number for number, atom in enumerate(kinds)}
    tables.atoms = {atom: number for number, atom in enumerate(kinds)}
    return [
        replace(pattern, atoms=tuple(sorted(anew[atom] for atom in pattern.atoms))) for pattern in patterns
    ]


def by_access(atoms: Sequence[int], kinds: Sequence[Atom], popularity: Sequence[int]) -> list[int]:
    """Atoms in the order in which a pattern should be found by them: equalities first, then the rarely asked."""
    return sorted(atoms, key=lambda atom: (_ACCESS_RANK[kinds[atom].op], popularity[atom], atom))
