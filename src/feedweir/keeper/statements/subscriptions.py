"""Statements about subscriptions. A subscription has a name when its statement gives one, and a number always."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from feedweir.catalog import NewSubscription, SubscriptionRecord
from feedweir.catalog.records import SubscriptionStatus
from feedweir.deliver.channels.webhook import new_secret
from feedweir.errors import CatalogError
from feedweir.keeper.scheduling import changed_schedule, check_schedule, kept_schedule, told_schedule
from feedweir.keeper.statements.outcome import Desk, Outcome
from feedweir.keeper.targets import check_stylesheet, check_target
from feedweir.language import format_statement
from feedweir.language.schedules import AT_ONCE
from feedweir.language.statements import AlterSubscription, Channel, DropSubscription, Subscribe


def subscribe(desk: Desk, statement: Subscribe) -> Outcome:
    _refuse_taken(desk, statement.name)
    check_schedule(statement.schedule, statement.place)
    check_target(statement, statement.place)
    check_stylesheet(statement.apply, desk.stylesheets, statement.place)
    new = _new(desk, replace(statement, owner=statement.owner or desk.owner), {})
    number = desk.catalog.subscriptions.add(new)
    name = statement.name or str(number)
    return Outcome(message=f"subscribed to {statement.feed} as {name}{_about(new)}", name=name)


def alter(desk: Desk, statement: AlterSubscription) -> Outcome:
    record = find(desk, statement.name)
    if record.channel == "websub" and statement.is_paused is None:
        raise CatalogError(
            f"subscription {statement.name} is a lease of a WebSub subscriber",
            hint="it can be paused or dropped",
        )
    old = statement_of(desk, record)
    changes = {
        "name": statement.rename,
        "apply": statement.apply,
        "channel": statement.channel,
        "target": statement.target,
        "secret": statement.secret,
        "owner": statement.owner,
        "with_backlog": statement.with_backlog,
    }
    check_schedule(statement.schedule, statement.place)
    new = replace(
        old,
        schedule=changed_schedule(old.schedule, statement.schedule, statement.without),
        **{name: value for name, value in changes.items() if value is not None},  # type: ignore[arg-type]
    )
    if new.channel == "stream":
        new = replace(new, schedule=AT_ONCE)
    if new != old:
        check_target(new, statement.place)
        check_stylesheet(statement.apply or "", desk.stylesheets, statement.place)
        if new.name != old.name:
            _refuse_taken(desk, new.name)
        desk.catalog.subscriptions.replace(record.id, _new(desk, new, record.options))
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
    """A subscription as a statement, told from what is remembered of it."""
    feed = desk.catalog.feeds.with_id(record.feed_id)
    return Subscribe(
        feed.name if feed else "",
        cast(Channel, record.channel),
        record.target,
        apply=record.options.get("apply", ""),
        schedule=told_schedule(record.schedule),
        name=record.options.get("name", ""),
        secret=record.options.get("secret", ""),
        owner=record.owner,
        with_backlog=bool(record.options.get("backlog")),
    )


def _maybe(desk: Desk, name: str) -> SubscriptionRecord | None:
    return desk.catalog.subscriptions.named(name)


def _refuse_taken(desk: Desk, name: str) -> None:
    if name and _maybe(desk, name) is not None:
        raise CatalogError(f"there is a subscription {name!r} already", hint="choose another name")


def _new(desk: Desk, statement: Subscribe, options: Any) -> NewSubscription:
    """The channel's own options stay; the statement's name and stylesheet stand beside them. A secret is kept there
    only, not in the text that is shown."""
    secret = statement.secret or (new_secret() if statement.channel == "webhook" else "")
    told = {
        "name": statement.name,
        "apply": statement.apply,
        "secret": secret,
        "backlog": statement.with_backlog,
    }
    return NewSubscription(
        feed=statement.feed,
        statement=format_statement(replace(statement, secret="")),
        channel=statement.channel,
        target=statement.target,
        schedule=kept_schedule(statement.schedule),
        options={name: value for name, value in {**options, **told}.items() if value},
        owner=statement.owner,
        created_at=desk.now,
    )


def _about(new: NewSubscription) -> str:
    """What the reader must know to receive it."""
    return f"; its secret is {new.options['secret']}" if new.channel == "webhook" else ""
