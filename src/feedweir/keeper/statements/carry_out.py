"""Carry out the statements of a script in one transaction: all of them, or, when one is refused, none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime

from feedweir.catalog import Catalog
from feedweir.deliver.stylesheets import Stylesheets
from feedweir.errors import LanguageError
from feedweir.keeper.names import CatalogNames, DefinedNames
from feedweir.keeper.statements import asking, feeds, showing, subscriptions
from feedweir.keeper.statements.advising import advice_for
from feedweir.keeper.statements.outcome import Desk, Outcome, PlanQuestion, Question
from feedweir.language import Statement, check, parse
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
    ExplainPlan,
    RegisterFeed,
    Show,
    Subscribe,
)
from feedweir.plan.nodes import Node

Answer = Callable[[Node | PlanQuestion], Outcome]
"""Tries an expanded plan out, or tells the plan of a source."""
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
) -> tuple[Outcome, ...]:
    """Carry out a script; what is asked is answered after it, so that asking holds up nobody who changes."""
    statements = parse(text)
    with catalog.transaction():
        desk = Desk(catalog, _names(catalog, len(statements)), now, owner, stylesheets)
        done = [_carry_out(desk, statement) for statement in statements]
        desk.settle()
    advised = advice_for([one.name for one in statements if isinstance(one, CreateFeed)], desk)
    return tuple(_with_advice(_answered(one, answer), advised) for one in done)


def _names(catalog: Catalog, statements: int) -> DefinedNames:
    """Few names are looked up one by one, many are read at once."""
    if statements <= MOST_LOOKED_UP:
        return CatalogNames(catalog.feeds)
    _, definitions = catalog.feeds.definitions()
    return DefinedNames(definitions)


def _carry_out(desk: Desk, statement: Statement) -> Outcome | Question | PlanQuestion:
    check(statement, desk.names)
    match statement:
        case RegisterFeed():
            return feeds.register(desk, statement)
        case CreateFeed():
            return feeds.create(desk, statement)
        case AlterFeed():
            return feeds.alter(desk, statement)
        case DropFeed():
            return feeds.drop(desk, statement)
        case Subscribe():
            return subscriptions.subscribe(desk, statement)
        case AlterSubscription():
            return subscriptions.alter(desk, statement)
        case DropSubscription():
            return subscriptions.drop(desk, statement)
        case Describe():
            return showing.describe(desk, statement)
        case Show():
            return showing.show(desk, statement)
        case Explain():
            return asking.explain(desk, statement)
        case ExplainPlan(source):
            return PlanQuestion(source)
        case Ask():
            return asking.ask(desk, statement)
        case DefineWindow(name):
            return Outcome(message=f"{name} names a window in this script", name=name)


def _with_advice(done: Outcome, advised: Mapping[str, tuple[str, ...]]) -> Outcome:
    return replace(done, advice=advised[done.name]) if done.name in advised else done


def _answered(done: Outcome | Question | PlanQuestion, answer: Answer | None) -> Outcome:
    if isinstance(done, Outcome):
        return done
    if answer is None:
        raise LanguageError("nothing is stored here that a query could be asked about")
    return answer(done.plan if isinstance(done, Question) else done)
