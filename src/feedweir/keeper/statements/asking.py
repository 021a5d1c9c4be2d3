"""Statements that ask: how a query is evaluated, and what it would bring."""

from __future__ import annotations

from feedweir.engine.explaining import PlanExplanation, explain_plan
from feedweir.keeper.names import DefinedNames
from feedweir.keeper.statements.outcome import Desk, Outcome, Question
from feedweir.language.statements import Ask, CreateFeed, Explain
from feedweir.plan import build, expand


def ask(desk: Desk, statement: Ask) -> Question:
    return Question(expand(build(statement.query, desk.names), desk.names.plan_of))


def explain(desk: Desk, statement: Explain) -> Outcome:
    """The plan as it was written, and after every rule that changed it."""
    explained = explanation(statement.statement, desk.names)
    name = statement.statement.name if isinstance(statement.statement, CreateFeed) else ""
    return Outcome(message=explained.text, name=name)


def explanation(statement: CreateFeed | Ask, names: DefinedNames) -> PlanExplanation:
    feed = statement.name if isinstance(statement, CreateFeed) else ""
    return explain_plan(build(statement.query, names, feed=feed), names.plan_of)
