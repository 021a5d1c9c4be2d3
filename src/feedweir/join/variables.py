"""Variables by what they mean: two variables with the same definition are one, in all queries.

The definition of an end is the path from the document root to it, with the conditions that hang off that path and lead
to no end; branches that lead to other ends are left to the join. The *path nodes* of an end are the nodes on its path
that have a variable or are kept by the graph minor: two ends of a block agree on those down to where they part.
"""

from __future__ import annotations

from dataclasses import dataclass

from feedweir.join.graph import BlockTree
from feedweir.join.values import stable_number
from feedweir.plan.predicates import PatternNode, TreePattern


@dataclass(frozen=True, slots=True)
class Variable:
    """`pattern` binds the path nodes, and nothing else; `places` are those nodes in it, in pre-order."""

    number: int
    stream: str
    pattern: TreePattern | None
    """None for a variable of another join's result."""
    places: tuple[int, ...]
    is_presence: bool = False
    """It stands for `the block is there`: its value is `NO_VALUE`."""


def variable_of(
    stream: str,
    tree: BlockTree,
    end: int,
    path: tuple[int, ...],
    ends: frozenset[int],
    *,
    is_presence: bool = False,
) -> Variable:
    """The variable of one end; `path` are its path nodes and `ends` all ends of the block."""
    leading = _leading(tree, ends)
    chain = [end]
    while tree.parents[chain[-1]] >= 0:
        chain.append(tree.parents[chain[-1]])
    below: PatternNode | None = None
    for node in chain:
        below = _link(tree, node, below, leading, is_path=node in path)
    assert below is not None
    pattern = TreePattern(below)
    places = tuple(place for place, node in enumerate(preorder(pattern.root)) if node.variable)
    text = f"{stream}|{pattern!r}|{is_presence}"
    return Variable(stable_number(text), stream, pattern, places, is_presence)


def result_variable(stream: str, name: str) -> Variable:
    """A variable of another join's result: bound once in each, below the result's one root."""
    return Variable(stable_number(f"{stream}|{name}"), stream, None, (0, 1))


def preorder(root: PatternNode) -> list[PatternNode]:
    return [root, *(node for child in root.children for node in preorder(child))]


def _leading(tree: BlockTree, ends: frozenset[int]) -> set[int]:
    """The nodes that are ends or have ends below them."""
    found = set(ends)
    for node in range(len(tree.nodes) - 1, -1, -1):
        if node in found and tree.parents[node] >= 0:
            found.add(tree.parents[node])
    return found


def _link(
    tree: BlockTree, node: int, below: PatternNode | None, leading: set[int], *, is_path: bool
) -> PatternNode:
    one = tree.nodes[node]
    conditions = {
        plain(tree.nodes[child])
        for child in range(node + 1, len(tree.nodes))
        if tree.parents[child] == node and child not in leading
    }
    children = (*(() if below is None else (below,)), *sorted(conditions, key=repr))
    return PatternNode(one.axis, one.name, children, "x" if is_path else "", one.op, one.value)


Signature = tuple[object, ...]


def signed(node: PatternNode) -> tuple[Signature, PatternNode]:
    """What a pattern says apart from the names of its variables, and the pattern with its branches in that order.

    Equal joins then are equal rows of R_T, whatever their variables are called and however their branches are written.
    """
    children = sorted((signed(child) for child in node.children), key=lambda pair: repr(pair[0]))
    below = tuple(signature for signature, _ in children)
    signature = (node.axis, node.name, bool(node.variable), node.op, node.value, below)
    chosen = tuple(child for _, child in children)
    if chosen == node.children:
        return signature, node
    return signature, PatternNode(node.axis, node.name, chosen, node.variable, node.op, node.value)


def plain(node: PatternNode) -> PatternNode:
    """A condition without variables, its branches in a fixed order."""
    children = sorted({plain(child) for child in node.children}, key=repr)
    return PatternNode(node.axis, node.name, tuple(children), "", node.op, node.value)
