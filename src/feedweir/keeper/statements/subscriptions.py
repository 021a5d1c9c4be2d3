"""Statements about subscriptions. A subscription has a name when its statement gives one, and a number always."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from feedweir.catalog import NewSubscription, SubscriptionRecord
from feedweir.catalog.records import SubscriptionStatus
from feedweir.errors import CatalogError
from feedweir.keeper.statements.outcome import Desk, Outcome
from feedweir.language import format_statement, parse
from feedweir.language.statements import AlterSubscription, Channel, DropSubscription, Subscribe


def subscribe(desk: Desk, statement: Subscribe) -> Outcome:
    _refuse_taken(desk, statement.name)
    number = desk.catalog.subscriptions.add(_new(desk, statement, {}))
    name = statement.name or str(number)
    return Outcome(message=f"subscribed to {statement.feed} as {name}", name=name)


def alter(desk: Desk, statement: AlterSubscription) -> Outcome:
    record = find(desk, statement.name)
    old = statement_of(desk, record)
    changes = {
        "name": statement.rename,
        "apply": statement.apply,
        "channel": statement.channel,
        "target": statement.target,
        "every": statement.every,
    }
    new = replace(old, **{name: value for name, value in changes.items() if value is not None})  # type: ignore[arg-type]
    if new != old:
        if new.name != old.name:
            _refuse_taken(desk, new.name)
        desk.catalog.subscriptions.replace(
            record.id, replace(_new(desk, new, record.options), owner=record.owner)
        )
    if statement.is_paused is not None:
        status: SubscriptionStatus = "paused" if statement.is_paused else "active"
        desk.catalog.subscriptions.set_status(record.id, status, desk.now)
    return Outcome(message=f"altered subscription {new.name or record.id}", name=new.name or str(record.id))


def drop(desk: Desk, statement: DropSubscription) -> Outcome:
    if statement.if_exists and _maybe(desk, statement.name) is None:
        return Outcome(message=f"there was no subscription {statement.name}", name=statement.name)
    desk.catalog.subscriptions.set_status(find(desk, statement.name).id, "dropped", desk.now)
    return Outcome(message=f"dropped subscription {statement.name}", name=statement.name)


def find(desk: Desk, name: str) -> SubscriptionRecord:
    """The living subscription of this name or number."""
    found = _maybe(desk, name)
    if found is None:
        known = ", ".join(name_of(record) for record in desk.catalog.subscriptions.all()[:10])
        raise CatalogError(f"there is no subscription {name!r}", hint=f"there are {known}" if known else "")
    return found


def name_of(record: SubscriptionRecord) -> str:
    return str(record.options.get("name") or record.id)


def statement_of(desk: Desk, record: SubscriptionRecord) -> Subscribe:
    """A subscription as its statement; one that was made without is told from what is remembered of it."""
    statements = parse(record.statement)
    if statements and isinstance(statements[0], Subscribe):
        return statements[0]
    feed = desk.catalog.feeds.with_id(record.feed_id)
    channel = cast(Channel, record.channel)
    return Subscribe(feed.name if feed else "", channel, record.target, name=record.options.get("name", ""))


def _maybe(desk: Desk, name: str) -> SubscriptionRecord | None:
    living = desk.catalog.subscriptions.all()
    named = (record for record in living if record.options.get("name") == name)
    return next(named, None) or next((record for record in living if str(record.id) == name), None)


def _refuse_taken(desk: Desk, name: str) -> None:
    if name and _maybe(desk, name) is not None:
        raise CatalogError(f"there is a subscription {name!r} already", hint="choose another name")


def _new(desk: Desk, statement: Subscribe, options: Any) -> NewSubscription:
    """The channel's own options stay; the statement's name and stylesheet stand beside them."""
    told = {"name": statement.name, "apply": statement.apply}
    return NewSubscription(
        feed=statement.feed,
        statement=format_statement(statement),
        channel=statement.channel,
        target=statement.target,
        schedule={"every_s": statement.every.total_seconds()} if statement.every else {},
        options={name: value for name, value in {**options, **told}.items() if value},
        owner=desk.owner,
        created_at=desk.now,
    )
