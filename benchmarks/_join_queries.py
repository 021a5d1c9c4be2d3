"""Documents and queries of the technical benchmark: k leaves of each side, k by Zipf, equated one by one."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from feedweir.join.patterns.variables import PatternQuery
from feedweir.plan.nodes import Block, PatternJoin, Source, TimeSpan
from feedweir.plan.predicates import PatternNode, TreePattern

FOREVER = TimeSpan(timedelta.max)
STREAM = "source S"


@dataclass(frozen=True)
class Schema:
    """Leaves by name with the group they are in; no groups in the two-level schema."""

    leaves: tuple[str, ...]
    group: tuple[int, ...] = ()

    @property
    def is_flat(self) -> bool:
        return not self.group


def flat(leaves: int) -> Schema:
    return Schema(tuple(f"l{place}" for place in range(leaves)))


def deep(branching: int = 4) -> Schema:
    leaves = range(branching * branching)
    return Schema(tuple(f"l{place}" for place in leaves), tuple(place // branching for place in leaves))


def document_of(schema: Schema, values: Sequence[str]) -> str:
    """An XML document of the schema."""
    if schema.is_flat:
        return "<d>" + "".join(f"<{n}>{v}</{n}>" for n, v in zip(schema.leaves, values, strict=True)) + "</d>"
    groups: dict[int, list[str]] = {}
    for name, group, value in zip(schema.leaves, schema.group, values, strict=True):
        groups.setdefault(group, []).append(f"<{name}>{value}</{name}>")
    return (
        "<d>"
        + "".join(f"<g{number}>{''.join(inside)}</g{number}>" for number, inside in groups.items())
        + "</d>"
    )


def zipf(choices: int, skew: float, chance: random.Random) -> int:
    weights = [1 / (place**skew) for place in range(1, choices + 1)]
    return chance.choices(range(1, choices + 1), weights)[0]


def block_of(schema: Schema, chosen: Sequence[int], mark: str) -> Block:
    bound = [PatternNode("/", schema.leaves[leaf], (), f"{mark}{place}") for place, leaf in enumerate(chosen)]
    if schema.is_flat:
        root = PatternNode("/", "d", tuple(bound), f"{mark}r")
    else:
        groups: dict[int, list[PatternNode]] = {}
        for leaf, node in zip(chosen, bound, strict=True):
            groups.setdefault(schema.group[leaf], []).append(node)
        inner = [
            PatternNode("/", f"g{one}", tuple(nodes), f"{mark}g{one}")
            for one, nodes in sorted(groups.items())
        ]
        root = PatternNode("/", "d", tuple(inner), f"{mark}r")
    return Block(Source("S"), TreePattern(root))


def queries_of(
    schema: Schema, count: int, most: int, skew: float, chance: random.Random
) -> Iterator[PatternQuery]:
    """k leaves of each side, k by Zipf, equated in the order they were picked."""
    leaves = range(len(schema.leaves))
    for key in range(count):
        k = zipf(most, skew, chance)
        left = block_of(schema, chance.sample(leaves, k), "a")
        right = block_of(schema, chance.sample(leaves, k), "b")
        pairs = tuple((f"a{place}", f"b{place}") for place in range(k))
        yield PatternQuery(key, PatternJoin("followed by", left, right, pairs, FOREVER))
