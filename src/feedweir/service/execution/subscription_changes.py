"""Statements about subscriptions. A subscription has a name when its statement gives one, and a number always."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from feedweir.ask.outcome import Outcome, ScriptContext
from feedweir.catalog import NewSubscription, SubscriptionRecord
from feedweir.catalog.records import SubscriptionStatus
from feedweir.channel_kinds import CHANNEL_KINDS, SENT_CHANNELS
from feedweir.deliver.channels.channel_types import channel_type
from feedweir.deliver.schedule_changes import changed_schedule
from feedweir.errors import CatalogError, near
from feedweir.language import format_statement
from feedweir.language.statements import AlterSubscription, DropSubscription, Subscribe
from feedweir.schedules import AT_ONCE, schedule_from_json, schedule_to_json
from feedweir.service.execution.targets import check_stylesheet, check_target


def subscribe(script: ScriptContext, statement: Subscribe) -> Outcome:
    _refuse_taken(script, statement.name)
    check_target(statement, statement.place)
    check_stylesheet(statement.apply, script.stylesheets, statement.place)
    new = _new(script, replace(statement, owner=statement.owner or script.owner), {})
    number = script.catalog.subscriptions.add(new)
    name = statement.name or str(number)
    return Outcome(message=f"subscribed to {statement.feed} as {name}{_about(new)}", name=name)


def alter(script: ScriptContext, statement: AlterSubscription) -> Outcome:
    record = find(script, statement.name)
    if not CHANNEL_KINDS[record.channel].is_written and statement.is_paused is None:
        raise CatalogError(
            f"subscription {statement.name} belongs to a WebSub subscriber",
            hint="it can be paused or dropped",
        )
    old = statement_of(script, record)
    changes = {
        "name": statement.rename,
        "apply": statement.apply,
        "channel": statement.channel,
        "target": statement.target,
        "secret": statement.secret,
        "owner": statement.owner,
        "with_backlog": statement.with_backlog,
    }
    new = replace(
        old,
        schedule=changed_schedule(old.schedule, statement.schedule, statement.without),
        **{name: value for name, value in changes.items() if value is not None},  # type: ignore[arg-type]
    )
    if not CHANNEL_KINDS[new.channel].is_sent:
        new = replace(new, schedule=AT_ONCE)
    if new != old:
        check_target(new, statement.place)
        check_stylesheet(statement.apply or "", script.stylesheets, statement.place)
        if new.name != old.name:
            _refuse_taken(script, new.name)
        script.catalog.subscriptions.replace(record.id, _new(script, new, record.options))
    if statement.is_paused is not None:
        status: SubscriptionStatus = "paused" if statement.is_paused else "active"
        script.catalog.subscriptions.set_status(record.id, status, script.now)
    return Outcome(message=f"altered subscription {new.name or record.id}", name=new.name or str(record.id))


def drop(script: ScriptContext, statement: DropSubscription) -> Outcome:
    if statement.if_exists and _maybe(script, statement.name) is None:
        return Outcome(message=f"there was no subscription {statement.name}", name=statement.name)
    script.catalog.subscriptions.set_status(find(script, statement.name).id, "dropped", script.now)
    return Outcome(message=f"dropped subscription {statement.name}", name=statement.name)


def find(script: ScriptContext, name: str) -> SubscriptionRecord:
    """The living subscription of this name or number."""
    found = _maybe(script, name)
    if found is None:
        known = [name_of(record) for record in script.catalog.subscriptions.all()]
        hint = near(name, known) or (f"there are {', '.join(known[:10])}" if known else "")
        raise CatalogError(f"there is no subscription {name!r}", hint=hint)
    return found


def name_of(record: SubscriptionRecord) -> str:
    return str(record.options.get("name") or record.id)


def statement_of(script: ScriptContext, record: SubscriptionRecord) -> Subscribe:
    """A subscription as a statement, from its record."""
    feed = script.catalog.feeds.with_id(record.feed_id)
    return Subscribe(
        feed.name if feed else "",
        record.channel,
        record.target,
        apply=record.options.get("apply", ""),
        schedule=schedule_from_json(record.schedule),
        name=record.options.get("name", ""),
        secret=record.options.get("secret", ""),
        owner=record.owner,
        with_backlog=bool(record.options.get("backlog")),
    )


def _maybe(script: ScriptContext, name: str) -> SubscriptionRecord | None:
    return script.catalog.subscriptions.named(name)


def _refuse_taken(script: ScriptContext, name: str) -> None:
    if name and _maybe(script, name) is not None:
        raise CatalogError(f"there is a subscription {name!r} already", hint="choose another name")


def _new(script: ScriptContext, statement: Subscribe, options: Any) -> NewSubscription:
    """The channel's own options stay; the statement's name and stylesheet stand beside them. A secret is kept there
    only, not in the text that is shown."""
    secret = statement.secret or _new_secret(statement.channel)
    options_given = {
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
        schedule=schedule_to_json(statement.schedule),
        options={name: value for name, value in {**options, **options_given}.items() if value},
        owner=statement.owner,
        created_at=script.now,
    )


def _about(new: NewSubscription) -> str:
    """What the reader must know to receive it."""
    return f"; its secret is {new.options['secret']}" if "secret" in new.options else ""


def _new_secret(channel: str) -> str:
    """Empty where the channel signs nothing."""
    make = channel_type(channel).new_secret if channel in SENT_CHANNELS else None
    return make() if make else ""
