"""Statements carried out on a catalog: a script as a whole, or not at all."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from feedweir.catalog import Catalog, Definition, NewFeed
from feedweir.errors import LanguageError
from feedweir.keeper.names import DefinedNames
from feedweir.language import Statement, check, feeds_used, format_statement, parse
from feedweir.language.statements import EVERY_SOURCE, CreateFeed, DropFeed, RegisterFeed


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one statement did, or what it answers."""

    message: str
    name: str = ""
    """The feed or subscription it was about."""
    rows: tuple[dict[str, Any], ...] = ()
    """What a statement that asks was answered."""


def execute(catalog: Catalog, text: str, now: datetime, *, owner: str = "") -> tuple[Outcome, ...]:
    """Carry out the statements of a script in one transaction: all of them, or, when one is refused, none."""
    statements = parse(text)
    with catalog.transaction():
        _, definitions = catalog.feeds.definitions()
        names = DefinedNames(definitions)
        return tuple(_carry_out(catalog, statement, names, now, owner) for statement in statements)


def _carry_out(
    catalog: Catalog, statement: Statement, names: DefinedNames, now: datetime, owner: str
) -> Outcome:
    check(statement, names)
    match statement:
        case RegisterFeed():
            return _register(catalog, statement, names, now, owner)
        case CreateFeed():
            return _create(catalog, statement, names, now, owner)
        case DropFeed():
            return _drop(catalog, statement, names)
    raise LanguageError(f"{type(statement).__name__} cannot be carried out here")


def _register(
    catalog: Catalog, statement: RegisterFeed, names: DefinedNames, now: datetime, owner: str
) -> Outcome:
    new = NewFeed(
        name=statement.name,
        kind="source",
        statement=format_statement(statement),
        url=statement.url,
        reads=(statement.feed,) if statement.feed else (),
        owner=owner,
        created_at=now,
    )
    _put(catalog, names, new, is_replaced=False)
    return Outcome(message=f"registered {new.name}", name=new.name)


def _create(
    catalog: Catalog, statement: CreateFeed, names: DefinedNames, now: datetime, owner: str
) -> Outcome:
    is_replaced = statement.or_replace and names.kind_of(statement.name) is not None
    new = NewFeed(
        name=statement.name,
        kind="virtual",
        statement=format_statement(statement),
        reads=tuple(name for name in feeds_used(statement.query) if name != EVERY_SOURCE),
        owner=owner,
        created_at=now,
    )
    _put(catalog, names, new, is_replaced=is_replaced)
    return Outcome(message=f"{'replaced' if is_replaced else 'created'} {new.name}", name=new.name)


def _drop(catalog: Catalog, statement: DropFeed, names: DefinedNames) -> Outcome:
    if statement.if_exists and names.kind_of(statement.name) is None:
        return Outcome(message=f"there was no {statement.name}", name=statement.name)
    catalog.feeds.drop(statement.name)
    names.remove(statement.name)
    return Outcome(message=f"dropped {statement.name}", name=statement.name)


def _put(catalog: Catalog, names: DefinedNames, new: NewFeed, *, is_replaced: bool) -> None:
    id_ = catalog.feeds.replace(new) if is_replaced else catalog.feeds.add([new])[0]
    names.put(Definition(id_, new.name, new.kind, new.statement))
