"""Statements that ask: how a query is evaluated, and what it would bring."""

from __future__ import annotations

from feedweir.ask.explanation import PlanExplanation, PlanStep, costs_of
from feedweir.ask.outcome import Outcome, Question, ScriptContext
from feedweir.compile.compiled_plans import compiled_plan
from feedweir.compile.known_sets import KnownSets
from feedweir.compile.statistics_intake import known_streams
from feedweir.language.defined_names import DefinedNames
from feedweir.language.plan_builder import build
from feedweir.language.queries import Named, Query
from feedweir.language.statements import Ask, CreateFeed, Explain
from feedweir.optimize.join_order import KnownStreams, ordered
from feedweir.plan.nodes import Node
from feedweir.plan.plan_wire import plan_to_json


def ask(script: ScriptContext, statement: Ask) -> Question:
    return Question(compiled_plan(statement.query, script.names))


def explain(script: ScriptContext, statement: Explain, known: KnownSets | None) -> Outcome:
    """The plan as it was written, and after every rule that changed it."""
    asked = statement.statement
    streams = known_streams(script.catalog, script.now)
    explained = explanation(asked, script.names, streams, plan_in_force(asked, known))
    name = asked.name if isinstance(asked, CreateFeed) else ""
    return Outcome(message=explained.text, name=name)


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
