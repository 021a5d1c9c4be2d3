"""Every shape that queries with a number of value joins can have, and how many templates they fall into.

A value join is an equality of a leaf of one side with a leaf of the other; a leaf may take part in several. Over flat
documents the leaves of a side hang below one root, over others in any tree whose inner nodes branch: the graph minor
leaves no others. The shapes are compiled like any queries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import combinations, product

from feedweir.join.patterns.pattern_set import compile_patterns
from feedweir.join.patterns.variables import PatternQuery
from feedweir.plan.nodes import Block, PatternJoin, Source, TimeSpan
from feedweir.plan.predicates import PatternNode, TreePattern

Edges = tuple[tuple[int, int], ...]
Nested = int | tuple["Nested", ...]
"""A leaf by its number, or the branches of an inner node."""


def possible_templates(value_joins: int, *, is_flat: bool) -> int:
    """Into how many templates all queries with so many value joins fall."""
    joins = (
        _join(left, right, edges)
        for edges in _graphs(value_joins)
        for left in _trees(1 + max(one for one, _ in edges), is_flat=is_flat)
        for right in _trees(1 + max(other for _, other in edges), is_flat=is_flat)
    )
    return compile_patterns(PatternQuery(key, join) for key, join in enumerate(joins)).templates


def _graphs(count: int) -> Iterator[Edges]:
    """Bipartite graphs of so many edges, without loose nodes; of those that differ in numbering only, not all."""
    for left, right in product(range(1, count + 1), repeat=2):
        for edges in combinations(product(range(left), range(right)), count):
            lefts = [tuple(other for one, other in edges if one == node) for node in range(left)]
            rights = [tuple(one for one, other in edges if other == node) for node in range(right)]
            if all(lefts) and all(rights) and lefts == sorted(lefts) and rights == sorted(rights):
                yield edges


def _trees(leaves: int, *, is_flat: bool) -> list[Nested]:
    if leaves == 1:
        return [0]
    return [tuple(range(leaves))] if is_flat else list(_branching(tuple(range(leaves))))


def _branching(leaves: tuple[int, ...]) -> Iterator[Nested]:
    """Every tree over these leaves whose inner nodes have at least two branches."""
    if len(leaves) == 1:
        yield leaves[0]
        return
    for parts in _partitions(leaves):
        if len(parts) > 1:
            yield from product(*(list(_branching(part)) for part in parts))


def _partitions(members: tuple[int, ...]) -> Iterator[list[tuple[int, ...]]]:
    if not members:
        yield []
        return
    first, rest = members[0], members[1:]
    for size in range(len(rest) + 1):
        for chosen in combinations(rest, size):
            others = tuple(one for one in rest if one not in chosen)
            yield from ([(first, *chosen), *more] for more in _partitions(others))


def _join(left: Nested, right: Nested, edges: Edges) -> PatternJoin:
    pairs = tuple((f"a{one}", f"b{other}") for one, other in edges)
    return PatternJoin(
        "followed by", _block(left, "a"), _block(right, "b"), pairs, TimeSpan(timedelta(days=1))
    )


def _block(tree: Nested, mark: str) -> Block:
    return Block(Source("S"), TreePattern(PatternNode("//", "d", (_node(tree, mark),))))


def _node(tree: Nested, mark: str) -> PatternNode:
    if isinstance(tree, int):
        return PatternNode("/", f"leaf{tree}", (), f"{mark}{tree}")
    return PatternNode("/", "inner", tuple(_node(branch, mark) for branch in tree))


def table(most: int = 4) -> dict[str, Sequence[int]]:
    """The paper's third table: by schema the templates of 1, 2, … value joins."""
    return {
        name: [possible_templates(count, is_flat=is_flat) for count in range(1, most + 1)]
        for name, is_flat in (("flat", True), ("complex", False))
    }
