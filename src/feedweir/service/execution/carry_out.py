"""Carry out the statements of a script in one transaction: all of them, or, when one is refused, none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime

from feedweir.ask.advice import advice_for
from feedweir.ask.explanation import explained
from feedweir.ask.outcome import JoinQuestion, Outcome, PlanQuestion, Question, ScriptContext
from feedweir.catalog import Catalog
from feedweir.compile.compiled_plans import compiled_plan
from feedweir.compile.known_sets import KnownSets
from feedweir.deliver.transforms.stylesheets import Stylesheets
from feedweir.errors import LanguageError
from feedweir.language import Statement, check, parse
from feedweir.language.defined_names import CatalogNames, DefinedNames
from feedweir.language.statements import (
    AlterFeed,
    AlterSubscription,
    Ask,
    CreateFeed,
    DefineWindow,
    Describe,
    DropFeed,
    DropSubscription,
    Explain,
    ExplainJoins,
    ExplainPlan,
    RegisterFeed,
    Show,
    Subscribe,
)
from feedweir.plan.nodes import Node
from feedweir.service.execution import feed_changes, listings, subscription_changes

Answer = Callable[[Node | PlanQuestion | JoinQuestion], Outcome]
"""Tries out an expanded plan, shows the plan of a source, or explains how joins are evaluated."""
MOST_LOOKED_UP = 200
"""Statements up to which names are looked up in the catalog as they come."""


def execute(
    catalog: Catalog,
    text: str,
    now: datetime,
    *,
    owner: str = "",
    answer: Answer | None = None,
    stylesheets: Stylesheets | None = None,
    known: KnownSets | None = None,
) -> tuple[Outcome, ...]:
    """Carry out a script. Its questions are answered after the transaction, so that they block no other change.

    New feeds are compared with those in the sets that are `known`, and what is in force is explained from there.
    """
    statements = parse(text)
    with catalog.transaction():
        script = ScriptContext(catalog, _names(catalog, len(statements)), now, owner, stylesheets)
        done = [_carry_out(script, statement, known) for statement in statements]
        script.settle()
    advised = advice_for([one for one in statements if isinstance(one, CreateFeed)], script, known)
    return tuple(_with_advice(_answered(one, answer), advised) for one in done)


def _names(catalog: Catalog, statements: int) -> DefinedNames:
    """A few names are looked up one by one; for many, all definitions are read at once."""
    if statements <= MOST_LOOKED_UP:
        return CatalogNames(catalog.feeds)
    _, definitions = catalog.feeds.definitions()
    return DefinedNames(definitions)


def _carry_out(
    script: ScriptContext, statement: Statement, known: KnownSets | None
) -> Outcome | Question | PlanQuestion | JoinQuestion:
    check(statement, script.names)
    match statement:
        case RegisterFeed():
            return feed_changes.register(script, statement)
        case CreateFeed():
            return feed_changes.create(script, statement)
        case AlterFeed():
            return feed_changes.alter(script, statement)
        case DropFeed():
            return feed_changes.drop(script, statement)
        case Subscribe():
            return subscription_changes.subscribe(script, statement)
        case AlterSubscription():
            return subscription_changes.alter(script, statement)
        case DropSubscription():
            return subscription_changes.drop(script, statement)
        case Describe():
            return listings.describe(script, statement)
        case Show():
            return listings.show(script, statement)
        case Explain():
            return explained(script, statement, known)
        case ExplainPlan(source):
            return PlanQuestion(source)
        case ExplainJoins(feed):
            return JoinQuestion(feed)
        case Ask():
            return Question(compiled_plan(statement.query, script.names))
        case DefineWindow(name):
            return Outcome(message=f"{name} names a window in this script", name=name)


def _with_advice(done: Outcome, advised: Mapping[str, tuple[str, ...]]) -> Outcome:
    return replace(done, advice=advised[done.name]) if done.name in advised else done


def _answered(done: Outcome | Question | PlanQuestion | JoinQuestion, answer: Answer | None) -> Outcome:
    if isinstance(done, Outcome):
        return done
    if answer is None:
        raise LanguageError("queries cannot be answered here: nothing is stored")
    return answer(done.plan if isinstance(done, Question) else done)
