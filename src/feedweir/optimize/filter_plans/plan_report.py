"""`explain plan`: the filter tree of a source with its sharing, rates and costs, as text, JSON and DOT."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from feedweir.optimize.filter_plans.drift import Standing
from feedweir.optimize.filter_plans.filter_tree import ROOT

MAX_ADVICE = 50


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
class Execution:
    """How a plan is executed, and what that was expected to take."""

    way: str = ""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """For an item, by every way that there was to choose from."""
    sampled: float = 0.0
    """Items, fading, that the shares come from; 0 when they are assumed."""
    counted: float = 0.0
    """Items, fading, that have been sampled until now."""


@dataclass(frozen=True, slots=True)
class ExplainedPlan:
    """The plan of one source, its nodes in the order of a walk from the source down."""

    source: str
    rate: float
    cost: float
    naive_cost: float
    nodes: tuple[ExplainedNode, ...]
    execution: Execution = Execution()
    standing: Standing | None = None
    advice: tuple[str, ...] = ()

    @property
    def ratio(self) -> float:
        return self.cost / self.naive_cost if self.naive_cost else 0.0

    @property
    def measured_cost(self) -> float | None:
        """The sum over all nodes, when all were counted."""
        costs = [node.measured_cost for node in self.nodes if node.number != ROOT]
        return sum(cost for cost in costs if cost is not None) if costs and None not in costs else None


@dataclass(frozen=True, slots=True)
class PlanNodes:
    """A filter tree in words: of each node its parent, what it asks, what holds there, how often, and for whom."""

    parents: Sequence[int]
    asks: Sequence[str]
    conditions: Sequence[str]
    shares: Sequence[float]
    feeds: Sequence[Sequence[str]]


def explain_nodes(
    nodes: PlanNodes,
    *,
    source: str,
    rate: float = 1.0,
    measured: Mapping[int, float] | None = None,
    execution: Execution = Execution(),  # noqa: B008 - a frozen value
    never: Collection[int] = (),
) -> ExplainedPlan:
    """Explain a tree that is given in words; `never` are the nodes at which nothing can hold."""
    shared = _shared(nodes.parents, nodes.feeds)

    def explained(node: int) -> ExplainedNode:
        parent = nodes.parents[node]
        rate_in = rate * (nodes.shares[parent] if node != ROOT else 1.0)
        return ExplainedNode(
            number=node,
            parent=parent,
            asks=nodes.asks[node],
            condition=nodes.conditions[node],
            feeds=tuple(sorted(nodes.feeds[node])),
            shared_by=shared[node],
            rate_in=rate_in,
            rate_out=rate * nodes.shares[node],
            cost=rate_in if node != ROOT else 0.0,
            measured_cost=(measured or {}).get(node),
        )

    found = tuple(explained(node) for node in _depth_first(nodes.parents))
    cost = sum(node.cost for node in found)
    naive = rate * sum(map(len, nodes.feeds))
    return ExplainedPlan(source, rate, cost, naive, found, execution, advice=_advice(nodes, never))


def as_text(plan: ExplainedPlan, *, max_feeds: int = 5) -> str:
    """An indented tree: what each filter asks, for how many feeds, at which rates."""
    head = (
        f"source {plan.source}: {plan.rate:.3g} items/s, {plan.cost:.4g} evaluations/s "
        f"({plan.ratio:.1%} of {plan.naive_cost:.4g} without sharing)"
    )
    depth = {-1: -1}
    lines = [head, *_executed(plan.execution), *_standing(plan.standing)]
    for node in plan.nodes:
        depth[node.number] = depth[node.parent] + 1
        if node.number != ROOT or node.feeds:
            lines.append("  " * depth[node.number] + _line(node, max_feeds))
    return "\n".join([*lines, *(f"note: {advice}" for advice in plan.advice)])


def as_value(plan: ExplainedPlan) -> dict[str, object]:
    """The plan as plain values."""
    return {
        "source": plan.source,
        "rate": plan.rate,
        "cost": plan.cost,
        "naive_cost": plan.naive_cost,
        "measured_cost": plan.measured_cost,
        "way": plan.execution.way,
        "predicted_seconds_an_item": dict(plan.execution.seconds),
        "sampled_items": plan.execution.sampled,
        "sampled_items_now": plan.execution.counted,
        **_standing_value(plan.standing),
        "advice": list(plan.advice),
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


def _executed(execution: Execution) -> list[str]:
    """The way that was chosen, beside the others."""
    if not execution.way:
        return []
    times = ", ".join(f"{way} {1e6 * seconds:.2g} µs" for way, seconds in sorted(execution.seconds.items()))
    return [f"by {execution.way} (per item: {times}; shares {_basis(execution)})"]


def _standing(standing: Standing | None) -> list[str]:
    """How far the plan has drifted, and why no new one is made."""
    if standing is None:
        return []
    made = f"made {standing.made_at:%Y-%m-%d %H:%M}, because {standing.made_because}"
    if standing.drift is None:
        return [f"{made}; not yet compared with a new plan"]
    drift = f"drift {standing.drift.excess:.1%} (a new plan is made from {standing.threshold:.0%})"
    told = (
        f"no new plan, because {standing.waits_because}"
        if standing.waits_because
        else "a new plan will be made"
    )
    return [f"{made}", f"{drift}: {told}"]


def _standing_value(standing: Standing | None) -> dict[str, object]:
    if standing is None:
        return {}
    return {
        "made_at": standing.made_at.isoformat(),
        "made_because": standing.made_because,
        "drift": None if standing.drift is None else standing.drift.excess,
        "drift_threshold": standing.threshold,
        "judged_at": None if standing.judged_at is None else standing.judged_at.isoformat(),
        "no_new_plan_because": standing.waits_because or None,
    }


def _basis(execution: Execution) -> str:
    """What the shares in a plan rest on."""
    if execution.sampled:
        return f"from {execution.sampled:.3g} sampled items"
    if execution.counted:
        return f"assumed; {execution.counted:.3g} items have been sampled since the plan was made"
    return "assumed, as nothing has been counted yet"


def _advice(nodes: PlanNodes, never: Collection[int]) -> tuple[str, ...]:
    """What the tree knows of feeds that answer alike, contain each other, or answer nothing."""
    found: list[str] = []
    holder: dict[int, str] = {}
    for node, parent in enumerate(nodes.parents):
        first, *others = sorted(nodes.feeds[node]) or [""]
        above = holder.get(parent, "") if node != ROOT else ""
        # what asks for everything contains all others, which is no news
        holder[node] = (first or above) if node != ROOT else ""
        if node in never:
            found += [f"{feed} can never match" for feed in sorted(nodes.feeds[node])]
        elif node != ROOT:
            found += [f"{feed} is equal to {first}" for feed in others if feed != first]
            found += [f"{first} is contained in {above}"] if first and above and above != first else []
    return tuple(found[:MAX_ADVICE])


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


def _shared(parent: Sequence[int], named: Sequence[Sequence[str]]) -> list[int]:
    """How many feeds hang on each node; children have higher numbers than parents."""
    shared = [len(feeds) for feeds in named]
    for node in range(len(parent) - 1, ROOT, -1):
        shared[parent[node]] += shared[node]
    return shared


def _depth_first(parent: Sequence[int]) -> list[int]:
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
