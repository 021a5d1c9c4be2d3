"""Pattern queries, the names of their streams, and their variables by meaning: equal ones are one, in all queries.

The definition of an end is the path from the document root to it, with the conditions that hang off that path and lead
to no end; branches that lead to other ends are left to the join. The *path nodes* of an end are the nodes on its path
that have a variable or are kept by the graph minor: two ends of a block agree on those down to where they part.
"""

from __future__ import annotations

from dataclasses import dataclass

from feedweir.items.string_keys import stable_number
from feedweir.join.patterns.templates import BlockTree
from feedweir.plan.nodes import Block, Feed, Node, PatternJoin, Source
from feedweir.plan.predicates import PatternNode, TreePattern


@dataclass(frozen=True, slots=True)
class PatternQuery:
    """`key` is what results report."""

    key: int
    join: PatternJoin


def stream_name(node: Node) -> str:
    """The name of the stream of a block's input; equal inputs are one stream."""
    match node:
        case Source(name):
            return f"source {name}"
        case Feed(name):
            return f"feed {name}"
        case _:
            return repr(node)


def inner_stream(number: int) -> str:
    """The name of the hidden stream of an inner join's results."""
    return f"join {number}"


def is_inner(stream: str) -> bool:
    return stream.startswith("join ")


def blocks_of(join: PatternJoin) -> list[Block]:
    """The blocks from left to right."""
    left = blocks_of(join.left) if isinstance(join.left, PatternJoin) else [join.left]
    return [*left, join.right]


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
    """The meaning of a pattern without the names of its variables, and the pattern with its branches in a fixed order.

    So equal joins are equal rows of R_T, whatever their variables are called and however their branches are ordered.
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
