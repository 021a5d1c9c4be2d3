"""A query's plan as it was written and after every rule that changed it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from feedweir.optimize.normalise import MAX_ROUNDS, check
from feedweir.optimize.rules import RULES, expand_feeds
from feedweir.plan import dot, explain, svg
from feedweir.plan.expand import Lookup
from feedweir.plan.nodes import Node


@dataclass(frozen=True, slots=True)
class PlanStep:
    """A plan, and the rule that made it; the first was written so."""

    rule: str
    plan: Node


@dataclass(frozen=True, slots=True)
class PlanExplanation:
    steps: tuple[PlanStep, ...]

    @property
    def text(self) -> str:
        """Every step as an indented tree under the name of its rule."""
        return "\n\n".join(f"{step.rule}\n{_indented(explain(step.plan))}" for step in self.steps)

    @property
    def dot(self) -> str:
        """The last plan for Graphviz."""
        return dot(self.steps[-1].plan)

    @property
    def svg(self) -> str:
        """The last plan as a picture."""
        return svg(self.steps[-1].plan)


def explain_plan(plan: Node, lookup: Lookup) -> PlanExplanation:
    """Apply the rules one by one until none changes the plan, and keep what each of them made."""
    return PlanExplanation(tuple(_steps(plan, lookup)))


def _steps(plan: Node, lookup: Lookup) -> Iterator[PlanStep]:
    yield PlanStep("as written", plan)
    current = expand_feeds(plan, lookup)
    if current is not plan:
        yield PlanStep("expand_feeds", current)
    for _ in range(MAX_ROUNDS):
        before = current
        for rule in RULES:
            changed = rule(current)
            if changed is not current and changed != current:
                check(current, changed, rule.__name__)
                yield PlanStep(rule.__name__, changed)
            current = changed
        if current is before or current == before:
            return


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))
