"""A query's plan as it was written and after every rule that changed it, and what each operator of the last costs."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from feedweir.ask.outcome import Outcome, ScriptContext
from feedweir.compile.compiled_plans import compiled_plan
from feedweir.compile.known_sets import KnownSets
from feedweir.compile.statistics_intake import known_streams
from feedweir.language.defined_names import DefinedNames
from feedweir.language.plan_builder import build
from feedweir.language.plan_text import dot, explain, label
from feedweir.language.queries import Named, Query
from feedweir.language.statements import Ask, CreateFeed, Explain
from feedweir.optimize.cost import Flow, JoinCounts
from feedweir.optimize.join_order import KnownStreams, ordered
from feedweir.plan import inputs_of, postorder
from feedweir.plan.nodes import AnnotationJoin, Distinct, Filter, Node, PatternJoin, Window
from feedweir.plan.plan_wire import plan_to_json


@dataclass(frozen=True, slots=True)
class PlanStep:
    """A plan, and the rule that made it; the first was written so."""

    rule: str
    plan: Node


@dataclass(frozen=True, slots=True)
class OperatorCost:
    """What one operator was predicted to do, and what was counted of it."""

    operator: str
    rate_in: float
    """Items a second; of a join its primary stream."""
    rate_out: float
    work: float
    """Evaluations a second."""
    held: float
    """Items in its window."""
    tried: float | None = None
    kept: float | None = None
    pairs: float | None = None
    """Of a join: items that were looked for partners of, those that had one, and partners; older ones weigh less.
    None when nothing was counted and shares are assumed."""

    @property
    def text(self) -> str:
        held = f", {self.held:.4g} items in the window" if self.held else ""
        flow = f"in {self.rate_in:.3g}/s, out {self.rate_out:.3g}/s, {self.work:.3g} evaluations/s{held}"
        return f"{self.operator}: {flow}{self._basis}"

    @property
    def _basis(self) -> str:
        if not self.operator.startswith("⋈"):
            return ""
        if self.tried is None:
            return " (assumed: nothing was counted yet)"
        return f" (counted: {self.kept:.4g} of {self.tried:.4g} items had a partner, {self.pairs:.4g} in all)"


@dataclass(frozen=True, slots=True)
class PlanExplanation:
    steps: tuple[PlanStep, ...]
    costs: tuple[OperatorCost, ...] = ()

    @property
    def plan(self) -> Node:
        """What is compiled."""
        return self.steps[-1].plan

    @property
    def text(self) -> str:
        """Every step as an indented tree under the name of its rule, and what the last costs."""
        parts = [f"{step.rule}\n{_indented(explain(step.plan))}" for step in self.steps]
        if self.costs:
            total = sum(cost.work for cost in self.costs)
            lines = "\n".join(f"  {cost.text}" for cost in self.costs)
            parts.append(f"costs {total:.3g} evaluations/s\n{lines}")
        return "\n\n".join(parts)

    @property
    def dot(self) -> str:
        """The last plan for Graphviz."""
        return dot(self.plan)

    def costs_value(self) -> list[dict[str, object]]:
        """What each operator costs as plain values."""
        return [asdict(cost) for cost in self.costs]


def costs_of(plan: Node, known: KnownStreams) -> tuple[OperatorCost, ...]:
    """Of each operator that works, those that others read first."""
    flows, counted = known.flows(plan), known.counted(plan)
    return tuple(
        _cost(node, flows, counted.get(id(node)))
        for node in postorder(plan)
        if isinstance(node, (Filter, AnnotationJoin, Distinct, PatternJoin))
    )


def _cost(node: Node, flows: dict[int, Flow], counts: JoinCounts | None) -> OperatorCost:
    inputs = [flows[id(input)] for input in inputs_of(node)]
    windows = [flows[id(input)].size for input in inputs_of(node) if isinstance(input, Window)]
    return OperatorCost(
        label(node),
        inputs[-1].rate if isinstance(node, PatternJoin) else inputs[0].rate,
        flows[id(node)].rate,
        flows[id(node)].work - sum(input.work for input in inputs),
        sum(windows),
        *(() if counts is None else (counts.tried, counts.kept, counts.pairs)),
    )


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))


def explained(script: ScriptContext, statement: Explain, known: KnownSets | None) -> Outcome:
    """The plan as it was written, and after every rule that changed it."""
    asked = statement.statement
    streams = known_streams(script.catalog, script.now)
    shown = explanation(asked, script.names, streams, plan_in_force(asked, known))
    name = asked.name if isinstance(asked, CreateFeed) else ""
    return Outcome(message=shown.text, name=name)


def plan_in_force(asked: CreateFeed | Ask, known: KnownSets | None) -> Node | None:
    """The plan by which batches are joined, where nothing but a feed with joins is asked about."""
    source = asked.query.source
    if known is None or not isinstance(source, Named) or asked != Ask(Query(Named(source.name))):
        return None
    return known.plan_in_force(source.name)


def explanation(
    statement: CreateFeed | Ask, names: DefinedNames, known: KnownStreams, in_force: Node | None = None
) -> PlanExplanation:
    """What compiling makes of a query, step by step; `in_force` is what it made of it, by what was known then."""
    feed = statement.name if isinstance(statement, CreateFeed) else ""
    steps = [PlanStep("as written", build(statement.query, names, feed=feed))]
    compiled = compiled_plan(
        statement.query, names, feed=feed, on_change=lambda rule, plan: steps.append(PlanStep(rule, plan))
    )
    chosen = in_force or ordered(compiled, known)
    if plan_to_json(chosen) != plan_to_json(compiled):
        steps.append(PlanStep("order of joins", chosen))
    return PlanExplanation(tuple(steps), costs_of(chosen, known))
