"""`explain plan`: the filter tree of a source with its sharing, rates and costs, as text, JSON and DOT."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from feedweir.optimize.factorise import FactoredFilters
from feedweir.optimize.tree import ROOT
from feedweir.plan.predicates import Predicate

ShowPredicate = Callable[[Predicate], str]


@dataclass(frozen=True, slots=True)
class ExplainedNode:
    """One filter of the plan. Rates are items a second; costs are evaluations a second."""

    number: int
    parent: int
    """-1 for the source itself."""
    asks: str
    """What is left to ask here, the parent's condition holding."""
    condition: str
    """What holds of the items that come through."""
    feeds: tuple[str, ...]
    """Whose predicate this is; none for a filter that is only there to be shared."""
    shared_by: int
    """How many feeds are answered through this node."""
    rate_in: float
    rate_out: float
    cost: float
    """Predicted: as many evaluations as items come in."""
    measured_cost: float | None = None
    """Counted, when it was."""


@dataclass(frozen=True, slots=True)
class ExplainedPlan:
    """The plan of one source, its nodes in the order of a walk from the source down."""

    source: str
    rate: float
    cost: float
    naive_cost: float
    nodes: tuple[ExplainedNode, ...]

    @property
    def ratio(self) -> float:
        return self.cost / self.naive_cost if self.naive_cost else 0.0


def explain_plan(
    factored: FactoredFilters,
    feeds: Sequence[str],
    show: ShowPredicate,
    *,
    source: str,
    rate: float = 1.0,
    measured: Mapping[int, float] | None = None,
) -> ExplainedPlan:
    """Explain a plan; `feeds` names its predicates in order, `measured` gives counted evaluations a
    second by node.
    """
    tree = factored.tree
    named: dict[int, list[str]] = {}
    for feed, node in zip(feeds, tree.node_of.tolist(), strict=True):
        named.setdefault(node, []).append(feed)
    shared = _shared(tree.parent.tolist(), named)

    def explained(node: int) -> ExplainedNode:
        parent = int(tree.parent[node])
        rate_in = rate * (float(tree.selectivity[parent]) if node != ROOT else 1.0)
        return ExplainedNode(
            number=node,
            parent=parent,
            asks=show(factored.residual_of(node)) if node != ROOT else "",
            condition=show(factored.predicate_of(node)) if node != ROOT else "",
            feeds=tuple(sorted(named.get(node, ()))),
            shared_by=shared[node],
            rate_in=rate_in,
            rate_out=rate * float(tree.selectivity[node]),
            cost=rate_in if node != ROOT else 0.0,
            measured_cost=(measured or {}).get(node),
        )

    nodes = tuple(explained(node) for node in _depth_first(tree.parent.tolist()))
    return ExplainedPlan(source, rate, tree.cost * rate, tree.naive_cost * rate, nodes)


def as_text(plan: ExplainedPlan, *, max_feeds: int = 5) -> str:
    """An indented tree: what each filter asks, for how many feeds, at which rates."""
    head = (
        f"source {plan.source}: {plan.rate:.3g} items/s, {plan.cost:.4g} evaluations/s "
        f"({plan.ratio:.1%} of {plan.naive_cost:.4g} without sharing)"
    )
    depth = {-1: -1}
    lines = [head]
    for node in plan.nodes:
        depth[node.number] = depth[node.parent] + 1
        if node.number != ROOT or node.feeds:
            lines.append("  " * depth[node.number] + _line(node, max_feeds))
    return "\n".join(lines)


def as_json(plan: ExplainedPlan) -> str:
    return json.dumps(as_value(plan), ensure_ascii=False)


def as_value(plan: ExplainedPlan) -> dict[str, object]:
    """The plan as plain values."""
    return {
        "source": plan.source,
        "rate": plan.rate,
        "cost": plan.cost,
        "naive_cost": plan.naive_cost,
        "nodes": [
            {
                "node": node.number,
                "parent": node.parent,
                "asks": node.asks,
                "condition": node.condition,
                "feeds": list(node.feeds),
                "shared_by": node.shared_by,
                "rate_in": node.rate_in,
                "rate_out": node.rate_out,
                "predicted_cost": node.cost,
                "measured_cost": node.measured_cost,
            }
            for node in plan.nodes
        ],
    }


def as_dot(plan: ExplainedPlan) -> str:
    """A picture for Graphviz: boxes are feeds' own filters, ellipses are shared ones; edges carry their
    rates.
    """
    lines = [f"digraph {_quoted(plan.source)} {{", "  rankdir=LR;"]
    for node in plan.nodes:
        shape = "box" if node.feeds else "ellipse"
        label = node.asks if node.number != ROOT else f"source {plan.source}"
        lines.append(f"  n{node.number} [shape={shape}, label={_quoted(_with_feeds(label, node.feeds))}];")
    for node in plan.nodes:
        if node.number != ROOT:
            lines.append(f'  n{node.parent} -> n{node.number} [label="{node.rate_in:.3g}/s"];')
    return "\n".join([*lines, "}"])


def _line(node: ExplainedNode, max_feeds: int) -> str:
    named = _listed(node.feeds, max_feeds)
    parts = [node.asks or "every item", f"in {node.rate_in:.3g}/s", f"out {node.rate_out:.3g}/s"]
    if node.shared_by > len(node.feeds):
        parts.append(f"shared by {node.shared_by}")
    if node.measured_cost is not None:
        parts.append(f"measured {node.measured_cost:.3g}/s")
    return "  ".join(parts) + (f"  → {named}" if named else "")


def _listed(feeds: tuple[str, ...], most: int) -> str:
    more = f" and {len(feeds) - most} more" if len(feeds) > most else ""
    return ", ".join(feeds[:most]) + more


def _with_feeds(label: str, feeds: tuple[str, ...]) -> str:
    return f"{label}\n{_listed(feeds, 3)}" if feeds else label


def _quoted(text: str) -> str:
    """A string of DOT, which escapes quotes and backslashes and writes line breaks as \\n."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _shared(parent: list[int], named: Mapping[int, Sequence[str]]) -> list[int]:
    """How many feeds hang on each node; children have higher numbers than parents."""
    shared = [len(named.get(node, ())) for node in range(len(parent))]
    for node in range(len(parent) - 1, ROOT, -1):
        shared[parent[node]] += shared[node]
    return shared


def _depth_first(parent: list[int]) -> list[int]:
    children: dict[int, list[int]] = {}
    for node in range(len(parent) - 1, ROOT, -1):
        children.setdefault(parent[node], []).append(node)
    order, pending = [], [ROOT]
    while pending:
        node = pending.pop()
        order.append(node)
        # Lists are built backwards, so the lowest number is last and taken first.
        pending += children.get(node, [])
    return order
