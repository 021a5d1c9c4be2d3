"""The order of joins on one stream: what drops the most items for the least work comes first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from feedweir.optimize.cost import Flow, JoinCounts, flows_of
from feedweir.optimize.statistics import SourceStatistics
from feedweir.plan.nodes import AnnotationJoin, Node
from feedweir.plan.plan_wire import chains_of
from feedweir.plan.walk import map_inputs, postorder


@dataclass(frozen=True, slots=True)
class KnownStreams:
    """What was counted: of sources by name, of joins by the names of their chains."""

    sources: Mapping[str, SourceStatistics]
    joins: Mapping[str, JoinCounts]

    def counted(self, plan: Node) -> dict[int, JoinCounts]:
        """By `id` of a join of the plan what was counted of it."""
        found = ((node, self.joins.get(chain.name)) for node, chain in chains_of(plan).items())
        return {node: counts for node, counts in found if counts is not None}

    def flows(self, plan: Node) -> dict[int, Flow]:
        """By `id` of a node what comes out of it, and what that costs."""
        counted = self.counted(plan)
        return flows_of(plan, self.sources, lambda join: counted.get(id(join)))


def has_chains(plan: Node) -> bool:
    """Whether there is an order to choose."""
    return any(
        isinstance(node, AnnotationJoin) and isinstance(node.primary, AnnotationJoin)
        for node in postorder(plan)
    )


def order_excess(plan: Node, known: KnownStreams) -> float:
    """The share by which the order of joins in a plan costs more than the best one."""
    best = ordered(plan, known)
    least = known.flows(best)[id(best)].work
    return known.flows(plan)[id(plan)].work / least - 1.0 if best is not plan and least else 0.0


def ordered(plan: Node, known: KnownStreams) -> Node:
    """(s ⋈ v) ⋈ w → (s ⋈ w) ⋈ v where that costs less; the same object when no order is better.

    A join works R(b)·S(w) a second and lets sel(p)·R(b) through, so that those with the least S(w) / (1 - sel(p)) come
    first. In any order the same items come out with the same partners, and the stream is known by the same key: what
    windows remember stays.
    """
    joins = [node for node in postorder(plan) if isinstance(node, AnnotationJoin)]
    inner = {id(join.primary) for join in joins}
    tops = {id(join) for join in joins if id(join) not in inner and isinstance(join.primary, AnnotationJoin)}
    if not tops:
        return plan
    ranks = _ranks(joins, known, plan)
    new: dict[int, Node] = {}
    for node in postorder(plan):
        one = map_inputs(node, lambda input: new[id(input)])
        new[id(node)] = _chained(node, one, ranks) if id(node) in tops else one
    return new[id(plan)]


def _ranks(joins: list[AnnotationJoin], known: KnownStreams, plan: Node) -> dict[int, float]:
    flows = known.flows(plan)
    ranks: dict[int, float] = {}
    for join in joins:
        tried, kept = flows[id(join.primary)].rate, flows[id(join)].rate
        # of a stream that nothing is known of the joins stay as they were written
        ranks[id(join)] = flows[id(join.window)].size / max(1.0 - kept / tried, 1e-9) if tried else 0.0
    return ranks


def _chained(top: Node, rebuilt: Node, ranks: Mapping[int, float]) -> Node:
    """The joins of a chain, some of whose inputs were rebuilt, in the order of their ranks."""
    chain: list[tuple[float, AnnotationJoin]] = []
    while isinstance(top, AnnotationJoin) and isinstance(rebuilt, AnnotationJoin):
        chain.append((ranks[id(top)], rebuilt))
        top, rebuilt = top.primary, rebuilt.primary
    chain.reverse()
    best = sorted(chain, key=lambda one: one[0])
    if all(one is other for (_, one), (_, other) in zip(best, chain, strict=True)):
        return chain[-1][1]
    for _, join in best:
        rebuilt = replace(join, primary=rebuilt)
    return rebuilt
